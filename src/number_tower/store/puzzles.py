"""Attempts at puzzles in a database, and in the lines that are exported to another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from secrets import token_hex
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.coach.puzzles import GRADES
from number_tower.store.rows import expect, format_now, is_timestamp, parse_key
from number_tower.store.schema import puzzles
from number_tower.table import check_player_name

PuzzleResult = Literal["right", "wrong", "skipped"]


class PuzzleAttempt(NamedTuple):
    """An answer to a puzzle; `key` is the same in every database that it is copied to."""

    key: str
    name: str | None
    """The player's name, if it is known."""

    game: str
    position: str
    """The position as a line."""

    grade: int
    result: PuzzleResult
    at: str


def make_attempt(
    name: str | None, game: str, position: str, grade: int, result: PuzzleResult
) -> PuzzleAttempt:
    """Return an attempt that was made just now."""
    return PuzzleAttempt(token_hex(16), name, game, position, grade, result, format_now())


def insert_attempt(connection: Connection, attempt: PuzzleAttempt) -> bool:
    """Store an attempt; return False if it is stored already."""
    row = attempt._asdict()
    row["rulebook"] = row.pop("game")
    row["player"] = None if attempt.name is None else attempt.name.casefold()
    with suppress(IntegrityError), connection.begin_nested():
        connection.execute(insert(puzzles).values(row))
        return True
    return False


def load_attempts(connection: Connection) -> Iterator[PuzzleAttempt]:
    """Give every attempt in the order in which they were stored."""
    columns = (puzzles.c["rulebook" if key == "game" else key] for key in PuzzleAttempt._fields)
    for row in connection.execute(select(*columns).order_by(puzzles.c.id)):
        yield PuzzleAttempt(*row)


def parse_attempt(given: Any) -> PuzzleAttempt:
    """Read an attempt from a line, where it stands as a mapping of its fields."""
    with expect("puzzle", f"{', '.join(PuzzleAttempt._fields)} of an answer"):
        attempt = PuzzleAttempt(**given)
        parse_key(attempt.key)
        texts = (attempt.game, attempt.position)
        is_right = all(text and text.isprintable() and text == text.strip() for text in texts)
        is_right &= type(attempt.grade) is int and attempt.grade in GRADES
        is_right &= attempt.result in get_args(PuzzleResult) and is_timestamp(attempt.at)
        if attempt.name is not None:
            is_right &= check_player_name(attempt.name) == attempt.name
        if not is_right:
            raise ValueError
        return attempt
