"""Checks of a whole database: its pages, its version, and whether every game, match, room and puzzle can be read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import URL, create_engine, func, select

from number_tower.record import RecordError
from number_tower.store import StoreError, matches, rooms, schema
from number_tower.store import puzzles as practice
from number_tower.store.backup import copy_database
from number_tower.store.engine import begin_snapshot, make_engine, migrate, require_version, translate_errors
from number_tower.store.games import DamagedEntry, GameFilter, load_matching_games
from number_tower.store.rooms import RoomNotFoundError
from number_tower.store.rows import load_rulebook
from number_tower.store.schema import NEWEST
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

    from number_tower.store import Location
    from number_tower.store.backup import Progress

_MAX_PROBLEMS = 100
"""Problems of a file itself that are listed."""

_MATCHES_PER_QUERY = 100
"""Matches that are read in one step."""


class CheckReport(NamedTuple):
    """What a check found: the version of the tables, how much they hold, and everything that is wrong."""

    version: str
    games: int
    matches: int
    puzzles: int
    problems: tuple[str, ...]


def check_database(place: Location, progress: Progress | None = None) -> CheckReport:
    """Check a database without changing it; one that cannot be opened at all is a StoreError."""
    engine = make_engine(place)
    try:
        with translate_errors(place.name), begin_snapshot(engine) as connection:
            version = require_version(connection, place)
            problems = tuple(_check_file(connection)) if place.file is not None else ()
            report = _read_everything(connection, progress) if version == NEWEST else _read_copy(place, progress)
            return report._replace(version=version, problems=(*problems, *report.problems))
    finally:
        engine.dispose()


def _check_file(connection: Connection) -> Iterator[str]:
    """Let SQLite check the pages, the indexes, and the references between rows."""
    for problem in connection.exec_driver_sql(f"PRAGMA integrity_check({_MAX_PROBLEMS})").scalars():
        if problem != "ok":
            yield f"the file is damaged: {format_text(problem)}"
    missing = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MAX_PROBLEMS)
    for table, row, parent, _ in missing:
        yield f"row {row} of {format_text(table)} refers to a row of {format_text(parent)} that is missing"


def _read_copy(place: Location, progress: Progress | None) -> CheckReport:
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


def _read_everything(connection: Connection, progress: Progress | None) -> CheckReport:
    total = _count_rows(connection, schema.games)
    problems = [*_check_rule_files(connection), *_check_games(connection, total, progress)]
    problems += _check_matches(connection)
    problems += _check_rooms(connection, frozenset(problems))
    problems += _check_puzzles(connection)
    held = _count_rows(connection, schema.matches), _count_rows(connection, schema.puzzles)
    return CheckReport("", total, *held, tuple(problems))


def _count_rows(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _check_rule_files(connection: Connection) -> Iterator[str]:
    for identity in connection.execute(select(schema.rulebooks.c.id)).scalars().all():
        try:
            load_rulebook(connection, identity)
        except StoreError as damaged:
            yield str(damaged)


def _check_games(connection: Connection, total: int, progress: Progress | None) -> Iterator[str]:
    for number, game in enumerate(load_matching_games(connection, GameFilter()), 1):
        if isinstance(game, DamagedEntry):
            yield game.problem
        if progress is not None:
            progress(number, max(number, total))


def _check_matches(connection: Connection) -> Iterator[str]:
    skip, total = 0, 1
    while skip < total:
        some, total = matches.list_matches(connection, _MATCHES_PER_QUERY, skip)
        yield from (each.match.problem for each in some if isinstance(each.match, DamagedEntry))
        skip += _MATCHES_PER_QUERY


def _check_rooms(connection: Connection, known: frozenset[str]) -> Iterator[str]:
    """Check the rooms; one whose game is damaged is not a problem of its own."""
    for identity, address in connection.execute(select(schema.rooms.c.id, schema.rooms.c.address)).all():
        try:
            rooms.find_room(connection, address)
        except RoomNotFoundError:
            pass  # its game was deleted, which is allowed
        except StoreError as damaged:
            if str(damaged) not in known:
                yield f"room {identity}: {damaged}"


def _check_puzzles(connection: Connection) -> Iterator[str]:
    for number, attempt in enumerate(practice.load_attempts(connection), 1):
        try:
            practice.parse_attempt(attempt.to_dict())
        except RecordError as damaged:
            yield f"puzzle {number} is damaged in the database: {format_text(str(damaged))}"
