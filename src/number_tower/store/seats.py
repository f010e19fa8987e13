"""Holders of seats: take a seat, move it to another device, list a browser's rooms."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select, update

from number_tower.rooms.room import RoomError
from number_tower.store.revisions import notify_servers
from number_tower.store.rooms import (
    Credentials,
    StoredRoom,
    digest_secret,
    load_room,
    make_holder,
    update_room,
)
from number_tower.store.schema import games, rooms, seats

CODE_LIFETIME = timedelta(minutes=10)
"""The time for which a code lets another device take over a seat."""

_MARK = update(seats).where(
    seats.c.room == bindparam("of_room"), seats.c.seat == bindparam("of_seat")
)


def list_rooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the addresses of a browser's rooms, those with unfinished games first.

    A browser that opened several tabs at its first visit has more than one secret.
    """
    digests = [digest_secret(secret) for secret in browsers]
    query = (
        select(rooms.c.address)
        .join(games, games.c.id == rooms.c.game)
        .where(rooms.c.id.in_(select(seats.c.room).where(seats.c.browser.in_(digests))))
        .order_by(games.c.reason.is_not(None), rooms.c.changed.desc(), rooms.c.id.desc())
        .limit(most)
    )
    return list(connection.execute(query).scalars())


def sit(
    connection: Connection,
    stored: StoredRoom,
    name: str | None,
    browser: str | None = None,
    token: str | None = None,
) -> tuple[StoredRoom, str]:
    """Take the free seat of a locked room; return the room and the token of the seat.

    A browser, by its secret, holds the seat as well.
    """
    room, seat = stored.room.sit(name)
    token = token or token_urlsafe(32)
    holder = make_holder(token, browser)
    connection.execute(insert(seats).values(room=stored.id, seat=seat + 1, **holder))
    update_room(connection, stored, room, code=None)
    return load_room(connection, stored.id), token


def hand_over(
    connection: Connection, stored: StoredRoom, credentials: Credentials | str | None
) -> str:
    """Return a code by which another device can take over the seats of these credentials.

    It works once, and not for long.
    """
    held = stored.find_seats(credentials)
    if not held:
        problem = "you are watching this game, so there is no seat to move to another device"
        raise RoomError("not_yours", problem)
    code = token_urlsafe(24)
    set_code(connection, _make_condition(stored.id, held), code)
    return code


def take_over(
    connection: Connection,
    stored: StoredRoom,
    code: str,
    browser: str | None = None,
    token: str | None = None,
) -> tuple[StoredRoom, str]:
    """Take over the seats of a locked room that a code is for; return the room and their new token.

    The old token and the old browser no longer hold them.
    """
    held = [seat - 1 for seat in find_code_seats(connection, seats.c.room == stored.id, code)]
    if not held:
        problem = "this link was already used, or is too old; make a new one on the other device"
        raise RoomError("not_now", problem)
    token = token or token_urlsafe(32)
    taken = update(seats).where(_make_condition(stored.id, held))
    connection.execute(taken.values(**make_holder(token, browser), code=None, until=None))
    update_room(connection, stored, stored.room)
    return load_room(connection, stored.id), token


def set_code(connection: Connection, held: ColumnElement[bool], code: str) -> None:
    """Let a code take over some seats until it expires."""
    until = (datetime.now(UTC) + CODE_LIFETIME).isoformat(timespec="seconds")
    connection.execute(update(seats).where(held).values(code=digest_secret(code), until=until))


def find_code_seats(connection: Connection, within: ColumnElement[bool], code: str) -> list[int]:
    """Return the numbers of the seats, of one room or class, that a code can take over now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    condition = within & (seats.c.code == digest_secret(code)) & (seats.c.until > now)
    return list(connection.execute(select(seats.c.seat).where(condition)).scalars())


def mark_seen(
    connection: Connection,
    room: int,
    held: Collection[int],
    at: float,
    *,
    hidden: bool | None = None,
    announced: bool = False,
) -> None:
    """Store when the players of some seats were last seen, and whether their page was hidden.

    `hidden` is None if unknown. With `announced`, other servers show the change at once.
    """
    values = {"seen": at} if hidden is None else {"seen": at, "hidden": hidden}
    rows = [{"of_room": room, "of_seat": seat + 1, **values} for seat in held]
    connection.execute(_MARK, rows)
    if announced:
        notify_servers(connection, "room", room)


def _make_condition(room: int, held: Collection[int]) -> ColumnElement[bool]:
    return (seats.c.room == room) & seats.c.seat.in_([seat + 1 for seat in held])
