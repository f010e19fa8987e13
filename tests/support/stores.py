"""Tables with everything that can have been done at them, and stores to save them in."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from hypothesis import strategies as st

from number_tower import Game, Table, store
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.rules import Rules
from number_tower.engine.table import Change, Declaration, TableError, check_player_names
from number_tower.store.database import Store
from number_tower.store.rows import Seats, StoredGame
from support.strategies import any_rules

DRAFT = catalogue.load_named("draft")
"""The game of most tests of the store."""


def open_store(database: Path | str, patience: float = 10.0) -> Store:
    """Open the store in a file, or at any location by its name."""
    location = store.find_location(str(database))
    assert location is not None
    return Store(location, timeout=patience)


def create_database(file: Path) -> Path:
    """Write a database without games: a copy of one that the product has made."""
    file.write_bytes(_read_new_database())
    return file


@cache
def _read_new_database() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder, "games.db")
        open_store(file).close()
        return file.read_bytes()


def make_draft(*moves: int, names: tuple[str, str] | None = None) -> Table:
    """Make a table of draft after some moves."""
    return Table(Game(DRAFT.rules, moves=moves), DRAFT.name, names)


def store_draft(opened: Store, *moves: int, names: tuple[str, str] | None = None) -> StoredGame:
    """Store a new game of draft."""
    return opened.begin(make_draft(*moves, names=names), DRAFT)


def make_own_rulebook(rules: Rules, name: str = "my game", source: str | None = None) -> Rulebook:
    """Make a rulebook as it is read from a player's own file."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in rules.to_dict().items()]
    text = "\n".join(
        ['title = "Mine, all mine"', "[rules]", *lines, "[voice]", 'prompt = "Höher? "']
    )
    return catalogue.parse_rulebook(text.encode(), name, source or f"somewhere/{name}.toml")


def _names_or_none(first: str, second: str) -> tuple[str, str] | None:
    try:
        return check_player_names((first, second))
    except TableError:
        return None


NAME = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=40)
NAMES = st.none() | st.builds(_names_or_none, NAME, NAME)
SEATS = st.builds(
    Seats,
    st.tuples(*[st.none() | st.sampled_from(["gentle", "perfect", "./my bot --quick"])] * 2),
    st.none() | st.integers(-(10**40), 10**40),
)


@st.composite
def any_change(draw: st.DrawFn, table: Table) -> Change:
    """Something that can be done at a table: most often a block is placed."""
    possible = (
        [Change("place", block) for block in table.game.legal] if table.outcome is None else []
    )
    if table.may_undo and (not possible or draw(st.integers(0, 3)) == 0):
        return Change("undo", 1)
    if table.outcome is None and (not possible or draw(st.integers(0, 15)) == 0):
        return Change(draw(st.sampled_from(get_args(Declaration))), draw(st.integers(0, 1)))
    return draw(st.sampled_from(possible))


@st.composite
def any_play(
    draw: st.DrawFn, *, most: int = 12, automatic: tuple[bool, bool] | None = None
) -> list[Table]:
    """A table from its beginning on, after every change."""
    game = Game(draw(any_rules()), draw(st.integers(0, 1)))
    seats = draw(st.tuples(st.booleans(), st.booleans())) if automatic is None else automatic
    table = Table(game, "my game", draw(NAMES), hidden=draw(st.booleans()), automatic=seats)
    tables = [table]
    while (
        len(tables) <= most
        and (table.outcome is None or table.may_undo)
        and draw(st.integers(0, 9))
    ):
        table = table.answer(table.version, draw(any_change(table)))
        tables.append(table)
    return tables


def run_sql(file: Path | str, statement: str) -> list[tuple[Any, ...]]:
    """Query or change a database file without the store."""
    with closing(sqlite3.connect(file)) as connection, connection:
        return connection.execute(statement).fetchall()
