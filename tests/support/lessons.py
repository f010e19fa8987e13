"""A class on a server in the test's own process: teacher, pupils and others, with browsers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, Any

from httpx2 import Cookies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

NAMES = ("Ann", "Ben", "Cem", "Dan", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo")


class Visitor:
    """A visitor with their own browser and cookies."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.cookies = Cookies()

    @contextmanager
    def _browse(self) -> Iterator[None]:
        self.client.cookies = self.cookies  # which copies them
        yield
        self.cookies = self.client.cookies

    def get(self, path: str, **options: Any) -> Any:
        """Look at a page."""
        with self._browse():
            return self.client.get(path, **options)

    def post(self, path: str, **fields: object) -> Any:
        """Send a form."""
        with self._browse():
            return self.client.post(path, data=fields)


class Lesson:
    """A class with a teacher and pupils."""

    def __init__(self, client: TestClient, count: int = 4, **settings: object) -> None:
        self.client = client
        self.teacher = Visitor(client)
        answer = self.teacher.post("/class/new", **{"games": ["draft"], **settings})
        assert answer.status_code == 303, answer.text
        self.path: str = answer.headers["location"]
        self.code = self.path.removeprefix("/class/")
        self.pupils: dict[str, Visitor] = {}
        for name in NAMES[:count]:
            self.join(name)

    def join(self, name: str) -> Visitor:
        """Let a pupil join."""
        pupil = self.pupils[name] = Visitor(self.client)
        answer = pupil.post(f"{self.path}/join", name=name)
        assert answer.status_code == 303, answer.text
        return pupil

    def act(self, action: str, **fields: object) -> Any:
        """Send an action of the teacher, which must be accepted."""
        answer = self.teacher.post(f"{self.path}/{action}", **fields)
        assert answer.status_code in {200, 303}, answer.text
        return answer

    def start(self, number: int = 1) -> None:
        """Let the teacher start a round."""
        self.act("start", round=number)

    def find_game(self, name: str) -> str | None:
        """Return the address of a pupil's game, or None."""
        answer = self.pupils[name].get(self.path)
        return answer.headers["location"] if answer.status_code == 303 else None

    def place(self, name: str, *blocks: int) -> Any:
        """Let a pupil place blocks in the present game."""
        answer = None
        for block in blocks:
            answer = self.pupils[name].post(f"{self.find_game(name)}/move", block=block)
        return answer

    def find_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs on the wall, the player who starts first."""
        page = self.teacher.get(f"{self.path}/wall").text
        boards = re.findall(r'id="board-\d+">(.*?)<p class="board-status"', page, re.DOTALL)
        names = [re.findall(r'<bdi class="name"[^>]*>(.*?)</bdi>', board) for board in boards]
        return [(unescape(pair[0]), unescape(pair[1])) for pair in names if len(pair) == 2]

    def win(self, first: str, second: str) -> None:
        """Let the first, who begins, win the game of two pupils."""
        self.place(first, 9)
        self.place(second, 8)
        self.place(first, 6)

    def get_points(self) -> dict[str, str]:
        """Return the points of all pupils, as the standings say."""
        lines = self.teacher.get(f"{self.path}/standings.csv").text.splitlines()[1:]
        return {line.split(",")[1]: line.split(",")[2] for line in lines}

    def get_watch_path(self) -> str:
        """Return the address for spectators, as the teacher sees it."""
        match = re.search(r"/wall/w[\w-]+", self.act("links").text)
        assert match is not None
        return match[0]
