"""Maintenance of a database: find and delete rooms that nobody has used for long, and measure its size."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, delete, exists, false, func, or_, select
from sqlalchemy.dialects.postgresql import array

from number_tower.store.rooms import CHANNEL
from number_tower.store.rows import format_time
from number_tower.store.schema import changes, games, matches, rooms, rounds, rulebooks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from number_tower.store.database import Store

UNUSED_DAYS = 30


"""Days without any event after which a room is deleted in which at most one move was made."""


ROOMS_PER_TRANSACTION = 500


"""Rooms that are deleted in one transaction, so that no player waits long for it."""


ROWS_PER_TRANSACTION = 20_000


"""Games and changes that are deleted in one transaction, unless one room alone has more."""


class Cutoffs(NamedTuple):
    """The times before which the last event in a room must have been for the room to be deleted."""

    unused: str
    """For rooms in which at most one move was made."""
    any: str | None = None
    """For all rooms; None: they are never deleted."""


def compute_cutoffs(keep_days: int | None = None, at: datetime | None = None) -> Cutoffs:
    """Return the cutoffs at a moment: for rooms hardly used, and for all if rooms are kept for so many days only."""
    at = datetime.now(UTC) if at is None else at

    def before(days: int) -> str:
        return format_time(at - timedelta(days=days))

    return Cutoffs(before(UNUSED_DAYS), None if keep_days is None else before(keep_days))


def find_expired(connection: Connection, cutoffs: Cutoffs, after: int = 0) -> list[int]:
    """Return the rooms to delete in one transaction, in the order of their ids, from those above `after`."""
    size = select(func.coalesce(func.sum(games.c.version + 1), 0)).join(rounds, rounds.c.game == games.c.id)
    rows = size.where(rounds.c.room == rooms.c.id).scalar_subquery()
    query = select(rooms.c.id, rows).where(rooms.c.id > after, _is_expired(cutoffs))
    found: list[int] = []
    total = 0
    for identity, count in connection.execute(query.order_by(rooms.c.id).limit(ROOMS_PER_TRANSACTION)):
        total += count
        if found and total > ROWS_PER_TRANSACTION:
            break
        found.append(identity)
    return found


def delete_rooms(connection: Connection, ids: Collection[int], cutoffs: Cutoffs) -> list[int]:
    """Delete those of some rooms that are still expired, with their games and matches; return their ids.

    Rooms, matches and games are locked first, and what another process has locked is left alone. Then they are looked
    at again: a move that was made in between is committed, and visible to a new statement, or waits for the lock.
    """
    mine = set(connection.execute(_lock(select(rooms.c.id).where(rooms.c.id.in_(ids)))).scalars())
    in_rooms = select(rounds.c.room, rounds.c.game, games.c.match).join(games, games.c.id == rounds.c.game)
    before = connection.execute(in_rooms.where(rounds.c.room.in_(mine))).all()
    wanted = {row.match for row in before if row.match is not None}
    free_matches = set(connection.execute(_lock(select(matches.c.id).where(matches.c.id.in_(wanted)))).scalars())
    free_games = set(
        connection.execute(_lock(select(games.c.id).where(games.c.id.in_([row.game for row in before])))).scalars()
    )
    taken = {row.room for row in before if row.game not in free_games or row.match not in {None, *free_matches}}
    still = select(rooms.c.id).where(rooms.c.id.in_(mine - taken), _is_expired(cutoffs)).order_by(rooms.c.id)
    gone = list(connection.execute(still).scalars())
    rows = [row for row in before if row.room in set(gone)]
    _delete_rows(connection, gone, [row.game for row in rows], {row.match for row in rows if row.match is not None})
    return gone


def _delete_rows(connection: Connection, in_rooms: Sequence[int], in_games: Sequence[int], of: Collection[int]) -> None:
    connection.execute(delete(rooms).where(rooms.c.id.in_(in_rooms)))
    connection.execute(delete(changes).where(changes.c.game.in_(in_games)))
    connection.execute(delete(games).where(games.c.id.in_(in_games)))
    connection.execute(delete(matches).where(matches.c.id.in_(of)))
    if in_rooms and connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(CHANNEL, func.unnest(array(map(str, in_rooms))))))


def _lock(query: Select[tuple[int]]) -> Select[tuple[int]]:
    """Lock what a query finds, without waiting for anybody; a file has one writer at a time, and needs no locks."""
    return query.with_for_update(skip_locked=True)


def _is_expired(cutoffs: Cutoffs) -> ColumnElement[bool]:
    """Say of a room whether it is to be deleted; never with a match that has games which belong to no room."""
    old = false() if cutoffs.any is None else _is_silent_since(cutoffs.any)
    unused = and_(_is_silent_since(cutoffs.unused), rooms.c.number == 1, _count_moves() <= 1)
    return and_(or_(unused, old), ~_shares_match())


def _is_silent_since(cutoff: str) -> ColumnElement[bool]:
    """Say whether nothing happened in a room since some time: `games.changed` tells of all that does."""
    played = exists().where(rounds.c.room == rooms.c.id, games.c.id == rounds.c.game, games.c.changed >= cutoff)
    return and_(rooms.c.opened < cutoff, ~played)


def _count_moves() -> ColumnElement[int]:
    """Count the moves that were made in a room: changes with a blank are none, those of the start have its time."""
    made = select(func.count()).select_from(changes).join(games, games.c.id == changes.c.game)
    here = made.join(rounds, rounds.c.game == games.c.id).where(rounds.c.room == rooms.c.id)
    return here.where(changes.c.at > games.c.started, ~changes.c.change.like("% %")).scalar_subquery()


def _shares_match() -> ColumnElement[bool]:
    """Say whether a match of a room has a game that was played elsewhere, such as in a terminal."""
    ours, here = games.alias(), rounds.alias()
    other, elsewhere = games.alias(), rounds.alias()
    joined = (
        select(other.c.id)
        .select_from(here)
        .join(ours, ours.c.id == here.c.game)
        .join(other, other.c.match == ours.c.match)
        .outerjoin(elsewhere, elsewhere.c.game == other.c.id)
        .where(here.c.room == rooms.c.id, or_(elsewhere.c.room.is_(None), elsewhere.c.room != rooms.c.id))
    )
    return joined.correlate(rooms).exists()


def measure_size(store: Store) -> int:
    """Return how many bytes a database takes on the disk.

    Pages of a file that deleted games have left free are not counted, since new games are written there first; what
    waits in the file beside it (`-wal`) is.
    """
    with store.read() as connection:
        if connection.dialect.name == "postgresql":
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())
        pages, free, size = (
            int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    waiting = 0
    with suppress(OSError):
        waiting = os.path.getsize(f"{store.location.file}-wal")
    return (pages - free) * size + waiting


RULEBOOKS_PER_TRANSACTION = 100


_CONCURRENT_MATCHES = 1_000


class UnusedRulebooks(NamedTuple):
    """Rule files that nothing used when they were looked for, and the newest match at that time."""

    ids: list[int]
    newest_match: int


def find_unused_rulebooks(connection: Connection) -> UnusedRulebooks:
    """Return the rule files that no game and no match uses."""
    ids = set(connection.execute(select(rulebooks.c.id).where(~_is_used_by_game())).scalars())
    newest = connection.execute(select(func.max(matches.c.id))).scalar() or 0
    if ids:
        ids -= _find_used_by_matches(connection.execute(_MATCHES_WITH_RULEBOOKS).scalars())
    return UnusedRulebooks(sorted(ids), newest)


def delete_unused_rulebooks(connection: Connection, ids: Collection[int], newest_match: int) -> int:
    """Delete those of some rule files that are still unused; return how many.

    A transaction that begins a game holds a lock on its rule file (see `games.book_kept`). A locked one is left alone,
    and games that were begun since the files were found are visible here.
    """
    locked = select(rulebooks.c.id).where(rulebooks.c.id.in_(ids)).with_for_update(skip_locked=True)
    found = set(connection.execute(locked).scalars())
    unused = set(
        connection.execute(select(rulebooks.c.id).where(rulebooks.c.id.in_(found), ~_is_used_by_game())).scalars()
    )
    recent = _MATCHES_WITH_RULEBOOKS.where(matches.c.id > newest_match - _CONCURRENT_MATCHES)
    unused -= _find_used_by_matches(connection.execute(recent).scalars())
    connection.execute(delete(rulebooks).where(rulebooks.c.id.in_(unused)))
    return len(unused)


def _is_used_by_game() -> ColumnElement[bool]:
    return exists().where(games.c.book == rulebooks.c.id)


_RULEBOOK_ID = re.compile(r'"book": ([0-9]{1,18})')


_MATCHES_WITH_RULEBOOKS = select(matches.c.games).where(
    or_(*(matches.c.games.like(f'%"book": {digit}%') for digit in range(1, 10)))
)


def _find_used_by_matches(texts: Iterable[str]) -> set[int]:
    """Return the rule files that matches name, also for games that have not begun, and where a match is damaged."""
    return {int(number) for text in texts for number in _RULEBOOK_ID.findall(text)}
