"""A class: the rights of its roles, the results of actions, and never two games for one pupil."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from number_tower.engine import catalogue
from number_tower.rooms.actions import (
    ACTIONS,
    RIGHTS,
    Action,
    Cancel,
    EndAsDraw,
    EndClass,
    Forfeit,
    Join,
    Leave,
    PairTwo,
    PairWaiting,
    Pause,
    Remove,
    Rename,
    Resume,
    Return,
    Role,
    StartRound,
    apply_action,
    explain_no_round,
)
from number_tower.rooms.classroom import Classroom, ClassroomError, ClassSettings, Pairing
from number_tower.rooms.pairing import Encounter, compute_standings
from support.sizes import examples, size

DRAFT, RACE = (catalogue.choose(name) for name in ("draft", "race"))
SETTINGS = ClassSettings((DRAFT,))
EXAMPLES: dict[str, tuple[object, ...]] = {
    "join": ("Zoë",), "leave": (1,), "return": (1,), "rename": (1, "Zoë"), "remove": (1,),
    "start": (2,), "pair-two": (5, 6), "draw": (1,), "forfeit": (1, 1), "cancel": (1,),
}  # fmt: skip


def act(classroom: Classroom, action: Action, role: Role = "teacher", seed: int = 1) -> Classroom:
    if isinstance(action, Join):
        role = "stranger"
    if isinstance(action, Leave | Return):
        role = "pupil"
    return apply_action(classroom, role, action, Random(seed))  # noqa: S311 - play, not secrets


def decide(classroom: Classroom, winners: Mapping[int, int | None]) -> Classroom:
    """Return the class after the games of these pairings, by number, with these winners."""
    for number, winner in winners.items():
        classroom = classroom.change_pairings([number], winners=(winner,), decided=True)
    return classroom


def make_class(count: int = 4, **changed: Any) -> Classroom:
    classroom = Classroom(replace(SETTINGS, **changed))
    for name in ("Ann", "Ben", "Cem", "Dan", "Eva", "Fay", "Gus")[:count]:
        classroom = act(classroom, Join(name))
    return classroom


def list_players(pairings: Iterable[Pairing]) -> list[int]:
    """Return the pupils of these pairings in order."""
    players = (player for pairing in pairings for player in (pairing.first, pairing.second))
    return sorted(player for player in players if player is not None)


def start(count: int = 4, **changed: Any) -> Classroom:
    return act(make_class(count, **changed), StartRound(1))


def finish(classroom: Classroom) -> Classroom:
    """Let the first player of every unfinished pairing win."""
    return decide(classroom, {pairing.number: 0 for pairing in classroom.unfinished})


def get_reason(classroom: Classroom, action: Action, role: Role = "teacher") -> str:
    with pytest.raises(ClassroomError) as refused:
        apply_action(classroom, role, action, Random(1))  # noqa: S311 - play, not secrets
    assert not str(refused.value).endswith(".")
    return refused.value.reason


# Rights -------------------------------------------------------------------------------------------


def test_every_action_has_a_right() -> None:
    assert set(ACTIONS) < set(RIGHTS)
    assert set(ACTIONS.values()) == set(get_args(Action))


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("name", ACTIONS)
def test_action_is_refused_to_a_role_without_the_right(name: str, role: Role) -> None:
    classroom = make_class(6)
    kind: Any = ACTIONS[name]
    action: Action = kind(*EXAMPLES.get(name, ()))
    if name not in {"join", "leave", "return", "rename", "remove"}:
        classroom = act(act(start(4), Join("Eva")), Join("Fay"))
    if role not in RIGHTS[name]:
        expected = "not_now" if name == "join" else "not_yours"
        assert get_reason(classroom, action, role) == expected
        return
    if name == "start":
        classroom = finish(classroom)
    if name == "forfeit":
        action = Forfeit(1, classroom.pairings[0].first)
    assert apply_action(classroom, role, action, Random(2)) is not None  # noqa: S311 - likewise


# Pupils -------------------------------------------------------------------------------------------


def test_pupils_are_numbered_as_they_join() -> None:
    assert make_class(3).pupils == ((1, "Ann", "here"), (2, "Ben", "here"), (3, "Cem", "here"))


@pytest.mark.parametrize("name", ["ann", " Ann ", "ANN"])
def test_name_of_another_pupil_is_refused(name: str) -> None:
    classroom = make_class(2)
    assert get_reason(classroom, Join(name), "stranger") == "bad_name"
    assert get_reason(classroom, Rename(2, name)) == "bad_name"
    assert act(classroom, Rename(1, name)).pupils[0].name == name.strip()
    assert act(act(classroom, Remove(1)), Join(name)).pupils[-1] == (3, name.strip(), "here")


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "a\nb"])
def test_name_that_cannot_be_shown_is_refused(name: str) -> None:
    assert get_reason(make_class(2), Join(name), "stranger") == "bad_name"


def test_removed_pupil_loses_and_is_no_longer_listed() -> None:
    classroom = start(2)
    (pairing,) = classroom.pairings
    classroom = act(classroom, Remove(pairing.first))
    assert classroom.pairings[0].points == (0.0, 1.0)
    assert [pupil.number for pupil in classroom.members] == [pairing.second]
    assert [standing.player for standing in classroom.standings] == [pairing.second]
    assert get_reason(classroom, Rename(pairing.first, "Zoë")) == "not_found"


def test_pupil_who_has_left_is_not_paired_until_they_return() -> None:
    classroom = act(make_class(4), Leave(2))
    assert list_players(act(classroom, StartRound(1)).pairings) == [1, 3, 4]
    returned = act(act(classroom, Return(2)), StartRound(1))
    assert list_players(returned.pairings) == [1, 2, 3, 4]


def test_full_class_takes_no_more_pupils(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.rooms.actions.MAX_PUPILS", 2)
    assert get_reason(make_class(2), Join("Zoë"), "stranger") == "full"


# Rounds -------------------------------------------------------------------------------------------


def test_round_is_started_once_and_by_its_number() -> None:
    classroom = start()
    assert act(classroom, StartRound(1)) is classroom
    assert get_reason(finish(classroom), StartRound(3)) == "not_now"
    assert get_reason(make_class(1), StartRound(1)) == "not_now", "it needs two pupils"


def test_swiss_round_starts_when_the_last_one_is_over() -> None:
    classroom = start()
    assert get_reason(classroom, StartRound(2)) == "not_now"
    assert (
        explain_no_round(classroom) == "2 games of this round are not over yet; wait, or end them"
    )
    second = act(finish(classroom), StartRound(2))
    assert second.round == 2
    assert {standing.points for standing in second.standings} == {0.0, 1.0}
    assert len(second.unfinished) == 2


def test_free_round_pairs_pupils_who_are_not_playing() -> None:
    classroom = start(6, mode="free")
    classroom = decide(classroom, {1: 0, 2: 0})
    after = act(classroom, PairWaiting())
    assert (len(after.pairings), len(after.unfinished)) == (5, 3)
    met = {frozenset((pairing.first, pairing.second)) for pairing in after.pairings}
    assert len(met) == 5, "no pair meets twice"


def test_rounds_take_the_games_in_turn() -> None:
    classroom = start(2, games=(DRAFT, RACE))
    for number in (2, 3):
        classroom = act(finish(classroom), StartRound(number))
    games = [classroom.get_game(pairing.round).book.name for pairing in classroom.pairings]
    assert games == ["draft", "race", "draft"]


def test_odd_pupil_sits_out_and_gets_the_point() -> None:
    classroom = start(3)
    out = classroom.pairings[-1]
    assert (out.sits_out, out.over, out.points) == (True, True, (1.0, 0.0))
    assert act(finish(classroom), StartRound(2)).pairings[-1].first != out.first


def test_odd_pupil_plays_the_computer_if_the_teacher_has_chosen_that() -> None:
    classroom = start(3, level="easy")
    game = classroom.pairings[-1]
    assert not game.over
    room = classroom.make_room(game)
    assert [seat.kind for seat in room.seats] == ["person", "computer"]
    assert room.seats[1].name == "Computer (easy)"
    assert decide(classroom, {game.number: 1}).pairings[-1].points == (0.0, 1.0)


def test_pupil_may_be_called_like_the_computer() -> None:
    classroom = act(Classroom(replace(SETTINGS, level="easy")), Join("computer (EASY)"))
    room = classroom.make_room(Pairing(1, 1, 1, None, "easy"))
    assert room.seats[1].name == "The computer"


def test_late_pupil_is_paired_with_the_one_who_sits_out_or_the_computer() -> None:
    classroom = act(start(3), Join("Dan"))
    assert [pupil.name for pupil in classroom.waiting] == ["Dan"]
    after = act(classroom, PairWaiting())
    out = classroom.pairings[-1]
    assert after.pairings[-2].cancelled
    assert after.pairings[-1].has_pupil(out.first)
    assert after.pairings[-1].has_pupil(4)
    assert get_reason(after, PairWaiting()) == "not_now"
    assert get_reason(act(start(2), Join("Dan")), PairWaiting()) == "not_now", "no pupil is free"
    assert act(act(start(2, level="easy"), Join("Dan")), PairWaiting()).pairings[-1].level == "easy"


def test_teacher_can_pair_two_pupils_who_are_free() -> None:
    classroom = act(act(start(4), Join("Eva")), Join("Fay"))
    assert act(classroom, PairTwo(5, 6)).pairings[-1][:4] == (3, 1, 5, 6)
    assert get_reason(classroom, PairTwo(5, 5)) == "not_now"
    assert get_reason(classroom, PairTwo(1, 5)) == "not_now", "Ann is playing"
    assert get_reason(classroom, PairTwo(5, 9)) == "not_found"


def test_pupil_who_sits_out_can_be_paired_by_hand() -> None:
    classroom = act(start(3), Join("Dan"))
    out = classroom.pairings[-1]
    after = act(classroom, PairTwo(4, out.first))
    assert after.pairings[out.number - 1].cancelled
    assert after.pairings[-1].points is None


# Games --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "points"),
    [(EndAsDraw(1), (0.5, 0.5)), (Cancel(1), None), (Forfeit(1, 0), (0.0, 1.0))],
)
def test_teacher_can_end_a_game(action: Action, points: object) -> None:
    classroom = start(2)
    if isinstance(action, Forfeit):
        action = Forfeit(1, classroom.pairings[0].first)
    ended = act(classroom, action)
    assert (ended.pairings[0].over, ended.pairings[0].points) == (True, points)
    if not isinstance(action, Cancel):
        assert get_reason(ended, action) == "not_now"


def test_finished_game_can_be_cancelled_and_played_again() -> None:
    classroom = act(finish(start(2)), Cancel(1))
    assert [standing.points for standing in classroom.standings] == [0.0, 0.0]
    assert len(act(classroom, PairWaiting()).unfinished) == 1


def test_pair_of_a_cancelled_game_is_not_formed_again_while_others_are_free() -> None:
    classroom = act(act(start(4), Cancel(1)), Cancel(2))
    again = act(classroom, PairWaiting())
    assert len({frozenset((pairing.first, pairing.second)) for pairing in again.pairings}) == 4
    assert len(again.unfinished) == 2


def test_match_is_won_by_the_player_with_more_games() -> None:
    pairing = Pairing(1, 1, 1, 2, winners=(0, 1, 0), decided=True)
    assert pairing.points == (1.0, 0.0)
    assert pairing._replace(winners=(0, None, 1)).points == (0.5, 0.5)
    assert pairing._replace(decided=False).points is None
    assert pairing._replace(decided=False, ruling="second").points == (0.0, 1.0)


def test_game_and_class_can_be_paused() -> None:
    classroom = act(start(4), Pause(1))
    assert [pairing.paused for pairing in classroom.pairings] == [True, False]
    paused = act(classroom, Pause())
    assert paused.state == "paused"
    assert all(pairing.paused for pairing in paused.pairings)
    for action in (StartRound(2), PairWaiting(), PairTwo(1, 2)):
        assert get_reason(finish(paused), action) == "not_now"
    again = act(paused, Resume())
    assert again.state == "running"
    assert not any(pairing.paused for pairing in again.pairings)
    assert get_reason(make_class(), Pause()) == "not_now"


def test_unfinished_games_of_an_ended_class_do_not_count() -> None:
    classroom = act(decide(start(4), {1: 0}), EndClass())
    assert sorted(standing.points for standing in classroom.standings) == [0.0, 0.0, 0.0, 1.0]
    assert get_reason(classroom, Join("Zoë"), "stranger") == "not_now"
    assert get_reason(classroom, StartRound(2)) == get_reason(classroom, EndClass()) == "not_now"


def test_rooms_of_a_class_have_its_settings() -> None:
    classroom = start(2, hints=True, best_of=3)
    room = classroom.make_room(classroom.pairings[0])
    assert (room.hints_allowed, room.best_of, room.class_state) == (True, 3, "open")
    assert room.table.names == classroom.get_names(classroom.pairings[0])
    assert not start(2).make_room(classroom.pairings[0]).hints_allowed


# Any actions in any order -------------------------------------------------------------------------


ANY_NUMBER = st.integers(1, 9)
ANY_ACTION: st.SearchStrategy[Action] = st.one_of(
    st.just(PairWaiting()),
    st.builds(Join, st.sampled_from(["Hal", "Ida", "Jon", "Kim", "Leo"])),
    *(st.builds(kind, ANY_NUMBER) for kind in (Leave, Return, Remove, EndAsDraw, Cancel)),
    st.builds(PairTwo, ANY_NUMBER, ANY_NUMBER),
    *(st.builds(kind, st.none() | ANY_NUMBER) for kind in (Pause, Resume)),
)


class Lesson(RuleBasedStateMachine):
    """A lesson in which anything is done at any time."""

    @initialize(
        mode=st.sampled_from(["swiss", "free"]),
        level=st.sampled_from([None, "easy"]),
        count=st.integers(0, 7),
        tie_break=st.sampled_from(["buchholz", "head_to_head"]),
    )
    def begin(self, mode: Any, level: Any, count: int, tie_break: Any) -> None:
        self.classroom = make_class(count, mode=mode, level=level, tie_break=tie_break)

    @rule(action=ANY_ACTION, seed=st.integers(0, 9))
    def attempt(self, action: Action, seed: int) -> None:
        before = self.classroom
        try:
            self.classroom = act(before, action, seed=seed)
        except ClassroomError:
            assert self.classroom is before

    @rule(seed=st.integers(0, 9))
    def start_round(self, seed: int) -> None:
        before = self.classroom
        self.attempt(StartRound(before.round + 1), seed)
        if self.classroom is not before:
            fresh = self.classroom.pairings[len(before.pairings) :]
            assert list_players(fresh) == sorted(pupil.number for pupil in before.free)

    @precondition(lambda self: self.classroom.unfinished)
    @rule(winner=st.sampled_from([0, 1, None]), index=st.integers(0, 9))
    def finish(self, winner: int | None, index: int) -> None:
        unfinished = self.classroom.unfinished
        number = unfinished[index % len(unfinished)].number
        self.classroom = decide(self.classroom, {number: winner})

    @invariant()
    def no_pupil_plays_two_games_at_once(self) -> None:
        playing = list_players(self.classroom.unfinished)
        assert len(playing) == len(set(playing))
        assert not {pupil.number for pupil in self.classroom.free} & set(playing)
        assert {*self.classroom.waiting} <= {*self.classroom.free}

    @invariant()
    def names_differ_and_numbers_count(self) -> None:
        names = [pupil.name.casefold() for pupil in self.classroom.members]
        assert len(names) == len(set(names))
        for items in (self.classroom.pupils, self.classroom.pairings):
            assert [item.number for item in items] == list(range(1, len(items) + 1))

    @invariant()
    def standings_follow_from_the_results(self) -> None:
        results = [
            Encounter(pairing.first, pairing.second, pairing.points)
            for pairing in self.classroom.pairings
            if not pairing.cancelled
        ]
        members = [pupil.number for pupil in self.classroom.members]
        expected = compute_standings(members, results, self.classroom.settings.tie_break)
        standings = self.classroom.standings
        assert {standing.player for standing in expected} == {
            standing.player for standing in standings
        }
        assert sorted(standing[2:] for standing in expected) == sorted(
            standing[2:] for standing in standings
        )


TestLesson = Lesson.TestCase
TestLesson.settings = settings(max_examples=size(15, 200), stateful_step_count=30, deadline=None)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(2, 13),
    st.integers(1, 6),
    st.sampled_from([None, "easy"]),
    st.randoms(use_true_random=False),
)
def test_swiss_rounds_repeat_no_pair_while_avoidable(
    count: int, rounds: int, level: str | None, random: Random
) -> None:
    classroom = Classroom(replace(SETTINGS, level=level))
    for number in range(count):
        classroom = act(classroom, Join(f"Pupil {number}"))
    for number in range(1, min(rounds, (count + 1) // 2) + 1):
        classroom = apply_action(classroom, "teacher", StartRound(number), random)
        numbers = [pairing.number for pairing in classroom.unfinished]
        classroom = decide(classroom, {number: random.choice([0, 1, None]) for number in numbers})
    met = [frozenset((pairing.first, pairing.second)) for pairing in classroom.pairings]
    assert len(met) == len(set(met))
