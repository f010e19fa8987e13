"""Holders of seats: take a free seat, move seats to another device, list those of a browser, see who is there."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe

from sqlalchemy import Connection, Update, bindparam, select, update

from number_tower.room import RoomError
from number_tower.store.revisions import notify_servers
from number_tower.store.rooms import (
    Credentials,
    StoredRoom,
    digest_secret,
    insert_holder,
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
    insert_holder(connection, room=known.id, seat=place + 1, token=token, browser=holder)
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
    until = (datetime.now(UTC) + CODE_LIFETIME).isoformat(timespec="seconds")
    connection.execute(_update_seats(known.id, held).values(code=digest_secret(code), until=until))
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
    at = datetime.now(UTC).isoformat(timespec="seconds")
    meant = select(seats.c.seat).where(
        seats.c.room == known.id, seats.c.code == digest_secret(code), seats.c.until > at
    )
    held = [seat - 1 for seat in connection.execute(meant).scalars()]
    if not held:
        raise RoomError(
            "not_now",
            "this link was already used, or is too old; make a new one on the other device",
        )
    token = token or token_urlsafe(32)
    holder = {
        "token": digest_secret(token),
        "browser": None if browser is None else digest_secret(browser),
    }
    connection.execute(_update_seats(known.id, held).values(**holder, code=None, until=None))
    update_room(connection, known, known.room)
    return load_room(connection, known.id), token


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


def _update_seats(room: int, held: Collection[int]) -> Update:
    return update(seats).where(
        seats.c.room == room, seats.c.seat.in_([place + 1 for place in held])
    )
