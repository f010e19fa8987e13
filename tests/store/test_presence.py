"""Sightings of players in a database: the newest of each seat, for all servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import delete

from number_tower import Game, Table, catalogue
from number_tower.presence import Sighting
from number_tower.room import Room, Seat
from number_tower.store import rooms
from number_tower.store.database import Store
from number_tower.store.presence import load_sightings, store_sightings
from number_tower.store.rows import Seats
from number_tower.store.schema import rooms as rooms_table
from support.stores import store_in

pytest_plugins = ["support.postgres"]

BOOK = catalogue.load_named("draft")


@pytest.fixture
def kept(database: str) -> Iterator[Store]:
    opened = store_in(database)
    yield opened
    opened.close()


def open_room(kept: Store) -> int:
    room = Room(Table(Game(BOOK.rules), BOOK.name), (Seat("person", "Ann"), Seat("person", "Ben")))
    with kept.write() as connection:
        return rooms.insert_room(connection, room, BOOK, Seats())[0].id


def test_the_last_sighting_of_each_seat_is_found(kept: Store) -> None:
    one, other = open_room(kept), open_room(kept)
    seen = {(one, 1): Sighting(1_800_000_000.125), (one, 2): Sighting(1_800_000_001.7, hidden=True)}
    with kept.write() as connection:
        store_sightings(connection, seen | {(other, 1): Sighting(5.0)}, ())
    with kept.read() as connection:
        assert load_sightings(connection, [one]) == seen
    seen[one, 2] = Sighting(1_800_000_020.001)
    with kept.write() as connection:
        store_sightings(connection, {(one, 2): seen[one, 2]}, [one])
    with kept.read() as connection:
        assert load_sightings(connection, [one]) == seen
        assert load_sightings(connection, [one, other]) == seen | {(other, 1): Sighting(5.0)}


def test_a_room_that_was_deleted_meanwhile_is_no_trouble(kept: Store) -> None:
    one, deleted = open_room(kept), open_room(kept)
    with kept.write() as connection:
        connection.execute(delete(rooms_table).where(rooms_table.c.id == deleted))
        store_sightings(
            connection, {(deleted, 1): Sighting(5.0), (one, 1): Sighting(6.0)}, [deleted]
        )
        assert load_sightings(connection, [one, deleted]) == {(one, 1): Sighting(6.0)}
