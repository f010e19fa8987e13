"""A class by the hundred, in a process of its own: pupils who join, are paired, move, and a wall that shows all boards.

It reads what to do as JSON from its input, and answers in JSON: how long moves took to reach the opponent and the wall.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from web_load import PATIENT, Seen, Stream, Wire, request

try:
    import uvloop as fastest
except ImportError:
    import asyncio as fastest  # type: ignore[no-redef]  # it can do what is needed here as well

PACE = 5.0
"""Seconds between two moves of a pupil."""

GAME = {"games": "climb"}
"""A game in which the next larger number can be placed, 30 times."""


class Task(NamedTuple):
    """What to measure: whose server at which port, how many pupils, and how many moves each game has."""

    port: int
    bare: bool
    pupils: int
    moves: int


class Browser:
    """A browser with its cookie, and one connection that stays."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._cookies: dict[str, str] = {}

    async def open(self, path: str) -> bytes:
        """Connect, and get a page."""
        _, self._wire = await asyncio.get_running_loop().create_connection(
            Wire, "127.0.0.1", self._port
        )
        return await self.ask("GET", path)

    async def ask(self, method: str, path: str, **form: str) -> bytes:
        """Ask for something that must be granted; return the address that the answer leads to, or its body."""
        status, body = await asyncio.wait_for(
            self._wire.ask(self.write(method, path, **form)), PATIENT
        )
        for cookie in re.findall(rb"(?im)^set-cookie: ([^;\r]+)", self._wire.head):
            name, _, value = cookie.decode().partition("=")
            self._cookies[name] = value
        if not 200 <= status < 400:
            raise RuntimeError(f"{method} {path}: {status} {body.decode(errors='replace')}")
        found = re.search(rb"(?im)^location: (\S+)", self._wire.head)
        return found[1] if found else body

    def write(self, method: str, path: str, **form: str) -> bytes:
        """Write a request as this browser sends it."""
        body = urlencode(form).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [
            "Cookie: " + "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        ]
        kind = [
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
            "X-Fragment: 1",
        ]
        lines += kind if method == "POST" else []
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Game(NamedTuple):
    """A game of the class, with a way to make each of its moves."""

    seen: Seen
    move: Callable[[int], Any]


class Wall(asyncio.Protocol):
    """The connection of the wall: it notes when it saw which version of which game."""

    def __init__(
        self, request: bytes, games: dict[bytes, Seen], pattern: re.Pattern[bytes]
    ) -> None:
        self._request, self._games, self._pattern = request, games, pattern
        self._buffer = b""
        self.opened = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Ask for the events."""
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Read every event that is there as a whole."""
        now = time.perf_counter()
        *events, self._buffer = (self._buffer + data).split(b"\n\n")
        if events and not self.opened.done():
            self.opened.set_result(None)
        for found in filter(None, map(self._pattern.search, events)):
            numbers = map(int, re.findall(rb"(?:^|>)\s*(\d+)\s*(?:<|$)", found[2]))
            self._games[found[1]].event(WALL, max(numbers, default=0), now)


WALL = 2
"""The wall's place among those who see a game, after both players."""


async def measure(task: Task) -> dict[str, list[float]]:
    """Open a class, let everybody move at their pace, and return how long moves took."""
    games, wall = await (open_bare(task) if task.bare else open_class(task))
    await asyncio.wait_for(wall.opened, PATIENT)
    begin = time.perf_counter() + 1
    pause = PACE / 2
    played = [
        play(game, task.moves, begin + pause * place / len(games), pause)
        for place, game in enumerate(games)
    ]
    taken = [took for each in await asyncio.gather(*played) for took in each]
    return {"opponent": [took[0] for took in taken], "wall": [took[1] for took in taken]}


async def play(game: Game, moves: int, start: float, pause: float) -> list[tuple[float, float]]:
    """Make the moves of a game; return how long each took to reach the opponent and the wall."""
    sent = []
    for version in range(moves):
        await asyncio.sleep(max(0.0, start + version * pause - time.perf_counter()))
        sent.append(time.perf_counter())
        await game.move(version)
    for place in (moves % 2, WALL):
        await game.seen.until(place, moves)
    return [
        (game.seen.when(1 - version % 2, version + 1) - at, game.seen.when(WALL, version + 1) - at)
        for version, at in enumerate(sent)
    ]


async def open_class(task: Task) -> tuple[list[Game], Wall]:
    """Make a class on our server, let the pupils join and be paired; all follow their games."""
    loop = asyncio.get_running_loop()
    teacher = Browser(task.port)
    await teacher.open("/class/new")
    path = (await teacher.ask("POST", "/class/new", **GAME)).decode()
    pupils = [Browser(task.port) for _ in range(task.pupils)]
    for number, pupil in enumerate(pupils):
        await pupil.open(path)
        await pupil.ask("POST", f"{path}/join", name=f"P{number}")
    await teacher.ask("POST", f"{path}/start", round="1")
    seated: dict[str, list[tuple[int, Browser]]] = {}
    for number, pupil in enumerate(pupils):
        seated.setdefault((await pupil.ask("GET", path)).decode(), []).append((number, pupil))
    games, by_name = [], {}
    for room, pair in seated.items():
        page = (await pair[0][1].ask("GET", room)).decode()
        begins = next(place for place in (0, 1) if ("Your turn" in page) == (place == 0))
        players = [pair[begins][1], pair[1 - begins][1]]
        seen = Seen(({}, {}, {}))
        by_name[f"P{pair[begins][0]}".encode()] = seen
        for seat, player in enumerate(players):
            follow = player.write("GET", f"{room}/events")
            await loop.create_connection(lambda: Stream(follow, seen, seat), "127.0.0.1", task.port)  # noqa: B023 - at once
        games.append(Game(seen, make_mover(room, players)))
    # A board names the player who begins first, and has the numbers that are placed in its drawing.
    pattern = re.compile(rb'title="(P\d+)"(?s:.*?)class="class-towers(.*)class="board-status')
    watch = teacher.write("GET", f"{path}/wall/events")
    _, wall = await loop.create_connection(
        lambda: Wall(watch, by_name, pattern), "127.0.0.1", task.port
    )
    return games, wall


def make_mover(room: str, players: list[Browser]) -> Callable[[int], Any]:
    """Return a function that makes a move by its number."""

    def move(version: int) -> Any:
        form = {"block": f"{version + 1}", "version": f"{version}", "game": "1"}
        return players[version % 2].ask("POST", f"{room}/move", **form)

    return move


async def open_bare(task: Task) -> tuple[list[Game], Wall]:
    """Open as many games on the bare server, where no class has to be made."""
    loop = asyncio.get_running_loop()
    games, by_number = [], {}
    for number in range(task.pupils // 2):
        seen = Seen(({}, {}, {}))
        by_number[b"%d" % number] = seen
        for seat in (0, 1):
            follow = request("GET", f"/api/games/{number}/events")
            await loop.create_connection(lambda: Stream(follow, seen, seat), "127.0.0.1", task.port)  # noqa: B023 - at once
        _, wire = await loop.create_connection(Wire, "127.0.0.1", task.port)

        def move(version: int, wire: Wire = wire, number: int = number) -> Any:
            body = b'{"block":1,"version":%d}' % version
            return asyncio.wait_for(
                wire.ask(request("POST", f"/api/games/{number}/actions", body=body)), PATIENT
            )

        games.append(Game(seen, move))
    pattern = re.compile(rb'"game":(\d+),"version":(\d+)')
    watch = request("GET", "/api/wall/events")
    _, wall = await loop.create_connection(
        lambda: Wall(watch, by_number, pattern), "127.0.0.1", task.port
    )
    return games, wall


if __name__ == "__main__":
    json.dump(fastest.run(measure(Task(**json.load(sys.stdin)))), sys.stdout)
