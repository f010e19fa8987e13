"""Rooms in a database, opened and changed without a server."""

from __future__ import annotations

from typing import Literal

from number_tower import Game, Table
from number_tower.engine.catalogue import Rulebook
from number_tower.rooms.room import Action, Move, Room, Seat
from number_tower.store import rooms, seats
from number_tower.store.database import Store
from number_tower.store.rooms import StoredRoom
from number_tower.store.rows import Seats
from support.stores import DRAFT


def open_room(
    store: Store,
    second: Literal["person", "computer", "free"] = "person",
    *,
    best_of: int | None = None,
    level: str | None = None,
    moves: tuple[int, ...] = (),
    book: Rulebook = DRAFT,
) -> tuple[StoredRoom, str]:
    """Open a room for Ann; the second seat is Ben's at the same table, free, or a computer's."""
    players = Seats((None, level), 7 if level else None)
    table = Table(
        Game(book.rules, 0, moves),
        book.name,
        ("Ann", "Ben"),
        automatic=players.automatic,
        book=book,
    )
    room = Room(table, (Seat("person", "Ann"), Seat(second, "Ben")), best_of=best_of)
    with store.write() as connection:
        return rooms.insert_room(connection, room, players)


def open_linked_room(store: Store) -> tuple[StoredRoom, str, str]:
    """Open a room for Ann, and let Zoë take the free seat; return the tokens of both."""
    stored, ann = open_room(store, "free")
    with store.write() as connection:
        stored, zoe = seats.sit(connection, stored, "Zoë")
    return stored, ann, zoe


def act(store: Store, stored: StoredRoom, token: str, *actions: Action) -> StoredRoom:
    """Do something in a room, as the holder of a token; return the room afterwards."""
    for action in actions:
        with store.write() as connection:
            stored = rooms.change_room(
                connection,
                stored.address,
                # The variable is bound at once.
                lambda now, action=action: (  # type: ignore[misc]
                    now.room.apply(now.find_seats(token), action)
                ),
            )
    return stored


def play_moves(store: Store, stored: StoredRoom, token: str, *blocks: int) -> StoredRoom:
    """Place blocks in a room, with a token that holds the seats whose turns they are."""
    for block in blocks:
        stored = act(store, stored, token, Move(stored.room.table.version, block))
    return stored


def find_room(store: Store, address: str) -> StoredRoom:
    """Load a room from the database."""
    with store.read() as connection:
        return rooms.find_room(connection, address)
