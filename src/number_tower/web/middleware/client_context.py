"""Notes for which address a request is answered, so that work which it starts in the background knows it too."""

from __future__ import annotations

from contextvars import ContextVar
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class ClientContextMiddleware:
    """Set the client's address for the task that answers a request, and for the tasks that it creates."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note the address and pass the request on."""
        if scope["type"] == "http":
            CURRENT_CLIENT.set(identify_client(scope))
        await self._app(scope, receive, send)


FROM_PROXY = "number_tower.from_proxy"


@lru_cache(maxsize=4096)
def _normalize_address(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, 64), strict=False))
    return str(address)


def identify_client(scope: Scope) -> str:
    """Return as whom an asker is counted: by address, where one household has 2**64 of them by all of these."""
    found = scope.get("client")
    return _normalize_address(found[0]) if found else "here"


CURRENT_CLIENT: ContextVar[str | None] = ContextVar("client", default=None)
