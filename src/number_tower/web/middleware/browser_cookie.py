"""The cookie by which a browser holds all its seats, and the replacement of older cookies.

A browser has one random secret; which seats it holds is in the database. The name of the cookie ends in a random part,
so that two answers to requests without a cookie never overwrite each other: the browser then has two secrets, both are
honoured, and the seats of the one are moved to the other. A cookie is only deleted by an answer to a request that shows
that the browser has its replacement, so no lost answer and no race between tabs loses a seat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from number_tower.store import StoreError
from number_tower.store.rooms import Credentials
from number_tower.web.lobby import Lobby
from number_tower.web.middleware import HttpMiddleware
from number_tower.web.middleware.accounts import COOKIE_NAME, SECRET

YEAR = 365 * 24 * 60 * 60
"""Seconds that a cookie lasts; it is renewed whenever its browser shows the home page or a room of its own."""

PREFIX = "browser-"
HOST_PREFIX = "__Host-browser-"
"""Browsers accept a cookie with this prefix only from the host itself, over https: no other site can set it."""

MAX_BROWSERS = 50
"""Secrets of one request that are honoured; a browser has one, and a few after first visits in several tabs at once."""

MAX_TOKENS = 200
"""Seat cookies of earlier versions that one request looks up."""

MAX_DELETED = 16
"""Cookies that one answer deletes: its head must fit into the 4 KiB that a proxy usually reserves for it."""

_BROWSER = re.compile(COOKIE_NAME)
_SECRET = re.compile(SECRET)
_SEAT = re.compile(r"seat-([A-Za-z0-9_-]{1,64})")
_SCOPE_KEY = "number_tower.browser_session"
_COOKIELESS_PATHS = ("/static/", "/health", "/api/")


class BrowserCookie(NamedTuple):
    """The name and the secret of a cookie."""

    name: str
    secret: str

    @property
    def is_host_only(self) -> bool:
        """Whether browsers vouch that this host itself has set it."""
        return self.name.startswith(HOST_PREFIX)


class BrowserSession:
    """The cookies of one request by which its browser holds seats, and the changes to them that the answer makes."""

    def __init__(self, request: HTTPConnection) -> None:
        self.secure: bool = request.app.state.settings.uses_secure_cookies(request.url.scheme)
        found = [
            BrowserCookie(name, secret)
            for name, secret in request.cookies.items()
            if _BROWSER.fullmatch(name) and _SECRET.fullmatch(secret)
        ]
        self.cookies = sorted(found, key=lambda cookie: (not cookie.is_host_only, cookie.name))[
            :MAX_BROWSERS
        ]
        """What the browser has sent; in every request the same one is the first of them."""

        seats = ((_SEAT.fullmatch(name), token) for name, token in request.cookies.items())
        self.tokens = dict(islice(((seat[1], token) for seat, token in seats if seat), MAX_TOKENS))
        """The seat cookies of earlier versions: tokens by the addresses of their rooms."""

        first = self.cookies[0] if self.cookies else None
        usable = first is not None and (first.is_host_only or not self.secure)
        self._current = first if usable else None
        self._renewed = False
        self._deleted: list[str] = []

    @property
    def current(self) -> BrowserCookie:
        """The cookie that holds new seats; a new one if the request has none, or over https only one without prefix.

        A cookie without the prefix may have been set by another site, which would then hold the seats as well.
        """
        if self._current is None:
            name = f"{HOST_PREFIX if self.secure else PREFIX}{token_hex(4)}"
            self._current = BrowserCookie(name, token_urlsafe(32))
        return self._current

    @property
    def others(self) -> list[BrowserCookie]:
        """Cookies that the current one replaces."""
        return [cookie for cookie in self.cookies if cookie != self._current]

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets that hold this browser's seats."""
        new = (
            [self._current]
            if self._current is not None and self._current not in self.cookies
            else []
        )
        return tuple(cookie.secret for cookie in (*new, *self.cookies))

    def get_credentials(self, address: str) -> Credentials:
        """Return what the browser can show in a room."""
        return Credentials(self.tokens.get(address), self.secrets)

    def renew(self) -> None:
        """Set the current cookie with the answer: it is new, or lasts a year from now."""
        self._renewed = True

    async def replace_older(self, lobby: Lobby) -> None:
        """Move seats and classes that older cookies hold to the current one, and delete some of those that hold none.

        Those of other secrets are moved only if the browser has shown that it has the current cookie: the answer that
        sets it may be lost. A token goes on holding its seat, so that seats of tokens can be moved at once.
        """
        current = self.current
        others = {cookie.secret for cookie in self.others} - {current.secret}
        found = await lobby.survey_seats(current.secret, self.tokens, others)
        to_move = {**found.by_token, **(found.by_browser if current in self.cookies else {})}
        if to_move:
            await lobby.move_seats(current.secret, to_move)
        if found.class_holders and current in self.cookies:
            await lobby.classes.move_holders(current.secret, found.class_holders)
        if found.by_token or found.by_browser or found.class_holders:
            self.renew()
        useless = [f"seat-{address}" for address in self.tokens if address in found.useless_tokens]
        useless += [
            cookie.name
            for cookie in self.others
            if cookie.secret in {current.secret, *found.useless_browsers}
        ]
        self._deleted = useless[:MAX_DELETED]

    def list_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the headers that change the browser's cookies."""
        if self._renewed and (self.secure or not self.current.is_host_only):
            secure = "; Secure" if self.secure else ""
            value = f"{self.current.name}={self.current.secret}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax{secure}"
            yield b"set-cookie", value.encode()
        for name in self._deleted:
            secure = "; Secure" if name.startswith(HOST_PREFIX) else ""
            yield b"set-cookie", f"{name}=; Max-Age=0; Path=/{secure}".encode()


def set_cookie(
    request: HTTPConnection,
    response: Response,
    name: str,
    value: str,
    *,
    max_age: int = YEAR,
    httponly: bool = True,
) -> None:
    """Let the device remember something that is not secret."""
    secure: bool = request.app.state.settings.uses_secure_cookies(request.url.scheme)
    response.set_cookie(
        name, value, max_age=max_age, path="/", samesite="lax", httponly=httponly, secure=secure
    )


def get_browser_session(request: HTTPConnection) -> BrowserSession:
    """Return the browser session of a request, the same one for everything that handles it."""
    session: BrowserSession | None = request.scope.get(_SCOPE_KEY)
    if session is None:
        session = request.scope[_SCOPE_KEY] = BrowserSession(request)
    return session


class BrowserCookieMiddleware(HttpMiddleware):
    """Middleware that replaces older cookies, a few per answer, and sets the browser's cookie where a page asks for it.

    Pages alone do so: answers to programs, static files and event streams set no cookies.
    """

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; if the database fails, older cookies stay as they are and are honoured."""
        _drop_cookies_with_escapes(scope)
        if scope["path"].startswith(_COOKIELESS_PATHS) or scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        session = get_browser_session(request)
        if session.tokens or session.others:
            with suppress(StoreError):
                await session.replace_older(request.app.state.lobby)

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *session.list_headers()]
            await send(message)

        await self._app(scope, receive, send_with_cookies)


def _drop_cookies_with_escapes(scope: Scope) -> None:
    """Leave out cookies with a backslash, which none of ours has.

    The standard library, by which cookies are read, takes a time that grows with the square of the number of escaped
    characters in Python before 3.11.10: one request could stop a server for seconds.
    """
    if any(name == b"cookie" and b"\\" in value for name, value in scope["headers"]):
        scope["headers"] = [
            (
                name,
                b";".join(pair for pair in value.split(b";") if b"\\" not in pair)
                if name == b"cookie"
                else value,
            )
            for name, value in scope["headers"]
        ]
