"""Hundreds of players in a process of their own, with connections that stay open."""

from __future__ import annotations

import asyncio
import json
import re
import time
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvloop

MAX_WAIT = 60.0
"""Seconds after which an answer is not waited for any more."""

RULES = {"supply": "endless", "towers": "own", "target": 200}
"""A game of more moves than are made here, one or two high."""

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
VERSION = re.compile(rb'"version": *(\d+)')


class Task(NamedTuple):
    """What to measure: whose server at which port, and how many games of how many moves."""

    port: int
    bare: bool
    games: int
    moves: int


class Seen:
    """When each of those who follow a game saw which version."""

    def __init__(self, followers: int = 2) -> None:
        self._times: list[dict[int, float]] = [{} for _ in range(followers)]
        self._changed = asyncio.Event()

    def note(self, follower: int, version: int, now: float) -> None:
        """Note that a follower has seen a version."""
        self._times[follower][version] = now
        self._changed.set()

    def when(self, follower: int, version: int) -> float:
        """Return when a version was first seen, or a later one: close events may be merged."""
        return min(at for seen, at in self._times[follower].items() if seen >= version)

    async def wait(self, follower: int, version: int) -> None:
        """Wait until a follower has seen a version."""
        async with asyncio.timeout(MAX_WAIT):
            while max(self._times[follower], default=-1) < version:
                self._changed.clear()
                await self._changed.wait()


class Game(NamedTuple):
    """Two players who follow a game and move in turns, over a connection that stays open."""

    path: str
    tokens: tuple[str, str]
    reader: StreamReader
    writer: StreamWriter
    seen: Seen

    async def ask(self, path: str, seat: int, body: bytes) -> Any:
        """Send something that must be granted; return the answer."""
        self.writer.write(write_request("POST", path, self.tokens[seat], body))
        async with asyncio.timeout(MAX_WAIT):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            answer = await self.reader.readexactly(int(length[1]) if length else 0)
        if not 200 <= int(head[9:12]) < 300:
            raise RuntimeError(f"{path} was answered with {head[9:12]!r}: {answer!r}")
        return answer

    async def move(self, version: int) -> None:
        """Make the next move."""
        body = b'{"do":"move","block":%d,"version":%d}' % (1 + version % 3 // 2, version)
        await self.ask(f"{self.path}/actions", version % 2, body)

    async def follow(self, port: int, seat: int) -> None:
        """Note every event of a player's stream when it is there as a whole."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(write_request("GET", f"{self.path}/events", self.tokens[seat]))
        while True:
            event = await reader.readuntil(b"\n\n")
            now = time.perf_counter()
            version = VERSION.search(event)
            if version:
                self.seen.note(seat, int(version[1]), now)


def write_request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    """Write a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body:
        lines.append("Content-Type: application/json")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def open_game(task: Task, number: int) -> Game:
    """Open a game with two players."""
    reader, writer = await asyncio.open_connection("127.0.0.1", task.port)
    game = Game("/api/games", ("", ""), reader, writer, Seen())
    if task.bare:
        return game._replace(path=f"/api/games/{number}")
    start = {"rules": RULES, "names": ["Ann"], "opponent": "link"}
    made = json.loads(await game.ask(game.path, 0, json.dumps(start).encode()))
    game = game._replace(path=f"/api/games/{made['address']}")
    joined = json.loads(await game.ask(f"{game.path}/join", 0, b'{"name":"Ben"}'))
    return game._replace(tokens=(made["token"], joined["token"]))


@contextmanager
def follow_games(task: Task, games: list[Game]) -> Iterator[None]:
    """Let both players follow each game."""
    followers = [
        asyncio.create_task(game.follow(task.port, seat)) for game in games for seat in (0, 1)
    ]
    yield
    for follower in followers:
        follower.cancel()


async def play_steadily(game: Game, moves: int, start: float) -> list[float]:
    """Make one move each second; return how long each took to reach the opponent."""
    sent = []
    for version in range(moves):
        await asyncio.sleep(max(0.0, start + version - time.perf_counter()))
        sent.append(time.perf_counter())
        await game.move(version)
    await game.seen.wait(moves % 2, moves)
    return [game.seen.when(1 - version % 2, version + 1) - at for version, at in enumerate(sent)]


async def play_on(work: deque[tuple[Game, int]], moves: int) -> None:
    """Move in one game after the other, as soon as the last move is answered."""
    while work:
        game, version = work.popleft()
        await game.move(version)
        if version + 1 < moves:
            work.append((game, version + 1))


def measure_steady_games(task: Task) -> list[float]:
    """Make one move a second in every game; return how long each took to reach the opponent."""

    async def play() -> list[float]:
        games = await open_games(task)
        with follow_games(task, games):
            await wait_for_all(games, 0)
            start = time.perf_counter() + 1
            played = [
                play_steadily(game, task.moves, start + number / len(games))
                for number, game in enumerate(games)
            ]
            return [took for times in await asyncio.gather(*played) for took in times]

    return uvloop.run(play())


def measure_rate(task: Task, movers: int) -> float:
    """Let movers move in all games without waiting; return the moves a second."""

    async def play() -> float:
        games = await open_games(task)
        with follow_games(task, games):
            await wait_for_all(games, 0)
            start = time.perf_counter()
            work = deque((game, 0) for game in games)
            await asyncio.gather(*(play_on(work, task.moves) for _ in range(movers)))
            took = time.perf_counter() - start
            await wait_for_all(games, task.moves)
        return task.games * task.moves / took

    return uvloop.run(play())


async def open_games(task: Task) -> list[Game]:
    """Open all games."""
    return [await open_game(task, number) for number in range(task.games)]


async def wait_for_all(games: list[Game], version: int) -> None:
    """Wait until all players have seen a version."""
    for game in games:
        for seat in (0, 1):
            await game.seen.wait(seat, version)
