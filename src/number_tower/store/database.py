"""An open database: its transactions, its games, and a single writer thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import SimpleQueue
from secrets import token_hex
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, delete, insert, select

from number_tower.engine.catalogue import Rulebook
from number_tower.engine.table import Change, StaleError, Table
from number_tower.store import DamagedError, GameNotFoundError, Location, StoreError
from number_tower.store.connection import begin_snapshot, count_rows, make_engine, translate_errors
from number_tower.store.games import GameInMatchError, change_game, find_id, insert_game, load_game
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.store.schema import games, matches, puzzles, rulebooks
from number_tower.store.upgrade import ensure_newest_version

T = TypeVar("T")

_MAX_BATCH = 64
"""Most jobs in one transaction, so that the first need not wait long."""

_PROBE_BYTES = 8192
"""Size of the row that `probe_write` inserts: more than one page, so that it needs free space."""


class Store:
    """A database of games. Every error of the database is a StoreError.

    Examples:
        >>> from number_tower.store import open_store
        >>> store = open_store("games.db")
        >>> saved = store.begin(nt.Table(nt.Game(nt.Rules(target=15))))
        >>> saved = store.change(saved.id, 0, nt.Change("place", 9))
        >>> store.get(saved.id).table.game.moves
        (9,)
        >>> later = store.save(saved, saved.table.play(5))
        >>> store.reload_if_changed(saved) == store.find_last() == later
        True
        >>> store.find_last(unfinished=True) == later
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
        """Change the database in one transaction, which an error rolls back.

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
            # SQLite would continue to write to the deleted file.
            raise StoreError(f"the database {name} cannot be used: the file is missing")
        with translate_errors(name), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read one state of the database.

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

    # Games ----------------------------------------------------------------------------------------

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
        """Store a new game with its changes so far.

        `book` replaces the table's rulebook. `find_slot` finds the game's slot in a match, in the
        same transaction. If a game with the same key is stored already, it is continued: the answer
        to an earlier call may have been lost.
        """
        table = table if book is None else replace(table, book=book, rulebook=book.name)
        game = StoredGame.start(table, seats or Seats(), key, with_values=with_values)
        with self.write() as connection:
            identity = find_id(connection, game.key)
            if identity is None:
                if find_slot is not None:
                    game = replace(game, slot=find_slot(connection))
                return insert_game(connection, game)
            known = load_game(connection, identity)
        return self.save(known, table, seats, with_values=with_values)

    def save(
        self,
        known: StoredGame,
        table: Table,
        seats: Seats | None = None,
        *,
        with_values: bool = False,
    ) -> StoredGame:
        """Store the changes of a table since its last stored version.

        If another process has made the same changes, they count once, and the game returned may be
        further on. If it has made others, `StaleError` has the current table. `GameNotFoundError`
        means that the game was deleted, or that another game has its id in a replaced database.
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
        """Return the stored game if it differs from `known`."""
        query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key)
        with self.read() as connection:
            version = connection.execute(query).scalar()
            if version in {None, known.table.version}:
                return None
            return load_game(connection, known.id)

    def find_by_key(self, key: str) -> StoredGame | None:
        """Return the game with a key, if it is stored here."""
        with self.read() as connection:
            identity = find_id(connection, key)
            return None if identity is None else load_game(connection, identity)

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
        """Delete a game that is not part of a match; return it unless it was damaged."""
        game = None
        with self.write() as connection:
            with suppress(DamagedError):
                game = load_game(connection, identity, lock=True)
            slot = select(games.c.match, games.c.number).where(games.c.id == identity)
            match, number = connection.execute(slot).one()
            if match is not None:
                raise GameInMatchError(MatchSlot(match, number))
            connection.execute(delete(games).where(games.c.id == identity))
            return game


class DatabaseCounts(NamedTuple):
    """How many games, matches and puzzles a database has."""

    games: int
    unfinished: int
    matches: int
    puzzles: int


def count_contents(connection: Connection) -> DatabaseCounts:
    """Count the contents of a database."""
    return DatabaseCounts(
        games=count_rows(connection, games),
        unfinished=count_rows(connection, games, games.c.reason.is_(None)),
        matches=count_rows(connection, matches),
        puzzles=count_rows(connection, puzzles),
    )


class _Job(NamedTuple):
    run: Callable[[Connection], Any]
    future: Future[Any]


class Writer:
    """Single writer thread: commits the waiting jobs in one transaction, in their order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[Connection], T]) -> Future[T]:
        """Run a job in a transaction, soon; the future is done once it is committed.

        If another job of its transaction fails, its run is rolled back, and it is run again alone.
        """
        future: Future[T] = Future()
        self._queue.put(_Job(run, future))
        return future

    def close(self) -> None:
        """Commit the jobs that are waiting, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        closing = False
        while not closing:
            batch: list[_Job] = []
            # Wait for a job, and take all that are queued behind it.
            while len(batch) < _MAX_BATCH and not (batch and self._queue.empty()):
                job = self._queue.get()
                if job is None:
                    closing = True
                    break
                batch.append(job)
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
    """Write a row and delete it again: this fails whenever a new game could not be saved.

    The row needs pages of its own. Updating a row in place would succeed on a database that cannot
    grow.
    """
    digest = f"probe {token_hex(16)}"
    row = {"digest": digest, "name": "", "source": "", "content": token_hex(_PROBE_BYTES // 2)}
    connection.execute(insert(rulebooks).values(row))
    connection.execute(delete(rulebooks).where(rulebooks.c.digest == digest))
