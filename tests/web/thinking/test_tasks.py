"""What worker processes answer: exact, honest about the unknown, within limits, fit to travel."""

from __future__ import annotations

import pickle
import re
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
from number_tower.engine import catalogue, record
from number_tower.engine.table import Table
from number_tower.players import LEVELS, make_player
from number_tower.solve.worth import get_final_worth
from number_tower.web.thinking import tasks
from number_tower.words.voice import get_voice
from support.sizes import examples, size
from support.strategies import any_game

Thing = TypeVar("Thing")

GAMES = catalogue.list_names()
PATIENT = 600.0
"""Seconds that nothing here needs, however busy the machine is."""

VAST = "rules(blocks=1-60,target=300,stuck=skips,towers=own):"
"""A game that is not solved in any time that there is."""


def travelled(thing: Thing) -> Thing:
    """The same thing, come from another process."""
    return pickle.loads(pickle.dumps(thing))  # type: ignore[no-any-return]  # noqa: S301 - our own


read = record.from_line


# The computer and its hints -----------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", GAMES)
def test_a_computer_chooses_as_its_player_does(level: str, name: str) -> None:
    game = Game(catalogue.load_named(name).rules)
    game = game.play(game.legal[0])
    assert tasks.choose_block(level, 7, travelled(game)) == (
        make_player(level, seed=7).choose(game),
        "",
    )


def test_a_large_game_travels_as_it_is() -> None:
    game = Game(Rules(range(1, 1001), fit="related"), 1, (1000, 500, 1))
    again = travelled(game)
    assert again == game
    assert again.position == game.position
    assert again.movers == game.movers
    assert len(pickle.dumps(game)) < 5_000


@pytest.mark.parametrize("name", GAMES)
def test_a_hint_comes_in_three_steps_that_the_coach_gives(name: str) -> None:
    book = catalogue.load_named(name)
    table = Table(Game(book.rules), name)
    given_ = hint(nt.solve(table.game))
    one, two, three = (travelled(hints.give_hint(table, step)) for step in (1, 2, 3))
    assert (len(one.texts), len(two.texts), len(three.texts)) == (1, 2, 3)
    assert three.texts[:2] == two.texts
    assert two.texts[:1] == one.texts
    assert not re.search(r"\d", one.texts[0])
    assert (one.block, two.block, three.block) == (None, given_.block, given_.block)
    assert (one.more, two.more, three.more) == (True, True, False)
    voice = get_voice(table.book)
    opponent = voice.get_name(table, 1)
    assert three.texts[2] == format_reason(given_.reason, opponent=opponent, noun=voice.noun)
    assert [each.idea for each in (one, two)] == [None, None]
    assert three.idea == get_idea(given_.reason, get_voice(table.book).noun)


def test_a_step_out_of_range_is_the_nearest_one() -> None:
    table = read("draft:9")
    assert hints.give_hint(table, 0) == hints.give_hint(table, 1)
    assert hints.give_hint(table, 9) == hints.give_hint(table, 3)


def test_where_blocks_are_hidden_no_hint_is_given() -> None:
    table = read("summit(hidden=yes):9")
    told = hints.give_hint(table, 3)
    assert told.block is None
    assert not told.more
    assert "hidden" in told.texts[0]
    assert len(told.texts) == 1


def test_once_a_game_is_over_there_is_nothing_to_hint_at() -> None:
    for line in ("draft:9,8,6", "draft(resigned=1):9"):
        told = hints.give_hint(read(line), 3)
        assert told.block is None
        assert "over" in told.texts[0]


def test_what_cannot_be_worked_out_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        def solve(self, *_: object) -> None:
            return None

    monkeypatch.setattr(hints, "get_knowledge", lambda _: Nothing())
    told = hints.give_hint(read("draft:9"), 3)
    assert told == HintText((fill_text("unknown", {}),), more=False)


# Analysis -----------------------------------------------------------------------------------------


@settings(max_examples=examples(150))
@given(any_game())
def test_every_value_is_what_solving_says(game: Game) -> None:
    found = travelled(analyse_table(Table(game), PATIENT))
    solution = nt.solve(game)
    assert (found.value, found.plies) == solution.worth
    assert {move.block: (move.value, move.plies) for move in found.moves} == {
        block: (worth.value, worth.plies) for block, worth in solution.moves.items()
    }
    assert found.complete
    if found.moves:
        assert found.moves[0].block in solution.best
        assert all(move.reason for move in found.moves)
        ranks = [solution.moves[move.block].rank for move in found.moves]
        assert ranks == sorted(ranks, reverse=True)
    else:
        assert "over" in found.verdict


def test_without_time_only_moves_that_end_the_game_are_valued() -> None:
    table = read("draft:9,8")
    found = analyse_table(table, seconds=0.0)
    truth = nt.solve(table.game)
    assert found.value is None
    assert not found.complete
    assert "not found out within 0 seconds" in found.verdict
    known = {move.block: move.value for move in found.moves if move.value is not None}
    ending = {
        block
        for block in table.game.legal
        if get_final_worth(table.game.position.place(block)) is not None
    }
    assert set(known) == ending == {6}
    assert all(value == truth.moves[block].value for block, value in known.items())
    assert {move.block for move in found.moves} == set(table.game.legal)


def test_a_game_too_vast_is_said_to_be_unknown() -> None:
    found = analyse_table(read(VAST), seconds=0.2)
    assert found.value is None
    assert all(move.value is None for move in found.moves)
    assert "No move is valued" in found.note


def test_of_many_moves_only_some_are_given_a_reason() -> None:
    found = analyse_table(read("climb(blocks=1-100):"))
    assert len(found.moves) == 100
    assert sum(bool(move.reason) for move in found.moves) == MAX_REASONS
    assert all(move.value for move in found.moves)


# Reviews ------------------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(any_game(to_the_end=True))
def test_a_review_is_the_coachs(game: Game) -> None:
    found, seen = travelled(tasks.review_table(Table(game), PATIENT, PATIENT)), review(game)
    assert found.values == seen.values
    assert [move.mark for move in found.moves] == [move.mark for move in seen.moves]
    assert found.turning_point == seen.turning_point
    assert found.complete
    words = ReviewText.for_table(Table(game))
    assert all(bool(move.mark) <= bool([*words.list_remarks(move)]) for move in found.moves)


def test_a_result_by_word_and_names_are_told() -> None:
    table = read("draft(names=Ann,Ben,resigned=1):9,8")
    found, words = tasks.review_table(table), ReviewText.for_table(table)
    assert words.format_headline(found) == "Ben wins: Ann resigned."
    assert "Ann was winning when Ann resigned" in (words.format_turning_point(found) or "")


def test_when_all_time_is_used_up_the_rest_of_a_game_is_unknown() -> None:
    table = read("draft:9,8,5")
    found = tasks.review_table(table, altogether=0.0)
    assert found.values == (None,) * 4
    assert not found.complete
    assert found.unsolved == 4


def test_a_review_of_what_cannot_be_solved_ends_in_its_time() -> None:
    table = read(f"{VAST}5,6,7,8")
    found = tasks.review_table(table, seconds=0.2, altogether=0.3)
    assert set(found.values) == {None}
    words = ReviewText.for_table(table)
    assert all(not move.mark and not [*words.list_remarks(move)] for move in found.moves)


# Puzzles and lessons ------------------------------------------------------------------------------


def test_the_puzzle_of_a_day_is_the_coachs() -> None:
    posed = travelled(quiz.make_daily_puzzle("2027-01-31"))
    book, puzzle = puzzles.find_daily_puzzle("2027-01-31")
    assert (posed.game, posed.answer, posed.grade) == (book.name, puzzle.answer, puzzle.grade)
    assert record.from_line(posed.line).game == puzzle.game


@pytest.mark.parametrize("number", range(1, 8))
def test_a_numbered_puzzle_has_one_answer_and_a_reply_to_each(number: int) -> None:
    posed = quiz.make_numbered_puzzle("seed", number, None, None)
    if number <= size(2, 7):
        assert posed == quiz.make_numbered_puzzle("seed", number, None, None)
    assert posed.grade == (number - 1) % 5 + 1
    table = record.from_line(posed.line)
    assert [choice.block for choice in posed.choices] == list(table.game.legal)
    assert [choice.block for choice in posed.choices if choice.is_right] == [posed.answer]
    truth = nt.solve(table.game, plies=False)
    for choice in posed.choices:
        assert choice.is_right == (truth.moves[choice.block].value == "win")
        expected = "Right!" if choice.is_right else "Not this one."
        assert choice.feedback.startswith(f"{expected} {choice.block} ")
    assert not re.search(r"\d", posed.nudge)


def test_puzzles_can_be_had_of_one_game_and_grade() -> None:
    for number in (1, 2):
        posed = quiz.make_numbered_puzzle("a", number, 4, "draft")
        assert (posed.game, posed.grade) == ("draft", 4)
    assert (
        quiz.make_numbered_puzzle("a", 1, 4, "draft").line
        != quiz.make_numbered_puzzle("a", 2, 4, "draft").line
    )


def test_of_a_game_without_puzzles_of_a_grade_it_is_said_which_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(puzzles, "_TRIALS", size(1, 3))
    with pytest.raises(
        LookupError, match="no puzzle of grade 3 was found in race; of grade 1 there are some"
    ):
        quiz.make_numbered_puzzle("a", 1, 3, "race")
    assert quiz.make_numbered_puzzle("a", 3, None, "race").grade == 1


@pytest.mark.parametrize("name", GAMES)
def test_a_lesson_has_three_positions_each_with_a_win_to_find(name: str) -> None:
    posed = travelled(quiz.make_lesson(catalogue.load_named(name)))
    assert len(posed) == 3
    for each in posed:
        truth = nt.solve(record.from_line(each.line).game)
        assert truth.value == "win"
        assert {choice.block: choice.is_right for choice in each.choices} == {
            block: worth.value == "win" for block, worth in truth.moves.items()
        }
        assert each.answer in {choice.block for choice in each.choices}
        assert each.solution_text.startswith(f"{each.answer} wins")
