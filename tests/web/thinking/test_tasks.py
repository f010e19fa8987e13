"""What worker processes compute: exact, honest about the unknown, within limits, fit to pickle."""

from __future__ import annotations

import pickle
import re
from types import SimpleNamespace
from typing import TypeVar

import pytest
from hypothesis import given, settings

import number_tower as nt
from number_tower import Game, Rules
from number_tower.coach import hints, puzzles, quiz
from number_tower.coach.analysis import MAX_REASONS, analyse_table
from number_tower.coach.hints import HintText, hint
from number_tower.coach.review import ReviewText, review
from number_tower.coach.sentences import fill_text, format_reason, get_idea
from number_tower.engine import catalogue
from number_tower.engine.record import from_line
from number_tower.engine.table import Table
from number_tower.players import LEVELS, make_player
from number_tower.solve.worth import get_final_worth
from number_tower.web.thinking import tasks
from number_tower.words.voice import get_voice
from support.clocks import SLOW
from support.sizes import examples, size
from support.strategies import any_game

T = TypeVar("T")

GAMES = catalogue.list_names()

VAST = "rules(blocks=1-60,target=300,stuck=skips,towers=own):"
"""A game that cannot be solved."""


def send(value: T) -> T:
    """Return a value as it comes from another process."""
    return pickle.loads(pickle.dumps(value))  # type: ignore[no-any-return]  # noqa: S301 - our own


# The computer and its hints -----------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", GAMES)
def test_computer_chooses_as_its_player_does(level: str, name: str) -> None:
    game = Game(catalogue.load_named(name).rules)
    game = game.play(game.legal[0])
    copy = send(game)
    assert (copy, copy.position, copy.movers) == (game, game.position, game.movers)
    block = make_player(level, seed=7).choose(game)
    assert tasks.choose_block(level, 7, copy) == (block, "")


def test_pickled_game_is_small() -> None:
    assert len(pickle.dumps(Game(Rules(range(1, 1001), fit="related"), 1, (1000, 500, 1)))) < 5_000


@pytest.mark.parametrize("name", GAMES)
def test_hint_comes_in_three_steps_that_the_coach_gives(name: str) -> None:
    book = catalogue.load_named(name)
    table, voice = Table(Game(book.rules), name), get_voice(book)
    best = hint(nt.solve(table.game))
    steps = [send(hints.give_hint(table, step)) for step in (1, 2, 3)]
    assert [len(step.texts) for step in steps] == [1, 2, 3]
    assert [step.block for step in steps] == [None, best.block, best.block]
    assert [step.more for step in steps] == [True, True, False]
    assert [step.idea for step in steps] == [None, None, get_idea(best.reason, voice.noun)]
    nudge, _, reason = steps[2].texts
    assert (steps[0].texts, steps[1].texts) == (steps[2].texts[:1], steps[2].texts[:2])
    assert not re.search(r"\d", nudge)
    opponent = voice.get_name(table, 1)
    assert reason == format_reason(best.reason, opponent=opponent, noun=voice.noun)
    assert [hints.give_hint(table, step) for step in (0, 9)] == [steps[0], steps[2]]


@pytest.mark.parametrize(
    ("line", "reason"),
    [("summit(hidden=yes):9", "hidden"), ("draft:9,8,6", "over"), ("draft(resigned=1):9", "over")],
)
def test_game_that_is_hidden_or_over_gets_no_hint(line: str, reason: str) -> None:
    answer = hints.give_hint(from_line(line), 3)
    assert (answer.block, answer.more, len(answer.texts)) == (None, False, 1)
    assert reason in answer.texts[0]


def test_unsolved_position_gets_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = SimpleNamespace(solve=lambda *_: None)
    monkeypatch.setattr(hints, "get_knowledge", lambda _: knowledge)
    answer = hints.give_hint(from_line("draft:9"), 3)
    assert answer == HintText((fill_text("unknown", {}),), more=False)


# Analysis -----------------------------------------------------------------------------------------


@settings(max_examples=examples(80))
@given(any_game())
def test_all_values_of_an_analysis_are_those_of_the_solver(game: Game) -> None:
    analysis = send(analyse_table(Table(game), SLOW))
    solution = nt.solve(game)
    assert analysis.complete
    assert (analysis.value, analysis.plies) == solution.worth
    values = {move.block: (move.value, move.plies) for move in analysis.moves}
    assert values == {block: (worth.value, worth.plies) for block, worth in solution.moves.items()}
    if analysis.moves:
        assert analysis.moves[0].block in solution.best
        assert all(move.reason for move in analysis.moves)
        ranks = [solution.moves[move.block].rank for move in analysis.moves]
        assert ranks == sorted(ranks, reverse=True)
    else:
        assert "over" in analysis.verdict


def test_without_time_only_moves_that_end_the_game_are_valued() -> None:
    table = from_line("draft:9,8")
    analysis = analyse_table(table, seconds=0.0)
    truth = nt.solve(table.game)
    assert (analysis.value, analysis.complete) == (None, False)
    assert "not found out within 0 seconds" in analysis.verdict
    values = {move.block: move.value for move in analysis.moves}
    assert values.keys() == set(table.game.legal)
    assert {block: value for block, value in values.items() if value} == {6: truth.moves[6].value}
    assert get_final_worth(table.game.position.place(6)) is not None


def test_value_of_a_game_that_is_too_vast_stays_unknown() -> None:
    analysis = analyse_table(from_line(VAST), seconds=0.2)
    assert {analysis.value, *(move.value for move in analysis.moves)} == {None}
    assert "No move is valued" in analysis.note


def test_only_the_first_of_many_moves_get_a_reason() -> None:
    analysis = analyse_table(from_line("climb(blocks=1-100):"))
    assert len(analysis.moves) == 100
    assert sum(bool(move.reason) for move in analysis.moves) == MAX_REASONS
    assert all(move.value for move in analysis.moves)


# Reviews ------------------------------------------------------------------------------------------


def test_review_is_that_of_the_coach() -> None:
    table = from_line("draft(names=Ann,Ben,resigned=1):9,8")
    answer = send(tasks.review_table(table, SLOW, SLOW))
    truth = review(table.game, declared=table.declared)
    assert answer.complete
    assert (answer.values, answer.turning_point) == (truth.values, truth.turning_point)
    assert [move.mark for move in answer.moves] == [move.mark for move in truth.moves]
    assert ReviewText.for_table(table).format_headline(answer) == "Ben wins: Ann resigned."


@pytest.mark.parametrize(
    ("line", "seconds", "altogether"), [("draft:9,8,5", SLOW, 0.0), (f"{VAST}5,6,7,8", 0.2, 0.3)]
)
def test_review_without_time_is_unknown(line: str, seconds: float, altogether: float) -> None:
    table = from_line(line)
    answer = tasks.review_table(table, seconds=seconds, altogether=altogether)
    assert set(answer.values) == {None}
    assert (answer.complete, answer.unsolved) == (False, len(answer.values))
    words = ReviewText.for_table(table)
    assert all(not move.mark and not [*words.list_remarks(move)] for move in answer.moves)


# Puzzles and lessons ------------------------------------------------------------------------------


def check_question(question: quiz.PuzzleQuestion) -> None:
    """Check the choices of a question and their replies against the solver."""
    truth = nt.solve(from_line(question.line).game, plies=False)
    choices = {choice.block: choice.is_right for choice in question.choices}
    assert choices == {block: worth.value == "win" for block, worth in truth.moves.items()}
    assert choices[question.answer]
    for choice in question.choices:
        reply = "Right!" if choice.is_right else "Not this one."
        assert choice.feedback.startswith(f"{reply} {choice.block} ")
    assert not re.search(r"\d", question.nudge)
    assert question.solution_text.startswith(f"{question.answer} wins")


def test_puzzle_of_the_day_is_that_of_the_coach() -> None:
    question = send(quiz.make_daily_puzzle("2027-01-31"))
    book, puzzle = puzzles.find_daily_puzzle("2027-01-31")
    assert (question.game, question.grade) == (book.name, puzzle.grade)
    assert (from_line(question.line).game, question.answer) == (puzzle.game, puzzle.answer)
    check_question(question)


@pytest.mark.parametrize("number", range(1, 1 + size(3, 7)))
def test_numbered_puzzle_has_its_grade_and_one_answer(number: int) -> None:
    question = quiz.make_numbered_puzzle("seed", number, None, None)
    assert question.grade == (number - 1) % 5 + 1
    assert sum(choice.is_right for choice in question.choices) == 1
    check_question(question)


def test_missing_grade_names_the_grades_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puzzles, "_TRIALS", size(1, 3))
    with pytest.raises(LookupError, match="no puzzle of grade 3 was found in race; of grade 1"):
        quiz.make_numbered_puzzle("a", 1, 3, "race")
    assert quiz.make_numbered_puzzle("a", 3, None, "race").grade == 1


@pytest.mark.parametrize("name", GAMES)
def test_lesson_has_three_positions_with_a_win_to_find(name: str) -> None:
    lesson = send(quiz.make_lesson(catalogue.load_named(name)))
    assert len(lesson) == 3
    for question in lesson:
        check_question(question)
