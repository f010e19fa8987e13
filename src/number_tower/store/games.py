"""Games in a database: each change is written before it is announced, answers a version, and counts once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import and_, bindparam, func, insert, or_, select, update

from number_tower.match import Match, MatchError
from number_tower.store import GameNotFoundError, GameStartedError, StoreError
from number_tower.store import rows as keeping
from number_tower.store.engine import (
    detect_damage,
)
from number_tower.store.rows import (
    DamagedRowError,
    MatchSlot,
    StoredGame,
    load_rulebook,
    store_rulebook,
)
from number_tower.store.schema import changes, games, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection, Update
    from sqlalchemy import Table as SqlTable

    from number_tower.catalogue import Rulebook
    from number_tower.store.rows import StoredGame
    from number_tower.table import Table


class GameInMatchError(ValueError):
    """A game that is part of a match, and cannot go without it."""

    def __init__(self, part: MatchSlot) -> None:
        super().__init__(f"this is {part}")
        self.slot = part


def load_game(connection: Connection, identity: int, *, lock: bool = False) -> StoredGame:
    """Return a game by its id; `lock` keeps others from changing it, and its match, until the transaction ends."""
    query = select(games).where(games.c.id == identity)
    if lock:
        _lock_match(connection, identity)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise GameNotFoundError(identity)
    log = select(changes.c.change, changes.c.at).where(changes.c.game == identity).order_by(changes.c.version)
    return build_game(
        row, [(entry.change, entry.at) for entry in connection.execute(log)], load_rulebook(connection, row["book"])
    )


def _load_unless_damaged(connection: Connection, identity: int) -> StoredGame | None:
    """Return a game to be dropped; None if somebody damaged it."""
    try:
        return load_game(connection, identity, lock=True)
    except StoreError:
        return None


def _lock_unchanged(connection: Connection, known: StoredGame) -> bool:
    """Keep others from changing a game, and say whether nobody has since it was last looked at."""
    _lock_match(connection, known.id)
    query = select(games.c.version, games.c.moves).where(games.c.id == known.id, games.c.key == known.key)
    found = connection.execute(query.with_for_update()).one_or_none()
    standing = keeping.make_state_columns(known.table)
    return found is not None and found == (standing["version"], standing["moves"])


def _lock_match(connection: Connection, identity: int) -> None:
    """Keep others from changing the match of a game: always before the game, so that nobody waits in a circle."""
    match = select(games.c.match).where(games.c.id == identity).scalar_subquery()
    connection.execute(select(matches.c.id).where(matches.c.id == match).with_for_update())


def build_game(row: Mapping[Any, Any], log: list[tuple[str, str]], book: Rulebook | None) -> StoredGame:
    """Make a game of its rows."""
    part = None if row["match"] is None else MatchSlot(row["match"], row["number"])
    try:
        game = keeping.read_game(row, log, book, part)
        check_columns(row, games)
    except (DamagedRowError, TypeError) as wrong:
        raise StoreError(f"game {row['id']} is damaged in the database: {wrong}") from None
    return game


def check_columns(row: Mapping[Any, Any], table: SqlTable) -> None:
    """Refuse a row with values of another type than the table's: a damaged SQLite file holds anything anywhere."""
    for name, kind in _get_column_types(table).items():
        if not isinstance(row[name], kind):
            raise TypeError("one of its columns holds something else than was written there")


@lru_cache
def _get_column_types(table: SqlTable) -> dict[str, tuple[type, ...]]:
    return {
        column.name: (column.type.python_type, *([type(None)] if column.nullable else [])) for column in table.columns
    }


def insert_game(connection: Connection, game: StoredGame) -> StoredGame:
    """Write a new game; return it with its id."""
    if game.slot is not None and (begun := find_game_id(connection, game.slot)) is not None:
        raise GameStartedError(load_game(connection, begun, lock=True))
    row = {
        **keeping.make_row(game.table, game.book, game.seats),
        **keeping.make_state_columns(game.table),
        "key": game.key,
        "book": store_rulebook(connection, game.book),
        "started": game.started,
        "changed": game.changed,
        "match": game.slot and game.slot.match,
        "number": game.slot and game.slot.number,
    }
    identity = connection.execute(insert(games).values(row).returning(games.c.id)).scalar_one()
    _insert_changes(connection, identity, game, 0)
    if game.slot is not None and game.table.outcome is not None:
        settle_match(connection, game.slot.match, game.changed)
    return replace(game, id=identity)


def find_game_id(connection: Connection, part: MatchSlot) -> int | None:
    """Return the id of a game of a match; None if it was not begun yet."""
    query = select(games.c.id).where(games.c.match == part.match, games.c.number == part.number)
    found: int | None = connection.execute(query).scalar()
    return found


UPDATE_IF_UNCHANGED = update(games).where(
    games.c.id == bindparam("of_id"),
    games.c.key == bindparam("of_key"),
    games.c.version == bindparam("of_version"),
    games.c.moves == bindparam("of_moves"),
)


"""Changes a game unless somebody else did. Put together once: that takes longer than running it."""


def advance_game(
    connection: Connection,
    known: StoredGame,
    table: Table,
    change: Update = UPDATE_IF_UNCHANGED,
    also: Mapping[str, object] | None = None,
) -> StoredGame | None:
    """Write the changes that lead from what is known to a table in one go; None if somebody else was faster.

    This is for those who know a game well, and have many to write. `change` may ask for more, which is in `also`.
    """
    after = known.advance(table, keeping.format_now())
    standing = keeping.make_state_columns(known.table)
    values = {
        **keeping.make_state_columns(table),
        "changed": after.changed,
        "of_id": known.id,
        "of_key": known.key,
        "of_version": standing["version"],
        "of_moves": standing["moves"],
        **(also or {}),
    }
    if connection.execute(change, values).rowcount != 1:
        return None
    _insert_changes(connection, known.id, after, known.table.version)
    if after.slot is not None and (table.outcome is None) != (known.table.outcome is None):
        settle_match(connection, after.slot.match, after.changed)
    return after


def update_game(
    connection: Connection, current: StoredGame, table: Table, times: tuple[str, ...] | None = None
) -> StoredGame:
    """Write the changes that lead from what is kept to a table, made now or, in all, at these times."""
    after = current.advance(table, keeping.format_now()) if times is None else current.with_times(table, times)
    row = {**keeping.make_row(table, current.book, current.seats), **keeping.make_state_columns(table)}
    values = {**row, "changed": after.changed}
    connection.execute(update(games).where(games.c.id == current.id).values(values))
    _insert_changes(connection, current.id, after, current.table.version)
    _notify_rooms(connection, current.id)
    if after.slot is not None and (table.outcome is None) != (current.table.outcome is None):
        settle_match(connection, after.slot.match, after.changed)
    return after


def _notify_rooms(connection: Connection, identity: int) -> None:
    """Let servers know that a game which is played in a room of theirs was changed, whoever did it."""
    if connection.dialect.name == "postgresql":
        told = "SELECT pg_notify('number_tower', room::text) FROM rounds WHERE game = %(game)s"
        connection.exec_driver_sql(told, {"game": identity})


def _insert_changes(connection: Connection, identity: int, game: StoredGame, since: int) -> None:
    entries = [
        {"game": identity, "version": version, "change": change.written(), "at": at}
        for version, (change, at) in enumerate(zip(game.table.log, game.times[1:], strict=True))
        if version >= since
    ]
    if entries:
        connection.execute(insert(changes), entries)


ResultFilter = Literal["won", "lost", "drawn", "finished", "unfinished"]


_GAMES_PER_QUERY = 500


class DamagedEntry(NamedTuple):
    """A game that somebody damaged in the database, and what is wrong with it."""

    id: int
    problem: str


class GameFilter(NamedTuple):
    """What games are looked for; times are from (inclusive) and to (exclusive), as the database writes them."""

    game: str | None = None
    player: str | None = None
    result: ResultFilter | None = None
    since: str | None = None
    before: str | None = None

    def make_conditions(self) -> Iterator[ColumnElement[bool]]:
        """Say it in SQL."""
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
            yield self._make_result_condition(self.result)

    def _make_result_condition(self, result: ResultFilter) -> ColumnElement[bool]:
        match result:
            case "unfinished":
                return games.c.reason.is_(None)
            case "finished":
                return games.c.reason.is_not(None)
            case "drawn":
                return and_(games.c.reason.is_not(None), games.c.winner.is_(None))
            case "won" | "lost":
                name = (self.player or "").casefold()
                mine = 1 if result == "won" else 2
                return or_(
                    and_(games.c.player_1 == name, games.c.winner == mine),
                    and_(games.c.player_2 == name, games.c.winner == 3 - mine),
                )


class GamePage(NamedTuple):
    """Some of the games that were looked for, and how many there are in all."""

    games: tuple[StoredGame | DamagedEntry, ...]
    total: int


def list_games(connection: Connection, wanted: GameFilter, count: int, skip: int = 0) -> GamePage:
    """Return some of the games that were looked for, the last changed first."""
    where = tuple(wanted.make_conditions())
    total = connection.execute(select(func.count()).select_from(games).where(*where)).scalar_one()
    newest = select(games.c.id).where(*where).order_by(games.c.changed.desc(), games.c.id.desc())
    found = connection.execute(newest.limit(count).offset(skip)).scalars().all()
    return GamePage(tuple(load_games(connection, found)), total)


def load_matching_games(connection: Connection, wanted: GameFilter) -> Iterator[StoredGame | DamagedEntry]:
    """Give every game that was looked for, in the order of their ids, and with a game all those of its match."""
    found = select(games.c.id, games.c.match).where(*wanted.make_conditions()).subquery()
    matches = select(found.c.match).where(found.c.match.is_not(None))
    query = select(games.c.id).where(or_(games.c.id.in_(select(found.c.id)), games.c.match.in_(matches)))
    return load_games(connection, connection.execute(query.order_by(games.c.id)).scalars().all())


def load_games(connection: Connection, identities: Iterable[int]) -> Iterator[StoredGame | DamagedEntry]:
    """Give games by their ids, in the order given, a few hundred at a time."""
    books: dict[int | None, Rulebook | None] = {}
    waiting = list(identities)
    for start in range(0, len(waiting), _GAMES_PER_QUERY):
        some = waiting[start : start + _GAMES_PER_QUERY]
        rows = {row["id"]: row for row in connection.execute(select(games).where(games.c.id.in_(some))).mappings()}
        logs = defaultdict(list)
        log = select(changes).where(changes.c.game.in_(some)).order_by(changes.c.game, changes.c.version)
        for entry in connection.execute(log):
            logs[entry.game].append((entry.change, entry.at))
        for identity in some:
            try:
                with detect_damage(f"game {identity}"):
                    row = rows[identity]
                    if row["book"] not in books:
                        books[row["book"]] = load_rulebook(connection, row["book"])
                    game = build_game(row, logs[identity], books[row["book"]])
            except StoreError as damaged:
                yield DamagedEntry(identity, str(damaged))
            else:
                yield game


def load_match_score(connection: Connection, row: Mapping[Any, Any]) -> Match:
    """Return who won the games of a match, up to the first that is not over."""
    over = select(games.c.number, games.c.winner).where(games.c.match == row["id"], games.c.reason.is_not(None))
    entries = connection.execute(over).all()
    match = read_match(row)
    try:
        winners = {entry.number: None if entry.winner is None else entry.winner - 1 for entry in entries}
        while not match.over and match.number in winners:
            match = match.after(winners[match.number])
    except (MatchError, TypeError) as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {wrong}") from None
    return match


def read_match(row: Mapping[Any, Any]) -> Match:
    """Return a match as it was before its first game."""
    try:
        return Match(row["best_of"], row["first"] - 1)
    except (MatchError, TypeError) as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {wrong}") from None


def settle_match(connection: Connection, identity: int, at: str) -> None:
    """See whether a match is decided, now that one of its games is; whoever ends two of them at once waits."""
    row = connection.execute(select(matches).where(matches.c.id == identity).with_for_update()).mappings().one()
    values = {"finished": load_match_score(connection, row).over, "changed": max(row["changed"], at)}
    connection.execute(update(matches).where(matches.c.id == identity).values(values))
