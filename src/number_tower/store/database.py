"""One hand that writes for many: all that waits is kept in one transaction, and nobody is told before it is kept."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from number_tower.store import GameNotFoundError, StoreError
from number_tower.store import rows as keeping
from number_tower.store.engine import begin_snapshot, make_engine, open_guarded, save_log, translate_errors
from number_tower.store.games import (
    GameInMatchError,
    _load_unless_damaged,
    _lock_unchanged,
    insert_game,
    load_game,
    update_game,
)
from number_tower.store.rows import (
    MatchSlot,
    Seats,
    StoredGame,
)
from number_tower.store.schema import changes, games, matches, puzzles, rulebooks
from number_tower.table import StaleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store import Location
    from number_tower.store.engine import FileGuard
    from number_tower.table import Change, Table


class Store:
    """A database of games. Whatever goes wrong with it is a StoreError, in words."""

    def __init__(self, place: Location, *, patience: float | None = None) -> None:
        self.location = place
        self.engine = make_engine(place) if patience is None else make_engine(place, patience=patience)
        self._guard: FileGuard | None = None
        self._opened = 0
        self._reopening = Lock()
        self._open()

    def _open(self) -> None:
        try:
            self._guard = open_guarded(self.engine, self.location)
        except BaseException:
            self.close()
            raise
        self._opened += 1

    def _reopen_if_moved(self) -> FileGuard | None:
        """Reopen the database if one of its files was deleted or replaced; return what watches over them."""
        guard = self._guard
        if self.location.file is None or (guard is not None and guard.is_intact()):
            return guard
        with self._reopening:
            if self._guard is guard:
                if guard is not None:
                    save_log(guard, self.location)
                self.close()
                self._open()
            return self._guard

    def close(self) -> None:
        """Let go of the database."""
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.close()
        self.engine.dispose()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Change the database in one piece: all of what is done here is kept, or nothing."""
        with translate_errors(self.location.name), ExitStack() as transaction:
            yield self._begin(transaction, self.engine.begin)

    def _begin(self, transaction: ExitStack, begin: Callable[[], AbstractContextManager[Connection]]) -> Connection:
        """Begin a transaction in files that are in their place.

        They are looked at again once nobody else can write: a commit to a deleted log would be lost, or be mixed with
        the log that another process has created since.
        """
        while True:
            guard = self._reopen_if_moved()
            with ExitStack() as trial:
                try:
                    connection = trial.enter_context(begin())
                except SQLAlchemyError:
                    if self._is_unmoved(guard):
                        raise
                    continue
                if self._is_unmoved(guard):
                    transaction.push(trial.pop_all())
                    return connection

    def _is_unmoved(self, guard: FileGuard | None) -> bool:
        """Say whether no file was deleted or replaced since `guard` was asked for."""
        return guard is None or (self._guard is guard and guard.is_intact())

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Look at the database as it is at one moment."""
        with translate_errors(self.location.name), ExitStack() as transaction:
            yield self._begin(transaction, lambda: begin_snapshot(self.engine))

    def read_version(self) -> tuple[int, int]:
        """Return a value that changes whenever anything is committed to a database file, or the file is replaced.

        This only looks: a file that is missing is not made anew, and a store that was closed is not opened again.
        """
        guard = self._guard
        if guard is None:
            return self._opened, 0
        if guard.is_missing():
            raise StoreError(f"the database {self.location.name} cannot be used: the file is missing")
        with translate_errors(self.location.name):
            guard = self._reopen_if_moved()
            return self._opened, 0 if guard is None else guard.read_version()

    def begin(
        self,
        table: Table,
        book: Rulebook,
        seats: Seats | None = None,
        part: Callable[[Connection], MatchSlot] | None = None,
        key: str | None = None,
    ) -> StoredGame:
        """Keep a game from here on, with the changes made in it so far.

        Of which match it is a part, `part` finds out in the same transaction. Whoever begins a game again with the same
        key, not knowing whether that was done, goes on with it.
        """
        at = keeping.format_now()
        game = StoredGame(0, key or token_hex(16), table, book, seats or Seats(), (at, *[at] * table.version))
        with self.write() as connection:
            begun = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
            if begun is None:
                return insert_game(connection, game if part is None else replace(game, slot=part(connection)))
            known = load_game(connection, begun)
        return self.save(known, table, seats)

    def save(self, known: StoredGame, table: Table, seats: Seats | None = None) -> StoredGame:
        """Keep what was done at a table since the version that is known to be kept.

        Changes that somebody else made meanwhile are the current state: if they are the same they count once, and what
        is returned may be further on; if they are others, `Stale` has the table as it is. If it is no longer there, or
        another game has its id in a database that was put in the place of this one, that is `NoSuchGame`.
        """
        with self.write() as connection:
            if _lock_unchanged(connection, known) and table.log[: known.table.version] == known.table.log:
                return update_game(connection, replace(known, seats=seats or known.seats), table)
            current = load_game(connection, known.id)
            if current.key != known.key:
                raise GameNotFoundError(known.id)
            if any(mine != kept for mine, kept in zip(table.log, current.table.log, strict=False)):
                raise StaleError(current.table)
            if table.version <= current.table.version:
                return current
            return update_game(connection, replace(current, seats=seats or current.seats), table)

    def change(self, identity: int, version: int, change: Change) -> StoredGame:
        """Make one change that answers a version of a kept table."""
        with self.write() as connection:
            current = load_game(connection, identity, lock=True)
            table = current.table.answer(version, change)
            return current if table is current.table else update_game(connection, current, table)

    def get(self, identity: int) -> StoredGame:
        """Return a game by its id."""
        with self.read() as connection:
            return load_game(connection, identity)

    def reload_if_changed(self, known: StoredGame) -> StoredGame | None:
        """Return a game as it is, if somebody changed it since it was last looked at."""
        query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key)
        with self.read() as connection:
            version = connection.execute(query).scalar()
            return None if version in {None, known.table.version} else load_game(connection, known.id)

    def find_by_key(self, key: str) -> StoredGame | None:
        """Return the game of a key, if it is here."""
        with self.read() as connection:
            found = connection.execute(select(games.c.id).where(games.c.key == key)).scalar()
            return None if found is None else load_game(connection, found)

    def find_unfinished(self) -> StoredGame | None:
        """Return the game that was left last before its end, if any, passing over what is damaged, or not begun."""
        left = select(games.c.id).where(games.c.reason.is_(None), games.c.version > 0)
        with self.read() as connection:
            for found in connection.execute(left.order_by(games.c.changed.desc(), games.c.id.desc())).scalars():
                with suppress(StoreError):
                    return load_game(connection, found)
        return None

    def delete(self, identity: int) -> StoredGame | None:
        """Drop a game; return it as it was, unless it was damaged. A match is dropped as a whole or not at all."""
        with self.write() as connection:
            game = _load_unless_damaged(connection, identity)
            part = connection.execute(select(games.c.match, games.c.number).where(games.c.id == identity)).one()
            if part.match is not None:
                raise GameInMatchError(MatchSlot(*part))
            connection.execute(delete(changes).where(changes.c.game == identity))
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
    all_games = select(func.count()).select_from(games)
    queries = (
        all_games,
        all_games.where(games.c.reason.is_(None)),
        select(func.count()).select_from(matches),
        select(func.count()).select_from(puzzles),
    )
    with store.read() as connection:
        return DatabaseCounts(*(connection.execute(query).scalar_one() for query in queries))


T = TypeVar("T")


_MAX_BATCH = 64


"""Pieces of work that are kept together; more would make the first of them wait for long."""


_PROBE_BYTES = 8192


"""Size of the row that `probe_write` inserts: more than one page, so that it needs free space."""


class _Job(NamedTuple):
    run: Callable[[Connection], Any]
    future: Future[Any]


class Writer:
    """Keeps what it is given, in the order in which it is given.

    `on_batch` is called after every commit, in the writer's thread, with its seconds and the number of pieces in it.
    `succeeded_at` and `failed_at` are the monotonic times of the last commit and of the last failure of the database.
    """

    def __init__(self, store: Store, on_batch: Callable[[float, int], object] | None = None) -> None:
        self._store = store
        self._on_batch = on_batch
        self.succeeded_at = self.failed_at = float("-inf")
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="scribe", daemon=True)
        self._thread.start()

    def submit(self, do: Callable[[Connection], T]) -> Future[T]:
        """Do something with the database, soon; the answer is there once it is kept.

        It may be done twice, if what was to be kept together with it fails: then nothing is left of the first time.
        """
        done: Future[T] = Future()
        self._queue.put(_Job(do, done))
        return done

    def close(self) -> None:
        """Keep what waits, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            some, last = self._collect_batch(first)
            self._commit(some)
            if last:
                return

    def _collect_batch(self, first: _Job) -> tuple[list[_Job], bool]:
        """Return all that waits, and whether it is the last."""
        some = [first]
        while len(some) < _MAX_BATCH:
            try:
                more = self._queue.get_nowait()
            except Empty:
                return some, False
            if more is None:
                return some, True
            some.append(more)
        return some, False

    def _commit(self, some: list[_Job]) -> None:
        """Keep some pieces of work together; if one of them fails, each on its own."""
        begun = monotonic()
        try:
            with self._store.write() as connection:
                answers = [work.run(connection) for work in some]
        except BaseException as wrong:  # noqa: BLE001 - whatever it is, whoever waits for it is told
            if isinstance(wrong, StoreError):
                self.failed_at = monotonic()
            if len(some) == 1:
                _fail(some[0].future, wrong)
                return
            for work in some:
                self._commit([work])
            return
        self.succeeded_at = monotonic()
        if self._on_batch is not None:
            self._on_batch(self.succeeded_at - begun, len(some))
        for work, answer in zip(some, answers, strict=True):
            if work.future.set_running_or_notify_cancel():
                work.future.set_result(answer)


def probe_write(connection: Connection) -> None:
    """Write a row and delete it again, in one transaction: this fails whenever a new game could not be saved.

    The row needs pages of its own. Updating a row in place would succeed on a database that cannot grow.
    """
    digest = f"probe {token_hex(16)}"
    row = {"digest": digest, "name": "", "source": "", "content": token_hex(_PROBE_BYTES // 2)}
    connection.execute(insert(rulebooks).values(row))
    connection.execute(delete(rulebooks).where(rulebooks.c.digest == digest))


def _fail(done: Future[Any], wrong: BaseException) -> None:
    if done.set_running_or_notify_cancel():
        done.set_exception(wrong)
