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
    (
        b"permissions-policy",
        b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()",
    ),
    (b"cache-control", b"no-store"),  # it may show seats
]
ANY_SITE = {"Cross-Origin-Resource-Policy": "cross-origin"}
"""Headers of an answer that other sites may show, such as a picture."""


class SecurityHeadersMiddleware(HttpMiddleware):
    """Tells browsers what a page may do (load nothing from elsewhere, be framed nowhere) and what to cache."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers that the response does not have."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", ())
                names = {name for name, _ in given}
                message["headers"] = [*given, *(each for each in _HEADERS if each[0] not in names)]
            await send(message)

        await self._app(scope, receive, send_with_headers)
