"""Maintenance of a database: check it, delete old rooms, classes and unused rule files, and measure its size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
)

from number_tower.store import DamagedError, Location
from number_tower.store.classrooms import ClassroomNotFoundError, load_classroom
from number_tower.store.database import DatabaseCounts, Store, count_contents
from number_tower.store.engine import begin_snapshot, count_rows, use_once
from number_tower.store.games import DamagedEntry, GameFilter, load_matching_games
from number_tower.store.matches import load_match
from number_tower.store.puzzles import load_attempts
from number_tower.store.revisions import notify_servers
from number_tower.store.rooms import RoomNotFoundError, load_room
from number_tower.store.rows import format_time, load_rulebook
from number_tower.store.schema import changes, classrooms, games, matches, rooms, rulebooks
from number_tower.store.upgrade import require_newest_version
from number_tower.text import format_text

UNUSED_DAYS = 30
"""Days without any event after which a room is deleted in which at most one move was made."""

ROOMS_PER_TRANSACTION = 100
"""Rooms that are deleted in one transaction, so that no player waits long for it."""

_RULEBOOKS_PER_TRANSACTION = 100

_MAX_PROBLEMS = 100
"""Problems of a file itself that are listed."""

_SERVER_SIZE = "SELECT pg_database_size(current_database())"
_FILE_SIZE = """
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""

_USED_BY_GAME = exists().where(games.c.book == rulebooks.c.id)


# Checks ---------------------------------------------------------------------------------------------------------------


class DatabaseReport(NamedTuple):
    """How much a database holds, and everything that is damaged in it."""

    contents: DatabaseCounts
    problems: tuple[str, ...] = ()


def check_database(
    location: Location, progress: Callable[[int, int], object] | None = None
) -> DatabaseReport:
    """Read everything in a database without changing it; one that cannot be opened at all is a StoreError.

    `progress` is called with how many games were read, and of how many.
    """
    with use_once(location) as engine, begin_snapshot(engine) as connection:
        require_newest_version(connection, location)
        contents = count_contents(connection)
        problems = [*_check_file(connection)] if location.file is not None else []
        problems += _find_damage(connection, rulebooks, load_rulebook)
        problems += _check_games(connection, contents.games, progress)
        problems += _find_damage(connection, matches, load_match)
        problems += _find_damage(connection, rooms, load_room)
        problems += _find_damage(connection, classrooms, load_classroom)
        attempts = load_attempts(connection)
        problems += [each.problem for each in attempts if isinstance(each, DamagedEntry)]
        # A match or a room with a damaged game is no problem of its own.
        return DatabaseReport(contents, tuple(dict.fromkeys(problems)))


def _check_file(connection: Connection) -> Iterator[str]:
    """Let SQLite check the pages, the indexes, and the references between rows."""
    for problem in connection.exec_driver_sql(f"PRAGMA integrity_check({_MAX_PROBLEMS})").scalars():
        if problem != "ok":
            yield f"the file is damaged: {format_text(problem)}"
    missing = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MAX_PROBLEMS)
    for table, row, parent, _ in missing:
        yield f"row {row} of {format_text(table)} refers to a row of {format_text(parent)} that is missing"


def _find_damage(
    connection: Connection, table: Table, load: Callable[[Connection, int], object]
) -> Iterator[str]:
    """Load every row of a table; say what is wrong with those that are damaged."""
    for identity in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            load(connection, identity)
        except (RoomNotFoundError, ClassroomNotFoundError):
            pass  # its game or its code was deleted, which is allowed
        except DamagedError as damaged:
            yield str(damaged)


def _check_games(
    connection: Connection, total: int, progress: Callable[[int, int], object] | None
) -> Iterator[str]:
    for number, game in enumerate(load_matching_games(connection, GameFilter()), 1):
        if isinstance(game, DamagedEntry):
            yield game.problem
        if progress is not None:
            progress(number, max(number, total))


# Old rooms ------------------------------------------------------------------------------------------------------------


def delete_rooms(connection: Connection, keep_days: int | None = None) -> list[int]:
    """Delete some of the rooms that are old, with their games and matches; return their ids.

    Those are rooms that were hardly used and, with `keep_days`, all in which nothing happened for that number of days.
    Rooms that another process has locked are left alone. The others are checked again once they are locked: a move
    that was made in between is committed, and visible to a new statement.
    """
    is_old = _make_age_condition(keep_days)
    old = select(rooms.c.id).where(is_old).order_by(rooms.c.id).limit(ROOMS_PER_TRANSACTION)
    mine = rooms.c.id.in_(_lock(connection, old))
    found = select(rooms.c.id, rooms.c.game, rooms.c.document).where(mine, is_old)
    deleted = []
    for room in connection.execute(found.order_by(rooms.c.id)).all():
        played = [*json.loads(room.document)["games"], room.game]
        in_match = select(games.c.match).where(games.c.id.in_(played), games.c.match.is_not(None))
        series = set(connection.execute(in_match).scalars())
        connection.execute(delete(rooms).where(rooms.c.id == room.id))
        elsewhere = games.c.match.in_(series) & games.c.id.not_in(played)
        # A match of which a game was played elsewhere, such as in a terminal, is kept.
        if not count_rows(connection, games, elsewhere):
            connection.execute(delete(games).where(games.c.id.in_(played)))
            connection.execute(delete(matches).where(matches.c.id.in_(series)))
        notify_servers(connection, "room", room.id)
        deleted.append(room.id)
    return deleted


def delete_old_classes(connection: Connection) -> int:
    """Delete some of the classes that are unused and whose games are gone, or never began; return how many."""
    has_rooms = exists().where(rooms.c.classroom == classrooms.c.id)
    is_old = classrooms.c.changed < _format_days_ago(UNUSED_DAYS)
    old = select(classrooms.c.id).where(is_old, ~has_rooms).limit(ROOMS_PER_TRANSACTION)
    found = _lock(connection, old)
    return connection.execute(delete(classrooms).where(classrooms.c.id.in_(found))).rowcount


def _format_days_ago(days: int) -> str:
    return format_time(datetime.now(UTC) - timedelta(days=days))


def _lock(connection: Connection, query: Select[int]) -> set[int]:
    """Lock the rows of a query that no other process has locked; a file has only one writer, and needs no locks."""
    return {identity for (identity,) in connection.execute(query.with_for_update(skip_locked=True))}


def _make_age_condition(keep_days: int | None) -> ColumnElement[bool]:
    """Return the condition for rooms to be deleted; those of a class in which no move was made are kept with it."""
    made = select(func.count()).select_from(changes).join(games, games.c.id == changes.c.game)
    # Changes with a blank are no moves, and those of the start have its time.
    moves = made.where(
        games.c.id == rooms.c.game, changes.c.at > games.c.started, ~changes.c.change.like("% %")
    ).scalar_subquery()
    unused = and_(
        rooms.c.changed < _format_days_ago(UNUSED_DAYS),
        rooms.c.classroom.is_(None),
        rooms.c.document.like('%"games": []%'),
        moves <= 1,
    )
    if keep_days is None:
        return unused
    return or_(unused, rooms.c.changed < _format_days_ago(keep_days))


# Rule files and size --------------------------------------------------------------------------------------------------


def delete_unused_rulebooks(connection: Connection) -> int:
    """Delete some of the rule files that no game uses; return how many.

    A transaction that starts a game holds a lock on its rule file (see `rows.store_rulebook`). A locked one is left
    alone, and games that were started before are visible to a new statement.
    """
    unused = select(rulebooks.c.id).where(~_USED_BY_GAME)
    found = _lock(connection, unused.limit(_RULEBOOKS_PER_TRANSACTION))
    deleted = delete(rulebooks).where(rulebooks.c.id.in_(found), ~_USED_BY_GAME)
    return connection.execute(deleted).rowcount


def measure_size(store: Store) -> int:
    """Return how many bytes a database takes; free pages of a file are not counted, as new games go there first."""
    with store.read() as connection:
        query = _SERVER_SIZE if connection.dialect.name == "postgresql" else _FILE_SIZE
        return int(connection.exec_driver_sql(query).scalar_one())
