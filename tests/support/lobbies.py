"""Servers without a network, in one event loop, with workers that answer in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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
    """Answers in this process, or gives up if that is what it is for."""

    def __init__(self, *, gives_up: bool = False) -> None:
        super().__init__(1)
        self.gives_up = gives_up
        self.asked = 0

    async def ask(self, task, *args, **_):  # type: ignore[no-untyped-def]  # whatever it is asked
        self.asked += 1
        await asyncio.sleep(0)
        if self.gives_up:
            raise GaveUpError("it took too long")
        return task(*args)


@asynccontextmanager
async def open_lobby(folder: Path, workers: Workers | None = None) -> AsyncIterator[Lobby]:
    store = open_store(folder / "games.db")
    scribe, workers = Writer(store), workers or InstantWorkers()
    try:
        yield Lobby(store, scribe, workers)
    finally:
        await workers.close()
        scribe.close()
        store.close()


def run_in_lobby(
    folder: Path,
    do: Callable[[Lobby], Awaitable[None]],
    workers: Workers | None = None,
) -> None:
    """Do something in a lobby of its own, on an event loop of its own."""

    async def all_of_it() -> None:
        async with open_lobby(folder, workers) as lobby:
            await do(lobby)

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


async def wait_for_computer(lobby: Lobby, room: StoredRoom, seconds: float = 2.0) -> StoredRoom:
    """Return a room once the computer has moved there."""
    await lobby.wait_for_computer(room, seconds)
    return await lobby.find_room(room.address)


async def open_linked_room(lobby: Lobby) -> tuple[str, str, str]:
    known, ann = await lobby.open_room(LINK)
    _, ben = await lobby.join(known.address, "Ben")
    return known.address, ann, ben


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
    """Have a server; with little patience it does not wait long for a locked database."""
    store = open_store(database, patience=patience)
    scribe = Writer(store)
    lobby = Lobby(store, scribe, InstantWorkers())
    listener = ChangeListener(store, lobby.hub) if listening else None
    try:
        yield ServerNode(store, lobby, listener)
    finally:
        if listener is not None:
            listener.close()
        await lobby.close()
        scribe.close()
        store.close()
