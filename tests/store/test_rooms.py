"""Rooms in a database: found as they were left, changed once, held by tokens nobody can read."""

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
    Action,
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
from number_tower.store import classrooms, matches, rooms
from number_tower.store import seats as browsers
from number_tower.store import seats as seats_module
from number_tower.store.database import Store, Writer
from number_tower.store.rooms import Credentials, RoomNotFoundError, StoredRoom
from number_tower.store.rows import MatchSlot, Seats
from support.stores import make_own_rulebook, open_store

pytest_plugins = ["support.postgres"]

BOOK = catalogue.load_named("draft")
SETTINGS = ClassSettings((catalogue.choose("draft"),))
LINKED = Room(
    Table(Game(BOOK.rules), BOOK.name, ("Ann", "Ben")), (Seat("person", "Ann"), Seat("free", "Ben"))
)


@pytest.fixture
def kept(database: str) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def open_room(
    kept: Store, second: str = "free", *, best_of: int | None = None, level: str | None = None
) -> tuple[StoredRoom, str]:
    # Callers give one of the kinds.
    seats = Seat("person", "Ann"), Seat(second, "Ben")  # type: ignore[arg-type]
    players = Seats((None, level), 7 if level else None)
    table = Table(Game(BOOK.rules), BOOK.name, ("Ann", "Ben"), automatic=players.automatic)
    with kept.write() as connection:
        return rooms.insert_room(connection, Room(table, seats, best_of=best_of), players)


def sat(kept: Store) -> tuple[StoredRoom, str, str]:
    """Open a room and let somebody take the other seat."""
    known, ann = open_room(kept)
    with kept.write() as connection:
        known, ben = seats_module.sit(connection, known, "Zoë")
    return known, ann, ben


def done(kept: Store, known: StoredRoom, token: str, action: Action) -> StoredRoom:
    with kept.write() as connection:
        return rooms.change_room(
            connection, known.address, lambda now: now.room.apply(now.find_seats(token), action)
        )


def opened_link(connection: Connection, browser: str) -> tuple[StoredRoom, str]:
    holder = rooms.digest_secret(browser)
    return rooms.insert_room(connection, LINKED, Seats(), (holder, None))


def holds(known: StoredRoom, *credentials: Credentials | str | None) -> list[list[int]]:
    """Return the seats that each of some credentials hold."""
    return [sorted(known.find_seats(each)) for each in credentials]


def found(kept: Store, address: str) -> StoredRoom:
    with kept.read() as connection:
        return rooms.find_room(connection, address)


def test_a_room_is_found_as_it_was_left(kept: Store) -> None:
    known, ann, ben = sat(kept)
    known = done(kept, known, ann, Move(0, 9))
    known = done(kept, known, ben, Move(1, 8))
    known = done(kept, known, ben, MakeOffer("takeback"))
    assert found(kept, known.address) == known
    assert found(kept, known.watch) == known
    assert known.room.offer == Offer("takeback", 1)
    known = done(kept, known, ann, Decline())
    assert found(kept, known.address) == known
    assert known.room.declined == Offer("takeback", 1)
    assert holds(known, ann, ben, "x", None) == [[0], [1], [], []]


def test_every_game_in_a_room_is_kept_as_a_game(kept: Store) -> None:
    known, ann, ben = sat(kept)
    known = done(kept, known, ann, Resign())
    known = done(kept, done(kept, known, ben, MakeOffer("rematch")), ann, Accept())
    known = done(kept, known, ben, Move(0, 9))
    assert found(kept, known.address) == known
    assert (known.room.number, known.room.score, known.room.table.game.first) == (2, (0, 1), 1)
    assert [kept.get(identity).table.names for identity in (1, 2)] == [("Ann", "Zoë")] * 2
    assert kept.get(1).table.outcome == (1, "resigned")


def test_a_match_in_a_room_is_kept_as_a_match(kept: Store) -> None:
    known, ann = open_room(kept, "person", best_of=3)
    known = done(kept, done(kept, known, ann, Resign()), ann, Rematch())
    assert known.game.slot == MatchSlot(1, 2)
    assert matches.get_match(kept, 1).series.match.winners == (1,)
    known = done(kept, known, ann, Resign())
    assert matches.get_match(kept, 1).series.match.score == (1, 1)
    assert found(kept, known.address) == known
    known = done(kept, done(kept, known, ann, Rematch()), ann, Resign())
    assert known.room.series_over
    known = done(kept, known, ann, Rematch())
    assert (known.game.slot, known.room.score) == (MatchSlot(2, 1), (0, 0))
    assert found(kept, known.address) == known


def test_a_computer_plays_every_game_with_another_seed(kept: Store) -> None:
    known, ann = open_room(kept, "computer", level="gentle")
    again = done(kept, done(kept, known, ann, Resign()), ann, Rematch())
    assert known.game.seats.players == again.game.seats.players == (None, "gentle")
    assert known.game.seats.seed != again.game.seats.seed
    assert again.room.seats[1].kind == "computer"


def test_a_game_by_ones_own_rules_is_told_in_its_own_voice(kept: Store) -> None:
    book = make_own_rulebook(Rules(target=7))
    seats = Seat("person", "Ann"), Seat("person", "Ben")
    with kept.write() as connection:
        table = Table(Game(book.rules), book.name, book=book)
        known, _ = rooms.insert_room(connection, Room(table, seats), Seats())
    assert found(kept, known.address).game.table.book.title == "Mine, all mine"


def test_the_database_knows_tokens_and_codes_by_their_digests_alone(tmp_path: Path) -> None:
    kept = open_store(tmp_path / "games.db")
    known, ann, ben = sat(kept)
    with kept.write() as connection:
        code = seats_module.hand_over(connection, known, ben)
    with closing(sqlite3.connect(tmp_path / "games.db")) as connection:
        everything = "\n".join(connection.iterdump())
    assert known.address in everything
    for secret in (ann, ben, code):
        assert secret not in everything


def test_a_free_seat_is_taken_once_however_many_try(kept: Store) -> None:
    known, _ = open_room(kept)
    with kept.write() as connection:
        taken, _ = seats_module.sit(connection, known, "Zoë")
    with pytest.raises(RoomError, match="both seats are taken"), kept.write() as connection:
        seats_module.sit(connection, taken, "Eve")
    assert found(kept, known.address).room.seats[1].name == "Zoë"


def test_a_seat_is_moved_once_and_the_old_token_is_void(kept: Store) -> None:
    known, ann, ben = sat(kept)
    with kept.write() as connection:
        code = seats_module.hand_over(connection, known, ben)
        known, new = seats_module.take_over(connection, known, code)
    assert holds(known, ann, ben, new) == [[0], [], [1]]
    assert found(kept, known.address) == known
    with pytest.raises(RoomError, match="already used"), kept.write() as connection:
        seats_module.take_over(connection, known, code)


def test_a_code_that_is_too_old_moves_nothing(kept: Store) -> None:
    known, ann, _ = sat(kept)
    with kept.write() as connection:
        code = seats_module.hand_over(connection, known, ann)
    with kept.write() as connection:
        connection.exec_driver_sql("UPDATE seats SET until = '2020-01-01T00:00:00+00:00'")
    with pytest.raises(RoomError, match="too old"), kept.write() as connection:
        seats_module.take_over(connection, known, code)
    assert found(kept, known.address).find_seats(ann) == {0}


def test_at_one_table_both_seats_are_moved_together(kept: Store) -> None:
    known, token = open_room(kept, "person")
    with kept.write() as connection:
        code = seats_module.hand_over(connection, known, token)
        known, new = seats_module.take_over(connection, known, code)
    assert holds(known, token, new) == [[], [0, 1]]


def test_a_token_that_is_void_moves_neither_a_block_nor_a_seat(kept: Store) -> None:
    before, _, ben = sat(kept)
    with kept.write() as connection:
        code = seats_module.hand_over(connection, before, ben)
        after, _ = seats_module.take_over(connection, before, code)
    with pytest.raises(RoomError), kept.write() as connection:
        seats_module.hand_over(connection, after, ben)
    with pytest.raises(RoomError):
        done(kept, before, ben, Resign())


def test_an_earlier_game_is_one_that_is_over_and_not_the_one_that_is_played(kept: Store) -> None:
    known, token = open_room(kept, "person")
    known = done(kept, done(kept, known, token, Resign()), token, Rematch())
    with kept.read() as connection:
        assert rooms.load_earlier_game(connection, known, 1).table.outcome == (1, "resigned")
        for number in (0, 2, 3):
            with pytest.raises(RoomNotFoundError):
                rooms.load_earlier_game(connection, known, number)


def test_the_next_game_of_a_match_that_was_begun_elsewhere_is_gone_on_with(kept: Store) -> None:
    known, ann = open_room(kept, "person", best_of=3)
    known = done(kept, known, ann, Resign())
    match = matches.get_match(kept, 1)
    begun = kept.begin(
        match.series.table, BOOK, find_slot=lambda connection: matches.claim_slot(connection, match)
    )
    known = done(kept, known, ann, Rematch())
    assert known.game.id == begun.id
    assert found(kept, known.address).room.table == begun.table


def test_there_is_no_room_at_an_address_nobody_was_given(kept: Store) -> None:
    with pytest.raises(RoomNotFoundError):
        found(kept, "nowhere")


def test_a_room_whose_game_was_forgotten_is_gone(kept: Store) -> None:
    known, _, _ = sat(kept)
    kept.delete(known.game.id)
    with pytest.raises(RoomNotFoundError):
        found(kept, known.address)


def test_a_game_that_was_only_opened_is_not_what_somebody_left(kept: Store) -> None:
    open_room(kept)
    assert kept.find_last(unfinished=True) is None


# Browsers -----------------------------------------------------------------------------------------


def test_a_browser_holds_what_it_opened_or_sat_down_at_and_its_token_does_as_well(
    kept: Store,
) -> None:
    with kept.write() as connection:
        known, ann = opened_link(connection, "ann's")
        known, ben = seats_module.sit(connection, known, "Zoë", "ben's")
    by = {name: Credentials(browsers=(name,)) for name in ("ann's", "ben's", ann, "")}
    assert holds(known, *by.values(), ann, ben, "ann's") == [[0], [1], [], [], [0], [1], []]
    assert holds(known, Credentials(ann, ("ben's",)), Credentials(None, ("x", "ben's"))) == [
        [0, 1],
        [1],
    ]
    assert found(kept, known.address) == known


def test_a_seat_that_is_moved_is_held_by_neither_the_old_browser_nor_the_old_token(
    kept: Store,
) -> None:
    with kept.write() as connection:
        known, ann = opened_link(connection, "ann's")
        code = seats_module.hand_over(connection, known, Credentials(browsers=("ann's",)))
        known, new = seats_module.take_over(connection, known, code, "another")
        old = Credentials(ann, ("ann's",))
        assert holds(known, old, new, Credentials(browsers=("another",))) == [[], [0], [0]]
        code = seats_module.hand_over(connection, known, new)
        known, newest = seats_module.take_over(connection, known, code)
        assert holds(known, Credentials(new, ("another",)), newest) == [[], [0]]
    assert found(kept, known.address) == known


def test_the_rooms_of_a_browser_are_listed_unfinished_first_then_newest_first(kept: Store) -> None:
    opened = []
    for _ in range(5):
        with kept.write() as connection:
            opened.append(opened_link(connection, "mine")[0])
    with kept.write() as connection:
        opened_link(connection, "another's")
        seats_module.sit(connection, opened[3], "Zoë", "mine")
    with kept.write() as connection:
        rooms.change_room(connection, opened[3].address, lambda now: now.room.apply({0}, Resign()))
    with kept.read() as connection:
        listed = browsers.list_rooms(connection, ["mine", "unknown"], 4)
        assert (
            browsers.list_rooms(connection, [], 4)
            == browsers.list_rooms(connection, ["unknown"], 4)
            == []
        )
        assert browsers.list_rooms(connection, ["mine"], 9)[-1] == opened[3].address
    assert listed == [opened[place].address for place in (4, 2, 1, 0)]


def test_a_short_code_leads_to_a_free_seat_or_a_class_and_to_nothing_else(kept: Store) -> None:
    known, _ = open_room(kept)
    assert known.code is not None
    with kept.write() as connection:
        classroom, _ = classrooms.insert_classroom(connection, SETTINGS, "teacher")
        assert rooms.find_code(connection, known.code) == f"/g/{known.address}"
        assert rooms.find_code(connection, classroom.code) == f"/class/{classroom.code}"
        assert normalize_code(known.code) == known.code
        after, _ = seats_module.sit(connection, known, "Zoë")
        assert after.code is None
        assert rooms.find_code(connection, known.code) is None


def test_no_two_have_the_same_code(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["CDFGH", "CDFGH", "CDFGH", "JKMNP"])
    monkeypatch.setattr(rooms, "make_code", lambda _: next(drawn))
    assert open_room(kept)[0].code == "CDFGH"
    with kept.write() as connection:
        assert classrooms.insert_classroom(connection, SETTINGS, "x")[0].code == "JKMNP"


def test_a_game_that_is_changed_in_a_terminal_raises_the_revision_of_its_room(kept: Store) -> None:
    known, _ = open_room(kept, "person")
    kept.save(known.game, known.room.table.play(9))
    after = found(kept, known.address)
    assert after.revision > known.revision
    assert after.room.table.game.moves == (9,)


def test_a_room_is_built_again_only_if_it_has_changed(kept: Store) -> None:
    known, token = open_room(kept, "person")
    cache = rooms.RoomCache()
    with kept.read() as connection:
        cache.add(rooms.find_room(connection, known.address, cache))
        first = rooms.find_room(connection, known.address, cache)
        assert rooms.find_room(connection, known.address, cache) is first
    done(kept, known, token, Move(0, 9))
    with kept.read() as connection:
        assert rooms.find_room(connection, known.address, cache).room.table.game.moves == (9,)


# One hand that writes -----------------------------------------------------------------------------


def test_what_many_write_at_once_is_all_kept(kept: Store) -> None:
    scribe = Writer(kept)
    opened = [open_room(kept, "person") for _ in range(40)]
    written = [
        scribe.submit(
            # The variable is bound at once.
            lambda connection, address=known.address: rooms.change_room(  # type: ignore[misc]
                connection, address, lambda now: now.room.apply({0, 1}, Move(0, 9))
            )
        )
        for known, _ in opened
    ]
    for answer in written:
        after = answer.result(30)
        assert found(kept, after.address) == after
    scribe.close()


def test_what_fails_takes_nothing_else_with_it(kept: Store) -> None:
    scribe, gate = Writer(kept), Event()
    known, _ = open_room(kept, "person")

    def wrong(_: Connection) -> None:
        raise ZeroDivisionError

    scribe.submit(lambda _: gate.wait(30))
    right = scribe.submit(
        lambda connection: rooms.change_room(
            connection, known.address, lambda now: now.room.apply({0, 1}, Move(0, 9))
        )
    )
    failed = scribe.submit(wrong)
    gate.set()
    assert right.result(30) == found(kept, known.address)
    with pytest.raises(ZeroDivisionError):
        failed.result(30)
    scribe.close()


def test_nobody_is_told_before_it_is_kept(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    known, _ = open_room(kept, "person")
    writing = kept.write

    @contextmanager
    def watched() -> Iterator[Connection]:
        with writing() as connection:
            yield connection
            told.append(answer.done())
            with kept.read() as another:
                told.append(rooms.find_room(another, known.address).room.table.version > 0)

    monkeypatch.setattr(kept, "write", watched)
    ready = Event()
    scribe = Writer(kept)
    scribe.submit(lambda _: ready.wait(30))
    answer = scribe.submit(
        lambda connection: rooms.change_room(
            connection, known.address, lambda now: now.room.apply({0, 1}, Move(0, 9))
        )
    )
    ready.set()
    assert answer.result(30) == found(kept, known.address)
    assert told[-2:] == [False, False]
    scribe.close()


def test_what_waits_when_it_is_closed_is_still_kept(kept: Store) -> None:
    scribe = Writer(kept)
    answers = [scribe.submit(lambda _: 1) for _ in range(200)]
    scribe.close()
    assert [answer.result(0) for answer in answers] == [1] * 200


def test_hints_are_found_as_they_were_taken_until_the_next_game(kept: Store) -> None:
    known, ann, ben = sat(kept)
    known = done(kept, known, ann, TakeHint(0, 1))
    known = done(kept, known, ann, TakeHint(0, 2))
    known = done(kept, known, ann, Move(0, 9))
    known = done(kept, known, ben, TakeHint(1, 3))
    taken = (HintTaken(0, 0, 1), HintTaken(0, 0, 2), HintTaken(1, 1, 3))
    assert known.room.hints_taken == found(kept, known.address).room.hints_taken == taken
    assert found(kept, known.address).revision == known.revision
    known = done(kept, known, ben, Resign())
    known = done(kept, known, ben, MakeOffer("rematch"))
    known = done(kept, known, ann, Accept())
    assert known.room.hints_taken == found(kept, known.address).room.hints_taken == ()


@pytest.mark.parametrize("seconds", [None, 60, 300])
def test_the_time_until_a_claim_is_found_as_it_was_chosen(kept: Store, seconds: int | None) -> None:
    with kept.write() as connection:
        known, _ = rooms.insert_room(connection, replace(LINKED, claim_after=seconds), Seats())
    assert known.room.claim_after == seconds
