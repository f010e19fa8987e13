"""Add security headers to responses."""

from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

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
ANY_SITE = {"Cross-Origin-Resource-Policy": "cross-origin"}
"""Headers of an answer that other sites may show, such as a picture."""

_IMMUTABLE = b"public, max-age=31536000, immutable"


class SecurityHeadersMiddleware(HttpMiddleware):
    """Tells browsers what a page may do (load nothing from elsewhere, be framed nowhere) and what to cache."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the response. Unless it says otherwise it is not cached, since it may show seats."""
        is_static = scope["path"].startswith("/static/")
        usual = b"no-store" if not is_static else _IMMUTABLE if scope["query_string"] else b"no-cache"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name for name, _ in given}
                headers = message["headers"] = [*given, *(each for each in _HEADERS if each[0] not in names)]
                if all(name != b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", usual if message["status"] < 400 else b"no-store"))
            await send(message)

        await self._app(scope, receive, send_with_headers)
