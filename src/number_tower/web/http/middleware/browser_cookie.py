"""The cookie by which a browser holds all its seats.

A browser has one random secret; which seats it holds is in the database. The name of the cookie ends in a random part,
so that two answers to requests without a cookie never overwrite each other: the browser then has two secrets, and both
hold their seats. So no late answer and no race between tabs loses a seat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from number_tower.web.middleware import COOKIE_NAME, SECRET, HttpMiddleware

YEAR = 365 * 24 * 60 * 60
"""Seconds that a cookie lasts; it is renewed whenever its browser shows the home page or a room of its own."""

PREFIX = "browser-"
HOST_PREFIX = "__Host-browser-"
"""Browsers accept a cookie with this prefix only from the host itself, over https: no other site can set it."""

MAX_COOKIES = 10
"""Cookies of one request that are honoured; a browser has one, and a few after first visits in several tabs at once."""

_BROWSER = re.compile(COOKIE_NAME)
_SECRET = re.compile(SECRET)
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
    """The cookies of one request by which its browser holds seats, and whether the answer renews them."""

    def __init__(self, request: HTTPConnection) -> None:
        self.secure: bool = request.app.state.settings.uses_secure_cookies(request.url.scheme)
        cookies = [
            BrowserCookie(name, secret)
            for name, secret in request.cookies.items()
            if _BROWSER.fullmatch(name) and _SECRET.fullmatch(secret)
        ]
        # In every request the same cookie comes first.
        cookies.sort(key=lambda cookie: (not cookie.is_host_only, cookie.name))
        self.cookies = cookies[:MAX_COOKIES]
        self._renewed = False

    @property
    def current(self) -> BrowserCookie:
        """The cookie that holds new seats; a new one if the request has none, or over https only one without prefix.

        A cookie without the prefix may have been set by another site, which would then hold the seats as well.
        """
        if not self.cookies or (self.secure and not self.cookies[0].is_host_only):
            name = f"{HOST_PREFIX if self.secure else PREFIX}{token_hex(4)}"
            self.cookies.insert(0, BrowserCookie(name, token_urlsafe(32)))
        return self.cookies[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets that hold this browser's seats."""
        return tuple(cookie.secret for cookie in self.cookies)

    def renew(self) -> None:
        """Set the cookies with the answer: they are new, or last a year from now."""
        self._renewed = True

    def list_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the headers that set the browser's cookies."""
        if not self._renewed:
            return
        _ = self.current  # made if there is none yet
        secure = "; Secure" if self.secure else ""
        for cookie in self.cookies:
            if self.secure or not cookie.is_host_only:
                value = f"{cookie.name}={cookie.secret}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax{secure}"
                yield b"set-cookie", value.encode()


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
    """Sets the browser's cookie where a page asks for it.

    Pages alone do so: answers to programs, static files and event streams set no cookies.
    """

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        # Python before 3.11.10 reads escapes in cookies in quadratic time; ours have none.
        scope["headers"] = [
            (name, value.replace(b"\\", b"") if name == b"cookie" else value)
            for name, value in scope["headers"]
        ]
        if scope["path"].startswith(_COOKIELESS_PATHS) or scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        session = get_browser_session(HTTPConnection(scope))

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *session.list_headers()]
            await send(message)

        await self._app(scope, receive, send_with_cookies)
