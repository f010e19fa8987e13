"""Add security headers to responses."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from number_tower.web.http.middleware import HttpMiddleware

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: browsers would send plain forms with `Origin: null`, which is rejected.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=(), "
    "browsing-topics=()",
    "cache-control": "no-store",  # it may show seats
}
ANY_SITE = {"Cross-Origin-Resource-Policy": "cross-origin"}
"""Headers of an answer that other sites may show, such as a picture."""


class SecurityHeadersMiddleware(HttpMiddleware):
    """Tells browsers what a page may load, that it is framed nowhere, and what to cache."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers that the response does not have."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
