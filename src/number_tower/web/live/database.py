"""The database for the event loop: queries run in threads, changes in the writer's transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from sqlalchemy import Connection

from number_tower.store import StoreError
from number_tower.store.database import Store, Writer
from number_tower.support.errors import NumberTowerError

T = TypeVar("T")


class Database:
    """The database of a server."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return the result of a query."""

        def run() -> T:
            with self._store.read() as connection:
                return query(connection)

        return await asyncio.to_thread(run)

    async def write(self, change: Callable[[Connection], T]) -> T:
        """Make a change, and return what it returns once that is committed.

        A change decides before it writes anything. So one that is refused does not fail: that would
        undo the changes that are committed together with it.
        """

        def run(connection: Connection) -> T | NumberTowerError:
            try:
                return change(connection)
            except StoreError:
                raise
            except NumberTowerError as refusal:
                return refusal

        result = await asyncio.wrap_future(self._writer.submit(run))
        if isinstance(result, NumberTowerError):
            raise result
        return result

    def submit(self, change: Callable[[Connection], object]) -> Future[object]:
        """Make a change soon, without waiting for it."""
        return self._writer.submit(change)
