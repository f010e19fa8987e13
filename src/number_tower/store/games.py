"""Games in a database: load, insert and update one, settle its match, find and load many."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, insert, or_, select, update

from number_tower.engine.catalogue import Rulebook
from number_tower.engine.match import Match
from number_tower.store import DamagedError, GameNotFoundError, GameStartedError, rows
from number_tower.store.connection import count_rows, detect_damage
from number_tower.store.revisions import raise_revisions
from number_tower.store.rows import (
    MatchSlot,
    StoredGame,
    load_rulebook,
    make_changing_columns,
    make_row,
)
from number_tower.store.schema import changes, games, matches, rooms
from number_tower.support.errors import NumberTowerError

ResultFilter = Literal["won", "lost", "drawn", "finished", "unfinished"]

_GAMES_PER_QUERY = 500

_UPDATE = update(games).where(games.c.id == bindparam("of_game"))
_INSERT_CHANGES = insert(changes)
"""Built once, because building a statement takes longer than running it."""

_NO_ACCURACY = dict.fromkeys(("mattered_1", "kept_1", "mattered_2", "kept_2"))


class GameInMatchError(NumberTowerError, ValueError):
    """A game that is part of a match, and cannot be deleted without it."""

    reason = "in_match"

    def __init__(self, slot: MatchSlot) -> None:
        super().__init__(f"this is {slot}")
        self.slot = slot


# One game -----------------------------------------------------------------------------------------


def load_game(connection: Connection, identity: int, *, lock: bool = False) -> StoredGame:
    """Return a game by its id.

    `lock` keeps others from changing it, its room and its match until the transaction ends.
    """
    query = select(games).where(games.c.id == identity)
    if lock:
        # Lock room and match before the game: a fixed order prevents deadlocks.
        connection.execute(select(rooms.c.id).where(rooms.c.game == identity).with_for_update())
        match = select(games.c.match).where(games.c.id == identity).scalar_subquery()
        connection.execute(select(matches.c.id).where(matches.c.id == match).with_for_update())
        query = query.with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise GameNotFoundError(identity)
    entries = select(changes.c.change, changes.c.at).where(changes.c.game == identity)
    log = connection.execute(entries.order_by(changes.c.version)).all()
    book = load_rulebook(connection, row["book"])
    with detect_damage(f"game {identity}"):
        return rows.read_game(row, log, book)


def find_id(connection: Connection, key: str) -> int | None:
    """Return the id of the game with a key; None if it is not stored here."""
    query = select(games.c.id).where(games.c.key == key)
    identity: int | None = connection.execute(query).scalar()
    return identity


def find_game_id(connection: Connection, slot: MatchSlot) -> int | None:
    """Return the id of a game of a match; None if it has not started."""
    query = select(games.c.id).where(games.c.match == slot.match, games.c.number == slot.number)
    identity: int | None = connection.execute(query).scalar()
    return identity


def insert_game(connection: Connection, game: StoredGame) -> StoredGame:
    """Insert a new game; return it with its id."""
    if game.slot is not None and (found := find_game_id(connection, game.slot)) is not None:
        raise GameStartedError(load_game(connection, found, lock=True))
    row = {**make_row(game), "book": rows.store_rulebook(connection, game.table.book)}
    identity = connection.execute(insert(games).values(row).returning(games.c.id)).scalar_one()
    game = replace(game, id=identity)
    insert_changes(connection, game)
    return game


def update_game(connection: Connection, before: StoredGame, after: StoredGame) -> StoredGame:
    """Store the changed columns of a game, and reset its accuracy."""
    # A move changes neither names nor seats, so the other columns stay.
    has_same_players = (before.table.names, before.seats) == (after.table.names, after.seats)
    make_columns = make_changing_columns if has_same_players else make_row
    old, new = make_columns(before), make_columns(after)
    # Write only changed columns: their indexes need no new entries.
    changed = {name: value for name, value in new.items() if value != old[name]}
    connection.execute(_UPDATE, {"of_game": before.id, **changed, **_NO_ACCURACY})
    insert_changes(connection, after, before)
    return after


def change_game(connection: Connection, before: StoredGame, after: StoredGame) -> StoredGame:
    """Store the changed columns of a game, and raise the revision of its room, if it has one."""
    raise_revisions(connection, rooms, rooms.c.game == before.id)
    return update_game(connection, before, after)


def mark_with_values(connection: Connection, game: StoredGame) -> StoredGame:
    """Store that the players of a game saw the value of every move."""
    same = update(games).where(games.c.id == game.id, games.c.key == game.key)
    connection.execute(same.values(with_values=True))
    return replace(game, with_values=True)


def insert_changes(
    connection: Connection, after: StoredGame, before: StoredGame | None = None
) -> None:
    """Insert the changes since an earlier state.

    If the game was ended, or is no longer over, update whether its match is decided.
    """
    since = 0 if before is None else before.table.version
    was_over = before is not None and before.table.outcome is not None
    added = zip(after.table.log[since:], after.times[1 + since :], strict=True)
    entries = [
        {"game": after.id, "version": version, "change": change.to_text(), "at": at}
        for version, (change, at) in enumerate(added, since)
    ]
    if entries:
        connection.execute(_INSERT_CHANGES, entries)
    if after.slot is not None and was_over != (after.table.outcome is not None):
        _settle_match(connection, after.slot.match, after.changed)


# The match of a game ------------------------------------------------------------------------------


def load_match_score(connection: Connection, row: Mapping[Any, Any]) -> Match:
    """Return a match with the results of its games, up to the first that is not over."""
    over = games.c.match == row["id"], games.c.reason.is_not(None)
    results = connection.execute(select(games.c.number, games.c.winner).where(*over)).all()
    with detect_damage(f"match m{row['id']}"):
        document = json.loads(row["document"])
        match = Match(document["best_of"], document["first"] - 1)
        winners = {number: winner and winner - 1 for number, winner in results}
        while not match.over and match.number in winners:
            match = match.after(winners[match.number])
    return match


def _settle_match(connection: Connection, identity: int, at: str) -> None:
    """Update whether a match is decided. The lock makes games that end at once take turns."""
    query = select(matches).where(matches.c.id == identity).with_for_update()
    row = connection.execute(query).mappings().one()
    finished = load_match_score(connection, row).over
    change = update(matches).where(matches.c.id == identity)
    connection.execute(change.values(finished=finished, changed=max(row["changed"], at)))


# Many games ---------------------------------------------------------------------------------------


class DamagedEntry(NamedTuple):
    """The id of a damaged game, match or attempt, and what is wrong with it."""

    id: int
    problem: str


class GameFilter(NamedTuple):
    """A filter of games; stored times are from `since` (inclusive) to `before` (exclusive)."""

    game: str | None = None
    player: str | None = None
    result: ResultFilter | None = None
    since: str | None = None
    before: str | None = None

    def make_conditions(self) -> Iterator[ColumnElement[bool]]:
        """Return the filter as SQL conditions."""
        if self.game is not None:
            yield games.c.rulebook == self.game
        if self.player is not None:
            name = self.player.casefold()
            yield or_(games.c.player_1 == name, games.c.player_2 == name)
        if self.since is not None:
            yield games.c.changed >= self.since
        if self.before is not None:
            yield games.c.changed < self.before
        if self.result is not None:
            is_over = games.c.reason.is_not(None)
            yield ~is_over if self.result == "unfinished" else is_over
        if self.result == "drawn":
            yield games.c.winner.is_(None)
        if self.result in {"won", "lost"}:
            name, seat = (self.player or "").casefold(), 1 if self.result == "won" else 2
            first = and_(games.c.player_1 == name, games.c.winner == seat)
            yield or_(first, and_(games.c.player_2 == name, games.c.winner == 3 - seat))


def list_games(
    connection: Connection, wanted: GameFilter, count: int, skip: int = 0
) -> tuple[tuple[StoredGame | DamagedEntry, ...], int]:
    """Return a page of the matching games, the last changed first, and how many match in all."""
    conditions = tuple(wanted.make_conditions())
    total = count_rows(connection, games, *conditions)
    newest = games.c.changed.desc(), games.c.id.desc()
    query = select(games.c.id).where(*conditions).order_by(*newest).limit(count).offset(skip)
    return tuple(load_games(connection, connection.execute(query).scalars())), total


def load_matching_games(
    connection: Connection, wanted: GameFilter
) -> Iterator[StoredGame | DamagedEntry]:
    """Yield the games that match a filter in the order of ids, with all games of their matches."""
    matching = select(games.c.id, games.c.match).where(*wanted.make_conditions()).subquery()
    series = select(matching.c.match).where(matching.c.match.is_not(None))
    condition = or_(games.c.id.in_(select(matching.c.id)), games.c.match.in_(series))
    query = select(games.c.id).where(condition).order_by(games.c.id)
    return load_games(connection, connection.execute(query).scalars())


def load_games(
    connection: Connection, identities: Iterable[int]
) -> Iterator[StoredGame | DamagedEntry]:
    """Yield games in the order of the given ids, with a few queries for some hundred games."""
    books: dict[int | None, Rulebook | None] = {}
    waiting = list(identities)
    for start in range(0, len(waiting), _GAMES_PER_QUERY):
        batch = waiting[start : start + _GAMES_PER_QUERY]
        query = select(games).where(games.c.id.in_(batch))
        entries = {row["id"]: row for row in connection.execute(query).mappings()}
        logs = defaultdict(list)
        log = select(changes).where(changes.c.game.in_(batch))
        for entry in connection.execute(log.order_by(changes.c.game, changes.c.version)):
            logs[entry.game].append((entry.change, entry.at))
        for identity in batch:
            try:
                with detect_damage(f"game {identity}"):
                    row = entries[identity]
                    if row["book"] not in books:
                        books[row["book"]] = load_rulebook(connection, row["book"])
                    yield rows.read_game(row, logs[identity], books[row["book"]])
            except DamagedError as damaged:
                yield DamagedEntry(identity, str(damaged))
