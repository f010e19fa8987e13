"""Holders of seats: take a free seat, move seats to another device, list those of a browser, see who is there."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select, update

from number_tower.room import RoomError
from number_tower.store.revisions import notify_servers
from number_tower.store.rooms import (
    Credentials,
    StoredRoom,
    digest_secret,
    load_room,
    update_room,
)
from number_tower.store.schema import games, rooms, seats

CODE_LIFETIME = timedelta(minutes=10)
"""For which a code lets another device take over a seat."""


_MARK = update(seats).where(
    seats.c.room == bindparam("of_room"), seats.c.seat == bindparam("of_seat")
)


def list_rooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the addresses of rooms where a browser holds a seat: those with an unfinished game, then the newest.

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
    known: StoredRoom,
    name: str | None,
    browser: str | None = None,
    token: str | None = None,
) -> tuple[StoredRoom, str]:
    """Take the free seat of a locked room, for a browser if its secret is given; return the room, and the token."""
    after, place = known.room.sit(name)
    token = token or token_urlsafe(32)
    holder = None if browser is None else digest_secret(browser)
    taken = {"token": digest_secret(token), "browser": holder}
    connection.execute(insert(seats).values(room=known.id, seat=place + 1, **taken))
    update_room(connection, known, after, code=None)
    return load_room(connection, known.id), token


def hand_over(
    connection: Connection, known: StoredRoom, credentials: Credentials | str | None
) -> str:
    """Return a code by which another device can take over the seats of these credentials, once and soon."""
    held = known.find_seats(credentials)
    if not held:
        raise RoomError(
            "not_yours", "you are watching this game, so there is no seat to move to another device"
        )
    code = token_urlsafe(24)
    set_code(connection, _make_condition(known.id, held), code)
    return code


def take_over(
    connection: Connection,
    known: StoredRoom,
    code: str,
    browser: str | None = None,
    token: str | None = None,
) -> tuple[StoredRoom, str]:
    """Take over the seats of a locked room that a code is for; return the room and their new token.

    The old token and the old browser no longer hold them.
    """
    held = [seat - 1 for seat in find_code_seats(connection, seats.c.room == known.id, code)]
    if not held:
        raise RoomError(
            "not_now",
            "this link was already used, or is too old; make a new one on the other device",
        )
    token = token or token_urlsafe(32)
    holder = None if browser is None else digest_secret(browser)
    taken = update(seats).where(_make_condition(known.id, held))
    connection.execute(
        taken.values(token=digest_secret(token), browser=holder, code=None, until=None)
    )
    update_room(connection, known, known.room)
    return load_room(connection, known.id), token


def set_code(connection: Connection, held: ColumnElement[bool], code: str) -> None:
    """Let a code take over some seats, for as long as it lives."""
    until = (datetime.now(UTC) + CODE_LIFETIME).isoformat(timespec="seconds")
    connection.execute(update(seats).where(held).values(code=digest_secret(code), until=until))


def find_code_seats(connection: Connection, within: ColumnElement[bool], code: str) -> list[int]:
    """Return the numbers of the seats, of one room or class, that a code can take over now."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    meant = within & (seats.c.code == digest_secret(code)) & (seats.c.until > at)
    return list(connection.execute(select(seats.c.seat).where(meant)).scalars())


def mark_seen(
    connection: Connection,
    room: int,
    held: Collection[int],
    at: float,
    *,
    hidden: bool | None = None,
    announced: bool = False,
) -> None:
    """Store when the players of some seats were last seen, and, if it is known, whether their page was hidden.

    Other servers are notified if they are to show it at once.
    """
    values = {"seen": at} if hidden is None else {"seen": at, "hidden": hidden}
    rows = [{"of_room": room, "of_seat": place + 1, **values} for place in held]
    connection.execute(_MARK, rows)
    if announced:
        notify_servers(connection, "room", room)


def _make_condition(room: int, held: Collection[int]) -> ColumnElement[bool]:
    return (seats.c.room == room) & seats.c.seat.in_([place + 1 for place in held])
