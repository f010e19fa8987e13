"""Classes in a database: loaded as they were saved, with the results of their games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.rooms import actions
from number_tower.rooms.actions import Join, Pause, Remove, Rename, Resume, StartRound
from number_tower.rooms.classroom import ClassroomError, ClassSettings, Pairing
from number_tower.rooms.room import Move, RoomError
from number_tower.store import classrooms, maintenance, rooms, schema, seats
from number_tower.store.classrooms import ClassChange, ClassroomNotFoundError, StoredClassroom
from number_tower.store.database import Store
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.store.rows import format_time
from support.stores import make_own_rulebook

pytest_plugins = ["support.postgres"]

DRAFT = catalogue.choose("draft")
SETTINGS = ClassSettings((DRAFT,))


def use_browser(name: str) -> Credentials:
    return Credentials(browsers=(name,))


TEACHER = use_browser("the teacher's browser")


def make_class(store: Store, count: int = 4, settings: ClassSettings = SETTINGS) -> StoredClassroom:
    """Make a class that some pupils join, each with a browser of their name."""
    with store.write() as connection:
        stored, _ = classrooms.insert_classroom(connection, settings, *TEACHER.browsers)
    for name in ("Ann", "Ben", "Cem", "Dan", "Eva")[:count]:
        stored = act(store, stored, Join(name), browser=name).stored
    return stored


def act(
    store: Store, stored: StoredClassroom, action: actions.Action, browser: str | None = None
) -> ClassChange:
    roles: dict[type, actions.Role] = {Join: "stranger", actions.Leave: "pupil"}
    role = roles.get(type(action), "teacher")
    with store.write() as connection:
        return classrooms.change_classroom(
            connection,
            stored.id,
            # Chance is for play here, not for secrets.
            lambda now: actions.apply_action(now.classroom, role, action, Random(1)),  # noqa: S311
            browser,
        )


def start_round(
    store: Store, count: int = 4, settings: ClassSettings = SETTINGS
) -> StoredClassroom:
    """Make a class and start its first round."""
    return act(store, make_class(store, count, settings), StartRound(1)).stored


def start_pair(store: Store, **settings: Any) -> tuple[StoredClassroom, Pairing]:
    """Make a class of two pupils and start its first round; return their pairing too."""
    stored = start_round(store, 2, replace(SETTINGS, **settings))
    (pairing,) = stored.classroom.pairings
    return stored, pairing


def find_class(store: Store, stored: StoredClassroom) -> StoredClassroom:
    with store.read() as connection:
        return classrooms.find_classroom(connection, stored.code)


def find_room(store: Store, stored: StoredClassroom, pairing: Pairing) -> StoredRoom:
    with store.read() as connection:
        return rooms.load_room(connection, stored.rooms[pairing.number].id)


def play_moves(store: Store, stored: StoredClassroom, pairing: Pairing, *blocks: int) -> StoredRoom:
    """Place blocks in the game of a pairing, for the pupils whose turns they are."""
    room = find_room(store, stored, pairing)
    for block in blocks:
        table = room.room.table
        held, move = {table.game.to_move}, Move(table.version, block)
        with store.write() as connection:
            room = rooms.change_room(
                connection,
                room.address,
                # The variables are bound at once.
                lambda now, held=held, move=move: now.room.apply(held, move),  # type: ignore[misc]
            )
    return room


def find_browser(stored: StoredClassroom, number: int | None) -> Credentials:
    assert number is not None
    return use_browser(stored.classroom.get_pupil(number).name)


def test_class_is_found_by_its_code_and_by_the_address_for_spectators(any_store: Store) -> None:
    stored = make_class(any_store, 2)
    with any_store.read() as connection:
        assert classrooms.find_classroom(connection, stored.code) == stored
        assert classrooms.find_classroom(connection, stored.watch) == stored
        with pytest.raises(ClassroomNotFoundError):
            classrooms.find_classroom(connection, "XXXXX")


def test_class_is_loaded_as_it_was_saved(any_store: Store) -> None:
    own = catalogue.choose(make_own_rulebook(Rules(target=9)))
    settings = replace(
        SETTINGS, games=(DRAFT, own, catalogue.choose("summit", hidden=True)), mode="free",
        best_of=3, level="easy", hints=True, values=True, tie_break="head_to_head",
        claim_minutes=None,
    )  # fmt: skip
    stored = start_round(any_store, 5, settings)
    assert stored.classroom.settings == settings
    assert find_class(any_store, stored) == stored
    assert [pupil.name for pupil in stored.classroom.pupils] == ["Ann", "Ben", "Cem", "Dan", "Eva"]
    assert len(stored.rooms) == 3


def test_role_in_a_class_follows_from_the_browser(store: Store) -> None:
    stored = make_class(store, 2)
    assert stored.find_role(TEACHER) == "teacher"
    assert stored.find_role(use_browser("Ann")) == "pupil"
    assert stored.find_role(use_browser("another")) == "stranger"
    assert stored.find_role(Credentials(), watches=True) == "spectator"
    assert act(store, stored, Remove(1)).stored.find_role(use_browser("Ann")) == "stranger"


def test_teachers_link_lets_other_browsers_in_until_it_is_replaced(any_store: Store) -> None:
    with any_store.write() as connection:
        stored, old = classrooms.insert_classroom(connection, SETTINGS, "first")
        classrooms.add_teacher(connection, stored.id, old, "second")
        new = classrooms.replace_token(connection, stored.id)
        for token in ("wrong", old):
            with pytest.raises(ClassroomError, match="not the teacher's link"):
                classrooms.add_teacher(connection, stored.id, token, "third")
        after = classrooms.add_teacher(connection, stored.id, new, "third").stored
    for browser in ("first", "second", "third"):
        assert after.find_role(use_browser(browser)) == "teacher"


def test_pairing_is_a_room_whose_seats_the_pupils_hold(any_store: Store) -> None:
    stored = start_round(any_store)
    for pairing in stored.classroom.pairings:
        room = find_room(any_store, stored, pairing)
        assert room.class_link == (stored.id, stored.code, pairing.number, (False, False), None)
        assert room.find_seats(find_browser(stored, pairing.first)) == {0}
        assert room.find_seats(find_browser(stored, pairing.second)) == {1}
        assert room.find_seats(TEACHER) == set()
        assert room.room.table.names == stored.classroom.get_names(pairing)


def test_results_of_a_class_are_those_of_its_games(any_store: Store) -> None:
    stored = start_round(any_store)
    first, second = stored.classroom.pairings
    play_moves(any_store, stored, first, 9, 8, 6)
    play_moves(any_store, stored, second, 9, 8)
    now = find_class(any_store, stored).classroom
    assert [pairing.points for pairing in now.pairings] == [(1.0, 0.0), None]
    assert [row.player for row in now.standings if row.points == 1] == [first.first]
    assert now.unfinished == (second,)


def test_match_of_a_class_is_over_when_it_is_decided(store: Store) -> None:
    stored, pairing = start_pair(store, best_of=3)
    room = play_moves(store, stored, pairing, 9, 8, 6)
    assert not find_class(store, stored).classroom.pairings[0].over
    assert room.room.may_rematch({0})


def test_round_starts_once_and_only_when_the_last_games_are_over(any_store: Store) -> None:
    stored = start_round(any_store)
    with pytest.raises(ClassroomError, match="2 games of this round are not over"):
        act(any_store, stored, StartRound(2))
    for pairing in stored.classroom.pairings:
        play_moves(any_store, stored, pairing, 9, 8, 6)
    change = act(any_store, stored, StartRound(2))
    assert change.stored.classroom.round == 2
    assert change.rooms == {link.id for link in stored.rooms.values()}, "the old ones change too"
    assert act(any_store, stored, StartRound(2)).stored == change.stored


@pytest.mark.parametrize(
    ("make_action", "reason", "winner"),
    [
        (lambda pairing: actions.Forfeit(pairing.number, pairing.first), "forfeit", 1),
        (lambda pairing: actions.Forfeit(pairing.number, pairing.second), "forfeit", 0),
        (lambda pairing: actions.EndAsDraw(pairing.number), "abandoned", None),
        (lambda pairing: actions.Cancel(pairing.number), "abandoned", None),
        (lambda pairing: Remove(pairing.first), "forfeit", 1),
        (lambda _: actions.EndClass(), "abandoned", None),
    ],
    ids=["first forfeits", "second forfeits", "drawn", "cancelled", "removed", "ended"],
)
def test_decision_of_the_teacher_ends_the_game(
    any_store: Store,
    make_action: Callable[[Pairing], actions.Action],
    reason: str,
    winner: int | None,
) -> None:
    stored, pairing = start_pair(any_store)
    before = play_moves(any_store, stored, pairing, 9)
    change = act(any_store, stored, make_action(pairing))
    room = find_room(any_store, stored, pairing)
    assert room.room.table.outcome == (winner, reason)
    assert room.room.class_state == "closed"
    assert room.revision > before.revision
    assert change.rooms == {room.id}
    assert find_class(any_store, stored).classroom.pairings[0].over


def test_paused_game_takes_no_move_and_afterwards_absence_counts_anew(any_store: Store) -> None:
    stored, pairing = start_pair(any_store)
    times = [find_room(any_store, stored, pairing).changed]
    act(any_store, stored, Pause())
    times.append(find_room(any_store, stored, pairing).changed)
    with pytest.raises(RoomError, match="your teacher has paused the game"):
        play_moves(any_store, stored, pairing, 9)
    act(any_store, stored, Resume())
    times.append(find_room(any_store, stored, pairing).changed)
    assert times == sorted(set(times))
    assert play_moves(any_store, stored, pairing, 9).room.table.game.moves == (9,)


def test_pupil_is_renamed_in_the_game_as_well(store: Store) -> None:
    stored, pairing = start_pair(store)
    play_moves(store, stored, pairing, 9)
    act(store, stored, Rename(pairing.first, "Zoë"))
    room = find_room(store, stored, pairing).room
    assert (room.seats[0].name, room.table.game.moves) == ("Zoë", (9,))


def test_pupil_continues_on_another_device_by_a_code_that_counts_once(any_store: Store) -> None:
    stored, pairing = start_pair(any_store)
    with any_store.write() as connection:
        code = classrooms.make_pupil_code(connection, stored.id, pairing.first)
        after = classrooms.take_pupil(connection, stored.id, code, "a phone").stored
    phone, old = use_browser("a phone"), find_browser(stored, pairing.first)
    assert after.find_pupil(phone) == stored.classroom.get_pupil(pairing.first)
    assert after.find_pupil(old) is None
    room = find_room(any_store, stored, pairing)
    assert room.find_seats(phone) == {0}
    assert room.find_seats(old) == set()
    with any_store.write() as connection, pytest.raises(ClassroomError, match="was used already"):
        classrooms.take_pupil(connection, stored.id, code, "another")


def test_pupils_code_is_refused_by_another_class_and_after_ten_minutes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(minutes=11)

    stored, other = make_class(store, 1), make_class(store, 1)
    with store.write() as connection:
        code = classrooms.make_pupil_code(connection, stored.id, 1)
        with pytest.raises(ClassroomError):
            classrooms.take_pupil(connection, other.id, code, "a phone")
        monkeypatch.setattr(seats, "datetime", Later)
        with pytest.raises(ClassroomError, match="older than 10 minutes"):
            classrooms.take_pupil(connection, stored.id, code, "a phone")


def test_classes_of_a_browser_are_listed_with_those_that_are_over_last(any_store: Store) -> None:
    stored, over = make_class(any_store, 1), make_class(any_store, 0)
    act(any_store, over, actions.EndClass())
    with any_store.read() as connection:
        listed = classrooms.list_classrooms(connection, TEACHER.browsers, 9)
        assert listed == [stored.code, over.code]
        assert classrooms.list_classrooms(connection, ["Ann"], 9) == [stored.code]
        assert classrooms.list_classrooms(connection, ["unknown"], 9) == []


# Deleting -----------------------------------------------------------------------------------------


def set_back(connection: Connection, days: int) -> None:
    """Let everything have happened some days ago."""
    time = format_time(datetime.now(UTC) - timedelta(days=days))
    for column in ("games.started", "games.changed", "rooms.changed", "classrooms.changed"):
        table, _, name = column.partition(".")
        connection.execute(schema.metadata.tables[table].update().values({name: time}))


def delete_old(connection: Connection, keep_days: int | None) -> tuple[int, int]:
    deleted = maintenance.delete_rooms(connection, keep_days)
    return len(deleted), maintenance.delete_old_classes(connection)


def test_class_is_deleted_with_its_games_after_the_days_of_the_operator(any_store: Store) -> None:
    start_round(any_store)
    with any_store.write() as connection:
        set_back(connection, 400)
        assert delete_old(connection, None) == (0, 0), "games of a class need no move"
        assert delete_old(connection, 500) == (0, 0)
        assert delete_old(connection, 300) == (2, 1)


def test_class_that_never_began_is_deleted_after_a_month(any_store: Store) -> None:
    make_class(any_store)
    with any_store.write() as connection:
        assert delete_old(connection, None) == (0, 0)
        set_back(connection, 31)
        assert delete_old(connection, None) == (0, 1)


def test_deleted_game_of_a_class_does_not_count(any_store: Store) -> None:
    stored, pairing = start_pair(any_store)
    play_moves(any_store, stored, pairing, 9, 8, 6)
    with any_store.write() as connection:
        connection.exec_driver_sql("DELETE FROM rooms")
    now = find_class(any_store, stored)
    assert now.classroom.pairings[0].cancelled
    assert now.rooms == {}
