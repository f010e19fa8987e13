"""Checks of a whole database: its pages, its version, and whether every game, match, room and puzzle can be read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import URL, create_engine, func, select

from number_tower.record import RecordError
from number_tower.showing import shown_text
from number_tower.store import matches, practice, rooms, schema
from number_tower.store.backup import copy_database
from number_tower.store.games import book_of
from number_tower.store.history import Unreadable, Wanted, all_of
from number_tower.store.opening import engine_at, migrate, reading, require_version
from number_tower.store.rooms import NoSuchRoom
from number_tower.store.schema import NEWEST
from number_tower.store.trouble import StoreError, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

    from number_tower.store.backup import Progress
    from number_tower.store.places import Place

_MOST = 100
"""Problems of a file itself that are listed."""

_AT_ONCE = 100
"""Matches that are read in one step."""


class Report(NamedTuple):
    """What a check found: the version of the tables, how much they hold, and everything that is wrong."""

    version: str
    games: int
    matches: int
    puzzles: int
    problems: tuple[str, ...]


def check_database(place: Place, progress: Progress | None = None) -> Report:
    """Check a database without changing it; one that cannot be opened at all is a StoreError."""
    engine = engine_at(place)
    try:
        with told(place.name), reading(engine) as connection:
            version = require_version(connection, place)
            problems = tuple(_check_file(connection)) if place.file is not None else ()
            report = _read_everything(connection, progress) if version == NEWEST else _read_copy(place, progress)
            return report._replace(version=version, problems=(*problems, *report.problems))
    finally:
        engine.dispose()


def _check_file(connection: Connection) -> Iterator[str]:
    """Let SQLite check the pages, the indexes, and the references between rows."""
    for problem in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST})").scalars():
        if problem != "ok":
            yield f"the file is damaged: {shown_text(problem)}"
    missing = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MOST)
    for table, row, parent, _ in missing:
        yield f"row {row} of {shown_text(table)} refers to a row of {shown_text(parent)} that is missing"


def _read_copy(place: Place, progress: Progress | None) -> Report:
    """Read a database of an earlier version as it will be after its upgrade: upgrade a copy."""
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy_database(place, copy)
        engine = create_engine(URL.create("sqlite", database=str(copy)))
        try:
            with engine.begin() as connection:
                migrate(connection, NEWEST)
                return _read_everything(connection, progress)
        finally:
            engine.dispose()


def _read_everything(connection: Connection, progress: Progress | None) -> Report:
    total = _count(connection, schema.games)
    problems = [*_check_rule_files(connection), *_check_games(connection, total, progress)]
    problems += _check_matches(connection)
    problems += _check_rooms(connection, frozenset(problems))
    problems += _check_puzzles(connection)
    held = _count(connection, schema.matches), _count(connection, schema.puzzles)
    return Report("", total, *held, tuple(problems))


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _check_rule_files(connection: Connection) -> Iterator[str]:
    for identity in connection.execute(select(schema.rulebooks.c.id)).scalars().all():
        try:
            book_of(connection, identity)
        except StoreError as damaged:
            yield str(damaged)


def _check_games(connection: Connection, total: int, progress: Progress | None) -> Iterator[str]:
    for number, game in enumerate(all_of(connection, Wanted()), 1):
        if isinstance(game, Unreadable):
            yield game.problem
        if progress is not None:
            progress(number, max(number, total))


def _check_matches(connection: Connection) -> Iterator[str]:
    skip, total = 0, 1
    while skip < total:
        some, total = matches.page(connection, _AT_ONCE, skip)
        yield from (each.match.problem for each in some if isinstance(each.match, Unreadable))
        skip += _AT_ONCE


def _check_rooms(connection: Connection, known: frozenset[str]) -> Iterator[str]:
    """Check the rooms; one whose game is damaged is not a problem of its own."""
    for identity, address in connection.execute(select(schema.rooms.c.id, schema.rooms.c.address)).all():
        try:
            rooms.find(connection, address)
        except NoSuchRoom:
            pass  # its game was deleted, which is allowed
        except StoreError as damaged:
            if str(damaged) not in known:
                yield f"room {identity}: {damaged}"


def _check_puzzles(connection: Connection) -> Iterator[str]:
    for number, attempt in enumerate(practice.attempts(connection), 1):
        try:
            practice.read(attempt.written())
        except RecordError as damaged:
            yield f"puzzle {number} is damaged in the database: {shown_text(str(damaged))}"
