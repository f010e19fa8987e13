"""ASGI middleware of the web server, one class per module; and who the client of a request is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

if (
    TYPE_CHECKING
):  # the command reads settings, and with them addresses, without the libraries of the server
    from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE_NAME = r"(?:__Host-)?browser-[0-9a-f]{8}"
SECRET = r"[A-Za-z0-9_-]{43}"  # noqa: S105 - a pattern
"""What the name and the value of a browser's cookie look like."""

_COOKIE = re.compile(rf"(?:^|[; ]){COOKIE_NAME}=({SECRET})(?=;|$)".encode())


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
    """Return the name under which a client is counted: its browser's cookie, or its address."""
    for name, value in scope.get("headers", ()):
        if name == b"cookie" and (cookie := _COOKIE.search(value)):
            return f"browser {cookie[1].decode()}"
    return identify_address(scope)


def identify_address(scope: Mapping[str, Any]) -> str:
    """Return the name under which the address of a client is counted."""
    client = scope.get("client")
    return group_address(client[0]) if client else "here"


@lru_cache(maxsize=4096)
def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address without its zone, or return None.

    On a socket for both kinds of networks an IPv4 peer has an IPv6 address that contains its own.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=4096)
def group_address(host: str) -> str:
    """Return an IPv4 address, or the network of an IPv6 address: a household has 2**64 of these."""
    address = parse_address(host)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return host[:64] if address is None else str(address)
