"""Rooms in a database: loaded as they were saved, changed once, held by unreadable tokens."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.rooms.classroom import ClassSettings
from number_tower.rooms.codes import normalize_code
from number_tower.rooms.room import (
    Accept,
    Decline,
    HintTaken,
    MakeOffer,
    Move,
    Offer,
    Rematch,
    Resign,
    Room,
    RoomError,
    Seat,
    TakeHint,
)
from number_tower.store import classrooms, matches, rooms, seats
from number_tower.store.database import Store, Writer
from number_tower.store.rooms import Credentials, RoomNotFoundError, StoredRoom
from number_tower.store.rows import MatchSlot, Seats
from support.stored_rooms import act, find_room, open_linked_room, open_room, play_moves
from support.stores import DRAFT, make_own_rulebook

pytest_plugins = ["support.postgres"]

SETTINGS = ClassSettings((catalogue.choose("draft"),))
LINKED = Room(
    Table(Game(DRAFT.rules), DRAFT.name, ("Ann", "Ben")),
    (Seat("person", "Ann"), Seat("free", "Ben")),
)


def insert_linked_room(connection: Connection, browser: str) -> tuple[StoredRoom, str]:
    return rooms.insert_room(connection, LINKED, Seats(), (rooms.digest_secret(browser), None))


def use_browsers(*browsers: str, token: str | None = None) -> Credentials:
    return Credentials(token, browsers)


def list_seats(stored: StoredRoom, *credentials: Credentials | str | None) -> list[list[int]]:
    """Return the seats that the bearer of each of some credentials holds."""
    return [sorted(stored.find_seats(credential)) for credential in credentials]


def move_nine(connection: Connection, address: str) -> StoredRoom:
    return rooms.change_room(connection, address, lambda now: now.room.apply({0, 1}, Move(0, 9)))


def test_room_is_loaded_as_it_was_saved(any_store: Store) -> None:
    stored, ann, zoe = open_linked_room(any_store)
    stored = act(any_store, stored, ann, Move(0, 9))
    stored = act(any_store, stored, zoe, Move(1, 8), MakeOffer("takeback"))
    assert find_room(any_store, stored.address) == stored
    assert find_room(any_store, stored.watch) == stored
    assert stored.room.offer == Offer("takeback", 1)
    stored = act(any_store, stored, ann, Decline())
    assert find_room(any_store, stored.address) == stored
    assert stored.room.declined == Offer("takeback", 1)
    assert list_seats(stored, ann, zoe, "x", None) == [[0], [1], [], []]


def test_every_game_of_a_room_is_stored_as_a_game(any_store: Store) -> None:
    stored, ann, zoe = open_linked_room(any_store)
    act(any_store, stored, ann, Resign())
    act(any_store, stored, zoe, MakeOffer("rematch"))
    act(any_store, stored, ann, Accept())
    stored = act(any_store, stored, zoe, Move(0, 9))
    assert find_room(any_store, stored.address) == stored
    assert (stored.room.number, stored.room.score, stored.room.table.game.first) == (2, (0, 1), 1)
    games = [any_store.get(identity).table for identity in (1, 2)]
    assert [table.names for table in games] == [("Ann", "Zoë")] * 2
    assert games[0].outcome == (1, "resigned")


def test_match_in_a_room_is_stored_as_a_match(any_store: Store) -> None:
    stored, ann = open_room(any_store, best_of=3)
    stored = act(any_store, stored, ann, Resign(), Rematch())
    assert stored.game.slot == MatchSlot(1, 2)
    assert matches.get_match(any_store, 1).series.match.winners == (1,)
    stored = act(any_store, stored, ann, Resign())
    assert matches.get_match(any_store, 1).series.match.score == (1, 1)
    assert find_room(any_store, stored.address) == stored
    stored = act(any_store, stored, ann, Rematch(), Resign())
    assert stored.room.series_over
    stored = act(any_store, stored, ann, Rematch())
    assert (stored.game.slot, stored.room.score) == (MatchSlot(2, 1), (0, 0))
    assert find_room(any_store, stored.address) == stored


def test_rematch_takes_up_the_game_that_was_begun_in_a_terminal(store: Store) -> None:
    stored, ann = open_room(store, best_of=3)
    act(store, stored, ann, Resign())
    match = matches.get_match(store, 1)
    begun = store.begin(
        match.series.table,
        DRAFT,
        find_slot=lambda connection: matches.claim_slot(connection, match),
    )
    stored = act(store, stored, ann, Rematch())
    assert stored.game.id == begun.id
    assert find_room(store, stored.address).room.table == begun.table


def test_computer_gets_another_seed_for_every_game(store: Store) -> None:
    stored, ann = open_room(store, "computer", level="gentle")
    again = act(store, stored, ann, Resign(), Rematch())
    assert stored.game.seats.players == again.game.seats.players == (None, "gentle")
    assert stored.game.seats.seed != again.game.seats.seed
    assert again.room.seats[1].kind == "computer"


def test_own_rule_file_of_a_room_is_stored(store: Store) -> None:
    stored, _ = open_room(store, book=make_own_rulebook(Rules(target=7)))
    assert find_room(store, stored.address).game.table.book.title == "Mine, all mine"


def test_database_holds_only_digests_of_tokens_and_codes(store: Store, file: Path) -> None:
    stored, ann, zoe = open_linked_room(store)
    with store.write() as connection:
        code = seats.hand_over(connection, stored, zoe)
    with closing(sqlite3.connect(file)) as connection:
        dump = "\n".join(connection.iterdump())
    assert stored.address in dump
    assert not any(secret in dump for secret in (ann, zoe, code))


def test_earlier_game_is_loaded_only_if_it_is_over(any_store: Store) -> None:
    stored, token = open_room(any_store)
    stored = act(any_store, stored, token, Resign(), Rematch())
    with any_store.read() as connection:
        assert rooms.load_earlier_game(connection, stored, 1).table.outcome == (1, "resigned")
        for number in (0, 2, 3):
            with pytest.raises(RoomNotFoundError):
                rooms.load_earlier_game(connection, stored, number)


def test_room_is_not_found_at_an_unknown_address_or_after_its_game_was_deleted(
    any_store: Store,
) -> None:
    stored, _, _ = open_linked_room(any_store)
    assert any_store.find_last(unfinished=True) is None, "a room without a move is not resumed"
    any_store.delete(stored.game.id)
    for address in ("nowhere", stored.address):
        with pytest.raises(RoomNotFoundError):
            find_room(any_store, address)


def test_move_in_a_terminal_raises_the_revision_of_the_room(any_store: Store) -> None:
    stored, _ = open_room(any_store)
    any_store.save(stored.game, stored.room.table.play(9))
    after = find_room(any_store, stored.address)
    assert after.revision > stored.revision
    assert after.room.table.game.moves == (9,)


def test_cached_room_is_used_until_it_changes(store: Store) -> None:
    stored, token = open_room(store)
    cache = rooms.RoomCache()
    with store.read() as connection:
        cache.add(rooms.find_room(connection, stored.address, cache))
        first = rooms.find_room(connection, stored.address, cache)
        assert rooms.find_room(connection, stored.address, cache) is first
    play_moves(store, stored, token, 9)
    with store.read() as connection:
        assert rooms.find_room(connection, stored.address, cache).room.table.game.moves == (9,)


def test_hints_are_stored_until_the_next_game(any_store: Store) -> None:
    stored, ann, zoe = open_linked_room(any_store)
    act(any_store, stored, ann, TakeHint(0, 1), TakeHint(0, 2), Move(0, 9))
    stored = act(any_store, stored, zoe, TakeHint(1, 3))
    taken = (HintTaken(0, 0, 1), HintTaken(0, 0, 2), HintTaken(1, 1, 3))
    assert stored.room.hints_taken == taken
    assert find_room(any_store, stored.address) == stored
    act(any_store, stored, zoe, Resign(), MakeOffer("rematch"))
    stored = act(any_store, stored, ann, Accept())
    assert stored.room.hints_taken == find_room(any_store, stored.address).room.hints_taken == ()


@pytest.mark.parametrize("seconds", [None, 60, 300])
def test_time_until_a_claim_is_stored(store: Store, seconds: int | None) -> None:
    with store.write() as connection:
        stored, _ = rooms.insert_room(connection, replace(LINKED, claim_after=seconds), Seats())
    assert find_room(store, stored.address).room.claim_after == seconds


# Seats and browsers -------------------------------------------------------------------------------


def test_free_seat_is_taken_once(any_store: Store) -> None:
    stored, _, _ = open_linked_room(any_store)
    with pytest.raises(RoomError, match="both seats are taken"), any_store.write() as connection:
        seats.sit(connection, stored, "Eve")
    assert find_room(any_store, stored.address).room.seats[1].name == "Zoë"


def test_handover_moves_a_seat_once_and_voids_the_old_token(any_store: Store) -> None:
    stored, ann, zoe = open_linked_room(any_store)
    with any_store.write() as connection:
        code = seats.hand_over(connection, stored, zoe)
        stored, new = seats.take_over(connection, stored, code)
    assert list_seats(stored, ann, zoe, new) == [[0], [], [1]]
    assert find_room(any_store, stored.address) == stored
    with pytest.raises(RoomError, match="already used"), any_store.write() as connection:
        seats.take_over(connection, stored, code)
    with pytest.raises(RoomError), any_store.write() as connection:
        seats.hand_over(connection, stored, zoe)
    with pytest.raises(RoomError):
        act(any_store, stored, zoe, Resign())


def test_handover_code_that_is_too_old_moves_nothing(any_store: Store) -> None:
    stored, ann, _ = open_linked_room(any_store)
    with any_store.write() as connection:
        code = seats.hand_over(connection, stored, ann)
        connection.exec_driver_sql("UPDATE seats SET until = '2020-01-01T00:00:00+00:00'")
    with pytest.raises(RoomError, match="too old"), any_store.write() as connection:
        seats.take_over(connection, stored, code)
    assert find_room(any_store, stored.address).find_seats(ann) == {0}


def test_handover_at_one_table_moves_both_seats(any_store: Store) -> None:
    stored, token = open_room(any_store)
    with any_store.write() as connection:
        code = seats.hand_over(connection, stored, token)
        stored, new = seats.take_over(connection, stored, code)
    assert list_seats(stored, token, new) == [[], [0, 1]]


def test_browser_and_token_hold_the_same_seat(any_store: Store) -> None:
    with any_store.write() as connection:
        stored, ann = insert_linked_room(connection, "ann's")
        stored, zoe = seats.sit(connection, stored, "Zoë", "zoe's")
    assert list_seats(stored, ann, zoe, "ann's") == [[0], [1], []]
    browsers = [use_browsers(name) for name in ("ann's", "zoe's", ann, "")]
    assert list_seats(stored, *browsers) == [[0], [1], [], []]
    assert stored.find_seats(use_browsers("zoe's", token=ann)) == {0, 1}
    assert stored.find_seats(use_browsers("x", "zoe's")) == {1}
    assert find_room(any_store, stored.address) == stored


def test_handover_voids_the_old_browser_and_the_old_token(any_store: Store) -> None:
    with any_store.write() as connection:
        stored, ann = insert_linked_room(connection, "ann's")
        code = seats.hand_over(connection, stored, use_browsers("ann's"))
        stored, new = seats.take_over(connection, stored, code, "another")
        old = use_browsers("ann's", token=ann)
        assert list_seats(stored, old, new, use_browsers("another")) == [[], [0], [0]]
        code = seats.hand_over(connection, stored, new)
        stored, newest = seats.take_over(connection, stored, code)
        assert list_seats(stored, use_browsers("another", token=new), newest) == [[], [0]]
    assert find_room(any_store, stored.address) == stored


def test_rooms_of_a_browser_are_listed_unfinished_then_newest_first(any_store: Store) -> None:
    opened = []
    for _ in range(5):
        with any_store.write() as connection:
            opened.append(insert_linked_room(connection, "mine")[0])
    with any_store.write() as connection:
        insert_linked_room(connection, "another's")
        seats.sit(connection, opened[3], "Zoë", "mine")
        rooms.change_room(connection, opened[3].address, lambda now: now.room.apply({0}, Resign()))
    addresses = [opened[number].address for number in (4, 2, 1, 0, 3)]
    with any_store.read() as connection:
        assert seats.list_rooms(connection, ["mine", "unknown"], 9) == addresses
        assert seats.list_rooms(connection, ["mine"], 4) == addresses[:4]
        assert seats.list_rooms(connection, [], 4) == []
        assert seats.list_rooms(connection, ["unknown"], 4) == []


def test_short_code_leads_to_a_free_seat_or_a_class_and_to_nothing_else(any_store: Store) -> None:
    stored, _ = open_room(any_store, "free")
    assert stored.code is not None
    with any_store.write() as connection:
        classroom, _ = classrooms.insert_classroom(connection, SETTINGS, "teacher")
        assert rooms.find_code(connection, stored.code) == f"/g/{stored.address}"
        assert rooms.find_code(connection, classroom.code) == f"/class/{classroom.code}"
        assert normalize_code(stored.code) == stored.code
        after, _ = seats.sit(connection, stored, "Zoë")
        assert after.code is None
        assert rooms.find_code(connection, stored.code) is None


def test_room_and_class_never_get_the_same_code(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = iter(["CDFGH", "CDFGH", "CDFGH", "JKMNP"])
    monkeypatch.setattr(rooms, "make_code", lambda _: next(codes))
    assert open_room(any_store, "free")[0].code == "CDFGH"
    with any_store.write() as connection:
        assert classrooms.insert_classroom(connection, SETTINGS, "x")[0].code == "JKMNP"


# The thread that writes ---------------------------------------------------------------------------


@pytest.fixture
def writer(any_store: Store) -> Iterator[Writer]:
    with closing(Writer(any_store)) as opened:
        yield opened


def test_writer_stores_all_of_many_changes(any_store: Store, writer: Writer) -> None:
    addresses = [open_room(any_store)[0].address for _ in range(40)]
    answers = [
        # The variable is bound at once.
        writer.submit(lambda connection, address=address: move_nine(connection, address))  # type: ignore[misc]
        for address in addresses
    ]
    for address, answer in zip(addresses, answers, strict=True):
        assert answer.result(30) == find_room(any_store, address)


def test_change_that_fails_leaves_the_others_of_its_batch(any_store: Store, writer: Writer) -> None:
    gate = Event()
    address = open_room(any_store)[0].address

    def fail(_: Connection) -> None:
        raise ZeroDivisionError

    writer.submit(lambda _: gate.wait(30))
    right = writer.submit(lambda connection: move_nine(connection, address))
    failed = writer.submit(fail)
    gate.set()
    assert right.result(30) == find_room(any_store, address)
    with pytest.raises(ZeroDivisionError):
        failed.result(30)


def test_change_is_announced_only_after_its_commit(
    any_store: Store, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, ready, write = open_room(any_store)[0].address, Event(), any_store.write
    announced: list[bool] = []

    @contextmanager
    def watch_write() -> Iterator[Connection]:
        with write() as connection:
            yield connection
            announced.append(answer.done())
            announced.append(find_room(any_store, address).room.table.version > 0)

    monkeypatch.setattr(any_store, "write", watch_write)
    writer.submit(lambda _: ready.wait(30))
    answer = writer.submit(lambda connection: move_nine(connection, address))
    ready.set()
    assert answer.result(30) == find_room(any_store, address)
    assert announced[-2:] == [False, False]


def test_closed_writer_still_does_what_was_submitted(any_store: Store) -> None:
    writer = Writer(any_store)
    answers = [writer.submit(lambda _: 1) for _ in range(200)]
    writer.close()
    assert [answer.result(0) for answer in answers] == [1] * 200
