"""An open database: transactions on it, the games in it, and a single writer thread that batches commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from logging import NullHandler, getLogger
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from number_tower.catalogue import Rulebook
from number_tower.store import GameNotFoundError, Location, StoreError
from number_tower.store.engine import (
    FileGuard,
    begin_snapshot,
    count_rows,
    make_engine,
    read_state,
    translate_errors,
)
from number_tower.store.games import (
    GameInMatchError,
    insert_game,
    load_game,
    lock_unchanged,
    update_game,
)
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.store.schema import games, matches, puzzles, rulebooks
from number_tower.store.upgrade import ensure_newest_version
from number_tower.table import Change, StaleError, Table

T = TypeVar("T")

_OPENING_ATTEMPTS = 5
"""How often a file is opened again that is replaced while it is opened."""

_MAX_BATCH = 64
"""Jobs that are committed together; more would make the first of them wait for long."""

_PROBE_BYTES = 8192
"""Size of the row that `probe_write` inserts: more than one page, so that it needs free space."""

_LOG = getLogger(__name__)
_LOG.addHandler(NullHandler())  # a command that sets up no log prints none


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
        >>> store.reload_if_changed(saved) == store.find_last() == store.find_unfinished() == later
        True
        >>> store.find_by_key(saved.key).id == store.delete(saved.id).id, store.find_last()
        (True, None)
        >>> store.close()
    """

    def __init__(self, location: Location, *, timeout: float | None = None) -> None:
        self.location = location
        self.engine = make_engine(location, timeout=timeout)
        self._guard: FileGuard | None = None
        self._opened = 0
        self._reopening = Lock()
        self._open()

    def close(self) -> None:
        """Close all connections."""
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.close()
        self.engine.dispose()

    def write(self) -> AbstractContextManager[Connection]:
        """Change the database in one transaction, which an error undoes.

        Examples:
            >>> from number_tower.store import open_store
            >>> from sqlalchemy import text
            >>> store = open_store("games.db")
            >>> with store.write() as connection:
            ...     done = connection.execute(text("ANALYZE"))
            >>> store.close()
        """
        return self._begin(self.engine.begin)

    def read(self) -> AbstractContextManager[Connection]:
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
        return self._begin(lambda: begin_snapshot(self.engine))

    def read_version(self) -> tuple[int, int]:
        """Return a value that changes whenever anything is committed to a database file, or the file is replaced.

        A missing file is not created anew, and a closed store is not opened again.

        Examples:
            >>> from number_tower.store import open_store
            >>> store = open_store("games.db")
            >>> before = store.read_version()
            >>> saved = store.begin(nt.Table(nt.Game()))
            >>> store.read_version() == before
            False
            >>> store.close()
        """
        guard = self._guard
        if guard is None:
            return self._opened, 0
        if read_state(self.location.file or "").database is None:
            raise StoreError(
                f"the database {self.location.name} cannot be used: the file is missing"
            )
        with translate_errors(self.location.name):
            guard = self._reopen_if_moved()
            return self._opened, 0 if guard is None else guard.read_version()

    # Files that are deleted or replaced while they are in use ---------------------------------------------------------

    def _open(self) -> None:
        """Open the database in its newest version.

        A file that is replaced meanwhile is opened again, so that all connections are to the same one.
        """
        file, name = self.location.file, self.location.name
        for _ in range(_OPENING_ATTEMPTS):
            before = None if file is None else read_state(file).database
            try:
                ensure_newest_version(self.engine, self.location)
                if file is not None:
                    with translate_errors(name):
                        self._guard = FileGuard(self.engine, file, name)
            except BaseException:
                self.close()
                raise
            if self._guard is None or before in {None, self._guard.state.database}:
                self._opened += 1
                return
            self.close()
        raise StoreError(
            f"the database {name} cannot be used: another program replaces it again and again"
        )

    def _reopen_if_moved(self) -> FileGuard | None:
        """Reopen the database if one of its files was deleted or replaced; return the guard of its files."""
        guard = self._guard
        if self.location.file is None or (guard is not None and guard.is_intact()):
            return guard
        with self._reopening:
            if self._guard is guard:
                if guard is not None:
                    self._save_log(guard, self.location.file)
                self.close()
                self._open()
            return self._guard

    def _save_log(self, guard: FileGuard, file: str) -> None:
        """Save the write-ahead log after a file was deleted or replaced, and log what happened.

        As long as it cannot be saved the database cannot be used: the connections that hold it stay open, and the next
        use tries again.
        """
        name = self.location.name
        moved = read_state(file).database != guard.state.database
        with translate_errors(name):
            saved = guard.save_log()
        if moved:
            _LOG.warning(
                "the database %s was deleted or replaced; the file that is there now is used", name
            )
        elif saved:
            _LOG.warning(
                "a file beside the database %s was deleted while in use; nothing is lost", name
            )
        else:
            _LOG.error(
                "a file beside the database %s was replaced; what was saved last may be missing",
                name,
            )

    @contextmanager
    def _begin(
        self, begin: Callable[[], AbstractContextManager[Connection]]
    ) -> Iterator[Connection]:
        """Begin a transaction in files that are in their place.

        They are checked again once no other process can write: a commit to a deleted log would be lost, or be mixed
        with the log that another process has created since.
        """
        with translate_errors(self.location.name), ExitStack() as transaction:
            while True:
                guard = self._reopen_if_moved()
                try:
                    connection = transaction.enter_context(begin())
                except SQLAlchemyError:
                    if self._is_unmoved(guard):
                        raise
                    continue
                if self._is_unmoved(guard):
                    break
                transaction.close()
            yield connection

    def _is_unmoved(self, guard: FileGuard | None) -> bool:
        return guard is None or (self._guard is guard and guard.is_intact())

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
                return insert_game(
                    connection,
                    game if find_slot is None else replace(game, slot=find_slot(connection)),
                )
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
            current = known
            if not (
                lock_unchanged(connection, known)
                and table.log[: known.table.version] == known.table.log
            ):
                current = load_game(connection, known.id)
                if current.key != known.key:
                    raise GameNotFoundError(known.id)
                if any(
                    mine != theirs
                    for mine, theirs in zip(table.log, current.table.log, strict=False)
                ):
                    raise StaleError(current.table)
                if table.version <= current.table.version:
                    return current
            marked = with_values or current.with_values
            return update_game(
                connection,
                replace(current, seats=seats or current.seats, with_values=marked),
                table,
            )

    def change(self, identity: int, version: int, change: Change) -> StoredGame:
        """Make one change that answers a version of a stored table."""
        with self.write() as connection:
            current = load_game(connection, identity, lock=True)
            table = current.table.answer(version, change)
            return current if table is current.table else update_game(connection, current, table)

    def get(self, identity: int) -> StoredGame:
        """Return a game by its id."""
        with self.read() as connection:
            return load_game(connection, identity)

    def reload_if_changed(self, known: StoredGame) -> StoredGame | None:
        """Return a game as it is stored, if that differs from what is known."""
        query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key)
        with self.read() as connection:
            version = connection.execute(query).scalar()
            return (
                None if version in {None, known.table.version} else load_game(connection, known.id)
            )

    def find_by_key(self, key: str) -> StoredGame | None:
        """Return the game of a key, if it is stored here."""
        with self.read() as connection:
            found = connection.execute(select(games.c.id).where(games.c.key == key)).scalar()
            return None if found is None else load_game(connection, found)

    def find_unfinished(self) -> StoredGame | None:
        """Return the unfinished game that was changed last, without damaged ones and those without a move."""
        return self._find_last(games.c.reason.is_(None), games.c.version > 0)

    def find_last(self) -> StoredGame | None:
        """Return the game that was changed last, without damaged ones and those without a move."""
        return self._find_last(games.c.version > 0)

    def _find_last(self, *conditions: ColumnElement[bool]) -> StoredGame | None:
        query = select(games.c.id).where(*conditions)
        with self.read() as connection:
            for found in connection.execute(
                query.order_by(games.c.changed.desc(), games.c.id.desc())
            ).scalars():
                with suppress(StoreError):
                    return load_game(connection, found)
        return None

    def delete(self, identity: int) -> StoredGame | None:
        """Delete a game; return it unless it was damaged. A match is deleted as a whole or not at all."""
        game = None
        with self.write() as connection:
            with suppress(StoreError):
                game = load_game(connection, identity, lock=True)
            slot = connection.execute(
                select(games.c.match, games.c.number).where(games.c.id == identity)
            ).one()
            if slot.match is not None:
                raise GameInMatchError(MatchSlot(*slot))
            connection.execute(delete(games).where(games.c.id == identity))
            return game


class DatabaseCounts(NamedTuple):
    """How much a database holds."""

    games: int
    unfinished: int
    matches: int
    puzzles: int


def count_contents(store: Store) -> DatabaseCounts:
    """Count what a database holds."""
    with store.read() as connection:
        played, unfinished = (
            count_rows(connection, games),
            count_rows(connection, games, games.c.reason.is_(None)),
        )
        return DatabaseCounts(
            played, unfinished, count_rows(connection, matches), count_rows(connection, puzzles)
        )


class _Job(NamedTuple):
    run: Callable[[Connection], Any]
    future: Future[Any]


class Writer:
    """Single writer thread: commits the jobs that are waiting in one transaction, in their order.

    `on_batch` is called after every commit, in the writer's thread, with its seconds and its number of jobs.
    `succeeded_at` and `failed_at` are the monotonic times of the last commit and of the last failure of the database.
    """

    def __init__(
        self, store: Store, on_batch: Callable[[float, int], object] | None = None
    ) -> None:
        self._store = store
        self._on_batch = on_batch
        self.succeeded_at = self.failed_at = float("-inf")
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
        started = monotonic()
        try:
            with self._store.write() as connection:
                results = [job.run(connection) for job in batch]
        except BaseException as error:  # noqa: BLE001 - any error is passed on to the caller
            if isinstance(error, StoreError):
                self.failed_at = monotonic()
            if len(batch) > 1:
                for job in batch:
                    self._commit([job])
            elif batch[0].future.set_running_or_notify_cancel():
                batch[0].future.set_exception(error)
            return
        self.succeeded_at = monotonic()
        if self._on_batch is not None:
            self._on_batch(self.succeeded_at - started, len(batch))
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
