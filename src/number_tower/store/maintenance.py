"""Maintenance of a database: check it, delete what is old or unused, and measure its size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Select, Table, and_, delete, exists, func, select

from number_tower.store import DamagedError, Location
from number_tower.store.classrooms import ClassroomNotFoundError, load_classroom
from number_tower.store.connection import begin_snapshot, count_rows, use_once
from number_tower.store.database import DatabaseCounts, Store, count_contents
from number_tower.store.games import DamagedEntry, GameFilter, load_matching_games
from number_tower.store.matches import load_match
from number_tower.store.puzzles import load_attempts
from number_tower.store.revisions import notify_servers
from number_tower.store.rooms import RoomNotFoundError, load_room
from number_tower.store.rows import format_time, load_rulebook
from number_tower.store.schema import changes, classrooms, games, matches, rooms, rulebooks
from number_tower.store.upgrade import require_newest_version
from number_tower.support.text import format_text

UNUSED_DAYS = 30
"""A room with at most one move is deleted after this many days without an event."""

ROOMS_PER_TRANSACTION = 100
"""Most rooms deleted in one transaction, so that no player waits long."""

_RULEBOOKS_PER_TRANSACTION = 100

_MAX_PROBLEMS = 100
"""Most problems of the file itself that are listed."""

_SERVER_SIZE = "SELECT pg_database_size(current_database())"
_FILE_SIZE = """
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""


# Checks -------------------------------------------------------------------------------------------


class DatabaseReport(NamedTuple):
    """The contents of a database, and everything that is damaged in it."""

    contents: DatabaseCounts
    problems: tuple[str, ...] = ()


def check_database(
    location: Location, progress: Callable[[int, int], object] | None = None
) -> DatabaseReport:
    """Read everything in a database without changing it.

    A database that cannot be opened at all is a StoreError. `progress` is called with how many
    games were read, and of how many.
    """
    with use_once(location) as engine, begin_snapshot(engine) as connection:
        require_newest_version(connection, location)
        contents = count_contents(connection)
        problems = list[str]()
        if location.file is not None:
            # SQLite itself checks the pages, the indexes, and the references between rows.
            check = connection.exec_driver_sql(f"PRAGMA integrity_check({_MAX_PROBLEMS})")
            damages = [problem for problem in check.scalars() if problem != "ok"]
            problems += [f"the file is damaged: {format_text(damage)}" for damage in damages]
            missing = connection.exec_driver_sql("PRAGMA foreign_key_check")
            for child, row, parent, _ in missing.fetchmany(_MAX_PROBLEMS):
                table, other = format_text(child), format_text(parent)
                problems.append(f"row {row} of {table} refers to a row of {other} that is missing")
        problems += _find_damage(connection, rulebooks, load_rulebook)
        for number, game in enumerate(load_matching_games(connection, GameFilter()), 1):
            if isinstance(game, DamagedEntry):
                problems.append(game.problem)
            if progress is not None:
                progress(number, max(number, contents.games))
        problems += _find_damage(connection, matches, load_match)
        problems += _find_damage(connection, rooms, load_room)
        problems += _find_damage(connection, classrooms, load_classroom)
        for attempt in load_attempts(connection):
            if isinstance(attempt, DamagedEntry):
                problems.append(attempt.problem)
        # A match or a room with a damaged game does not count as a second problem.
        return DatabaseReport(contents, tuple(dict.fromkeys(problems)))


def _find_damage(
    connection: Connection, table: Table, load: Callable[[Connection, int], object]
) -> Iterator[str]:
    """Load every row of a table, and describe the damaged ones."""
    for identity in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            load(connection, identity)
        except (RoomNotFoundError, ClassroomNotFoundError):
            pass  # its game or its code was deleted, which is allowed
        except DamagedError as damaged:
            yield str(damaged)


# Old rooms ----------------------------------------------------------------------------------------


def delete_rooms(connection: Connection, keep_days: int | None = None) -> list[int]:
    """Delete some of the rooms that are old, with their games and matches; return their ids.

    Old are rooms that were hardly used and, with `keep_days`, those in which nothing happened for
    that many days. Rooms that another process has locked are left alone.
    """
    made = select(func.count()).select_from(changes).join(games, games.c.id == changes.c.game)
    # Changes with a space are not moves; those made at the start have its time.
    is_move = (changes.c.at > games.c.started) & ~changes.c.change.like("% %")
    moves = made.where(games.c.id == rooms.c.game, is_move).scalar_subquery()
    # Unused rooms of a class are kept with it.
    is_old = and_(
        rooms.c.changed < _format_days_ago(UNUSED_DAYS),
        rooms.c.classroom.is_(None),
        rooms.c.document.like('%"games": []%'),
        moves <= 1,
    )
    if keep_days is not None:
        is_old |= rooms.c.changed < _format_days_ago(keep_days)
    old = select(rooms.c.id).where(is_old).order_by(rooms.c.id).limit(ROOMS_PER_TRANSACTION)
    is_locked = rooms.c.id.in_(_lock(connection, old))
    # Check their age again: a move that was made before the lock is visible to a new statement.
    query = select(rooms.c.id, rooms.c.game, rooms.c.document).where(is_locked, is_old)
    deleted = []
    for room in connection.execute(query.order_by(rooms.c.id)).all():
        played = [*json.loads(room.document)["games"], room.game]
        in_match = select(games.c.match).where(games.c.id.in_(played), games.c.match.is_not(None))
        series = set(connection.execute(in_match).scalars())
        connection.execute(delete(rooms).where(rooms.c.id == room.id))
        elsewhere = games.c.match.in_(series) & games.c.id.not_in(played)
        # Keep a match if one of its games was played elsewhere, such as in a terminal.
        if not count_rows(connection, games, elsewhere):
            connection.execute(delete(games).where(games.c.id.in_(played)))
            connection.execute(delete(matches).where(matches.c.id.in_(series)))
        notify_servers(connection, "room", room.id)
        deleted.append(room.id)
    return deleted


def delete_old_classes(connection: Connection) -> int:
    """Delete some of the unused classes whose games are gone, or never began; return how many."""
    has_rooms = exists().where(rooms.c.classroom == classrooms.c.id)
    is_old = classrooms.c.changed < _format_days_ago(UNUSED_DAYS)
    old = select(classrooms.c.id).where(is_old, ~has_rooms).limit(ROOMS_PER_TRANSACTION)
    ids = _lock(connection, old)
    return connection.execute(delete(classrooms).where(classrooms.c.id.in_(ids))).rowcount


def _format_days_ago(days: int) -> str:
    return format_time(datetime.now(UTC) - timedelta(days=days))


def _lock(connection: Connection, query: Select[int]) -> set[int]:
    """Lock the rows of a query that no other process has locked; return their ids.

    A file has only one writer, and needs no locks.
    """
    return set(connection.execute(query.with_for_update(skip_locked=True)).scalars())


# Rule files and size ------------------------------------------------------------------------------


def delete_unused_rulebooks(connection: Connection) -> int:
    """Delete some of the rule files that no game uses; return how many.

    A transaction that starts a game locks its rule file (see `rows.store_rulebook`). A locked one
    is left alone. Games that were started before are visible to a new statement.
    """
    is_used = exists().where(games.c.book == rulebooks.c.id)
    unused = select(rulebooks.c.id).where(~is_used)
    ids = _lock(connection, unused.limit(_RULEBOOKS_PER_TRANSACTION))
    deleted = delete(rulebooks).where(rulebooks.c.id.in_(ids), ~is_used)
    return connection.execute(deleted).rowcount


def measure_size(store: Store) -> int:
    """Return a database's size in bytes, without a file's free pages, which are filled first."""
    with store.read() as connection:
        query = _SERVER_SIZE if connection.dialect.name == "postgresql" else _FILE_SIZE
        return int(connection.exec_driver_sql(query).scalar_one())
