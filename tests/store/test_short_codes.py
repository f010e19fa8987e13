"""Short codes in a database: one for each free seat and each open class, free again when it is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import delete

from number_tower import Game, Table, catalogue
from number_tower.room import Room, Seat
from number_tower.short_codes import normalize_code
from number_tower.store import StoreError, rooms, short_codes
from number_tower.store.database import Store
from number_tower.store.rows import Seats
from number_tower.store.schema import rooms as rooms_table
from number_tower.store.short_codes import (
    CodeTarget,
    find_code,
    find_target,
    release_code,
    reserve_code,
)
from support.stores import store_in

pytest_plugins = ["support.postgres"]

BOOK = catalogue.load_named("draft")
CLASS = CodeTarget(classroom=7)


@pytest.fixture
def kept(database: str) -> Iterator[Store]:
    opened = store_in(database)
    yield opened
    opened.close()


def open_room(kept: Store) -> CodeTarget:
    room = Room(
        Table(Game(BOOK.rules), BOOK.name, ("Ann", "Ben")),
        (Seat("person", "Ann"), Seat("person", "Ben")),
    )
    with kept.write() as connection:
        return CodeTarget(room=rooms.insert_room(connection, room, BOOK, Seats())[0].id)


def test_a_code_leads_to_what_it_was_reserved_for_until_it_is_released(kept: Store) -> None:
    room = open_room(kept)
    with kept.write() as connection:
        codes = {target: reserve_code(connection, target) for target in (room, CLASS)}
    with kept.write() as connection:
        assert {target: find_target(connection, code) for target, code in codes.items()} == {
            room: room,
            CLASS: CLASS,
        }
        assert {target: find_code(connection, target) for target in codes} == codes
        assert all(normalize_code(code) == code for code in codes.values())
        release_code(connection, CLASS)
    with kept.read() as connection:
        assert find_target(connection, codes[CLASS]) is None
        assert find_code(connection, CLASS) is None
        assert find_target(connection, codes[room]) == room


def test_what_has_a_code_keeps_it(kept: Store) -> None:
    with kept.write() as connection:
        code = reserve_code(connection, CLASS)
    with kept.write() as connection:
        assert reserve_code(connection, CLASS) == code


def test_no_two_have_the_same_code(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["CDFGH", "CDFGH", "CDFGH", "JKMNP"])
    monkeypatch.setattr(short_codes, "make_code", lambda _: next(drawn))
    with kept.write() as connection:
        assert reserve_code(connection, CLASS) == "CDFGH"
        assert reserve_code(connection, CodeTarget(classroom=8)) == "JKMNP"


def test_a_server_without_free_codes_says_so(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_codes, "make_code", lambda _: "CDFGH")
    with kept.write() as connection:
        reserve_code(connection, CLASS)
        with pytest.raises(StoreError, match="no short code is free"):
            reserve_code(connection, CodeTarget(classroom=8))


def test_the_code_of_a_deleted_room_is_free(kept: Store) -> None:
    room = open_room(kept)
    with kept.write() as connection:
        code = reserve_code(connection, room)
        connection.execute(delete(rooms_table).where(rooms_table.c.id == room.room))
        assert find_target(connection, code) is None
