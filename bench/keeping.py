"""A database of very many games, made quickly."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

PLAYERS = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
KINDS = 400
"""Different games that are copied again and again: what is measured is the database, not play."""


def fill(file: Path, number: int) -> None:
    """Save some random games in a new database, then copy them, each copy some days earlier."""
    rng = random.Random(1)  # noqa: S311 - games to measure with, not secrets
    books = catalogue.load_all()
    with closing(open_store(str(file))) as store:
        for _ in range(KINDS):
            book = rng.choice(books)
            first, second = rng.sample(PLAYERS, 2)
            table = Table(Game(book.rules), names=(first, second), book=book)
            while table.outcome is None:
                table = table.play(rng.choice(table.game.legal))
            store.begin(table)
    with closing(sqlite3.connect(file)) as connection, connection:
        for copy in range(1, number // KINDS):
            earlier = "strftime('%Y-%m-%dT%H:%M:%f000Z', {}, '-{} days')".format
            _copy_rows(
                connection,
                "games",
                id=f"id + {copy * KINDS}",
                key="lower(hex(randomblob(16)))",
                started=earlier("started", copy),
                changed=earlier("changed", copy),
            )
            _copy_rows(connection, "changes", game=f"game + {copy * KINDS}")


def _copy_rows(connection: sqlite3.Connection, table: str, **new: str) -> None:
    """Copy the rows of the first games, with new values in some columns."""
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(new.get(name, name) for name in names)
    [key] = {"id", "game"} & new.keys()
    copied = f"SELECT {values} FROM {table} WHERE {key} <= {KINDS}"  # noqa: S608 - our own names
    connection.execute(f"INSERT INTO {table} {copied}")
