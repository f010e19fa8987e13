"""An open database: transactions on it, the games in it, and a single writer thread that batches commits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, delete, insert, select

from number_tower.catalogue import Rulebook
from number_tower.store import DamagedError, GameNotFoundError, Location, StoreError
from number_tower.store.engine import begin_snapshot, count_rows, make_engine, translate_errors
from number_tower.store.games import GameInMatchError, change_game, insert_game, load_game
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.store.schema import games, matches, puzzles, rulebooks
from number_tower.store.upgrade import ensure_newest_version
from number_tower.table import Change, StaleError, Table

T = TypeVar("T")

_MAX_BATCH = 64
"""Jobs that are committed together; more would make the first of them wait for long."""

_PROBE_BYTES = 8192
"""Size of the row that `probe_write` inserts: more than one page, so that it needs free space."""


class Store:
    """A database of games. All its errors are a StoreError, in words.

    Examples:
        >>> from number_tower.store import open_store
        >>> store = open_store("games.db")
        >>> saved = store.begin(nt.Table(nt.Game(nt.Rules(target=15))))
        >>> saved = store.change(saved.id, 0, nt.Change("place", 9))
        >>> store.get(saved.id).table.game.moves
        (9,)
        >>> later = store.save(saved, saved.table.play(5))
        >>> store.reload_if_changed(saved) == store.find_last() == store.find_last(unfinished=True) == later
        True
        >>> store.find_by_key(saved.key).id == store.delete(saved.id).id, store.find_last()
        (True, None)
        >>> store.close()
    """

    def __init__(self, location: Location, *, timeout: float | None = None) -> None:
        self.location = location
        self.engine = make_engine(location, timeout=timeout)
        try:
            ensure_newest_version(self.engine, location)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Change the database in one transaction, which an error undoes.

        Examples:
            >>> from number_tower.store import open_store
            >>> from sqlalchemy import text
            >>> store = open_store("games.db")
            >>> with store.write() as connection:
            ...     done = connection.execute(text("ANALYZE"))
            >>> store.close()
        """
        name, file = self.location.name, self.location.file
        if file is not None and not os.path.exists(file):
            # SQLite would go on writing to the deleted file.
            raise StoreError(f"the database {name} cannot be used: the file is missing")
        with translate_errors(name), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read the database as it is at one moment.

        Examples:
            >>> from number_tower.store import open_store
            >>> from sqlalchemy import text
            >>> store = open_store("games.db")
            >>> with store.read() as connection:
            ...     print(connection.execute(text("SELECT count(*) FROM games")).scalar())
            0
            >>> store.close()
        """
        with translate_errors(self.location.name), begin_snapshot(self.engine) as connection:
            yield connection

    # Games ------------------------------------------------------------------------------------------------------------

    def begin(
        self,
        table: Table,
        book: Rulebook | None = None,
        seats: Seats | None = None,
        find_slot: Callable[[Connection], MatchSlot] | None = None,
        key: str | None = None,
        *,
        with_values: bool = False,
    ) -> StoredGame:
        """Store a game from here on, with the changes made in it so far; `book` replaces the table's rulebook.

        `find_slot` finds its place in a match in the same transaction. If a game of this key is stored already, it is
        continued: the answer to an earlier call may have been lost.
        """
        table = table if book is None else replace(table, book=book, rulebook=book.name)
        game = StoredGame.start(table, seats or Seats(), key, with_values=with_values)
        with self.write() as connection:
            found = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
            if found is None:
                if find_slot is not None:
                    game = replace(game, slot=find_slot(connection))
                return insert_game(connection, game)
            known = load_game(connection, found)
        return self.save(known, table, seats, with_values=with_values)

    def save(
        self,
        known: StoredGame,
        table: Table,
        seats: Seats | None = None,
        *,
        with_values: bool = False,
    ) -> StoredGame:
        """Store the changes of a table since the version that is known to be stored.

        If another process has made the same changes, they count once, and the game returned may be further on; if it
        has made others, `StaleError` has the current table. `GameNotFoundError` means that the game was deleted, or
        that another game has its id, because the database was replaced.
        """
        with self.write() as connection:
            current = load_game(connection, known.id, lock=True)
            if current.key != known.key:
                raise GameNotFoundError(known.id)
            shorter = min(table.version, current.table.version)
            if table.log[:shorter] != current.table.log[:shorter]:
                raise StaleError(current.table)
            if table.version <= current.table.version:
                return current
            marked = with_values or current.with_values
            after = replace(current, seats=seats or current.seats, with_values=marked)
            return change_game(connection, current, after.advance(table))

    def change(self, identity: int, version: int, change: Change) -> StoredGame:
        """Make one change that answers a version of a stored table."""
        with self.write() as connection:
            current = load_game(connection, identity, lock=True)
            table = current.table.answer(version, change)
            if table is current.table:
                return current
            return change_game(connection, current, current.advance(table))

    def get(self, identity: int) -> StoredGame:
        """Return a game by its id."""
        with self.read() as connection:
            return load_game(connection, identity)

    def reload_if_changed(self, known: StoredGame) -> StoredGame | None:
        """Return a game as it is stored, if that differs from what is known."""
        query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key)
        with self.read() as connection:
            version = connection.execute(query).scalar()
            if version in {None, known.table.version}:
                return None
            return load_game(connection, known.id)

    def find_by_key(self, key: str) -> StoredGame | None:
        """Return the game of a key, if it is stored here."""
        with self.read() as connection:
            found = connection.execute(select(games.c.id).where(games.c.key == key)).scalar()
            return None if found is None else load_game(connection, found)

    def find_last(self, *, unfinished: bool = False) -> StoredGame | None:
        """Return the game that was changed last, without damaged ones and those without a move."""
        conditions = [games.c.version > 0]
        if unfinished:
            conditions.append(games.c.reason.is_(None))
        newest = (games.c.changed.desc(), games.c.id.desc())
        query = select(games.c.id).where(*conditions).order_by(*newest)
        with self.read() as connection:
            for identity in connection.execute(query).scalars():
                with suppress(DamagedError):
                    return load_game(connection, identity)
        return None

    def delete(self, identity: int) -> StoredGame | None:
        """Delete a game; return it unless it was damaged. A match is deleted as a whole or not at all."""
        game = None
        with self.write() as connection:
            with suppress(DamagedError):
                game = load_game(connection, identity, lock=True)
            place = select(games.c.match, games.c.number).where(games.c.id == identity)
            match, number = connection.execute(place).one()
            if match is not None:
                raise GameInMatchError(MatchSlot(match, number))
            connection.execute(delete(games).where(games.c.id == identity))
            return game


class DatabaseCounts(NamedTuple):
    """How much a database holds."""

    games: int
    unfinished: int
    matches: int
    puzzles: int


def count_contents(connection: Connection) -> DatabaseCounts:
    """Count what a database holds."""
    unfinished = count_rows(connection, games, games.c.reason.is_(None))
    played, series, tried = (count_rows(connection, table) for table in (games, matches, puzzles))
    return DatabaseCounts(played, unfinished, series, tried)


class _Job(NamedTuple):
    run: Callable[[Connection], Any]
    future: Future[Any]


class Writer:
    """Single writer thread: commits the jobs that are waiting in one transaction, in their order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[Connection], T]) -> Future[T]:
        """Run a job in a transaction, soon; the future is done once it is committed.

        A job is run again alone if another job of its transaction fails; its first run is then rolled back.
        """
        future: Future[T] = Future()
        self._queue.put(_Job(run, future))
        return future

    def close(self) -> None:
        """Commit the jobs that are waiting, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last and (first := self._queue.get()) is not None:
            batch = [first]
            with suppress(Empty):
                while len(batch) < _MAX_BATCH and not last:
                    job = self._queue.get_nowait()
                    last = job is None
                    batch += [] if job is None else [job]
            self._commit(batch)

    def _commit(self, batch: list[_Job]) -> None:
        """Commit some jobs together; if one of them fails, each on its own."""
        try:
            with self._store.write() as connection:
                results = [job.run(connection) for job in batch]
        except BaseException as error:  # noqa: BLE001 - any error is passed on to the caller
            if len(batch) > 1:
                for job in batch:
                    self._commit([job])
            elif batch[0].future.set_running_or_notify_cancel():
                batch[0].future.set_exception(error)
            return
        for job, result in zip(batch, results, strict=True):
            if job.future.set_running_or_notify_cancel():
                job.future.set_result(result)


def probe_write(connection: Connection) -> None:
    """Write a row and delete it again, in one transaction: this fails whenever a new game could not be saved.

    The row needs pages of its own. Updating a row in place would succeed on a database that cannot grow.
    """
    digest = f"probe {token_hex(16)}"
    row = {"digest": digest, "name": "", "source": "", "content": token_hex(_PROBE_BYTES // 2)}
    connection.execute(insert(rulebooks).values(row))
    connection.execute(delete(rulebooks).where(rulebooks.c.digest == digest))
