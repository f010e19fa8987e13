"""Players by the hundred, in a process of their own: plain sockets that stay open, and no more parsing than needed."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import uvloop

PATIENT = 60.0
"""Seconds after which an answer is not waited for any more."""

RULES = {"supply": "endless", "towers": "own", "target": 200}
"""A game of more moves than are made here, one or two high."""


class Task(NamedTuple):
    """What to measure: whose server at which port, and how many games of how many moves, by how many movers."""

    port: int
    bare: bool
    games: int
    moves: int
    movers: int = 0
    """Movers who move as soon as they are answered; 0: every game has a move each second."""


class Wire(asyncio.Protocol):
    """A connection on which one request at a time is answered."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep the way out."""
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; its status and body are answered."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Put the answer together."""
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15 :].partition(b"\r\n")[0]) if at >= 0 else 0
        if len(body) >= length and self._answer is not None:
            self._buffer = body[length:]
            self._answer.set_result((int(head[9:12]), body[:length]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave nobody waiting."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server hung up"))


class Stream(asyncio.Protocol):
    """A connection on which events come in: each says which version of the game it tells of."""

    def __init__(self, request: bytes, seen: Seen, seat: int) -> None:
        self._request = request
        self._seen = seen
        self._seat = seat
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        """Ask for the events."""
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Read the version of every event that is there as a whole."""
        now = time.perf_counter()
        *events, self._buffer = (self._buffer + data).split(b"\n\n")
        for event in events:
            _, found, after = event.partition(b'"version":')
            if found:
                self._seen.event(self._seat, int(after.partition(b",")[0].rstrip(b"}")), now)


@dataclass
class Seen:
    """When the two players of a game saw which version."""

    times: tuple[dict[int, float], ...] = field(default_factory=lambda: ({}, {}))
    waiting: dict[tuple[int, int], asyncio.Future[None]] = field(default_factory=dict)

    def event(self, seat: int, version: int, now: float) -> None:
        """Note an event, and wake those who wait for it or for one before it."""
        self.times[seat][version] = now
        for wanted in [
            wanted for wanted in self.waiting if wanted[0] == seat and wanted[1] <= version
        ]:
            self.waiting.pop(wanted).set_result(None)

    def when(self, seat: int, version: int) -> float:
        """Return when a player first saw a version, or one after it: events that follow closely may be one."""
        return min(at for seen, at in self.times[seat].items() if seen >= version)

    async def until(self, seat: int, version: int) -> None:
        """Wait until a player has seen a version."""
        if not any(seen >= version for seen in self.times[seat]):
            self.waiting[seat, version] = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(self.waiting[seat, version], PATIENT)


class Game(NamedTuple):
    """Two players who follow a game and move in turns, each over a connection that stays."""

    path: str
    tokens: tuple[str, str]
    wire: Wire
    seen: Seen

    def move(self, version: int) -> asyncio.Future[tuple[int, bytes]]:
        """Send the next move."""
        body = b'{"do":"move","block":%d,"version":%d}' % (1 + version % 3 // 2, version)
        return self.wire.ask(request("POST", self.path, self.tokens[version % 2], body))


def request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    """Write a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"Authorization: Bearer {token}"] * bool(token)
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"] * (method == "POST")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def asked(wire: Wire, method: str, path: str, token: str = "", **content: object) -> Any:
    """Ask for something that must be granted."""
    status, body = await asyncio.wait_for(
        wire.ask(request(method, path, token, json.dumps(content).encode())), PATIENT
    )
    if not 200 <= status < 300:
        raise RuntimeError(f"{method} {path}: {status} {body.decode(errors='replace')}")
    return json.loads(body)


async def opened(task: Task, number: int) -> Game:
    """Open a game, with two players who follow it."""
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(Wire, "127.0.0.1", task.port)
    tokens = ("", "")
    if task.bare:
        path = f"/api/games/{number}"
    else:
        made = await asked(wire, "POST", "/api/games", rules=RULES, names=["Ann"], opponent="link")
        path = f"/api/games/{made['address']}"
        joined = await asked(wire, "POST", f"{path}/join", name="Ben")
        tokens = (made["token"], joined["token"])
    game = Game(f"{path}/actions", tokens, wire, Seen())
    for seat in (0, 1):
        following = request("GET", f"{path}/events", tokens[seat])
        await loop.create_connection(
            lambda: Stream(following, game.seen, seat),  # noqa: B023 - at once
            "127.0.0.1",
            task.port,
        )
        await game.seen.until(seat, 0)
    return game


async def steady(game: Game, moves: int, start: float) -> list[float]:
    """Make one move each second; return how long each took to reach the opponent."""
    sent = []
    for version in range(moves):
        await asyncio.sleep(max(0.0, start + version - time.perf_counter()))
        sent.append(time.perf_counter())
        await _granted(game, version)
    await game.seen.until(moves % 2, moves)
    return [game.seen.when(1 - version % 2, version + 1) - at for version, at in enumerate(sent)]


async def _granted(game: Game, version: int) -> None:
    status, body = await asyncio.wait_for(game.move(version), PATIENT)
    if status != 200:
        raise RuntimeError(f"a move was answered with {status}: {body.decode(errors='replace')}")


async def hurried(work: deque[tuple[Game, int]], end: int) -> None:
    """Move in one game after the other, as soon as the last move is answered."""
    while work:
        game, version = work.popleft()
        await _granted(game, version)
        if version + 1 < end:
            work.append((game, version + 1))


class Played(NamedTuple):
    """How long each move took to reach the opponent, or how long all took that were made without waiting."""

    taken: list[float]
    seconds: float


def play_games(task: Task) -> Played:
    """Open the games and play them."""
    return uvloop.run(_play_games(task))


async def _play_games(task: Task) -> Played:
    games = [await opened(task, number) for number in range(task.games)]
    start = time.perf_counter()
    if not task.movers:
        played = [
            steady(game, task.moves, start + 1 + place / len(games))
            for place, game in enumerate(games)
        ]
        return Played([took for times in await asyncio.gather(*played) for took in times], 0)
    work = deque((game, 0) for game in games)
    await asyncio.gather(*(hurried(work, task.moves) for _ in range(task.movers)))
    seconds = time.perf_counter() - start
    for game in games:
        for seat in (0, 1):
            await game.seen.until(seat, task.moves)
    return Played([], seconds)
