"""Servers without their network part, several in one event loop: quick, and all that they know is at hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from number_tower.store.games import Store
from number_tower.store.scribe import Scribe
from number_tower.web.events import Hub
from number_tower.web.listening import Listener, listen
from number_tower.web.lobby import Lobby
from number_tower.web.reconciler import Timing
from support.lobbies import Instantly
from support.stores import store_in

NEVER = 3600.0

ONLY_NEWS = Timing(check=NEVER, again=0.01, longest_retry=0.05)
"""Rooms are compared after news alone."""


@dataclass
class Node:
    """A server without its network part."""

    store: Store
    lobby: Lobby
    listener: Listener | None


@asynccontextmanager
async def node(
    database: str, timing: Timing = ONLY_NEWS, *, listening: bool = True, patience: float = 0.2
) -> AsyncIterator[Node]:
    """Have a server; with little patience it does not wait long for a locked database."""
    store = store_in(database, patience=patience)
    scribe = Scribe(store)
    lobby = Lobby(store, scribe, Hub(), Instantly(), timing)
    listener = listen(store, lobby.news) if listening else None
    try:
        yield Node(store, lobby, listener)
    finally:
        if listener is not None:
            listener.close()
        await lobby.close()
        scribe.close()
        store.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not condition():
        await asyncio.sleep(0.005)
