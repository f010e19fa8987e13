"""Servers without a network, in one event loop, with workers that answer in this process."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store.database import Store, Writer
from number_tower.store.rooms import StoredRoom
from number_tower.web.live.events import ChangeListener
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.new_room import NewRoom
from number_tower.web.thinking.workers import GaveUpError, Workers
from support.clocks import SLOW
from support.stores import open_store

BOOK = catalogue.load_named("draft")
START = Table(Game(BOOK.rules), BOOK.name)
LINK = NewRoom(START, "link", names=("Ann", None))


class InstantWorkers(Workers):
    """Computes answers in this process, or raises the error in `trouble`.

    Arguments and answers are pickled, as between processes. Answers with a key are cached.
    """

    def __init__(self, *, gives_up: bool = False) -> None:
        super().__init__(1)
        self.trouble: Exception | None = GaveUpError("it took too long") if gives_up else None
        self.questions: list[tuple[str, Hashable]] = []
        """The name and key of every question."""
        self._cache: dict[Hashable, bytes] = {}

    @property
    def asked(self) -> int:
        """How many questions were asked."""
        return len(self.questions)

    async def warm(self) -> None:
        """Do nothing: there are no processes to start."""

    async def ask(self, task, *args, key=None, **_):  # type: ignore[no-untyped-def]  # any task
        self.questions.append((task.__name__, key))
        await asyncio.sleep(0)
        if self.trouble is not None:
            raise self.trouble
        answer = self._cache.get(key)
        if answer is None:
            # The data is our own.
            answer = pickle.dumps(task(*pickle.loads(pickle.dumps(args))))  # noqa: S301
        if key is not None:
            self._cache[key] = answer
        return pickle.loads(answer)  # noqa: S301


@asynccontextmanager
async def open_lobby(folder: Path, workers: Workers | None = None) -> AsyncIterator[Lobby]:
    """Open a lobby with a database in a folder."""
    store = open_store(folder / "games.db")
    writer, workers = Writer(store), workers or InstantWorkers()
    try:
        yield Lobby(store, writer, workers)
    finally:
        await workers.close()
        writer.close()
        store.close()


def run_in_lobby(
    folder: Path,
    do: Callable[[Lobby], Awaitable[None]],
    workers: Workers | None = None,
) -> None:
    """Run a coroutine with a new lobby, on a new event loop."""

    async def run() -> None:
        async with open_lobby(folder, workers) as lobby:
            await do(lobby)

    asyncio.run(asyncio.wait_for(run(), SLOW))


async def wait_for_computer(lobby: Lobby, room: StoredRoom, seconds: float = 2.0) -> StoredRoom:
    """Return a room once the computer has moved there."""
    await lobby.wait_for_computer(room, seconds)
    return await lobby.find_room(room.address)


async def open_linked_room(lobby: Lobby) -> tuple[str, str, str]:
    """Open a room, and join it; return its address and both tokens."""
    room, ann = await lobby.open_room(LINK)
    _, ben = await lobby.join(room.address, "Ben")
    return room.address, ann, ben


@dataclass
class ServerNode:
    """A server without its network part."""

    store: Store
    lobby: Lobby
    listener: ChangeListener | None


@asynccontextmanager
async def open_node(
    database: str,
    *,
    listening: bool = True,
    patience: float = 0.2,
) -> AsyncIterator[ServerNode]:
    """Run a server without its network part; `patience` is its wait for a locked database."""
    store = open_store(database, patience=patience)
    writer = Writer(store)
    lobby = Lobby(store, writer, InstantWorkers())
    listener = ChangeListener(store, lobby.hub) if listening else None
    try:
        yield ServerNode(store, lobby, listener)
    finally:
        if listener is not None:
            listener.close()
        await lobby.close()
        writer.close()
        store.close()
