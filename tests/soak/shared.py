"""What the programs of this folder share: arguments, databases, and checks that nothing is lost."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TypeVar

import psycopg
from sqlalchemy import select

from number_tower.store.games import load_game
from number_tower.store.rows import StoredGame
from number_tower.store.schema import games
from support.clocks import wait_until
from support.postgres import KINDS, fresh, on_server, run_postgres, upgrade_database
from support.stores import open_store

Number = TypeVar("Number", int, float)
Item = TypeVar("Item")


def read_arguments(default: Number) -> tuple[Number, str]:
    """Return the arguments of a program: `[NUMBER] [SEED]`; without a seed, choose one."""
    number, seed = default, token_hex(4)
    if len(sys.argv) > 1:
        number = type(default)(sys.argv[1])
    if len(sys.argv) > 2:
        seed = sys.argv[2]
    print(f"arguments: {number} {seed}", flush=True)
    return number, seed


@contextmanager
def create_databases(count: int = 1) -> Iterator[list[tuple[str, str]]]:
    """Have `count` databases of each kind, each with the name of its kind."""
    with ExitStack() as cleaning:
        folder = cleaning.enter_context(TemporaryDirectory())
        server = cleaning.enter_context(run_postgres())
        databases: list[tuple[str, str]] = []
        for number in range(count):
            database = cleaning.enter_context(fresh(server))
            upgrade_database(database)
            databases += zip(KINDS, (str(Path(folder, f"{number}.db")), database), strict=True)
        yield databases


def extend(earlier: Sequence[Item], later: Sequence[Item]) -> Sequence[Item]:
    """Return the longer of two histories of one game; it has to begin with the other."""
    shorter, longer = sorted((earlier, later), key=len)
    assert longer[: len(shorter)] == shorter, f"shown was {earlier}, and now {later}"
    return longer


def load_games(database: str) -> dict[int, StoredGame]:
    """Return all games of a database; each is played again as it is read."""
    with closing(open_store(database)) as store, store.read() as connection:
        identities = connection.scalars(select(games.c.id)).all()
        return {identity: load_game(connection, identity) for identity in identities}


def wait_for_disconnect(database: str) -> None:
    """Wait until a database server has noticed which clients are gone.

    Until then it may still do what they asked last.
    """
    if not on_server(database):
        return
    others = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(database, autocommit=True) as connection:
        wait_until(lambda: connection.execute(others).fetchone() == (0,))


def check_file(database: str) -> None:
    """Check that a database file is whole, and that no change is without its game."""
    if not on_server(database) and Path(database).exists():
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def print_counts(counts: Counter[str]) -> None:
    """Print how often something happened, a line each."""
    for name, times in counts.most_common():
        print(f"{times:6} {name}")


def measure_memory(pid: int) -> float:
    """Return the MiB that a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
