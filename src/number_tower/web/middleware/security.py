"""What every request passes before anybody looks at it, and what every answer is given; nothing is held back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from number_tower.web.errors import RefusedRequest, render_plain, send_refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from number_tower.web.errors import RefusalRenderer

"""Bytes that a request may bring."""


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not `no-referrer`: with it browsers say `Origin: null` when a plain form is sent, and Origins would refuse it.
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


class SecurityHeadersMiddleware:
    """Tells browsers what a page may do (load nothing from elsewhere, be framed nowhere) and what not to keep."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the answer. What says nothing else is not kept by any cache, since it may show seats."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")
        usual = _NO_STORE if not static else _IMMUTABLE if scope["query_string"] else _NO_CACHE

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                added = usual if message["status"] < 400 else _NO_STORE
                said = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [*own, *(_HEADERS if said else added)]
            await send(message)

        await self._app(scope, receive, sent)


class CrossSiteMiddleware:
    """Refuses what another site lets a visitor's browser do here (CSRF).

    Browsers say where a request comes from: in Sec-Fetch-Site, or, where they leave that out (old ones, and all of them
    without https), in Origin. Whoever says neither is no browser, and has no cookies that others could make use of.
    """

    def __init__(self, app: ASGIApp, public_url: str | None = None, telling: RefusalRenderer = render_plain) -> None:
        self._app = app
        self._public = None if public_url is None else _parse_origin(public_url)
        self._telling = telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that changes nothing, or comes from our own pages or from a program."""
        if scope["type"] == "http" and scope["method"] not in _SAFE_METHODS and not self._is_own(scope):
            words = "This came from a page of another site. Open the game here, and try again."
            await send_refusal(self._telling, RefusedRequest(403, "cross_site", words), scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        site = origin = host = None
        for name, value in scope["headers"]:
            if name == b"sec-fetch-site":
                site = value
            elif name == b"origin":
                origin = value.decode("latin-1")
            elif name == b"host":
                host = value.decode("latin-1")
        if site is not None:
            return site in {b"same-origin", b"none"}
        if origin is None:
            return True
        place = _parse_origin(origin)
        return place is not None and (
            place == self._public or (host is not None and place[1] == _strip_default_port(host, place[0]))
        )


def _parse_origin(origin: str) -> tuple[str, str] | None:
    """Return scheme and host of an origin, the host without the port that goes without saying; None if it is none."""
    found = _ORIGIN.fullmatch(origin.lower())
    return None if found is None else (found[1], _strip_default_port(found[2], found[1]))


def _strip_default_port(host: str, scheme: str) -> str:
    return host.lower().removesuffix(_DEFAULT_PORTS[scheme])
