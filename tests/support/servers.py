"""Real servers, each a process of its own, and light clients for them: plain sockets."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from serving import Server
from support.clocks import SLOW
from support.command import plain_environment

HOST = "127.0.0.1"

LONG = {"blocks": "1-30", "supply": "endless", "towers": "own", "target": 900}
"""A game that does not end while a test lasts, in which every block can always be placed."""


class Answer(NamedTuple):
    """The status of an answer, and its content as JSON."""

    status: int
    content: Any


def make_server(database: str | Path, *options: str) -> Server:
    """Make a server without limits, in an environment that is the same everywhere."""
    return Server(database, ("--no-limits", *options), plain_environment())


@contextmanager
def run_servers(
    database: str | Path, processes: int = 1, options: tuple[str, ...] = ()
) -> Iterator[list[Server]]:
    """Run servers at one database."""
    servers = [make_server(database, *options) for _ in range(processes)]
    with ExitStack() as stopping:
        for server in servers:
            server.launch()
            stopping.callback(server.stop)
        for server in servers:
            server.wait()
        yield servers


def write_request(
    method: str, path: str, token: str | None = None, content: object = None, *, close: bool = False
) -> bytes:
    """Write a request."""
    body = b"" if content is None else json.dumps(content).encode()
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}"]
    lines += [f"Authorization: Bearer {token}"] * (token is not None)
    lines += ["Content-Type: application/json"] * (content is not None)
    lines += ["Connection: close"] * close
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Client:
    """Sends one request after the other over a connection that stays open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, token: str | None = None, content: object = None
    ) -> Answer:
        """Send a request and return its answer; raise an OSError if the server is gone."""
        async with asyncio.timeout(SLOW):
            if self._streams is None:
                self._streams = await asyncio.open_connection(HOST, self.port)
            reader, writer = self._streams
            writer.write(write_request(method, path, token, content))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
            except asyncio.IncompleteReadError:
                raise ConnectionResetError("the server is gone") from None
        return Answer(int(head[9:12]), json.loads(body) if body else None)

    async def post(self, path: str, token: str | None = None, content: object = None) -> Answer:
        """Send content as JSON."""
        return await self.ask("POST", path, token, content)

    async def granted(self, path: str, token: str | None = None, content: object = None) -> Any:
        """Send content that must be accepted, again while the server is busy; return the answer."""
        async with asyncio.timeout(SLOW):
            while (answer := await self.post(path, token, content)).status == 503:
                await asyncio.sleep(0.2)
        assert answer.status in {200, 201}, answer
        return answer.content

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Seats(NamedTuple):
    """A game, and the tokens of its seats; at one table both are the same."""

    address: str
    watch: str
    tokens: tuple[str, str]

    @property
    def path(self) -> str:
        return f"/api/games/{self.address}"

    async def act(self, client: Client, seat: int, do: str, **fields: object) -> Any:
        """Let a player act; return the state after it."""
        action = {"do": do, **fields}
        return await client.granted(f"{self.path}/actions", self.tokens[seat], action)


async def start_game_between(first: Client, second: Client) -> Seats:
    """Let two play a game over a link: the first opens it, the second joins."""
    made = await first.granted("/api/games", content={"rules": LONG, "opponent": "link"})
    joined = await second.granted(f"/api/games/{made['address']}/join")
    return Seats(made["address"], made["watch"], (made["token"], joined["token"]))


async def start_game_at_one_table(client: Client) -> Seats:
    """Let two play a game at one table: one token is for both seats."""
    made = await client.granted("/api/games", content={"rules": LONG, "opponent": "table"})
    return Seats(made["address"], made["watch"], (made["token"], made["token"]))


class RefusedError(AssertionError):
    """The answer to a request for a stream is none."""


async def follow_events(
    port: int, path: str, token: str | None = None, seen: str | None = None
) -> AsyncIterator[tuple[str, Any]]:
    """Follow a game until its stream or server ends: the mark and the state of every event.

    `seen` is the newest mark that the client has seen.
    """
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        query = "" if seen is None else f"?seen={seen}"
        writer.write(write_request("GET", f"{path}/events{query}", token))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RefusedError(head)
        fields: dict[str, str] = {}
        async for line in _lines(reader):
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif fields:
                if fields.get("event") == "state":
                    yield fields["id"], json.loads(fields["data"])
                fields = {}
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yield the lines of an answer that comes in chunks."""
    text = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        text += await reader.readexactly(size)
        await reader.readexactly(2)
        *lines, text = text.split(b"\n")
        for line in lines:
            yield line.decode()


class Follower:
    """Follows a game, and lists the states that were sent, the newest last."""

    def __init__(self, port: int, path: str, token: str | None = None) -> None:
        self.seen: list[Any] = []
        self._new = asyncio.Event()
        self.task = asyncio.create_task(self._follow(port, path, token))

    async def _follow(self, port: int, path: str, token: str | None) -> None:
        async for _, state in follow_events(port, path, token):
            self.seen.append(state)
            self._new.set()

    async def until(self, moves: list[int]) -> Any:
        """Wait until the game has these moves; return its state."""
        return await self.when(lambda state: state["moves"] == moves)

    async def when(self, is_wanted: Callable[[Any], bool]) -> Any:
        """Wait for a state that fulfils a condition; return it."""
        async with asyncio.timeout(SLOW):
            while not self.seen or not is_wanted(self.seen[-1]):
                assert not self.task.done(), "the stream has ended"
                self._new.clear()
                await self._new.wait()
        return self.seen[-1]


@asynccontextmanager
async def follow_game(port: int, path: str, token: str | None = None) -> AsyncIterator[Follower]:
    """Follow a game for a while."""
    follower = Follower(port, path, token)
    try:
        yield follower
    finally:
        follower.task.cancel()
        with suppress(asyncio.CancelledError):
            await follower.task
