"""Reject requests with an unknown Host header."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.http.middleware import HttpMiddleware, parse_address

_ADDRESS = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::[0-9]+)?", re.IGNORECASE | re.ASCII)
_REFUSED = (
    "This server does not know the name by which you opened it."
    " Start it with --host-name and that name, or open it by its IP address."
)


class KnownHostMiddleware(HttpMiddleware):
    """Accepts the names of this server, and every IP address.

    With DNS rebinding, another site lets its own name point to this machine, and its pages then
    count as ours in the visitor's browser. Only the Host header tells: it still has the name of
    that site. An IP address needs no check, since a name is needed for the attack: so a class can
    open whatever address the teacher's computer has.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: Collection[str],
        refuse: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        super().__init__(app)
        self._names = names
        self._refuse = refuse

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        name = host.partition(":")[0].lower()
        address = _ADDRESS.fullmatch(host)
        is_address = address is not None and parse_address(address[1] or address[2]) is not None
        if is_address or "*" in self._names or name in self._names:
            await self._app(scope, receive, send)
        else:
            response = await self._refuse(Request(scope), HTTPException(421, _REFUSED))
            await response(scope, receive, send)
