"""Matches in a database: their rules and players; their games are stored as games."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, insert, select

from number_tower.engine.match import Match, Series
from number_tower.engine.record import RecordError
from number_tower.engine.table import Table, check_player_names
from number_tower.store import DamagedError, GameNotFoundError, rows
from number_tower.store.connection import count_rows, detect_damage
from number_tower.store.database import Store
from number_tower.store.games import (
    DamagedEntry,
    find_game_id,
    load_game,
    load_games,
    load_match_score,
)
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.store.schema import games, matches


@dataclass(frozen=True)
class StoredMatch:
    """A match in the database; without an id it is not stored yet."""

    id: int | None
    key: str
    series: Series
    seats: Seats
    started: str = ""
    current: StoredGame | None = None
    """The current game, if there is one."""


def find_unfinished_match(store: Store) -> Row[Any, Any] | None:
    """Return the id of the undecided match with the last ended game, and when it was `changed`."""
    query = select(matches.c.id, matches.c.changed).where(~matches.c.finished)
    query = query.order_by(matches.c.changed.desc(), matches.c.id.desc()).limit(1)
    with store.read() as connection:
        return connection.execute(query).one_or_none()


def get_match(store: Store, identity: int) -> StoredMatch:
    """Return a match by its id, with the players and names of its last game."""
    with store.read() as connection:
        return load_match(connection, identity)


def load_match(connection: Connection, identity: int) -> StoredMatch:
    """Return a match by its id, with the players and names of its last game."""
    row = _fetch_row(connection, identity)
    stored, score = _read_match(row), load_match_score(connection, row)
    current = _find_game(connection, MatchSlot(identity, score.number))
    last = current or _find_game(connection, MatchSlot(identity, score.number - 1))
    series, seats = replace(stored.series, match=score), stored.seats
    if last is not None:
        series = replace(series, names=last.table.names)
        seats = seats._replace(players=last.seats.players)
    return replace(stored, series=series, seats=seats, current=current)


def find_game(store: Store, slot: MatchSlot) -> StoredGame | None:
    """Return a game of a match, if it has started."""
    with store.read() as connection:
        return _find_game(connection, slot)


def _find_game(connection: Connection, slot: MatchSlot) -> StoredGame | None:
    identity = find_game_id(connection, slot)
    return None if identity is None else load_game(connection, identity)


def claim_slot(connection: Connection, match: StoredMatch) -> MatchSlot:
    """Return the slot of a match's next game, and store the match if it is new.

    The lock on the match keeps other processes from starting the same game.
    """
    query = select(matches.c.id).where(matches.c.key == match.key).with_for_update()
    identity = connection.execute(query).scalar()
    if identity is None:
        if match.id is not None:
            raise GameNotFoundError(match.id)
        at = match.started or rows.format_now()
        row = {"key": match.key, "document": json.dumps(_serialize(match)), "finished": False}
        added = insert(matches).values(**row, started=at, changed=at).returning(matches.c.id)
        identity = connection.execute(added).scalar_one()
    return MatchSlot(identity, match.series.match.number)


def delete_match(store: Store, identity: int) -> tuple[StoredGame, ...]:
    """Delete a match with its games; return those that were not damaged."""
    with store.write() as connection:
        _fetch_row(connection, identity, lock=True)
        mine = select(games.c.id).where(games.c.match == identity).order_by(games.c.number)
        deleted = tuple(load_games(connection, connection.execute(mine).scalars().all()))
        connection.execute(delete(games).where(games.c.match == identity))
        connection.execute(delete(matches).where(matches.c.id == identity))
        return tuple(game for game in deleted if isinstance(game, StoredGame))


class ListedMatch(NamedTuple):
    """A match, or what is wrong with it, and when it was last played."""

    match: StoredMatch | DamagedEntry
    changed: str


def list_matches(
    connection: Connection, count: int, skip: int = 0
) -> tuple[tuple[ListedMatch, ...], int]:
    """Return a page of the matches, the last played first, and how many there are."""
    total = count_rows(connection, matches)
    last = select(func.max(games.c.changed)).where(games.c.match == matches.c.id)
    played = func.coalesce(last.scalar_subquery(), "")
    newest = select(matches.c.id, played).order_by(played.desc(), matches.c.id.desc())
    listed = []
    for identity, changed in connection.execute(newest.limit(count).offset(skip)).all():
        match: StoredMatch | DamagedEntry
        try:
            match = load_match(connection, identity)
        except DamagedError as damaged:
            match = DamagedEntry(identity, str(damaged))
        listed.append(ListedMatch(match, changed))
    return tuple(listed), total


# Documents ----------------------------------------------------------------------------------------


def _serialize(match: StoredMatch) -> dict[str, object]:
    series, seats = match.series, match.seats
    return {
        "games": [rows.serialize_choice(choice) for choice in series.games],
        "best_of": series.match.best_of,
        "first": series.match.first + 1,
        "hidden": series.hidden,
        "names": series.names,
        "players": seats.players,
        "seed": seats.seed,
    }


def _build_match(
    identity: int | None, key: str, started: str, document: Mapping[str, Any]
) -> StoredMatch:
    """Return a match as it was before its first game."""
    names, seats = document["names"], rows.parse_seats(document["players"], document["seed"])
    series = Series(
        tuple(map(rows.parse_choice, document["games"])),
        Match(document["best_of"], document["first"] - 1),
        None if names is None else check_player_names(names),
        hidden=document["hidden"],
    )
    if not series.games:
        raise ValueError("expected a match of at least one game")
    return StoredMatch(identity, key, series, seats, started)


def _read_match(row: Mapping[Any, Any]) -> StoredMatch:
    with detect_damage(f"match m{row['id']}"):
        document = json.loads(row["document"])
        return _build_match(row["id"], row["key"], row["started"], document)


def serialize_match(connection: Connection, slot: MatchSlot) -> dict[str, object]:
    """Return the fields of a match for a line with one of its games."""
    match = _read_match(_fetch_row(connection, slot.match))
    document = {"key": match.key, **_serialize(match)}
    return {**document, "started": match.started, "number": slot.number}


class ImportedMatch(NamedTuple):
    """The match of a line, and the number of the line's game in it."""

    match: StoredMatch
    number: int

    def claim_slot(self, connection: Connection) -> MatchSlot | None:
        """Return the game's slot, storing the match if it is new.

        None means that another match has its key here.
        """
        same = select(matches).where(matches.c.key == self.match.key)
        row = connection.execute(same).mappings().one_or_none()
        if row is not None:
            here = _read_match(row)
            if (here.series, here.started) != (self.match.series, self.match.started):
                return None
        return claim_slot(connection, self.match)._replace(number=self.number)


def parse_match(document: Mapping[str, Any], table: Table) -> ImportedMatch:
    """Read the match of a line, and the number of the line's game in it."""
    with rows.expect("match", "a match as tower export writes it"):
        rows.check_key(document["key"])
        match = _build_match(None, document["key"], document["started"], document)
        number, series = document["number"], match.series
        if number not in range(1, 1 + series.match.best_of) or not rows.is_timestamp(match.started):
            raise ValueError
        rules = series.games[(number - 1) % len(series.games)].rules
    expected = (rules, (series.match.first + number - 1) % 2, series.hidden)
    if (table.game.rules, table.game.first, table.hidden) != expected:
        raise RecordError("match", f"expected its game {number}")
    return ImportedMatch(match, number)


def _fetch_row(connection: Connection, identity: int, *, lock: bool = False) -> Mapping[Any, Any]:
    query = select(matches).where(matches.c.id == identity)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise GameNotFoundError(identity)
    return row
