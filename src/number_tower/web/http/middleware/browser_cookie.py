"""The cookie by which a browser holds all its seats.

A browser has one random secret; which seats it holds is in the database. The name of the cookie
ends in a random part, so that two answers to requests without a cookie never overwrite each other:
the browser then has two secrets, and both hold their seats. So no late answer and no race between
tabs loses a seat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from number_tower.web.http.middleware import COOKIE_NAME, SECRET, HttpMiddleware

YEAR = 365 * 24 * 60 * 60
"""Seconds that a cookie lasts; the home page and a room of this browser renew it."""

PREFIX = "browser-"
HOST_PREFIX = "__Host-browser-"
"""Browsers accept a cookie with this prefix only from the host itself, over https."""

MAX_COOKIES = 10
"""Cookies of one request that count; first visits in several tabs make a few of them."""

_BROWSER = re.compile(COOKIE_NAME)
_SECRET = re.compile(SECRET)
_SCOPE_KEY = "number_tower.browser_session"


class BrowserCookie(NamedTuple):
    """The name and the secret of a cookie."""

    name: str
    secret: str


class BrowserSession:
    """The cookies by which a browser holds seats, and whether the answer renews them."""

    def __init__(self, request: HTTPConnection) -> None:
        self.secure = _is_secure(request)
        cookies = [
            BrowserCookie(name, secret)
            for name, secret in request.cookies.items()
            if _BROWSER.fullmatch(name) and _SECRET.fullmatch(secret)
        ]
        # In every request the same cookie comes first, with the prefix if there is one.
        self.cookies = sorted(cookies)[:MAX_COOKIES]
        self._renewed = False

    @property
    def current(self) -> BrowserCookie:
        """The cookie that holds new seats: the first, or a new one; over https one with the prefix.

        Another site may have set one without the prefix, and would then hold the seats as well.
        """
        prefix = HOST_PREFIX if self.secure else PREFIX
        is_held = self.cookies and self.cookies[0].name.startswith((HOST_PREFIX, prefix))
        if not is_held:
            cookie = BrowserCookie(f"{prefix}{token_hex(4)}", token_urlsafe(32))
            self.cookies.insert(0, cookie)
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
        # Make a cookie if there is none yet.
        _ = self.current
        rules = f"Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax"
        if self.secure:
            rules += "; Secure"
        for name, secret in self.cookies:
            # Over http, browsers refuse a cookie with the prefix.
            if self.secure or not name.startswith(HOST_PREFIX):
                yield b"set-cookie", f"{name}={secret}; {rules}".encode()


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
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        samesite="lax",
        httponly=httponly,
        secure=_is_secure(request),
    )


def _is_secure(request: HTTPConnection) -> bool:
    """Return whether the cookies of this page are for https only."""
    secure: bool = request.app.state.parts.settings.uses_secure_cookies(request.url.scheme)
    return secure


def get_browser_session(request: HTTPConnection) -> BrowserSession:
    """Return the browser session of a request, the same one for everything that handles it."""
    session: BrowserSession | None = request.scope.get(_SCOPE_KEY)
    if session is None:
        session = request.scope[_SCOPE_KEY] = BrowserSession(request)
    return session


class BrowserCookieMiddleware(HttpMiddleware):
    """Sets the browser's cookies with an answer whose route has renewed them."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Python before 3.11.10 reads escapes in cookies in quadratic time; ours have none.
        scope["headers"] = [
            (name, value.replace(b"\\", b"") if name == b"cookie" else value)
            for name, value in scope["headers"]
        ]

        async def send_with_cookies(message: Message) -> None:
            # There is a session only if a handler of the request has asked for it.
            session: BrowserSession | None = scope.get(_SCOPE_KEY)
            if message["type"] == "http.response.start" and session is not None:
                message["headers"] = [*message.get("headers", ()), *session.list_headers()]
            await send(message)

        await self._app(scope, receive, send_with_cookies)
