"""The seats of a browser: list its rooms, and move seats to it from older cookies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import or_, select, update

from number_tower.room import RoomError
from number_tower.store import games as kept_games
from number_tower.store.rooms import (
    Credentials,
    RoomChangedError,
    StoredRoom,
    announce_change,
    digest_secret,
    insert_seat,
    make_holder_columns,
    match_digest,
    notify_servers,
    raise_version,
    read_tags,
    replace_holder,
    touch_game,
)
from number_tower.store.schema import games, rooms, rounds, seats

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Row


MAX_MOVED = 200


"""Seats that one request moves from another secret of the same browser; the next request moves more."""


class SeatKey(NamedTuple):
    """Which seat of which room."""

    room: int
    seat: int


@dataclass(frozen=True)
class SeatSurvey:
    """The seats that a browser holds by older cookies only, each with the stored digest of its token."""

    by_token: dict[SeatKey, str] = field(default_factory=dict)
    """Seats of which it has the token."""

    by_browser: dict[SeatKey, str] = field(default_factory=dict)
    """Seats of its other secrets."""

    useless_tokens: frozenset[str] = frozenset()
    """Addresses whose token holds no seat, or only seats that the browser holds by its own secret as well."""

    useless_browsers: frozenset[str] = frozenset()
    """Other secrets that hold no seat."""


def list_rooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the addresses of rooms where a browser holds a seat: those with an unfinished game, then the newest.

    A browser has more than one secret while its cookies are being replaced.
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


def survey_seats(
    connection: Connection, browser: str, tokens: Mapping[str, str], others: Collection[str]
) -> SeatSurvey:
    """Look up which seats are still held by older cookies: tokens by address, and other secrets of the browser."""
    by_token: dict[SeatKey, str] = {}
    useful_tokens: set[str] = set()
    for row in _load_seats_at(connection, tokens):
        if match_digest(row.token, [digest_secret(tokens[row.address])]) and row.browser != digest_secret(browser):
            by_token[SeatKey(row.room, row.seat)] = row.token
            useful_tokens.add(row.address)
    digests = {secret: digest_secret(secret) for secret in others}
    rows = _load_seats_of(connection, digests.values())
    by_browser = {SeatKey(row.room, row.seat): row.token for row in rows}
    useful = {row.browser for row in rows}
    empty = {secret for secret, digest in digests.items() if digest not in useful} if len(rows) < MAX_MOVED else set()
    return SeatSurvey(by_token, by_browser, frozenset(tokens) - useful_tokens, frozenset(empty))


def _load_seats_at(connection: Connection, addresses: Collection[str]) -> Sequence[Row[Any]]:
    if not addresses:
        return ()
    query = select(rooms.c.address, seats).join(seats, seats.c.room == rooms.c.id)
    return connection.execute(query.where(rooms.c.address.in_(list(addresses)))).all()


def _load_seats_of(connection: Connection, browsers: Collection[str]) -> Sequence[Row[Any]]:
    """Return the seats of some browsers, given by their digests; at most `MOST_MOVED`."""
    if not browsers:
        return ()
    return connection.execute(select(seats).where(seats.c.browser.in_(list(browsers))).limit(MAX_MOVED)).all()


def move_seats(connection: Connection, browser: str, to_move: Mapping[SeatKey, str]) -> dict[int, str]:
    """Let a browser hold seats by its own secret; return the marks of their rooms.

    A seat that was handed over in the meantime has another token, and stays where it is. The version of each room is
    raised, since other processes remember who holds its seats.
    """
    moved = set()
    for key, token in sorted(to_move.items()):
        own = update(seats).where(seats.c.room == key.room, seats.c.seat == key.seat, seats.c.token == token)
        if connection.execute(own.values(browser=digest_secret(browser))).rowcount:
            moved.add(key.room)
    connection.execute(update(rooms).where(rooms.c.id.in_(moved)).values(version=rooms.c.version + 1))
    changed = read_tags(connection, moved)
    for room, mark in sorted(changed.items()):
        notify_servers(connection, room, mark)
    return changed


_CODE_LIFETIME = timedelta(minutes=10)


def sit(
    connection: Connection, known: StoredRoom, name: str | None, browser: str | None = None
) -> tuple[StoredRoom, str]:
    """Take the free seat, for a browser if its secret is given; return the room, and the token of the seat."""
    after, place = known.room.sit(name)
    kept = raise_version(connection, known, after)
    token = token_urlsafe(32)
    insert_seat(connection, known.id, place, token, browser)
    game = kept.game
    if after.table.names != known.room.table.names:
        game = kept_games.update_game(connection, kept.game, after.table)
    touch_game(connection, game)
    return announce_change(
        connection, replace_holder(replace(kept, game=game, room=after), [place], token, browser)
    ), token


def hand_over(
    connection: Connection, known: StoredRoom, credentials: Credentials | str | None
) -> tuple[StoredRoom, str]:
    """Return a code by which another device can take the seats that these credentials hold, once and soon."""
    given = Credentials.coerce(credentials)
    held = known.find_seats(given)
    if not held:
        raise RoomError("not_yours", "you hold no seat here that could be moved")
    code = token_urlsafe(24)
    until = (datetime.now(UTC) + _CODE_LIFETIME).isoformat(timespec="seconds")
    holder = or_(seats.c.token.in_(given.token_digests), seats.c.browser.in_(given.browser_digests))
    still_held = _update_seats(known, held).where(holder)
    if connection.execute(still_held.values(code=digest_secret(code), until=until)).rowcount != len(held):
        raise RoomChangedError
    return known, code


def take_over(
    connection: Connection, known: StoredRoom, code: str, browser: str | None = None
) -> tuple[StoredRoom, str]:
    """Take over the seats that a code is for; return the room and their new token.

    What held them before holds them no longer: neither the old token nor the old browser.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    meant = select(seats.c.seat).where(
        seats.c.room == known.id, seats.c.code == digest_secret(code), seats.c.until > at
    )
    held = [seat - 1 for seat in connection.execute(meant.with_for_update()).scalars()]
    if not held:
        raise RoomError("not_now", "this link was used already, or is too old; ask for a new one on the other device")
    token = token_urlsafe(32)
    connection.execute(_update_seats(known, held).values(**make_holder_columns(token, browser), code=None, until=None))
    kept = raise_version(connection, known, known.room)
    touch_game(connection, kept.game)
    return announce_change(connection, replace_holder(kept, held, token, browser)), token


def _update_seats(known: StoredRoom, held: Collection[int]) -> Any:
    return update(seats).where(seats.c.room == known.id, seats.c.seat.in_([place + 1 for place in held]))
