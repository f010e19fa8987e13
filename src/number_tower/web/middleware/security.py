"""Add security headers to responses, and reject requests that another site makes (CSRF)."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from number_tower.web.errors import Problem, send_problem
from number_tower.web.middleware import HttpMiddleware

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not `no-referrer`: with it browsers send `Origin: null` with a plain form, which would be rejected.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"),
]
_NO_STORE = [*_HEADERS, (b"cache-control", b"no-store")]
_IMMUTABLE = [*_HEADERS, (b"cache-control", b"public, max-age=31536000, immutable")]
_NO_CACHE = [*_HEADERS, (b"cache-control", b"no-cache")]

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
_ORIGIN = re.compile(r"(https?)://([^/?#@\\]+)")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_CROSS_SITE = Problem(403, "cross_site", "This came from a page of another site. Open the game here, and try again.")


class SecurityHeadersMiddleware(HttpMiddleware):
    """Tells browsers what a page may do (load nothing from elsewhere, be framed nowhere) and what to cache."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the response. Unless it says otherwise it is not cached, since it may show seats."""
        is_static = scope["path"].startswith("/static/")
        usual = _NO_STORE if not is_static else _IMMUTABLE if scope["query_string"] else _NO_CACHE

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                added = usual if message["status"] < 400 else _NO_STORE
                has_caching = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [*own, *(_HEADERS if has_caching else added)]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class CrossSiteMiddleware(HttpMiddleware):
    """Rejects requests that change something and that a page of another site made.

    Browsers say where a request comes from: in Sec-Fetch-Site, or, where they leave that out (old ones, and all of them
    without https), in Origin. A client that sends neither is no browser, and has no cookies that others could use.
    """

    def __init__(self, app: ASGIApp, public_url: str | None = None) -> None:
        super().__init__(app)
        self._public_origin = None if public_url is None else _parse_origin(public_url)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _SAFE_METHODS or self._is_own(dict(scope["headers"])):
            await self._app(scope, receive, send)
        else:
            await send_problem(_CROSS_SITE, scope, receive, send)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        if b"sec-fetch-site" in headers:
            return headers[b"sec-fetch-site"] in {b"same-origin", b"none"}
        if b"origin" not in headers:
            return True
        origin = _parse_origin(headers[b"origin"].decode("latin-1"))
        if origin is None or origin == self._public_origin:
            return origin is not None
        host = headers.get(b"host")
        return host is not None and origin[1] == _strip_default_port(host.decode("latin-1"), origin[0])


def _parse_origin(origin: str) -> tuple[str, str] | None:
    """Return scheme and host of an origin, without the default port; None if it is malformed."""
    found = _ORIGIN.fullmatch(origin.lower())
    return None if found is None else (found[1], _strip_default_port(found[2], found[1]))


def _strip_default_port(host: str, scheme: str) -> str:
    return host.lower().removesuffix(_DEFAULT_PORTS[scheme])
