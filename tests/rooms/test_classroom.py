"""A class: who may do what, and what follows; whatever happens, nobody plays two games at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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


def set_results(
    classroom: Classroom, results: Mapping[int, tuple[tuple[int | None, ...], bool]]
) -> Classroom:
    """Return the class with the winners of some pairings, and whether that decides each of them."""
    for number, (winners, decided) in results.items():
        classroom = classroom.change_pairings([number], winners=winners, decided=decided)
    return classroom


def make_class(count: int = 4, **changed: Any) -> Classroom:
    classroom = Classroom(replace(SETTINGS, **changed))
    for name in ("Ann", "Ben", "Cem", "Dan", "Eva", "Fay", "Gus")[:count]:
        classroom = act(classroom, Join(name))
    return classroom


def start(count: int = 4, **changed: Any) -> Classroom:
    return act(make_class(count, **changed), StartRound(1))


def finish(classroom: Classroom, *winners: int | None) -> Classroom:
    """Let the games that go on end; the first of each pair wins, or whoever is named."""
    results = {
        pairing.number: ((winners[place] if winners else 0,), True)
        for place, pairing in enumerate(classroom.unfinished)
    }
    return set_results(classroom, results)


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
def test_an_action_is_refused_to_those_without_a_right_to_it(name: str, role: Role) -> None:
    classroom = make_class(6)
    kind: Any = ACTIONS[name]
    action: Action = kind(*EXAMPLES.get(name, ()))
    if name not in {"join", "leave", "return", "rename", "remove"}:
        classroom = act(make_class(4), StartRound(1))
        classroom = act(act(classroom, Join("Eva")), Join("Fay"))
    if role in RIGHTS[name]:
        if name == "start":
            classroom = finish(classroom)
        if name == "forfeit":
            action = Forfeit(1, classroom.pairings[0].first)
        assert apply_action(classroom, role, action, Random(2)) is not None  # noqa: S311 - likewise
    else:
        expected = "not_now" if name == "join" else "not_yours"
        assert get_reason(classroom, action, role) == expected


# Pupils -------------------------------------------------------------------------------------------


def test_pupils_are_numbered_as_they_join() -> None:
    assert make_class(3).pupils == ((1, "Ann", "here"), (2, "Ben", "here"), (3, "Cem", "here"))


@pytest.mark.parametrize("name", ["ann", " Ann ", "ANN"])
def test_two_pupils_cannot_have_the_same_name(name: str) -> None:
    classroom = make_class(2)
    assert get_reason(classroom, Join(name), "stranger") == "bad_name"
    assert get_reason(classroom, Rename(2, name)) == "bad_name"
    assert act(classroom, Rename(1, name)).pupils[0].name == name.strip()


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "a\nb"])
def test_a_name_has_to_be_one_that_can_be_shown(name: str) -> None:
    assert get_reason(make_class(2), Join(name), "stranger") == "bad_name"


def test_a_removed_pupil_is_no_longer_there_and_the_other_wins() -> None:
    classroom = start(2)
    (pairing,) = classroom.pairings
    classroom = act(classroom, Remove(pairing.first))
    assert classroom.pairings[0].points == (0.0, 1.0)
    assert [pupil.number for pupil in classroom.members] == [pairing.second]
    assert [each.player for each in classroom.standings] == [pairing.second]
    assert get_reason(classroom, Rename(pairing.first, "Zoë")) == "not_found"


def test_the_name_of_a_removed_pupil_is_free_again() -> None:
    assert act(act(make_class(2), Remove(1)), Join("Ann")).pupils[-1] == (3, "Ann", "here")


def test_who_has_left_is_not_paired_until_they_return() -> None:
    classroom = act(make_class(4), Leave(2))
    paired = {
        each
        for pairing in act(classroom, StartRound(1)).pairings
        for each in (pairing.first, pairing.second)
    }
    assert paired == {1, 3, 4, None}
    classroom = act(act(classroom, Return(2)), StartRound(1))
    assert {each for pairing in classroom.pairings for each in (pairing.first, pairing.second)} == {
        1,
        2,
        3,
        4,
    }


def test_a_class_can_be_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.rooms.actions.MAX_PUPILS", 2)
    assert get_reason(make_class(2), Join("Zoë"), "stranger") == "full"


# Rounds -------------------------------------------------------------------------------------------


def test_a_round_is_started_once_however_often_it_is_asked_for() -> None:
    classroom = start()
    assert act(classroom, StartRound(1)) is classroom
    assert get_reason(finish(classroom), StartRound(3)) == "not_now"


def test_a_round_needs_two_pupils() -> None:
    assert get_reason(make_class(1), StartRound(1)) == "not_now"


def test_a_swiss_round_starts_when_the_last_one_is_over() -> None:
    classroom = start()
    assert get_reason(classroom, StartRound(2)) == "not_now"
    assert (
        explain_no_round(classroom) == "2 games of this round are not over yet; wait, or end them"
    )
    second = act(finish(classroom), StartRound(2))
    assert second.round == 2
    assert {each.points for each in second.standings} == {0.0, 1.0}
    assert len(second.unfinished) == 2


def test_free_rounds_pair_those_who_are_not_playing() -> None:
    classroom = start(6, mode="free")
    done = classroom.pairings[0]
    other = classroom.pairings[1]
    classroom = set_results(classroom, {each.number: ((0,), True) for each in (done, other)})
    after = act(classroom, PairWaiting())
    assert len(after.pairings) == 5
    assert len(after.unfinished) == 3
    met = {frozenset((each.first, each.second)) for each in after.pairings}
    assert len(met) == 5, "nobody meets twice"


def test_rounds_take_the_games_in_turn() -> None:
    classroom = start(2, games=(DRAFT, RACE))
    classroom = act(finish(classroom), StartRound(2))
    classroom = act(finish(classroom), StartRound(3))
    assert [classroom.get_game(each.round).book.name for each in classroom.pairings] == [
        "draft",
        "race",
        "draft",
    ]


def test_an_odd_pupil_sits_out_and_gets_the_point() -> None:
    classroom = start(3)
    out = classroom.pairings[-1]
    assert out.sits_out
    assert out.over
    assert out.points == (1.0, 0.0)
    assert act(finish(classroom), StartRound(2)).pairings[-1].first != out.first


def test_an_odd_pupil_plays_the_computer_if_the_teacher_has_chosen_that() -> None:
    classroom = start(3, level="easy")
    game = classroom.pairings[-1]
    assert not game.over
    room = classroom.make_room(game)
    assert [seat.kind for seat in room.seats] == ["person", "computer"]
    assert room.seats[1].name == "Computer (easy)"
    assert set_results(classroom, {game.number: ((1,), True)}).pairings[-1].points == (0.0, 1.0)


def test_a_pupil_may_be_called_like_the_computer() -> None:
    classroom = act(Classroom(replace(SETTINGS, level="easy")), Join("computer (EASY)"))
    classroom = classroom.add_pairs([])
    pairing = Pairing(1, 1, 1, None, "easy")
    assert classroom.make_room(pairing).seats[1].name == "The computer"


def test_late_pupils_are_paired_with_each_other_and_with_those_who_sit_out() -> None:
    classroom = act(start(3), Join("Dan"))
    assert [pupil.name for pupil in classroom.waiting] == ["Dan"]
    after = act(classroom, PairWaiting())
    out = classroom.pairings[-1]
    assert after.pairings[-2].cancelled
    assert after.pairings[-1].has_pupil(out.first)
    assert after.pairings[-1].has_pupil(4)
    assert get_reason(after, PairWaiting()) == "not_now"


def test_one_late_pupil_alone_has_nobody_to_play_with() -> None:
    assert get_reason(act(start(2), Join("Dan")), PairWaiting()) == "not_now"
    assert act(act(start(2, level="easy"), Join("Dan")), PairWaiting()).pairings[-1].level == "easy"


def test_the_teacher_can_pair_two_pupils_as_they_like() -> None:
    classroom = act(act(start(4), Join("Eva")), Join("Fay"))
    assert act(classroom, PairTwo(5, 6)).pairings[-1][:4] == (3, 1, 5, 6)
    assert get_reason(classroom, PairTwo(5, 5)) == "not_now"
    assert get_reason(classroom, PairTwo(1, 5)) == "not_now", "Ann is playing"
    assert get_reason(classroom, PairTwo(5, 9)) == "not_found"


def test_who_sits_out_can_be_paired_by_hand() -> None:
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
def test_the_teacher_can_end_a_game(action: Action, points: object) -> None:
    classroom = start(2)
    if isinstance(action, Forfeit):
        action = Forfeit(1, classroom.pairings[0].first)
    ended = act(classroom, action)
    assert ended.pairings[0].over
    assert ended.pairings[0].points == points
    if not isinstance(action, Cancel):
        assert get_reason(ended, action) == "not_now"


def test_a_cancelled_game_is_not_paired_again() -> None:
    classroom = start(4)
    for pairing in classroom.pairings:
        classroom = act(classroom, Cancel(pairing.number))
    again = act(classroom, PairWaiting())
    met = Counter(frozenset((each.first, each.second)) for each in again.pairings)
    assert set(met.values()) == {1}
    assert len(again.unfinished) == 2


def test_a_finished_game_can_be_cancelled_so_that_it_is_played_again() -> None:
    classroom = act(finish(start(2)), Cancel(1))
    assert [each.points for each in classroom.standings] == [0.0, 0.0]
    assert len(act(classroom, PairWaiting()).unfinished) == 1


def test_a_match_is_won_by_the_player_with_more_games() -> None:
    pairing = Pairing(1, 1, 1, 2, winners=(0, 1, 0), decided=True)
    assert pairing.points == (1.0, 0.0)
    assert pairing._replace(winners=(0, None, 1)).points == (0.5, 0.5)
    assert pairing._replace(decided=False).points is None
    assert pairing._replace(decided=False, ruling="second").points == (0.0, 1.0)


def test_a_game_can_be_paused_and_so_can_the_class() -> None:
    classroom = act(start(4), Pause(1))
    assert [each.paused for each in classroom.pairings] == [True, False]
    paused = act(classroom, Pause())
    assert paused.state == "paused"
    assert all(each.paused for each in paused.pairings)
    for action in (StartRound(2), PairWaiting(), PairTwo(1, 2)):
        assert get_reason(finish(paused), action) == "not_now"
    again = act(paused, Resume())
    assert again.state == "running"
    assert not any(each.paused for each in again.pairings)
    assert get_reason(make_class(), Pause()) == "not_now"


def test_when_the_class_is_over_unfinished_games_do_not_count() -> None:
    classroom = act(set_results(start(4), {1: ((0,), True)}), EndClass())
    assert sorted(each.points for each in classroom.standings) == [0.0, 0.0, 0.0, 1.0]
    for action in (Join("Zoë"), StartRound(2), EndClass()):
        assert (
            get_reason(classroom, action, "stranger" if isinstance(action, Join) else "teacher")
            == "not_now"
        )


def test_the_rooms_of_a_class_have_its_settings() -> None:
    classroom = start(2, hints=True, best_of=3)
    room = classroom.make_room(classroom.pairings[0])
    assert (room.hints_allowed, room.best_of, room.class_state) == (True, 3, "open")
    assert room.table.names == classroom.get_names(classroom.pairings[0])
    assert not start(2).make_room(classroom.pairings[0]).hints_allowed


# Whatever happens ---------------------------------------------------------------------------------


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

    def attempt(self, action: Action, seed: int = 0) -> None:
        before = self.classroom
        try:
            self.classroom = act(before, action, seed=seed)
        except ClassroomError:
            assert self.classroom is before
        if isinstance(action, StartRound) and self.classroom is not before:
            here = sorted(pupil.number for pupil in before.free)
            fresh = self.classroom.pairings[len(before.pairings) :]
            paired = [
                each
                for pairing in fresh
                for each in (pairing.first, pairing.second)
                if each is not None
            ]
            assert sorted(paired) == here

    @rule(seed=st.integers(0, 9))
    def start_round(self, seed: int) -> None:
        self.attempt(StartRound(self.classroom.round + 1), seed)

    @rule(seed=st.integers(0, 9))
    def pair_waiting(self, seed: int) -> None:
        self.attempt(PairWaiting(), seed)

    @rule(name=st.sampled_from(["Hal", "Ida", "Jon", "Kim", "Leo"]))
    def join(self, name: str) -> None:
        self.attempt(Join(name))

    @rule(kind=st.sampled_from([Leave, Return, Remove]), pupil=st.integers(1, 9))
    def change_pupil(self, kind: Any, pupil: int) -> None:
        self.attempt(kind(pupil))

    @rule(first=st.integers(1, 9), second=st.integers(1, 9))
    def pair_two(self, first: int, second: int) -> None:
        self.attempt(PairTwo(first, second))

    @rule(kind=st.sampled_from([EndAsDraw, Cancel, Pause, Resume]), number=st.integers(1, 9))
    def change_game(self, kind: Any, number: int) -> None:
        self.attempt(kind(number))

    @rule(kind=st.sampled_from([Pause, Resume]))
    def change_class(self, kind: Any) -> None:
        self.attempt(kind())

    @precondition(lambda self: self.classroom.unfinished)
    @rule(winner=st.sampled_from([0, 1, None]), place=st.integers(0, 9))
    def finish(self, winner: int | None, place: int) -> None:
        unfinished = self.classroom.unfinished
        self.classroom = set_results(
            self.classroom, {unfinished[place % len(unfinished)].number: ((winner,), True)}
        )

    @invariant()
    def nobody_plays_two_games_at_once(self) -> None:
        playing = [
            each
            for pairing in self.classroom.unfinished
            for each in (pairing.first, pairing.second)
            if each
        ]
        assert len(playing) == len(set(playing))
        assert not {pupil.number for pupil in self.classroom.free} & set(playing)
        assert {pupil.number for pupil in self.classroom.waiting} <= {
            pupil.number for pupil in self.classroom.free
        }

    @invariant()
    def names_differ_and_numbers_count(self) -> None:
        names = [pupil.name.casefold() for pupil in self.classroom.members]
        assert len(names) == len(set(names))
        assert [pupil.number for pupil in self.classroom.pupils] == [
            *range(1, len(self.classroom.pupils) + 1)
        ]
        assert [pairing.number for pairing in self.classroom.pairings] == [
            *range(1, len(self.classroom.pairings) + 1)
        ]

    @invariant()
    def standings_follow_from_the_results(self) -> None:
        results = [
            Encounter(each.first, each.second, each.points)
            for each in self.classroom.pairings
            if not each.cancelled
        ]
        members = [pupil.number for pupil in self.classroom.members]
        expected = compute_standings(members, results, self.classroom.settings.tie_break)
        assert {each.player: each[0:6] for each in expected}.keys() == {
            each.player for each in self.classroom.standings
        }
        assert sorted(each[2:] for each in expected) == sorted(
            each[2:] for each in self.classroom.standings
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
def test_in_swiss_rounds_nobody_meets_or_sits_out_twice_while_avoidable(
    count: int, rounds: int, level: str | None, random: Random
) -> None:
    classroom = Classroom(replace(SETTINGS, level=level))
    for number in range(count):
        classroom = act(classroom, Join(f"Pupil {number}"))
    for number in range(1, min(rounds, (count + 1) // 2) + 1):
        classroom = apply_action(classroom, "teacher", StartRound(number), random)
        results = {
            each.number: ((random.choice([0, 1, None]),), True) for each in classroom.unfinished
        }
        classroom = set_results(classroom, results)
    pairs = Counter(frozenset((each.first, each.second)) for each in classroom.pairings)
    assert set(pairs.values()) <= {1}
