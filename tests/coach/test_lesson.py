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


@pytest.mark.parametrize("name", IDEAS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lesson_of_each_game_leads_from_a_win_at_once_to_its_idea(name: str, seed: int) -> None:
    exercises = find_exercises(nt.rules(name), seed)
    assert len(exercises) == EXERCISE_COUNT
    assert exercises[0].hint.worth.plies == 1
    assert IDEAS[name] in {exercise.kind for exercise in exercises}
    difficulties = [exercise.difficulty for exercise in exercises]
    assert difficulties == sorted(difficulties)


def test_every_game_has_its_idea() -> None:
    assert set(IDEAS) == set(catalogue.list_names())


@settings(max_examples=examples(25))
@given(any_rules(most_blocks=6))
def test_at_most_half_of_the_moves_win_an_exercise(rules: Rules) -> None:
    plain = PlainSolver()
    for exercise in find_exercises(rules):
        position = exercise.game.position
        values = [plain.evaluate_move(position, block).value for block in position.legal]
        assert 1 <= values.count("win") <= len(values) / 2
        assert plain.evaluate_move(position, exercise.hint.block).value == "win"


def test_seed_decides_the_exercises_of_a_lesson() -> None:
    lessons = [
        tuple(exercise.game.moves for exercise in find_exercises(nt.rules("summit"), seed))
        for seed in (1, 1, 0, 2, 3, 4)
    ]
    assert lessons[0] == lessons[1]
    assert len(set(lessons)) > 3


@pytest.mark.parametrize("name", IDEAS)
def test_answer_that_wins_later_names_the_one_that_wins_at_once(name: str) -> None:
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
