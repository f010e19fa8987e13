"""Databases of earlier versions, with the games in them (`tests/data/dumps`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, MetaData, create_engine

from number_tower.store.rows import MatchSlot, Seats
from support.command import DATA

FORMS = DATA / "dumps"


class Known(NamedTuple):
    """A game as it was when its database was of an earlier form."""

    line: str
    log: str
    day: str
    seats: Seats = Seats()
    part: MatchSlot | None = None
    with_values: bool = False


GAMES = {
    1: Known("draft:9,8,6", "9, 8, 6", "2027-01-01"),
    2: Known(
        "summit(target=12,blocks=1-6,first=2,names=Zoë,李,hidden=yes):3,4",
        "3, 5, undo 1, 4, 2, 6, undo 2",
        "2027-01-02",
    ),
    3: Known(
        "race(names=Ann,Gentle,resigned=2):9",
        "9, resigned 2",
        "2027-01-03",
        Seats((None, "gentle"), 123456789012345678901234567890),
    ),
    4: Known("games/countdown.toml:4,2", "4, 2", "2027-01-04"),
    5: Known("climb(abandoned=yes):", "abandoned 1", "2027-01-05"),
}


OF_A_MATCH = {
    10: Known("draft(names=Ann,Ben):9,8,6", "9, 8, 6", "2027-01-06", part=MatchSlot(1, 1)),
    11: Known("draft(first=2,names=Ann,Ben):7", "7", "2027-01-06", part=MatchSlot(1, 2)),
}


WITH_VALUES = {
    12: Known("race:5,6", "5, 6", "2027-01-07", Seats((None, "easy"), 7), with_values=True)
}


HELD = {"0001": GAMES} | dict.fromkeys(("0002", "0003", "0004", "0005"), GAMES | OF_A_MATCH)
HELD |= dict.fromkeys(("0006", "0007", "0008"), GAMES | OF_A_MATCH | WITH_VALUES)


def loaded(form: str, file: Path) -> Path:
    """Make a database of an earlier form, as somebody may have it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((FORMS / f"{form}.sql").read_text(encoding="utf-8"))
    return file


def content(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def copy(file: Path, target: Connection) -> None:
    """Copy what a file holds to a server whose tables have the same form."""
    tables = MetaData()
    tables.reflect(target)
    with connected(create_engine(f"sqlite:///{file}")) as source:
        held = MetaData()
        held.reflect(source)
        for table in tables.sorted_tables:
            rows = [
                dict(row) for row in source.execute(held.tables[table.name].select()).mappings()
            ]
            if rows and table.name != "alembic_version":
                target.execute(table.insert(), rows)
