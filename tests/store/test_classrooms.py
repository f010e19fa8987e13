"""Classes in a database: found as they were left, with results that are those of their games."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.rooms.actions import (
    Action,
    Cancel,
    EndAsDraw,
    EndClass,
    Forfeit,
    Join,
    Leave,
    Pause,
    Remove,
    Rename,
    Resume,
    Role,
    StartRound,
    apply_action,
)
from number_tower.rooms.classroom import ClassroomError, ClassSettings, Pairing
from number_tower.rooms.room import Move, Room, RoomError
from number_tower.store import classrooms, maintenance, rooms, seats
from number_tower.store.classrooms import ClassChange, ClassroomNotFoundError, StoredClassroom
from number_tower.store.database import Store
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.store.rows import format_time
from support.stores import make_own_rulebook, open_store

pytest_plugins = ["support.postgres"]

DRAFT = catalogue.choose("draft")
SETTINGS = ClassSettings((DRAFT,))
TEACHER = Credentials(browsers=("the teacher's browser",))


@pytest.fixture
def kept(database: str) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def make_class(kept: Store, count: int = 4, **changed: Any) -> StoredClassroom:
    with kept.write() as connection:
        stored, _ = classrooms.insert_classroom(
            connection, replace(SETTINGS, **changed), "the teacher's browser"
        )
    for name in ("Ann", "Ben", "Cem", "Dan", "Eva")[:count]:
        stored = act(kept, stored, Join(name), browser=f"{name}'s browser").stored
    return stored


def act(
    kept: Store, known: StoredClassroom, action: Action, browser: str | None = None
) -> ClassChange:
    role: Role = (
        "stranger"
        if isinstance(action, Join)
        else "pupil"
        if isinstance(action, Leave)
        else "teacher"
    )
    with kept.write() as connection:
        return classrooms.change_classroom(
            connection,
            known.id,
            # Chance is for play here, not for secrets.
            lambda now: apply_action(now.classroom, role, action, Random(1)),  # noqa: S311
            browser,
        )


def start(kept: Store, count: int = 4, **changed: Any) -> StoredClassroom:
    return act(kept, make_class(kept, count, **changed), StartRound(1)).stored


def find(kept: Store, known: StoredClassroom) -> StoredClassroom:
    with kept.read() as connection:
        return classrooms.find_classroom(connection, known.code)


def find_room(kept: Store, known: StoredClassroom, pairing: Pairing) -> StoredRoom:
    with kept.read() as connection:
        return rooms.load_room(connection, known.rooms[pairing.number].id)


def play(kept: Store, known: StoredClassroom, pairing: Pairing, *blocks: int) -> StoredRoom:
    stored = find_room(kept, known, pairing)
    for block in blocks:
        with kept.write() as connection:
            mover = stored.room.table.game.to_move
            move = Move(stored.room.table.version, block)
            stored = rooms.change_room(connection, stored.address, make_decision({mover}, move))
    return stored


def make_decision(held: set[int], action: Move) -> Callable[[StoredRoom], Room]:
    return lambda now: now.room.apply(held, action)


def get_browser(known: StoredClassroom, number: int | None) -> Credentials:
    assert number is not None
    name = known.classroom.get_pupil(number).name
    return Credentials(browsers=(f"{name}'s browser",))


def test_a_class_is_found_by_its_code_and_by_the_address_for_spectators(kept: Store) -> None:
    known = make_class(kept, 2)
    with kept.read() as connection:
        assert classrooms.find_classroom(connection, known.code) == known
        assert classrooms.find_classroom(connection, known.watch) == known
        with pytest.raises(ClassroomNotFoundError):
            classrooms.find_classroom(connection, "XXXXX")


def test_a_class_is_found_as_it_was_left(kept: Store) -> None:
    book = make_own_rulebook(Rules(target=9))
    games = DRAFT, catalogue.choose(book), catalogue.choose("summit", hidden=True)
    chosen = replace(
        SETTINGS, games=games, mode="free", best_of=3, level="easy", hints=True, values=True,
        tie_break="head_to_head", claim_minutes=None,
    )  # fmt: skip
    known = start(
        kept, 5, **{field: getattr(chosen, field) for field in chosen.__dataclass_fields__}
    )
    assert known.classroom.settings == chosen
    assert find(kept, known) == known
    assert [pupil.name for pupil in known.classroom.pupils] == ["Ann", "Ben", "Cem", "Dan", "Eva"]
    assert len(known.rooms) == 3


def test_roles_are_known_by_the_browser(kept: Store) -> None:
    known = make_class(kept, 2)
    assert known.find_role(TEACHER) == "teacher"
    assert known.find_role(Credentials(browsers=("Ann's browser",))) == "pupil"
    assert known.find_role(Credentials(browsers=("another",))) == "stranger"
    assert known.find_role(Credentials(), watches=True) == "spectator"
    gone = act(kept, known, Remove(1)).stored
    assert gone.find_role(Credentials(browsers=("Ann's browser",))) == "stranger"


def test_the_teachers_link_makes_other_browsers_the_teachers(kept: Store) -> None:
    with kept.write() as connection:
        known, token = classrooms.insert_classroom(connection, SETTINGS, "first")
        after = classrooms.add_teacher(connection, known.id, token, "second").stored
        assert after.find_role(Credentials(browsers=("second",))) == "teacher"
        other = classrooms.replace_token(connection, known.id)
        for wrong in ("wrong", token):
            with pytest.raises(ClassroomError, match="not the teacher's link"):
                classrooms.add_teacher(connection, known.id, wrong, "third")
        renewed = classrooms.add_teacher(connection, known.id, other, "third").stored
        assert all(
            renewed.find_role(Credentials(browsers=(each,))) == "teacher"
            for each in ("first", "second", "third")
        )


def test_pairings_are_rooms_whose_seats_the_pupils_hold(kept: Store) -> None:
    known = start(kept)
    for pairing in known.classroom.pairings:
        stored = find_room(kept, known, pairing)
        assert stored.class_link == (known.id, known.code, pairing.number, (False, False), None)
        assert stored.find_seats(get_browser(known, pairing.first)) == {0}
        assert stored.find_seats(get_browser(known, pairing.second)) == {1}
        assert stored.find_seats(TEACHER) == set()
        assert stored.room.table.names == known.classroom.get_names(pairing)


def test_the_results_of_a_class_are_those_of_its_games(kept: Store) -> None:
    known = start(kept)
    first, second = known.classroom.pairings
    play(kept, known, first, 9, 8, 6)
    play(kept, known, second, 9, 8)
    now = find(kept, known).classroom
    assert now.pairings[0].points == (1.0, 0.0)
    assert now.pairings[1].points is None
    assert [each.player for each in now.standings if each.points == 1] == [first.first]
    assert now.unfinished == (second,)


def test_a_match_counts_when_it_is_decided(kept: Store) -> None:
    known = start(kept, 2, best_of=3)
    (pairing,) = known.classroom.pairings
    stored = play(kept, known, pairing, 9, 8, 6)
    assert not find(kept, known).classroom.pairings[0].over
    assert stored.room.may_rematch({0})


def test_a_round_waits_for_the_games_of_the_last(kept: Store) -> None:
    known = start(kept)
    with pytest.raises(ClassroomError, match="2 games of this round are not over"):
        act(kept, known, StartRound(2))
    for pairing in known.classroom.pairings:
        play(kept, known, pairing, 9, 8, 6)
    change = act(kept, known, StartRound(2))
    assert change.stored.classroom.round == 2
    assert change.rooms == {link.id for link in known.rooms.values()}, (
        "their pages lead to the next game"
    )
    assert act(kept, known, StartRound(2)).stored == change.stored, "a repeated start counts once"


@pytest.mark.parametrize(
    ("make", "reason", "winner"),
    [
        (lambda pairing: Forfeit(pairing.number, pairing.first), "forfeit", 1),
        (lambda pairing: Forfeit(pairing.number, pairing.second), "forfeit", 0),
        (lambda pairing: EndAsDraw(pairing.number), "abandoned", None),
        (lambda pairing: Cancel(pairing.number), "abandoned", None),
        (lambda pairing: Remove(pairing.first), "forfeit", 1),
        (lambda _: EndClass(), "abandoned", None),
    ],
    ids=["first forfeits", "second forfeits", "drawn", "cancelled", "removed", "ended"],
)
def test_what_the_teacher_rules_ends_the_game(
    kept: Store, make: Any, reason: str, winner: int | None
) -> None:
    known = start(kept, 2)
    (pairing,) = known.classroom.pairings
    play(kept, known, pairing, 9)
    before = find_room(kept, known, pairing)
    change = act(kept, known, make(pairing))
    stored = find_room(kept, known, pairing)
    assert stored.room.table.outcome == (winner, reason)
    assert stored.room.class_state == "closed"
    assert stored.revision > before.revision
    assert change.rooms == {stored.id}
    assert find(kept, known).classroom.pairings[0].over


def test_a_paused_game_takes_no_move(kept: Store) -> None:
    known = start(kept, 2)
    (pairing,) = known.classroom.pairings
    act(kept, known, Pause())
    with pytest.raises(RoomError, match="your teacher has paused the game"):
        play(kept, known, pairing, 9)
    act(kept, known, Resume())
    assert play(kept, known, pairing, 9).room.table.game.moves == (9,)


def test_after_a_pause_the_absence_of_a_player_counts_anew(kept: Store) -> None:
    known = start(kept, 2)
    (pairing,) = known.classroom.pairings
    times = [find_room(kept, known, pairing).changed]
    for action in (Pause(), Resume()):
        act(kept, known, action)
        times.append(find_room(kept, known, pairing).changed)
    assert times == sorted(set(times))


def test_a_pupil_is_renamed_in_the_game_as_well(kept: Store) -> None:
    known = start(kept, 2)
    (pairing,) = known.classroom.pairings
    play(kept, known, pairing, 9)
    act(kept, known, Rename(pairing.first, "Zoë"))
    stored = find_room(kept, known, pairing)
    assert stored.room.seats[0].name == "Zoë"
    assert stored.room.table.game.moves == (9,)


def test_a_pupil_continues_on_another_device(kept: Store) -> None:
    known = start(kept, 2)
    (pairing,) = known.classroom.pairings
    with kept.write() as connection:
        code = classrooms.make_pupil_code(connection, known.id, pairing.first)
    with kept.write() as connection:
        change = classrooms.take_pupil(connection, known.id, code, "a phone")
    phone = Credentials(browsers=("a phone",))
    assert change.stored.find_pupil(phone) == known.classroom.get_pupil(pairing.first)
    assert change.stored.find_pupil(get_browser(known, pairing.first)) is None
    room = find_room(kept, known, pairing)
    assert room.find_seats(phone) == {0}
    assert room.find_seats(get_browser(known, pairing.first)) == set()
    with kept.write() as connection, pytest.raises(ClassroomError, match="wrong, was used already"):
        classrooms.take_pupil(connection, known.id, code, "another")


def test_a_code_is_for_one_class_and_for_ten_minutes(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make_class(kept, 1), make_class(kept, 1)
    with kept.write() as connection:
        code = classrooms.make_pupil_code(connection, one.id, 1)
        with pytest.raises(ClassroomError):
            classrooms.take_pupil(connection, other.id, code, "a phone")

        class Later(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(minutes=11)

        monkeypatch.setattr(seats, "datetime", Later)
        with pytest.raises(ClassroomError, match="older than 10 minutes"):
            classrooms.take_pupil(connection, one.id, code, "a phone")


def test_the_classes_of_a_browser_are_listed(kept: Store) -> None:
    one, other = make_class(kept, 1), make_class(kept, 0)
    act(kept, other, EndClass())
    with kept.read() as connection:
        listed = classrooms.list_classrooms(connection, TEACHER.browsers, 9)
        assert listed == [one.code, other.code], "those that are over come last"
        assert classrooms.list_classrooms(connection, ["Ann's browser"], 9) == [one.code]
        assert classrooms.list_classrooms(connection, ["nobody's"], 9) == []


# Deleting -----------------------------------------------------------------------------------------


def set_back(connection: Connection, days: int) -> None:
    at = format_time(datetime.now(UTC) - timedelta(days=days))
    for table, column in (
        ("games", "changed"),
        ("games", "started"),
        ("rooms", "changed"),
        ("classrooms", "changed"),
    ):
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = '{at}'")  # noqa: S608 - our own


def delete_old(connection: Connection, keep_days: int | None) -> tuple[int, int]:
    deleted = maintenance.delete_rooms(connection, keep_days)
    return len(deleted), maintenance.delete_old_classes(connection)


def test_a_class_is_deleted_with_its_games(kept: Store) -> None:
    start(kept)
    with kept.write() as connection:
        set_back(connection, 400)
        assert delete_old(connection, None) == (0, 0), (
            "games of a class are kept although no move was made"
        )
        assert delete_old(connection, 500) == (0, 0)
        assert delete_old(connection, 300) == (2, 1)


def test_a_class_that_never_began_is_deleted_after_a_month(kept: Store) -> None:
    make_class(kept)
    with kept.write() as connection:
        assert delete_old(connection, None) == (0, 0)
        set_back(connection, 31)
        assert delete_old(connection, None) == (0, 1)


def test_a_game_that_was_deleted_does_not_count(kept: Store) -> None:
    known = start(kept, 2)
    play(kept, known, known.classroom.pairings[0], 9, 8, 6)
    with kept.write() as connection:
        connection.exec_driver_sql("DELETE FROM rooms")
    now = find(kept, known)
    assert now.classroom.pairings[0].cancelled
    assert now.rooms == {}
