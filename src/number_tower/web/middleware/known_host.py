"""Reject requests with an unknown Host header."""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.middleware import HttpMiddleware, parse_address

_ADDRESS = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::[0-9]+)?", re.IGNORECASE | re.ASCII)


class KnownHostMiddleware(HttpMiddleware):
    """Accepts the names of this server, and every IP address.

    With DNS rebinding, another site lets its own name point to this machine, and its pages then count as ours in the
    visitor's browser. Only the Host header tells: it still has the name of that site. An IP address needs no check,
    since a name is needed for the attack: so a class can open whatever address the teacher's computer has.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        super().__init__(app)
        self._checked_app = TrustedHostMiddleware(app, tuple(names), www_redirect=False)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_address = _is_address(Headers(scope=scope).get("host", ""))
        await (self._app if is_address else self._checked_app)(scope, receive, send)


def _is_address(host: str) -> bool:
    match = _ADDRESS.fullmatch(host)
    return match is not None and parse_address(match[1] or match[2]) is not None
