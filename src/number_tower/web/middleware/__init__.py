"""ASGI middleware of the web server, one class per module; and who the client of a request is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.addresses import group_address

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
    """Return the name under which a client is counted: the browser by its cookie, or else the address."""
    for name, value in scope.get("headers", ()):
        if name == b"cookie" and (cookie := _COOKIE.search(value)):
            return f"browser {cookie[1].decode()}"
    return identify_address(scope)


def identify_address(scope: Mapping[str, Any]) -> str:
    """Return the name under which the address of a client is counted."""
    client = scope.get("client")
    return group_address(client[0]) if client else "here"
