"""Attempts at puzzles in a database, and in the lines that are exported to another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from secrets import token_hex
from typing import Any, Literal, NamedTuple, cast, get_args

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.coach.puzzles import GRADES
from number_tower.record import RecordError
from number_tower.store.rows import format_now, is_timestamp, parse_key
from number_tower.store.schema import puzzles
from number_tower.table import TableError, check_player_name
from number_tower.text import format_value

PuzzleResult = Literal["right", "wrong", "skipped"]

_MAX_LENGTH = {"game": 1000, "position": 16 * 1024 * 1024}


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


def parse_attempt(given: object) -> PuzzleAttempt:
    """Read an attempt from a line, where it stands as a mapping of its fields."""
    if not isinstance(given, dict) or given.keys() != {*PuzzleAttempt._fields}:
        raise RecordError("puzzle", f"expected {', '.join(PuzzleAttempt._fields)}")
    for key, most in _MAX_LENGTH.items():
        text = given[key]
        if (
            not isinstance(text, str)
            or not 0 < len(text) <= most
            or text != text.strip()
            or not text.isprintable()
        ):
            problem = f"expected text of at most {most:,} characters; got {format_value(text)}"
            raise RecordError(f"puzzle.{key}", problem)
    if type(given["grade"]) is not int or given["grade"] not in GRADES:
        raise RecordError(
            "puzzle.grade", f"expected a number from 1 to 5; got {format_value(given['grade'])}"
        )
    if given["result"] not in get_args(PuzzleResult):
        expected = ", ".join(get_args(PuzzleResult))
        raise RecordError(
            "puzzle.result", f"expected {expected}; got {format_value(given['result'])}"
        )
    if not is_timestamp(given["at"]):
        raise RecordError(
            "puzzle.at", f"expected when it was answered; got {format_value(given['at'])}"
        )
    try:
        same_name = given["name"] is None or check_player_name(given["name"]) == given["name"]
    except TableError as wrong:
        raise RecordError("puzzle.name", str(wrong)) from None
    if not same_name:
        raise RecordError("puzzle.name", "expected a name without spaces around it")
    parse_key(given["key"])
    return PuzzleAttempt(**cast("dict[str, Any]", given))
