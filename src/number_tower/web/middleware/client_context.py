"""Notes for which address a request is answered, so that work which it starts in the background knows it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.web.computer import CLIENT
from number_tower.web.rates import client

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class ClientContextMiddleware:
    """Set the client's address for the task that answers a request, and for the tasks that it creates."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note the address and pass the request on."""
        if scope["type"] == "http":
            CLIENT.set(client(scope))
        await self._app(scope, receive, send)
