"""ASGI middleware of the web server, one class per module; and who the client of a request is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from ipaddress import IPv6Address, ip_network
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.settings import parse_address

CURRENT_CLIENT: ContextVar[str | None] = ContextVar("client", default=None)
"""The client of the request that is being answered, for background work that the request starts."""

FROM_PROXY = "number_tower.from_proxy"
"""ASGI extension that the server sets where the peer of the connection is a trusted proxy."""


class HttpMiddleware(ABC):
    """Passes everything on that is no HTTP request; subclasses define how to handle these."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle a request."""
        handle = self._handle if scope["type"] == "http" else self._app
        return handle(scope, receive, send)

    @abstractmethod
    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an HTTP request."""


def identify_client(scope: Mapping[str, Any]) -> str:
    """Return the name under which a client is counted: its IPv4 address, or the network of its IPv6 address."""
    client = scope.get("client")
    return _normalize_address(client[0]) if client else "here"


@lru_cache(maxsize=4096)
def _normalize_address(host: str) -> str:
    address = parse_address(host)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))  # one household has 2**64 addresses
    return host[:64] if address is None else str(address)
