"""What every request passes before anybody looks at it, and what every answer is given; nothing is held back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from number_tower.web.logs import Logged
from number_tower.web.middleware.trusted_host import TrustedHostMiddleware
from number_tower.web.rates import Limited
from number_tower.web.refusals import Refusal, plain, refuse
from number_tower.web.streams import Streams, Watched

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from number_tower.web.refusals import Telling
    from number_tower.web.settings import Settings

MOST_BODY = 128 * 1024
"""Bytes that a request may bring."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not `no-referrer`: with it browsers say `Origin: null` when a plain form is sent, and Origins would refuse it.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"),
]
_PRIVATE = [*_HEADERS, (b"cache-control", b"no-store")]
_FOR_EVER = [*_HEADERS, (b"cache-control", b"public, max-age=31536000, immutable")]
_CHECKED = [*_HEADERS, (b"cache-control", b"no-cache")]

_SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}
_ORIGIN = re.compile(r"(https?)://([^/?#@\\]+)")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


def install(app: Starlette, settings: Settings, telling: Telling = plain) -> None:
    """Put all guards around an app. What they refuse is told in the given form."""
    app.state.streams = streams = Streams(limited=settings.limits)
    app.add_middleware(Watched, streams=streams, telling=telling)
    if settings.limits:
        app.add_middleware(Limited, telling=telling)
    app.add_middleware(Bodies, telling=telling)
    app.add_middleware(Origins, public_url=settings.public_url, telling=telling)
    app.add_middleware(TrustedHostMiddleware, settings=settings, telling=telling)
    app.add_middleware(Logged, telling=telling)
    app.add_middleware(Headers)


class Headers:
    """Tells browsers what a page may do (load nothing from elsewhere, be framed nowhere) and what not to keep."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the answer. What says nothing else is not kept by any cache, since it may show seats."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")
        usual = _PRIVATE if not static else _FOR_EVER if scope["query_string"] else _CHECKED

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                added = usual if message["status"] < 400 else _PRIVATE
                said = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [*own, *(_HEADERS if said else added)]
            await send(message)

        await self._app(scope, receive, sent)


class Origins:
    """Refuses what another site lets a visitor's browser do here (CSRF).

    Browsers say where a request comes from: in Sec-Fetch-Site, or, where they leave that out (old ones, and all of them
    without https), in Origin. Whoever says neither is no browser, and has no cookies that others could make use of.
    """

    def __init__(self, app: ASGIApp, public_url: str | None = None, telling: Telling = plain) -> None:
        self._app = app
        self._public = None if public_url is None else _place_of(public_url)
        self._telling = telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass that changes nothing, or comes from our own pages or from a program."""
        if scope["type"] == "http" and scope["method"] not in _SAFE and not self._is_own(scope):
            words = "This came from a page of another site. Open the game here, and try again."
            await refuse(self._telling, Refusal(403, "cross_site", words), scope, receive, send)
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
        place = _place_of(origin)
        return place is not None and (place == self._public or (host is not None and place[1] == _bare(host, place[0])))


def _place_of(origin: str) -> tuple[str, str] | None:
    """Return scheme and host of an origin, the host without the port that goes without saying; None if it is none."""
    found = _ORIGIN.fullmatch(origin.lower())
    return None if found is None else (found[1], _bare(found[2], found[1]))


def _bare(host: str, scheme: str) -> str:
    return host.lower().removesuffix(_USUAL_PORTS[scheme])


class Bodies:
    """Refuses more than anybody needs to send, as soon as that is known."""

    def __init__(self, app: ASGIApp, most: int = MOST_BODY, telling: Telling = plain) -> None:
        self._app = app
        self._most = most
        self._telling = telling
        words = f"The request is too large: expected at most {most // 1024} KiB."
        self._refusal = Refusal(413, "too_large", words, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass whose body is small; where its length is not said, count while it comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        for name, value in scope["headers"]:
            if name == b"transfer-encoding":
                await self._counted(scope, receive, send)
                return
            if name == b"content-length" and not (value.isdigit() and len(value) < 20 and int(value) <= self._most):
                await refuse(self._telling, self._refusal, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hang up on the app once a body is too large, and answer in its stead, unless it has begun to."""
        size, begun = 0, False

        async def received() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return {"type": "http.disconnect"} if size > self._most else message

        async def sent(message: Message) -> None:
            nonlocal begun
            if begun or size <= self._most:
                begun = True
                await send(message)

        try:
            await self._app(scope, received, sent)
        except Exception:
            if begun or size <= self._most:
                raise
        if not begun and size > self._most:
            await refuse(self._telling, self._refusal, scope, receive, send)
