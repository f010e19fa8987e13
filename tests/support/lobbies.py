"""The rooms of a server without its network part, with workers that answer in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from number_tower import Game, Table, catalogue
from number_tower.store.database import Writer
from number_tower.web.lobby import Lobby
from number_tower.web.new_room import NewRoom
from number_tower.web.workers import GaveUpError, Workers
from support.clocks import SLOW
from support.stores import store_in

BOOK = catalogue.load_named("draft")


START = Table(Game(BOOK.rules), BOOK.name)


LINK = NewRoom(START, "link", names=("Ann", None))


class Instantly(Workers):
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
async def opened(folder: Path, workers: Workers | None = None) -> AsyncIterator[Lobby]:
    store = store_in(folder / "games.db")
    scribe, workers = Writer(store), workers or Instantly()
    try:
        yield Lobby(store, scribe, workers)
    finally:
        await workers.close()
        scribe.close()
        store.close()


def at(
    folder: Path,
    do: Callable[[Lobby], Awaitable[None]],
    workers: Workers | None = None,
) -> None:
    """Do something in a lobby of its own, on an event loop of its own."""

    async def all_of_it() -> None:
        async with opened(folder, workers) as lobby:
            await do(lobby)

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


async def sat(lobby: Lobby) -> tuple[str, str, str]:
    known, ann = await lobby.open_room(LINK)
    _, ben = await lobby.join(known.address, "Ben")
    return known.address, ann, ben
