"""Matches in a database: what is played in them and by whom; their games, and so their score, are kept as games."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from number_tower import catalogue
from number_tower.match import Entry, Match, MatchError, Series
from number_tower.record import RecordError
from number_tower.rules import Rules, RulesError
from number_tower.showing import shown_text
from number_tower.store.foreign import read_key, read_rulebook, read_seats, rulebook_written
from number_tower.store.games import NoSuchGame, book_kept, book_of, check_columns, identity_of, load
from number_tower.store.history import Unreadable, loaded
from number_tower.store.kept import Kept, Part, Seats, is_time, now, seated
from number_tower.store.schema import changes, games, matches
from number_tower.store.standing import standing, unplayed
from number_tower.store.trouble import StoreError, detect_damage
from number_tower.table import TableError, player_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from number_tower.store.games import Store
    from number_tower.table import Table

_KEYS = {"key", "games", "best_of", "first", "hidden", "names", "players", "seed", "started", "number"}


@dataclass(frozen=True)
class KeptMatch:
    """A match as the store keeps it; without an id it is still to be kept."""

    id: int | None
    key: str
    series: Series
    seats: Seats
    started: str = ""
    current: Kept | None = None
    """The game that was begun and not ended, if one was."""


class Left(NamedTuple):
    """A match that is not decided, and when a game of it ended last."""

    id: int
    changed: str


def undecided(store: Store) -> Left | None:
    """Return the match of which a game ended last, of those that are not decided."""
    query = select(matches.c.id, matches.c.changed).where(~matches.c.finished)
    with store.looking() as connection:
        found = connection.execute(query.order_by(matches.c.changed.desc(), matches.c.id.desc()).limit(1)).one_or_none()
        return None if found is None else Left(*found)


def get(store: Store, identity: int) -> KeptMatch:
    """Return a match by its id; whoever chose the moves in its last game chooses them, and is called as there."""
    with store.looking() as connection:
        return _loaded(connection, identity)


def _loaded(connection: Connection, identity: int) -> KeptMatch:
    with detect_damage(f"match m{identity}"):
        return _made(connection, identity, _row(connection, identity))


def _made(connection: Connection, identity: int, row: Mapping[Any, Any]) -> KeptMatch:
    check_columns(row, matches)
    match = standing(connection, row)
    begun = identity_of(connection, Part(identity, match.number))
    current = None if begun is None else load(connection, begun)
    earlier = identity_of(connection, Part(identity, match.number - 1))
    last = current or (None if earlier is None else load(connection, earlier))
    series, seats = _series(connection, row, match), _seats(row)
    if last is not None:
        series, seats = replace(series, names=last.table.names), Seats(last.seats.players, seats.seed)
    return KeptMatch(identity, row["key"], series, seats, row["started"], current)


def game(store: Store, part: Part) -> Kept | None:
    """Return a game of a match, if it was begun."""
    with store.looking() as connection:
        found = identity_of(connection, part)
        return None if found is None else load(connection, found)


def place(connection: Connection, match: KeptMatch) -> Part:
    """Return the place of a match's next game; the match is kept from its first on, and nobody begins two at once."""
    query = select(matches.c.id).where(matches.c.key == match.key).with_for_update()
    found = connection.execute(query).scalar()
    if found is None and match.id is not None:
        raise NoSuchGame(match.id)
    return Part(_added(connection, match) if found is None else found, match.series.match.number)


def forget(store: Store, identity: int) -> tuple[Kept, ...]:
    """Drop a match with its games; return those that nobody damaged as they were."""
    with store.writing() as connection:
        _row(connection, identity, lock=True)
        mine = select(games.c.id).where(games.c.match == identity).order_by(games.c.number)
        dropped = tuple(loaded(connection, connection.execute(mine).scalars().all()))
        connection.execute(delete(changes).where(changes.c.game.in_(mine)))
        connection.execute(delete(games).where(games.c.match == identity))
        connection.execute(delete(matches).where(matches.c.id == identity))
        return tuple(game for game in dropped if isinstance(game, Kept))


class Listed(NamedTuple):
    """A match, as it is listed; or its id, and what is wrong with it."""

    match: KeptMatch | Unreadable
    changed: str


def page(connection: Connection, count: int, skip: int = 0) -> tuple[tuple[Listed, ...], int]:
    """Return some of the matches, that of which a game was played last first, and how many there are."""
    total = connection.execute(select(func.count()).select_from(matches)).scalar_one()
    played = func.coalesce(select(func.max(games.c.changed)).where(games.c.match == matches.c.id).scalar_subquery(), "")
    newest = select(matches.c.id, played).order_by(played.desc(), matches.c.id.desc()).limit(count).offset(skip)
    rows = connection.execute(newest).all()
    return tuple(Listed(_loaded_or_not(connection, identity), changed) for identity, changed in rows), total


def _loaded_or_not(connection: Connection, identity: int) -> KeptMatch | Unreadable:
    try:
        return _loaded(connection, identity)
    except StoreError as damaged:
        return Unreadable(identity, str(damaged))


# To another machine and back -----------------------------------------------------------------------------------------


def written(connection: Connection, part: Part) -> dict[str, object]:
    """Return what another machine has to know of a match beside its games."""
    row = _row(connection, part.match)
    series = _series(connection, row, unplayed(row))
    seats = _seats(row)
    return {
        "key": row["key"],
        "games": [
            {"name": entry.book.name, "rules": entry.rules.written(), "rulebook": rulebook_written(entry.book)}
            for entry in series.games
        ],
        "best_of": series.match.best_of,
        "first": series.match.first + 1,
        "hidden": series.hidden,
        "names": series.names,
        "players": seats.players,
        "seed": seats.seed,
        "started": row["started"],
        "number": part.number,
    }


class Foreign(NamedTuple):
    """A match that a line from another machine speaks of, and which of its games the line holds."""

    match: KeptMatch
    number: int

    def place(self, connection: Connection) -> Part | None:
        """Find the place of the game here, keeping the match if it is new; None if another match has its key here."""
        found = connection.execute(select(matches).where(matches.c.key == self.match.key)).mappings().one_or_none()
        if found is not None:
            here = _series(connection, found, unplayed(found))
            if (here, found["started"]) != (self.match.series, self.match.started):
                return None
        return place(connection, self.match)._replace(number=self.number)


def read(given: object, table: Table) -> Foreign:
    """Read what a line says of the match that its game is part of, if it can be a part of it."""
    if not isinstance(given, dict) or given.keys() != _KEYS:
        raise RecordError("match", f"expected {', '.join(sorted(_KEYS))}")
    if type(given["hidden"]) is not bool or not is_time(given["started"]) or type(given["first"]) is not int:
        raise RecordError("match", "expected hidden as true or false, started as a time, and first as 1 or 2")
    try:
        names = None if given["names"] is None else player_names(given["names"])
        match = Match(given["best_of"], given["first"] - 1)
    except (TableError, MatchError) as wrong:
        raise RecordError("match", str(wrong)) from None
    number = given["number"]
    if type(number) is not int or not 1 <= number <= match.best_of:
        raise RecordError("match.number", f"expected a whole number from 1 to {match.best_of}")
    series = Series(_entries(given["games"]), match, names, hidden=given["hidden"])
    entry = series.games[(number - 1) % len(series.games)]
    expected = (entry.rules, (match.first + number - 1) % 2, series.hidden)
    if (table.game.rules, table.game.first, table.hidden) != expected:
        raise RecordError("match", f"this is not its game {number}")
    seats = read_seats(given["players"], given["seed"])
    return Foreign(KeptMatch(None, read_key(given["key"]), series, seats, given["started"]), number)


def _entries(given: object) -> tuple[Entry, ...]:
    if not isinstance(given, list) or not given:
        raise RecordError("match.games", "expected a list of games")
    return tuple(map(_entry, given))


def _entry(given: object) -> Entry:
    if not isinstance(given, dict) or given.keys() != {"name", "rules", "rulebook"} or type(given["rules"]) is not dict:
        raise RecordError("match.games", "expected name, rules and rulebook of each")
    if not isinstance(given["name"], str) or not given["name"].isprintable():
        raise RecordError("match.games", "expected games by name")
    try:
        rules = Rules.read(given["rules"])
    except RulesError as wrong:
        raise RecordError("match.games", str(wrong)) from None
    return Entry(read_rulebook(given["rulebook"]) or catalogue.rulebook_for(given["name"], rules), rules)


# Rows ----------------------------------------------------------------------------------------------------------------


def _row(connection: Connection, identity: int, *, lock: bool = False) -> Mapping[Any, Any]:
    query = select(matches).where(matches.c.id == identity)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NoSuchGame(identity)
    return row


def _added(connection: Connection, match: KeptMatch) -> int:
    series, at = match.series, match.started or now()
    entries = [
        {"name": entry.book.name, "rules": entry.rules.written(), "book": book_kept(connection, entry.book)}
        for entry in series.games
    ]
    names = series.names or (None, None)
    row = {
        "key": match.key,
        "games": json.dumps(entries),
        "best_of": series.match.best_of,
        "first": series.match.first + 1,
        "hidden": series.hidden,
        "name_1": names[0],
        "name_2": names[1],
        **seated(match.seats),
        "started": at,
        "changed": at,
        "finished": False,
    }
    identity: int = connection.execute(insert(matches).values(row).returning(matches.c.id)).scalar_one()
    return identity


def _series(connection: Connection, row: Mapping[Any, Any], match: Match) -> Series:
    try:
        entries = tuple(_kept_entry(connection, entry) for entry in json.loads(row["games"]))
        names = None if row["name_1"] is None else player_names((row["name_1"], row["name_2"]))
    except (RulesError, TableError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {shown_text(str(wrong))}") from None
    if not entries:
        raise StoreError(f"match m{row['id']} is damaged in the database: nothing is played in it")
    return Series(entries, match, names, hidden=row["hidden"])


def _kept_entry(connection: Connection, entry: Mapping[str, Any]) -> Entry:
    rules = Rules.read(entry["rules"])
    if not entry["name"].isprintable():
        raise ValueError("expected games by name")
    return Entry(book_of(connection, entry["book"]) or catalogue.rulebook_for(entry["name"], rules), rules)


def _seats(row: Mapping[Any, Any]) -> Seats:
    try:
        return Seats((row["seat_1"], row["seat_2"]), None if row["seed"] is None else int(row["seed"]))
    except ValueError as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {shown_text(str(wrong))}") from None
