"""A database of very many games, made quickly, and what is asked of it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import insert

from number_tower import Game, catalogue
from number_tower.store import find_location
from number_tower.store.database import Store
from number_tower.store.rows import Seats, make_row, make_state_columns
from number_tower.store.schema import changes, games
from number_tower.table import Table
from startup import TOWER, Work, seconds

if TYPE_CHECKING:
    from pathlib import Path

    from number_tower.catalogue import Rulebook

PLAYERS = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
_AT_ONCE = 1000
_FIRST = datetime(2020, 1, 1, tzinfo=UTC).replace(tzinfo=None)
KINDS = 400
"""Different games that are kept again and again: what is measured is the database, not play."""


def fill(file: Path, number: int, seed: int = 1) -> None:
    """Keep so many finished games by chance, a minute apart, in a new database."""
    chance = random.Random(seed)  # noqa: S311 - games to measure with, not secrets
    books = catalogue.load_all()
    kinds = [_played(chance.choice(books), chance) for _ in range(KINDS)]
    place = find_location(str(file))
    if place is None:
        raise ValueError("expected a file")
    store = Store(place)
    with store.write() as connection:
        for start in range(0, number, _AT_ONCE):
            rows, log = [], []
            for identity in range(start + 1, min(start + _AT_ONCE, number) + 1):
                table, row = chance.choice(kinds)
                one, other = chance.sample(PLAYERS, 2)
                at = (_FIRST + timedelta(minutes=identity)).isoformat(timespec="microseconds") + "Z"
                names = {
                    "name_1": one,
                    "name_2": other,
                    "player_1": one.casefold(),
                    "player_2": other.casefold(),
                }
                rows.append(
                    {
                        **row,
                        **names,
                        "id": identity,
                        "key": f"{identity:032x}",
                        "started": at,
                        "changed": at,
                    }
                )
                entry = {"game": identity, "at": at}
                log += [
                    {**entry, "version": n, "change": c.written()} for n, c in enumerate(table.log)
                ]
            connection.execute(insert(games), rows)
            connection.execute(insert(changes), log)
    store.close()


def first_page(file: Path) -> float:
    """Let the command show the first page of the history; return how long that took, from its start to its end."""
    return seconds(Work("tower history", [TOWER, "history", "--db", str(file)], b"", 0))


def _played(book: Rulebook, chance: random.Random) -> tuple[Table, dict[str, object]]:
    table = Table(Game(book.rules), book.name)
    while table.outcome is None:
        table = table.play(chance.choice(table.game.legal))
    return table, {**make_row(table, Seats()), **make_state_columns(table)}
