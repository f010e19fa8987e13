"""Reject requests that another site makes (CSRF)."""

from __future__ import annotations

import re

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.http.middleware import HttpMiddleware

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
_ORIGIN = re.compile(r"(https?)://([^/?#@\\]+)")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_REFUSED = "This request came from another site. Open the game here and try again."


class CrossSiteMiddleware(HttpMiddleware):
    """Rejects requests that change something and that a page of another site made.

    Browsers say where a request comes from: in Sec-Fetch-Site, or, where they leave that out (old
    ones, and all of them without https), in Origin. A client that sends neither is no browser, and
    has no cookies that others could use.
    """

    def __init__(self, app: ASGIApp, public_url: str | None = None) -> None:
        super().__init__(app)
        self._public_origin = None if public_url is None else _parse_origin(public_url)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _SAFE_METHODS or self._is_own(dict(scope["headers"])):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSED, 403)(scope, receive, send)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        if b"sec-fetch-site" in headers:
            return headers[b"sec-fetch-site"] in {b"same-origin", b"none"}
        if b"origin" not in headers:
            return True
        origin = _parse_origin(headers[b"origin"].decode("latin-1"))
        if origin is None or origin == self._public_origin:
            return origin is not None
        host = headers.get(b"host")
        return host is not None and origin[1] == _strip_default_port(
            host.decode("latin-1"), origin[0]
        )


def _parse_origin(origin: str) -> tuple[str, str] | None:
    """Return scheme and host of an origin, without the default port; None if it is malformed."""
    match = _ORIGIN.fullmatch(origin.lower())
    return None if match is None else (match[1], _strip_default_port(match[2], match[1]))


def _strip_default_port(host: str, scheme: str) -> str:
    return host.lower().removesuffix(_DEFAULT_PORTS[scheme])
