"""Servers without their network part, several in one event loop: quick, and all that they know is at hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from number_tower.store.database import Store, Writer
from number_tower.web.live import ChangeListener
from number_tower.web.lobby import Lobby
from support.lobbies import Instantly
from support.stores import store_in


@dataclass
class Node:
    """A server without its network part."""

    store: Store
    lobby: Lobby
    listener: ChangeListener | None


@asynccontextmanager
async def node(
    database: str,
    *,
    listening: bool = True,
    patience: float = 0.2,
) -> AsyncIterator[Node]:
    """Have a server; with little patience it does not wait long for a locked database."""
    store = store_in(database, patience=patience)
    scribe = Writer(store)
    lobby = Lobby(store, scribe, Instantly())
    listener = ChangeListener(store, lobby.hub) if listening else None
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
