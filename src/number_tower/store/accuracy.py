"""How well finished games were played: found out once, a few games at a time, and kept with them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, or_, select, update

from number_tower.coach.review import review
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.rules import Rules, RulesError
from number_tower.store.engine import lock_bulk_writes
from number_tower.store.schema import games

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sqlalchemy import ColumnElement, Connection

    from number_tower.coach.review import Accuracy
    from number_tower.store.database import Store

SECONDS_PER_POSITION = 0.5
"""How long to work on each position: what takes longer is not judged, and nobody waits long for one game."""

BATCH = 50
"""Games that are judged before what was found out is written."""


class _GameAccuracy(NamedTuple):
    """A game as it was when it was judged, and what was found."""

    id: int
    version: int
    accuracy: tuple[Accuracy, Accuracy]


def make_player_condition(player: str | None) -> ColumnElement[bool]:
    """Say in SQL which games are meant: those of a player, whose name is casefolded, or all."""
    if player is None:
        return games.c.id.is_not(None)
    return or_(games.c.player_1 == player, games.c.player_2 == player)


def count_unjudged(connection: Connection, player: str | None = None) -> int:
    """Return how many finished games are not judged yet, and can be."""
    return connection.execute(
        select(func.count()).select_from(games).where(*_make_unjudged_conditions(player))
    ).scalar_one()


def judge_games(store: Store, player: str | None = None) -> Generator[tuple[int, int]]:
    """Judge the games that were not yet, the newest first; after each, say how many are done and how many there are.

    Whoever stops asking, or is interrupted, loses nothing that was found out.
    """
    with store.read() as connection:
        total = count_unjudged(connection, player)
    done, found = 0, list[_GameAccuracy]()
    try:
        for row in _load_unjudged(store, player):
            if (accuracy := _compute_accuracy(row.rules, row.first, row.moves)) is not None:
                found.append(_GameAccuracy(row.id, row.version, accuracy))
            if len(found) >= BATCH:
                _save(store, found)
            done += 1
            yield done, max(done, total)
    finally:
        _save(store, found)


def _make_unjudged_conditions(player: str | None) -> tuple[ColumnElement[bool], ...]:
    return games.c.reason.is_not(None), games.c.mattered_1.is_(None), make_player_condition(player)


def _load_unjudged(store: Store, player: str | None) -> Iterator[Any]:
    """Give the games to be judged, some at a time, so that nobody who writes has to wait."""
    columns = (games.c.id, games.c.version, games.c.rules, games.c.first, games.c.moves)
    query = select(*columns).where(*_make_unjudged_conditions(player)).order_by(games.c.id.desc()).limit(BATCH)
    some = None
    while some is None or len(some) == BATCH:
        earlier = () if some is None else (games.c.id < some[-1].id,)
        with store.read() as connection:
            some = connection.execute(query.where(*earlier)).all()
        yield from some


@lru_cache(maxsize=10_000)
def _compute_accuracy(rules: str, first: int, moves: str) -> tuple[Accuracy, Accuracy] | None:
    """Judge a game; None if somebody damaged it. The same short games are played again and again."""
    try:
        game = Game(Rules.read(json.loads(rules)), first - 1, tuple(int(move) for move in moves.split(",") if move))
    except (MoveError, RulesError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return review(game, seconds=SECONDS_PER_POSITION).accuracy


def _save(store: Store, found: list[_GameAccuracy]) -> None:
    """Write what was found out, unless the game has gone on since."""
    if not found:
        return
    with store.write() as connection:
        lock_bulk_writes(connection)
        for game in found:
            one, other = game.accuracy
            connection.execute(
                update(games)
                .where(games.c.id == game.id, games.c.version == game.version)
                .values(mattered_1=one.mattered, kept_1=one.kept, mattered_2=other.mattered, kept_2=other.kept)
            )
    found.clear()
