"""Holders of seats: take a free seat, move seats to another device, and list the rooms of a browser."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe

from sqlalchemy import Connection, Update, or_, select, update

from number_tower.room import RoomError
from number_tower.store import rooms as room_store
from number_tower.store.games import update_game
from number_tower.store.rooms import Credentials, RoomChangedError, StoredRoom, digest_secret
from number_tower.store.schema import games, rooms, rounds, seats
from number_tower.store.short_codes import CodeTarget, release_code

_CODE_LIFETIME = timedelta(minutes=10)


SeatKey = tuple[int, int]
"""The id of a room, and the number of a seat in it."""


def list_rooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the addresses of rooms where a browser holds a seat: those with an unfinished game, then the newest.

    A browser that opened several tabs at its first visit has more than one secret.
    """
    digests = [digest_secret(secret) for secret in browsers]
    query = (
        select(rooms.c.address)
        .join(rounds, (rounds.c.room == rooms.c.id) & (rounds.c.number == rooms.c.number))
        .join(games, games.c.id == rounds.c.game)
        .where(rooms.c.id.in_(select(seats.c.room).where(seats.c.browser.in_(digests))))
        .order_by(games.c.reason.is_not(None), games.c.changed.desc(), games.c.id.desc())
        .limit(most)
    )
    return list(connection.execute(query).scalars())


def sit(
    connection: Connection, known: StoredRoom, name: str | None, browser: str | None = None
) -> tuple[StoredRoom, str]:
    """Take the free seat, for a browser if its secret is given; return the room, and the token of the seat."""
    after, place = known.room.sit(name)
    room_store.raise_version(connection, known, after)
    token = token_urlsafe(32)
    room_store.insert_seat(connection, known.id, place, token, browser)
    release_code(connection, CodeTarget(room=known.id))
    if after.table.names != known.room.table.names:
        update_game(connection, known.game, after.table)
    return _announce_holder(connection, known), token


def require_seats(known: StoredRoom, credentials: Credentials | str | None) -> frozenset[int]:
    """Return the seats that credentials hold, to move them; spectators are refused."""
    held = known.find_seats(credentials)
    if not held:
        raise RoomError(
            "not_yours", "you are watching this game, so there is no seat to move to another device"
        )
    return held


def hand_over(
    connection: Connection, known: StoredRoom, credentials: Credentials | str | None
) -> tuple[StoredRoom, str]:
    """Return a code by which another device can take over the seats of these credentials, once and soon."""
    held = require_seats(known, credentials)
    code = token_urlsafe(24)
    until = (datetime.now(UTC) + _CODE_LIFETIME).isoformat(timespec="seconds")
    tokens, browsers = Credentials.coerce(credentials).digests
    still_held = _update_seats(known, held).where(
        or_(seats.c.token.in_(tokens), seats.c.browser.in_(browsers))
    )
    if connection.execute(still_held.values(code=digest_secret(code), until=until)).rowcount != len(
        held
    ):
        raise RoomChangedError
    return known, code


def take_over(
    connection: Connection, known: StoredRoom, code: str, browser: str | None = None
) -> tuple[StoredRoom, str]:
    """Take over the seats that a code is for; return the room and their new token.

    The old token and the old browser no longer hold them.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    meant = select(seats.c.seat).where(
        seats.c.room == known.id, seats.c.code == digest_secret(code), seats.c.until > at
    )
    held = [seat - 1 for seat in connection.execute(meant.with_for_update()).scalars()]
    if not held:
        raise RoomError(
            "not_now",
            "this link was already used, or is too old; make a new one on the other device",
        )
    token = token_urlsafe(32)
    connection.execute(
        _update_seats(known, held).values(
            **room_store.make_holder_columns(token, browser), code=None, until=None
        )
    )
    room_store.raise_version(connection, known, known.room)
    return _announce_holder(connection, known), token


def _announce_holder(connection: Connection, known: StoredRoom) -> StoredRoom:
    """Notify other processes that a room has another holder; return the room as it is now."""
    room_store.touch_game(connection, known.game)
    return room_store.announce_change(connection, room_store.load_room(connection, known.id))


def _update_seats(known: StoredRoom, held: Collection[int]) -> Update:
    return update(seats).where(
        seats.c.room == known.id, seats.c.seat.in_([place + 1 for place in held])
    )
