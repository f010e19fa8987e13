"""Browsers as far as cookies go: what they keep, what they send, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.testclient import TestClient


@dataclass
class Jar:
    """The cookies of one browser for one host, by the rules that matter here (RFC 6265bis)."""

    cookies: dict[str, str] = field(default_factory=dict)
    secure: set[str] = field(default_factory=set)
    """Names of cookies that are only sent over https."""

    def sent(self, *, https: bool) -> str:
        """Return the Cookie header of a request."""
        return "; ".join(
            f"{name}={value}"
            for name, value in self.cookies.items()
            if https or name not in self.secure
        )

    def receive(self, headers: Iterable[str], *, https: bool) -> None:
        """Take the Set-Cookie headers of an answer."""
        for header in headers:
            pair, *attributes = (part.strip() for part in header.split(";"))
            name, _, value = pair.partition("=")
            given = {attribute.lower() for attribute in attributes}
            is_secure = "secure" in given
            if is_secure and not https:
                continue
            if name.startswith("__Host-") and not (is_secure and "path=/" in given):
                continue
            if name in self.secure and not https:
                continue
            self.secure.discard(name)
            if "max-age=0" in given:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
                if is_secure:
                    self.secure.add(name)

    @property
    def browser_cookies(self) -> list[str]:
        """The names of the cookies that hold all of a browser's seats."""
        return [name for name in self.cookies if "browser-" in name]


@dataclass
class Browser:
    """A browser with a jar that asks an app, over http or https."""

    app: Any
    jar: Jar = field(default_factory=Jar)
    heads: list[int] = field(default_factory=list)
    """The sizes of the heads of all answers."""
    portal: Any = None
    """The way into the event loop of a client that has opened the app."""

    def ask(self, method: str, path: str, *, https: bool = False, **more: Any) -> Any:
        """Ask for something, and take the cookies of the answer."""
        answer = self.answered(method, path, https=https, **more)
        self.receive(answer, https=https)
        return answer

    def answered(self, method: str, path: str, *, https: bool = False, **more: Any) -> Any:
        """Ask for something; the answer is on its way, and its cookies are not there yet."""
        client = TestClient(self.app, f"http{'s' * https}://testserver", follow_redirects=False)
        client.portal = self.portal
        headers = {"Cookie": sent} if (sent := self.jar.sent(https=https)) else {}
        answer = client.request(method, path, headers=headers, **more)
        self.heads.append(
            sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)
            + len("HTTP/1.1 200\r\n")
        )
        return answer

    def receive(self, answer: Any, *, https: bool = False) -> None:
        """Take the cookies of an answer."""
        self.jar.receive(answer.headers.get_list("set-cookie"), https=https)

    def begin(self, *, https: bool = False, **wanted: str) -> str:
        """Begin a game by the form; return the path of its room."""
        return read_room(
            self.ask("POST", "/new", https=https, data={"opponent": "table", **wanted})
        )

    def holds(self, room: str, *, https: bool = False) -> bool:
        """Say whether the browser is shown a room as a player, without taking any cookie."""
        return bool(self.answered("GET", room, https=https).status_code == 200)

    def lists(self, *, https: bool = False) -> str:
        """Return the home page, which lists the browser's games."""
        return str(self.ask("GET", "/", https=https).text)


def read_room(answer: Any) -> str:
    """Return the path of the room that an answer leads to."""
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])
