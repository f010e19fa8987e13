"""Games in a database: each change is written before it is announced, answers a version, and counts once."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from number_tower import catalogue
from number_tower.store import kept as keeping
from number_tower.store.kept import Damaged, Kept, Part, Seats
from number_tower.store.opening import engine_at, prepare, reading
from number_tower.store.schema import changes, games, rulebooks
from number_tower.store.trouble import StoreError, told
from number_tower.table import Stale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.changes import Change
    from number_tower.store.places import Place
    from number_tower.table import Table


class NoSuchGame(LookupError):  # noqa: N818 - named for what it says
    """The database holds no game, or no match, of this id."""


class Store:
    """A database of games. Whatever goes wrong with it is a StoreError, in words."""

    def __init__(self, place: Place, *, patience: float | None = None) -> None:
        self.place = place
        self.engine = engine_at(place) if patience is None else engine_at(place, patience=patience)
        prepare(self.engine, place)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Change the database in one piece: all of what is done here is kept, or nothing."""
        with told(self.place.name), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def looking(self) -> Iterator[Connection]:
        """Look at the database as it is at one moment."""
        with told(self.place.name), reading(self.engine) as connection:
            yield connection

    def begin(self, table: Table, book: Rulebook, seats: Seats | None = None, part: Part | None = None) -> Kept:
        """Keep a game from here on, with the changes made in it so far."""
        at = keeping.now()
        game = Kept(0, token_hex(16), table, book, seats or Seats(), (at, *[at] * table.version), part)
        with self.writing() as connection:
            return add(connection, game)

    def put(self, known: Kept, table: Table, seats: Seats | None = None) -> Kept:
        """Keep what was done at a table since the version that is known to be kept.

        Changes that somebody else made meanwhile are the current state: if they are the same they count once, and what
        is returned may be further on; if they are others, `Stale` has the table as it is.
        """
        with self.writing() as connection:
            current = load(connection, known.id, lock=True)
            stored, mine = (each.log[known.table.version :] for each in (current.table, table))
            if not all(one.repeats(other) for one, other in zip(stored, mine, strict=False)):
                raise Stale(current.table)
            if len(mine) <= len(stored):
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

    def standing_as(self, table: Table) -> Kept | None:
        """Return the unfinished game that stands as a table does, the last changed if there are several."""
        row = {**keeping.given(table), **keeping.state_of(table)}
        same = (games.c[column].is_not_distinct_from(row[column]) for column in (*keeping.given(table), "moves"))
        unfinished = games.c.reason.is_(None)
        query = select(games.c.id).where(unfinished, *same).order_by(games.c.changed.desc(), games.c.id.desc()).limit(1)
        with self.looking() as connection:
            found = connection.execute(query).scalar()
            return None if found is None else load(connection, found)

    def unfinished(self) -> Kept | None:
        """Return the game that was left last before its end, if any."""
        open_ = select(games.c.id).where(games.c.reason.is_(None))
        query = open_.order_by(games.c.changed.desc(), games.c.id.desc()).limit(1)
        with self.looking() as connection:
            found = connection.execute(query).scalar()
            return None if found is None else load(connection, found)

    def forget(self, identity: int) -> Kept:
        """Drop a game; return it as it was."""
        with self.writing() as connection:
            game = load(connection, identity, lock=True)
            connection.execute(delete(changes).where(changes.c.game == identity))
            connection.execute(delete(games).where(games.c.id == identity))
            return game


def load(connection: Connection, identity: int, *, lock: bool = False) -> Kept:
    """Return a game by its id; `lock` keeps others from changing it until the transaction ends."""
    query = select(games).where(games.c.id == identity)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NoSuchGame(identity)
    log = select(changes.c.change, changes.c.at).where(changes.c.game == identity).order_by(changes.c.version)
    return made(row, [(entry.change, entry.at) for entry in connection.execute(log)], _book(connection, row["book"]))


def made(row: Mapping[Any, Any], log: list[tuple[str, str]], book: Rulebook | None) -> Kept:
    """Make a game of its rows."""
    part = None if row["match"] is None else Part(row["match"], row["number"])
    try:
        return keeping.read(row, log, book, part)
    except Damaged as wrong:
        raise StoreError(f"game {row['id']} is damaged in the database: {wrong}") from None


def add(connection: Connection, game: Kept) -> Kept:
    """Write a new game; return it with its id."""
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
    return replace(game, id=identity)


def write(connection: Connection, current: Kept, table: Table) -> Kept:
    """Write the changes that lead from what is kept to a table."""
    after = current.now(table, keeping.now())
    values = {**keeping.state_of(table), **keeping.seated(current.seats), "changed": after.changed}
    connection.execute(update(games).where(games.c.id == current.id).values(values))
    _log(connection, current.id, after, current.table.version)
    return after


def book_kept(connection: Connection, book: Rulebook) -> int | None:
    """Keep a rule file, once however many games are played by it; games of the catalogue need none."""
    if not book.content or book.source in catalogue.names():
        return None
    digest = sha256(f"{book.name}\n{book.source}\n".encode() + book.content).hexdigest()
    same = select(rulebooks.c.id).where(rulebooks.c.digest == digest)
    found: int | None = connection.execute(same).scalar()
    if found is None:
        text = book.content.decode("utf-8-sig")
        row = {"digest": digest, "name": book.name, "source": book.source, "content": text}
        with suppress(IntegrityError), connection.begin_nested():
            connection.execute(insert(rulebooks).values(row))
        found = connection.execute(same).scalar_one()
    return found


def _book(connection: Connection, identity: int | None) -> Rulebook | None:
    if identity is None:
        return None
    row = connection.execute(select(rulebooks).where(rulebooks.c.id == identity)).one()
    return catalogue.parse(row.content.encode(), row.name, row.source)


def _log(connection: Connection, identity: int, game: Kept, since: int) -> None:
    entries = [
        {"game": identity, "version": version, "change": change.written(), "at": at}
        for version, (change, at) in enumerate(zip(game.table.log, game.times[1:], strict=True))
        if version >= since
    ]
    if entries:
        connection.execute(insert(changes), entries)
