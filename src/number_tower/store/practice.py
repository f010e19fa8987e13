"""Puzzles that somebody tried: kept one by one, and taken from one database to another."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.coach.puzzles import GRADES
from number_tower.record import RecordError
from number_tower.showing import shown
from number_tower.store.foreign import read_key
from number_tower.store.kept import is_time, now
from number_tower.store.schema import puzzles
from number_tower.table import TableError, player_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sqlalchemy import Connection

Result = Literal["right", "wrong", "skipped"]

_KEYS = ("key", "name", "game", "position", "grade", "result", "at")
_LONGEST = {"game": 1000, "position": 16 * 1024 * 1024}


class Attempt(NamedTuple):
    """A puzzle as somebody answered it; `key` is the same on every machine that it is taken to."""

    key: str
    name: str | None
    """Who tried, if they said so."""

    game: str
    position: str
    """The position as a line."""

    grade: int
    result: Result
    at: str

    def written(self) -> dict[str, Any]:
        """Return the attempt as it goes into a line for another machine."""
        return self._asdict()


def tried(name: str | None, game: str, position: str, grade: int, result: Result) -> Attempt:
    """Return an attempt that was made just now."""
    return Attempt(token_hex(16), name, game, position, grade, result, now())


def add(connection: Connection, attempt: Attempt) -> bool:
    """Keep an attempt; one that is kept already counts once."""
    same = select(puzzles.c.id).where(puzzles.c.key == attempt.key)
    if connection.execute(same).scalar() is not None:
        return False
    row = attempt._asdict()
    row["rulebook"] = row.pop("game")
    row["player"] = None if attempt.name is None else attempt.name.casefold()
    with suppress(IntegrityError), connection.begin_nested():
        connection.execute(insert(puzzles).values(row))
        return True
    return False


def attempts(connection: Connection) -> Iterator[Attempt]:
    """Give every attempt, in the order in which they were kept."""
    columns = (puzzles.c["rulebook" if key == "game" else key] for key in _KEYS)
    for row in connection.execute(select(*columns).order_by(puzzles.c.id)):
        yield Attempt(*row)


def read(given: object) -> Attempt:
    """Read back what `written` wrote, believing nothing that can be checked."""
    if not isinstance(given, dict) or given.keys() != {*_KEYS}:
        raise RecordError("puzzle", f"expected {', '.join(_KEYS)}")
    for key, most in _LONGEST.items():
        if not _is_text(given[key], most):
            raise RecordError(f"puzzle.{key}", f"expected text of at most {most:,} characters; got {shown(given[key])}")
    if type(given["grade"]) is not int or given["grade"] not in GRADES:
        raise RecordError("puzzle.grade", f"expected a number from 1 to 5; got {shown(given['grade'])}")
    if given["result"] not in get_args(Result):
        raise RecordError("puzzle.result", f"expected {', '.join(get_args(Result))}; got {shown(given['result'])}")
    if not is_time(given["at"]):
        raise RecordError("puzzle.at", f"expected when it was answered; got {shown(given['at'])}")
    try:
        same_name = given["name"] is None or player_name(given["name"]) == given["name"]
    except TableError as wrong:
        raise RecordError("puzzle.name", str(wrong)) from None
    if not same_name:
        raise RecordError("puzzle.name", "expected a name without spaces around it")
    read_key(given["key"])
    return Attempt(**cast("dict[str, Any]", given))


def _is_text(given: object, most: int) -> bool:
    if not isinstance(given, str) or not 0 < len(given) <= most or given != given.strip():
        return False
    return given.isprintable()
