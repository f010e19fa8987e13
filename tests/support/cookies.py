"""The cookies of browsers: which ones they store, send and refuse."""

from __future__ import annotations

import re
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
            flags = {attribute.lower() for attribute in attributes}
            is_secure = "secure" in flags
            if (is_secure or name in self.secure) and not https:
                continue
            if name.startswith("__Host-") and not (is_secure and "path=/" in flags):
                continue
            self.secure.discard(name)
            if "max-age=0" in flags:
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
    """A browser with a jar that sends requests to an app, over http or https."""

    app: Any
    jar: Jar = field(default_factory=Jar)
    portal: Any = None
    """The way into the event loop of a client that has opened the app."""

    def ask(self, method: str, path: str, *, https: bool = False, **more: Any) -> Any:
        """Send a request, and take the cookies of the answer."""
        answer = self.send(method, path, https=https, **more)
        self.receive(answer, https=https)
        return answer

    def send(self, method: str, path: str, *, https: bool = False, **more: Any) -> Any:
        """Send a request; the cookies of its answer are not taken yet."""
        client = TestClient(self.app, f"http{'s' * https}://testserver", follow_redirects=False)
        client.portal = self.portal
        headers = {"Cookie": sent} if (sent := self.jar.sent(https=https)) else {}
        return client.request(method, path, headers=headers, **more)

    def receive(self, answer: Any, *, https: bool = False) -> None:
        """Take the cookies of an answer."""
        self.jar.receive(answer.headers.get_list("set-cookie"), https=https)

    def start_game(self, *, https: bool = False, **fields: str) -> str:
        """Start a game with the form; return the path of its room."""
        form = {"opponent": "table", **fields}
        return get_location(self.ask("POST", "/new", https=https, data=form))

    def holds_seat(self, room: str, *, https: bool = False) -> bool:
        """Return whether a room is shown as to a player; no cookie is taken."""
        return bool(self.send("GET", room, https=https).status_code == 200)

    def list_rooms(self, *, https: bool = False) -> list[str]:
        """Return the rooms that the home page lists."""
        return re.findall(r'href="(/g/[^"]+)"', self.ask("GET", "/", https=https).text)


def get_location(answer: Any) -> str:
    """Return the path that an answer redirects to."""
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])
