"""Attempts at puzzles: in a database, and as lines of an export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from secrets import token_hex
from typing import Any, Literal, get_args

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.coach.puzzles import GRADES
from number_tower.engine.table import check_player_name
from number_tower.store import DamagedError
from number_tower.store.connection import detect_damage
from number_tower.store.games import DamagedEntry
from number_tower.store.rows import check_key, expect, format_now, is_timestamp
from number_tower.store.schema import puzzles

PuzzleResult = Literal["right", "wrong", "skipped"]


@dataclass(frozen=True)
class PuzzleAttempt:
    """An answer to a puzzle; `key` is the same in every database that it is copied to."""

    key: str
    name: str | None
    """The player's name, if there is one."""
    game: str
    position: str
    """The position as a line."""
    grade: int
    result: PuzzleResult
    at: str

    def __post_init__(self) -> None:
        check_key(self.key)
        if any(not text.isprintable() or not text.strip() for text in (self.game, self.position)):
            raise ValueError("expected the name of a game, and a position as a line")
        if type(self.grade) is not int or self.grade not in GRADES:
            raise ValueError(f"expected a grade from {GRADES[0]} to {GRADES[-1]}")
        if self.result not in get_args(PuzzleResult) or not is_timestamp(self.at):
            raise ValueError("expected a result and when it was given")
        if self.name is not None:
            check_player_name(self.name)


_NAMES = [field.name for field in fields(PuzzleAttempt)]


def make_attempt(
    name: str | None, game: str, position: str, grade: int, result: PuzzleResult
) -> PuzzleAttempt:
    """Return an attempt made now."""
    return PuzzleAttempt(token_hex(16), name, game, position, grade, result, format_now())


def insert_attempt(connection: Connection, attempt: PuzzleAttempt) -> bool:
    """Store an attempt; return False if it is stored already."""
    player = None if attempt.name is None else attempt.name.casefold()
    row = {**asdict(attempt), "player": player}
    with suppress(IntegrityError), connection.begin_nested():
        connection.execute(insert(puzzles).values(row))
        return True
    return False


def load_attempts(connection: Connection) -> Iterator[PuzzleAttempt | DamagedEntry]:
    """Yield all attempts in the order in which they were stored."""
    query = select(*(puzzles.c[name] for name in _NAMES)).order_by(puzzles.c.id)
    for number, row in enumerate(connection.execute(query), 1):
        try:
            with detect_damage(f"puzzle {number}"):
                yield PuzzleAttempt(*row)
        except DamagedError as damaged:
            yield DamagedEntry(number, str(damaged))


def parse_attempt(document: Any) -> PuzzleAttempt:
    """Read an attempt from a line, where it is a mapping of its fields."""
    with expect("puzzle", f"{', '.join(_NAMES)} of an answer"):
        return PuzzleAttempt(**document)
