"""A first lesson: three positions in which the move matters, from a win in hand to an idea."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import number_tower as nt
from number_tower import Rules
from number_tower.coach.hints import EXERCISE_COUNT, find_exercises
from number_tower.coach.quiz import make_lesson
from number_tower.engine import catalogue
from number_tower.web.pages.puzzles import build_question
from support.command import run_tower
from support.plain import PlainSolver
from support.sizes import examples
from support.strategies import any_rules

IDEAS = {
    "race": "ahead",
    "draft": "threat_or",
    "summit": "made_up",
    "climb": "multiple",
    "factor": "pairs",
}


@pytest.mark.parametrize("name", catalogue.list_names())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_game_has_three_exercises_from_a_win_in_hand_to_its_idea(
    name: str, seed: int
) -> None:
    found = find_exercises(nt.rules(name), seed)
    assert len(found) == EXERCISE_COUNT
    assert found[0].hint.worth.plies == 1
    assert IDEAS[name] in {each.kind for each in found}
    assert [each.difficulty for each in found] == sorted(each.difficulty for each in found)


@settings(max_examples=examples(25))
@given(any_rules(most_blocks=6))
def test_an_exercise_is_won_by_some_moves_and_not_by_at_least_as_many_others(rules: Rules) -> None:
    plain = PlainSolver()
    for exercise in find_exercises(rules):
        position = exercise.game.position
        values = [plain.evaluate_move(position, block).value for block in position.legal]
        assert 1 <= values.count("win") <= len(values) / 2
        assert plain.evaluate_move(position, exercise.hint.block).value == "win"


def test_the_same_seed_gives_the_same_lesson_and_another_seed_another() -> None:
    def games(seed: int) -> list[tuple[int, ...]]:
        return [each.game.moves for each in find_exercises(nt.rules("summit"), seed)]

    assert games(1) == games(1)
    assert len({tuple(games(seed)) for seed in range(5)}) > 3


def test_any_winning_move_is_right_and_the_third_miss_shows_one() -> None:
    first, *_ = find_exercises(nt.rules("climb"), 0)
    wrong = [block for block in first.game.legal if first.solution.moves[block].value != "win"]
    assert len(wrong) >= 1
    typed = "".join(f"{wrong[0]}\n" for _ in range(3))
    done = run_tower("learn", "climb", typed=f"{typed}quit\n")
    assert done.stdout.count("Not this one.") == 3
    assert done.stdout.count("Try again.") == 2
    assert f"The answer: {first.hint.block} wins. " in done.stdout
    assert "2 of 3" in done.stdout


@pytest.mark.parametrize("name", catalogue.list_names())
def test_a_right_answer_that_wins_later_names_the_one_that_wins_at_once(name: str) -> None:
    exercises = find_exercises(nt.rules(name), 0)
    lesson = make_lesson(catalogue.load(name))
    for exercise, question in zip(exercises, lesson, strict=True):
        at_once = exercise.hint.worth.plies == 1
        for choice in question.choices:
            worth = exercise.solution.moves[choice.block]
            slower = at_once and worth.value == "win" and worth.plies != 1
            assert (" wins too, but " in choice.feedback) == slower
            asked = build_question(question, [f"{choice.block}"])
            assert asked["answer"] == (choice.block if worth.value == "win" else question.answer)


def test_a_slower_win_is_right_at_the_keyboard_too() -> None:
    done = run_tower("learn", "draft", typed="6\nquit\n")
    assert "Right! 6 wins too, but 7 wins at once: that makes exactly 15.\n" in done.stdout
    assert "2 of 3" in done.stdout


def test_the_lesson_ends_in_a_game_against_the_gentlest_level() -> None:
    done = run_tower("learn", "factor", "--seed", "4", typed="skip\nskip\nskip\n7\nquit\n")
    assert "A game against Gentle. You start." in done.stdout
    assert "Gentle places " in done.stdout
    assert "--vs gentle --seed 4" in done.stdout


def test_the_next_step_keeps_the_options() -> None:
    options = "draft --target 3 --blocks 1-3"
    done = run_tower("learn", *options.split(), typed="skip\nskip\nskip\n3\n")
    assert f" puzzle {options}, or " in done.stdout
    assert f" play {options} --vs easy\n" in done.stdout


def test_a_lesson_is_given_in_any_rules_and_says_if_there_is_nothing_to_find() -> None:
    done = run_tower("learn", "tests/data/rulefiles/level.toml", typed="quit\n")
    assert "There is no position to solve here" in done.stdout
    assert done.returncode == 0
