"""Accuracy of finished games: computed once, a few games at a time, and stored with them."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update

from number_tower.coach.review import Accuracy, review
from number_tower.game import Game
from number_tower.rules import Rules
from number_tower.store.database import Store
from number_tower.store.engine import lock_bulk_writes
from number_tower.store.games import make_player_condition
from number_tower.store.schema import games

SECONDS_PER_POSITION = 0.5
"""Time for each position: one that takes longer is not judged, so that no game takes long."""

BATCH = 50
"""Games that are judged between two transactions."""


def count_unjudged(connection: Connection, player: str | None = None) -> int:
    """Return how many finished games are not judged yet, and can be."""
    conditions = _make_unjudged_conditions(player)
    return connection.execute(select(func.count()).select_from(games).where(*conditions)).scalar_one()


def judge_games(store: Store, player: str | None = None) -> Generator[tuple[int, int]]:
    """Judge the games that were not yet, the newest first; after each, give how many are done, and of how many.

    When the generator is closed, or interrupted, what was found so far is stored.
    """
    with store.read() as connection:
        total = count_unjudged(connection, player)
    done = 0
    found: list[tuple[Any, tuple[Accuracy, Accuracy]]] = []
    try:
        for row in _load_unjudged(store, player):
            if (accuracy := _compute_accuracy(row.rules, row.first, row.moves)) is not None:
                found.append((row, accuracy))
            if len(found) >= BATCH:
                _save(store, found)
            done += 1
            yield done, max(done, total)
    finally:
        _save(store, found)


def _make_unjudged_conditions(player: str | None) -> tuple[ColumnElement[bool], ...]:
    return games.c.reason.is_not(None), games.c.mattered_1.is_(None), make_player_condition(player)


def _load_unjudged(store: Store, player: str | None) -> Iterator[Any]:
    """Give the games to be judged, with a transaction for each batch, so that writers do not wait."""
    columns = (games.c.id, games.c.version, games.c.rules, games.c.first, games.c.moves)
    query = select(*columns).where(*_make_unjudged_conditions(player)).order_by(games.c.id.desc()).limit(BATCH)
    rows = None
    while rows is None or len(rows) == BATCH:
        earlier = () if rows is None else (games.c.id < rows[-1].id,)
        with store.read() as connection:
            rows = connection.execute(query.where(*earlier)).all()
        yield from rows


@lru_cache(maxsize=10_000)
def _compute_accuracy(rules: str, first: int, moves: str) -> tuple[Accuracy, Accuracy] | None:
    """Judge a game; None if it is damaged. It is cached since the same short games are played again and again."""
    try:
        game = Game(Rules.read(json.loads(rules)), first - 1, tuple(int(move) for move in moves.split(",") if move))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return review(game, seconds=SECONDS_PER_POSITION).accuracy


def _save(store: Store, found: list[tuple[Any, tuple[Accuracy, Accuracy]]]) -> None:
    """Store the accuracies of games that were not changed since, and empty the list."""
    if not found:
        return
    with store.write() as connection:
        lock_bulk_writes(connection)
        for row, (one, other) in found:
            same = update(games).where(games.c.id == row.id, games.c.version == row.version)
            values = {
                "mattered_1": one.mattered,
                "kept_1": one.kept,
                "mattered_2": other.mattered,
                "kept_2": other.kept,
            }
            connection.execute(same.values(values))
    found.clear()
