"""The seats of a browser: list its rooms, and move seats to it from older cookies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select, update

from number_tower.store.credentials import digest_secret, match_digest
from number_tower.store.rooms import announce, marks
from number_tower.store.schema import games, rooms, rounds, seats

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Row

MOST_MOVED = 200
"""Seats that one request moves from another secret of the same browser; the next request moves more."""


class SeatKey(NamedTuple):
    """Which seat of which room."""

    room: int
    seat: int


@dataclass(frozen=True)
class Survey:
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


def survey_seats(connection: Connection, browser: str, tokens: Mapping[str, str], others: Collection[str]) -> Survey:
    """Look up which seats are still held by older cookies: tokens by address, and other secrets of the browser."""
    by_token: dict[SeatKey, str] = {}
    useful_tokens: set[str] = set()
    for row in _seats_at(connection, tokens):
        if match_digest(row.token, [digest_secret(tokens[row.address])]) and row.browser != digest_secret(browser):
            by_token[SeatKey(row.room, row.seat)] = row.token
            useful_tokens.add(row.address)
    digests = {secret: digest_secret(secret) for secret in others}
    rows = _seats_of(connection, digests.values())
    by_browser = {SeatKey(row.room, row.seat): row.token for row in rows}
    useful = {row.browser for row in rows}
    empty = {secret for secret, digest in digests.items() if digest not in useful} if len(rows) < MOST_MOVED else set()
    return Survey(by_token, by_browser, frozenset(tokens) - useful_tokens, frozenset(empty))


def _seats_at(connection: Connection, addresses: Collection[str]) -> Sequence[Row[Any]]:
    if not addresses:
        return ()
    query = select(rooms.c.address, seats).join(seats, seats.c.room == rooms.c.id)
    return connection.execute(query.where(rooms.c.address.in_(list(addresses)))).all()


def _seats_of(connection: Connection, browsers: Collection[str]) -> Sequence[Row[Any]]:
    """Return the seats of some browsers, given by their digests; at most `MOST_MOVED`."""
    if not browsers:
        return ()
    return connection.execute(select(seats).where(seats.c.browser.in_(list(browsers))).limit(MOST_MOVED)).all()


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
    changed = marks(connection, moved)
    for room, mark in sorted(changed.items()):
        announce(connection, room, mark)
    return changed
