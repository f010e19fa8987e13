"""Games in a database: each change is written before it is announced, answers a version, and counts once."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from number_tower import catalogue
from number_tower.store import kept as keeping
from number_tower.store.kept import Damaged, Kept, Part, Seats
from number_tower.store.opening import engine_at, open_guarded, reading, save_log
from number_tower.store.rulebooks import compute_digest, find_shared, is_stored, share_rulebook
from number_tower.store.schema import changes, games, matches, puzzles, rulebooks
from number_tower.store.standing import settle
from number_tower.store.trouble import StoreError, told
from number_tower.table import Stale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, Update
    from sqlalchemy import Table as SqlTable

    from number_tower.catalogue import Rulebook
    from number_tower.changes import Change
    from number_tower.store.files import FileGuard
    from number_tower.store.places import Place
    from number_tower.table import Table


class NoSuchGame(LookupError):  # noqa: N818 - named for what it says
    """The database holds no game, or no match, of this id."""


class Begun(ValueError):  # noqa: N818 - named for what it says
    """The game of a match that was to be begun is there already, begun by somebody else."""

    def __init__(self, kept: Kept) -> None:
        super().__init__(f"{kept.part} was begun already")
        self.kept = kept


class InMatch(ValueError):  # noqa: N818 - named for what it says
    """A game that is part of a match, and cannot go without it."""

    def __init__(self, part: Part) -> None:
        super().__init__(f"this is {part}")
        self.part = part


class Store:
    """A database of games. Whatever goes wrong with it is a StoreError, in words."""

    def __init__(self, place: Place, *, patience: float | None = None) -> None:
        self.place = place
        self.engine = engine_at(place) if patience is None else engine_at(place, patience=patience)
        self._guard: FileGuard | None = None
        self._opened = 0
        self._reopening = Lock()
        self._prepare()

    def _prepare(self) -> None:
        try:
            self._guard = open_guarded(self.engine, self.place)
        except BaseException:
            self.close()
            raise
        self._opened += 1

    def _find_files(self) -> FileGuard | None:
        """Reopen the database if one of its files was deleted or replaced; return what watches over them."""
        guard = self._guard
        if self.place.file is None or (guard is not None and guard.is_intact()):
            return guard
        with self._reopening:
            if self._guard is guard:
                if guard is not None:
                    save_log(guard, self.place)
                self.close()
                self._prepare()
            return self._guard

    def close(self) -> None:
        """Let go of the database."""
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.close()
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Change the database in one piece: all of what is done here is kept, or nothing."""
        with told(self.place.name), ExitStack() as transaction:
            yield self._begin(transaction, self.engine.begin)

    def _begin(self, transaction: ExitStack, begin: Callable[[], AbstractContextManager[Connection]]) -> Connection:
        """Begin a transaction in files that are in their place.

        They are looked at again once nobody else can write: a commit to a deleted log would be lost, or be mixed with
        the log that another process has created since.
        """
        while True:
            guard = self._find_files()
            with ExitStack() as trial:
                try:
                    connection = trial.enter_context(begin())
                except SQLAlchemyError:
                    if self._is_settled(guard):
                        raise
                    continue
                if self._is_settled(guard):
                    transaction.push(trial.pop_all())
                    return connection

    def _is_settled(self, guard: FileGuard | None) -> bool:
        """Say whether no file was deleted or replaced since `guard` was asked for."""
        return guard is None or (self._guard is guard and guard.is_intact())

    @contextmanager
    def looking(self) -> Iterator[Connection]:
        """Look at the database as it is at one moment."""
        with told(self.place.name), ExitStack() as transaction:
            yield self._begin(transaction, lambda: reading(self.engine))

    def read_version(self) -> tuple[int, int]:
        """Return a value that changes whenever anything is committed to a database file, or the file is replaced.

        This only looks: a file that is missing is not made anew, and a store that was closed is not opened again.
        """
        guard = self._guard
        if guard is None:
            return self._opened, 0
        if guard.is_missing():
            raise StoreError(f"the database {self.place.name} cannot be used: the file is missing")
        with told(self.place.name):
            guard = self._find_files()
            return self._opened, 0 if guard is None else guard.read_version()

    def begin(
        self,
        table: Table,
        book: Rulebook,
        seats: Seats | None = None,
        part: Callable[[Connection], Part] | None = None,
        key: str | None = None,
    ) -> Kept:
        """Keep a game from here on, with the changes made in it so far.

        Of which match it is a part, `part` finds out in the same transaction. Whoever begins a game again with the same
        key, not knowing whether that was done, goes on with it.
        """
        at = keeping.now()
        game = Kept(0, key or token_hex(16), table, book, seats or Seats(), (at, *[at] * table.version))
        with self.writing() as connection:
            begun = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
            if begun is None:
                return add(connection, game if part is None else replace(game, part=part(connection)))
            known = load(connection, begun)
        return self.put(known, table, seats)

    def put(self, known: Kept, table: Table, seats: Seats | None = None) -> Kept:
        """Keep what was done at a table since the version that is known to be kept.

        Changes that somebody else made meanwhile are the current state: if they are the same they count once, and what
        is returned may be further on; if they are others, `Stale` has the table as it is. If it is no longer there, or
        another game has its id in a database that was put in the place of this one, that is `NoSuchGame`.
        """
        with self.writing() as connection:
            if _is_as_known(connection, known) and table.log[: known.table.version] == known.table.log:
                return write(connection, replace(known, seats=seats or known.seats), table)
            current = load(connection, known.id)
            if current.key != known.key:
                raise NoSuchGame(known.id)
            if any(mine != kept for mine, kept in zip(table.log, current.table.log, strict=False)):
                raise Stale(current.table)
            if table.version <= current.table.version:
                return current
            return write(connection, replace(current, seats=seats or current.seats), table)

    def change(self, identity: int, version: int, change: Change) -> Kept:
        """Make one change that answers a version of a kept table."""
        with self.writing() as connection:
            current = load(connection, identity, lock=True)
            table = current.table.answer(version, change)
            return current if table is current.table else write(connection, current, table)

    def get(self, identity: int) -> Kept:
        """Return a game by its id."""
        with self.looking() as connection:
            return load(connection, identity)

    def news_of(self, known: Kept) -> Kept | None:
        """Return a game as it is, if somebody changed it since it was last looked at."""
        query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key)
        with self.looking() as connection:
            version = connection.execute(query).scalar()
            return None if version in {None, known.table.version} else load(connection, known.id)

    def known_by(self, key: str) -> Kept | None:
        """Return the game of a key, if it is here."""
        with self.looking() as connection:
            found = connection.execute(select(games.c.id).where(games.c.key == key)).scalar()
            return None if found is None else load(connection, found)

    def unfinished(self) -> Kept | None:
        """Return the game that was left last before its end, if any, passing over what is damaged, or not begun."""
        left = select(games.c.id).where(games.c.reason.is_(None), games.c.version > 0)
        with self.looking() as connection:
            for found in connection.execute(left.order_by(games.c.changed.desc(), games.c.id.desc())).scalars():
                with suppress(StoreError):
                    return load(connection, found)
        return None

    def forget(self, identity: int) -> Kept | None:
        """Drop a game; return it as it was, unless it was damaged. A match is dropped as a whole or not at all."""
        with self.writing() as connection:
            game = _read_if_whole(connection, identity)
            part = connection.execute(select(games.c.match, games.c.number).where(games.c.id == identity)).one()
            if part.match is not None:
                raise InMatch(Part(*part))
            connection.execute(delete(changes).where(changes.c.game == identity))
            connection.execute(delete(games).where(games.c.id == identity))
            return game


class Counted(NamedTuple):
    """How much a database holds."""

    games: int
    unfinished: int
    matches: int
    puzzles: int


def counted(store: Store) -> Counted:
    """Count what a database holds."""
    all_games = select(func.count()).select_from(games)
    queries = (
        all_games,
        all_games.where(games.c.reason.is_(None)),
        select(func.count()).select_from(matches),
        select(func.count()).select_from(puzzles),
    )
    with store.looking() as connection:
        return Counted(*(connection.execute(query).scalar_one() for query in queries))


def load(connection: Connection, identity: int, *, lock: bool = False) -> Kept:
    """Return a game by its id; `lock` keeps others from changing it, and its match, until the transaction ends."""
    query = select(games).where(games.c.id == identity)
    if lock:
        _lock_match(connection, identity)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NoSuchGame(identity)
    log = select(changes.c.change, changes.c.at).where(changes.c.game == identity).order_by(changes.c.version)
    return made(row, [(entry.change, entry.at) for entry in connection.execute(log)], book_of(connection, row["book"]))


def _read_if_whole(connection: Connection, identity: int) -> Kept | None:
    """Return a game to be dropped; None if somebody damaged it."""
    try:
        return load(connection, identity, lock=True)
    except StoreError:
        return None


def _is_as_known(connection: Connection, known: Kept) -> bool:
    """Keep others from changing a game, and say whether nobody has since it was last looked at."""
    _lock_match(connection, known.id)
    query = select(games.c.version, games.c.moves).where(games.c.id == known.id, games.c.key == known.key)
    found = connection.execute(query.with_for_update()).one_or_none()
    standing = keeping.state_of(known.table)
    return found is not None and found == (standing["version"], standing["moves"])


def _lock_match(connection: Connection, identity: int) -> None:
    """Keep others from changing the match of a game: always before the game, so that nobody waits in a circle."""
    match = select(games.c.match).where(games.c.id == identity).scalar_subquery()
    connection.execute(select(matches.c.id).where(matches.c.id == match).with_for_update())


def made(row: Mapping[Any, Any], log: list[tuple[str, str]], book: Rulebook | None) -> Kept:
    """Make a game of its rows."""
    part = None if row["match"] is None else Part(row["match"], row["number"])
    try:
        game = keeping.read(row, log, book, part)
        check_columns(row, games)
    except (Damaged, TypeError) as wrong:
        raise StoreError(f"game {row['id']} is damaged in the database: {wrong}") from None
    return game


def check_columns(row: Mapping[Any, Any], table: SqlTable) -> None:
    """Refuse a row with values of another type than the table's: a damaged SQLite file holds anything anywhere."""
    for name, kind in _column_types(table).items():
        if not isinstance(row[name], kind):
            raise TypeError("one of its columns holds something else than was written there")


@lru_cache
def _column_types(table: SqlTable) -> dict[str, tuple[type, ...]]:
    return {
        column.name: (column.type.python_type, *([type(None)] if column.nullable else [])) for column in table.columns
    }


def add(connection: Connection, game: Kept) -> Kept:
    """Write a new game; return it with its id."""
    if game.part is not None and (begun := identity_of(connection, game.part)) is not None:
        raise Begun(load(connection, begun, lock=True))
    row = {
        **keeping.row_of(game.table, game.book, game.seats),
        **keeping.state_of(game.table),
        "key": game.key,
        "book": book_kept(connection, game.book),
        "started": game.started,
        "changed": game.changed,
        "match": game.part and game.part.match,
        "number": game.part and game.part.number,
    }
    identity = connection.execute(insert(games).values(row).returning(games.c.id)).scalar_one()
    _log(connection, identity, game, 0)
    if game.part is not None and game.table.outcome is not None:
        settle(connection, game.part.match, game.changed)
    return replace(game, id=identity)


def identity_of(connection: Connection, part: Part) -> int | None:
    """Return the id of a game of a match; None if it was not begun yet."""
    query = select(games.c.id).where(games.c.match == part.match, games.c.number == part.number)
    found: int | None = connection.execute(query).scalar()
    return found


AS_KNOWN = update(games).where(
    games.c.id == bindparam("of_id"),
    games.c.key == bindparam("of_key"),
    games.c.version == bindparam("of_version"),
    games.c.moves == bindparam("of_moves"),
)
"""Changes a game unless somebody else did. Put together once: that takes longer than running it."""


def advance(
    connection: Connection,
    known: Kept,
    table: Table,
    change: Update = AS_KNOWN,
    also: Mapping[str, object] | None = None,
) -> Kept | None:
    """Write the changes that lead from what is known to a table in one go; None if somebody else was faster.

    This is for those who know a game well, and have many to write. `change` may ask for more, which is in `also`.
    """
    after = known.now(table, keeping.now())
    standing = keeping.state_of(known.table)
    values = {
        **keeping.state_of(table),
        "changed": after.changed,
        "of_id": known.id,
        "of_key": known.key,
        "of_version": standing["version"],
        "of_moves": standing["moves"],
        **(also or {}),
    }
    if connection.execute(change, values).rowcount != 1:
        return None
    _log(connection, known.id, after, known.table.version)
    if after.part is not None and (table.outcome is None) != (known.table.outcome is None):
        settle(connection, after.part.match, after.changed)
    return after


def write(connection: Connection, current: Kept, table: Table, times: tuple[str, ...] | None = None) -> Kept:
    """Write the changes that lead from what is kept to a table, made now or, in all, at these times."""
    after = current.now(table, keeping.now()) if times is None else current.with_times(table, times)
    row = {**keeping.row_of(table, current.book, current.seats), **keeping.state_of(table)}
    values = {**row, "changed": after.changed}
    connection.execute(update(games).where(games.c.id == current.id).values(values))
    _log(connection, current.id, after, current.table.version)
    _announce(connection, current.id)
    if after.part is not None and (table.outcome is None) != (current.table.outcome is None):
        settle(connection, after.part.match, after.changed)
    return after


def _announce(connection: Connection, identity: int) -> None:
    """Let servers know that a game which is played in a room of theirs was changed, whoever did it."""
    if connection.dialect.name == "postgresql":
        told = "SELECT pg_notify('number_tower', room::text) FROM rounds WHERE game = %(game)s"
        connection.exec_driver_sql(told, {"game": identity})


def book_kept(connection: Connection, book: Rulebook) -> int | None:
    """Keep a rule file, once however many games are played by it; games of the catalogue need none.

    It stays locked against deletion until the game that is played by it is there.
    """
    if not is_stored(book):
        return None
    digest = compute_digest(book)
    same = select(rulebooks.c.id).where(rulebooks.c.digest == digest).with_for_update(read=True, key_share=True)
    found: int | None = connection.execute(same).scalar()
    if found is None:
        text, source = book.content.decode("utf-8-sig"), keeping.storable(book.source)
        row = {"digest": digest, "name": book.name, "source": source, "content": text}
        with suppress(IntegrityError), connection.begin_nested():
            connection.execute(insert(rulebooks).values(row))
        found = connection.execute(same).scalar_one()
    return found


def book_of(connection: Connection, identity: int | None) -> Rulebook | None:
    """Return a rule file that was kept; None for a game of the catalogue."""
    if identity is None:
        return None
    mine = rulebooks.c.id == identity
    if (shared := find_shared(connection.execute(select(rulebooks.c.digest).where(mine)).scalar() or "")) is not None:
        return shared
    row = connection.execute(select(rulebooks).where(mine)).one_or_none()
    if row is None:
        raise StoreError(f"rule file {identity} is missing from the database")
    try:
        return share_rulebook(catalogue.parse(row.content.encode(), row.name, row.source))
    except (catalogue.CatalogueError, AttributeError, TypeError) as wrong:
        raise StoreError(f"rule file {identity} is damaged in the database: {wrong}") from None


def _log(connection: Connection, identity: int, game: Kept, since: int) -> None:
    entries = [
        {"game": identity, "version": version, "change": change.written(), "at": at}
        for version, (change, at) in enumerate(zip(game.table.log, game.times[1:], strict=True))
        if version >= since
    ]
    if entries:
        connection.execute(insert(changes), entries)
