"""Short codes in a database: each leads to a room with a free seat, or to a class that is open."""

from __future__ import annotations

from contextlib import suppress
from random import SystemRandom
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.short_codes import make_code
from number_tower.store import StoreError
from number_tower.store.schema import short_codes

_MAX_TRIES = 100
"""Codes that are tried until one is free; of nearly two million, few are in use at a time."""


class CodeTarget(NamedTuple):
    """What a short code leads to, by its id: a room with a free seat, or a class."""

    room: int | None = None
    classroom: int | None = None


def reserve_code(connection: Connection, target: CodeTarget) -> str:
    """Return the code of a room or a class: the one that it has, or a new one that no other has."""
    for _ in range(_MAX_TRIES):
        code = find_code(connection, target)
        if code is not None:
            return code
        with (
            suppress(IntegrityError),
            connection.begin_nested(),
        ):  # another process may have just taken the code
            connection.execute(
                insert(short_codes).values(code=make_code(SystemRandom()), **target._asdict())
            )
    raise StoreError("no short code is free")


def find_code(connection: Connection, target: CodeTarget) -> str | None:
    """Return the code of a room or a class; None if it has none."""
    code: str | None = connection.execute(
        select(short_codes.c.code).where(_leads_to(target))
    ).scalar()
    return code


def find_target(connection: Connection, code: str) -> CodeTarget | None:
    """Return what a normalized code leads to; None if nothing has this code now."""
    query = select(short_codes.c.room, short_codes.c.classroom).where(short_codes.c.code == code)
    row = connection.execute(query).one_or_none()
    return None if row is None else CodeTarget(*row)


def release_code(connection: Connection, target: CodeTarget) -> None:
    """Make the code of a room or a class free again, if it has one."""
    connection.execute(delete(short_codes).where(_leads_to(target)))


def _leads_to(target: CodeTarget) -> ColumnElement[bool]:
    if target.room is not None:
        return short_codes.c.room == target.room
    return short_codes.c.classroom == target.classroom
