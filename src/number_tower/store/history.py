"""The games of a database, many at a time: found by game, player, result and date, the last changed first."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import and_, func, or_, select

from number_tower.store.games import book_of, made
from number_tower.store.schema import changes, games
from number_tower.store.trouble import StoreError, detect_damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store.kept import Kept

Result = Literal["won", "lost", "drawn", "finished", "unfinished"]

_AT_ONCE = 500


class Unreadable(NamedTuple):
    """A game that somebody damaged in the database, and what is wrong with it."""

    id: int
    problem: str


class Wanted(NamedTuple):
    """What games are looked for; times are from (inclusive) and to (exclusive), as the database writes them."""

    game: str | None = None
    player: str | None = None
    result: Result | None = None
    since: str | None = None
    before: str | None = None

    def conditions(self) -> Iterator[ColumnElement[bool]]:
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
            yield self._came_to(self.result)

    def _came_to(self, result: Result) -> ColumnElement[bool]:
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


class Page(NamedTuple):
    """Some of the games that were looked for, and how many there are in all."""

    games: tuple[Kept | Unreadable, ...]
    total: int


def page(connection: Connection, wanted: Wanted, count: int, skip: int = 0) -> Page:
    """Return some of the games that were looked for, the last changed first."""
    where = tuple(wanted.conditions())
    total = connection.execute(select(func.count()).select_from(games).where(*where)).scalar_one()
    newest = select(games.c.id).where(*where).order_by(games.c.changed.desc(), games.c.id.desc())
    found = connection.execute(newest.limit(count).offset(skip)).scalars().all()
    return Page(tuple(loaded(connection, found)), total)


def all_of(connection: Connection, wanted: Wanted) -> Iterator[Kept | Unreadable]:
    """Give every game that was looked for, in the order of their ids, and with a game all those of its match."""
    found = select(games.c.id, games.c.match).where(*wanted.conditions()).subquery()
    matches = select(found.c.match).where(found.c.match.is_not(None))
    query = select(games.c.id).where(or_(games.c.id.in_(select(found.c.id)), games.c.match.in_(matches)))
    return loaded(connection, connection.execute(query.order_by(games.c.id)).scalars().all())


def loaded(connection: Connection, identities: Iterable[int]) -> Iterator[Kept | Unreadable]:
    """Give games by their ids, in the order given, a few hundred at a time."""
    books: dict[int | None, Rulebook | None] = {}
    waiting = list(identities)
    for start in range(0, len(waiting), _AT_ONCE):
        some = waiting[start : start + _AT_ONCE]
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
                        books[row["book"]] = book_of(connection, row["book"])
                    game = made(row, logs[identity], books[row["book"]])
            except StoreError as damaged:
                yield Unreadable(identity, str(damaged))
            else:
                yield game
