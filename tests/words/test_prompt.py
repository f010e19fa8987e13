"""A game in words for a reader who sees nothing else, and the block that an answer names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Rules, Table
from number_tower.engine.catalogue import list_names, load
from number_tower.words.prompt import (
    HOW_TO_ANSWER,
    check_answer,
    format_blocks,
    read_answer,
    write_prompt,
    write_rules,
    write_situation,
)
from support.command import GOLDEN
from support.strategies import any_game

PROMPTS = GOLDEN / "prompts"


def asked(name: str) -> str:
    """Ask for the fourth move of a game, after an answer that could not be used."""
    book = load(name)
    table = Table(Game(book.rules), book.name)
    for _ in range(3):
        table = table.play(table.game.legal[len(table.game.legal) // 2])
    return (
        write_prompt(table, problem=check_answer(table, f"[{book.rules.blocks[-1] + 1}]").problem)
        + "\n"
    )


@pytest.mark.parametrize("name", list_names())
def test_the_prompt_of_each_game_is_as_it_was_read(name: str) -> None:
    assert asked(name) == (PROMPTS / f"{name}.txt").read_text()


def told(game: Game, *, legal: bool = True, hidden: bool = False) -> str:
    return write_situation(Table(game, hidden=hidden), legal=legal)


@given(any_game())
def test_a_prompt_tells_what_there_is_to_know_and_how_to_answer(game: Game) -> None:
    table = Table(game)
    text = write_prompt(table)
    assert text.startswith(write_rules(table))
    assert write_situation(table) in text
    assert text.endswith(HOW_TO_ANSWER)
    for height in game.heights:
        assert f"(height {height})" in text


@given(any_game())
def test_legal_blocks_are_listed_unless_that_is_switched_off(game: Game) -> None:
    listed = f"You may place: {format_blocks(game.legal)}"
    assert (listed in told(game)) == (game.outcome is None)
    assert "You may place" not in told(game, legal=False)


@given(any_game())
def test_hidden_blocks_are_told_nowhere(game: Game) -> None:
    text = told(game, hidden=True)
    assert "You may place" not in text
    assert "are hidden" in text
    table = Table(game, hidden=True)
    for block in game.rules.blocks:
        assert "you may place" not in (check_answer(table, block).problem or "")


@given(any_game(), st.integers(-2, 20))
def test_an_answer_is_judged_as_the_engine_judges_the_block(game: Game, block: int) -> None:
    found = check_answer(Table(game), block)
    assert found.reason == game.position.refusal(block)
    assert found.block == (block if found.reason is None else None)
    assert (found.problem is None) == (found.reason is None)


@given(any_game(), st.integers(0, 20))
def test_a_problem_says_what_would_be_right_unless_that_is_switched_off(
    game: Game, block: int
) -> None:
    could = f"you may place {format_blocks(game.legal)}"
    with_list = check_answer(Table(game), f"[{block}]").problem
    without = check_answer(Table(game), f"[{block}]", legal=False).problem
    if with_list is not None and without is not None:
        assert (could in with_list) == (game.outcome is None)
        assert "you may place" not in without


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("7", 7), (" 7\n", 7), ("[7]", 7), ("[ 7 ]", 7), ("I place 7.", 7), ("**7**", 7),
        ("(7)", 7), ("#7!", 7), (r"\boxed{7}", 7), ("7 it is, yes, 7", 7), ("[3], no: [4]", 4),
        ("12 or 15? [15]", 15), ("[07]", 7), (12, 12), ("9 then 8, so\n[8]\nthank you", 8),
        (-3, -3), ("[[5]]", 5), ("", "empty"), (" \n\t", "empty"), (None, "empty"),
        (True, "no_number"), (7.0, "no_number"), (b"7", "no_number"),
        ("seven", "no_number"), ("[number]", "no_number"), ("-7", "no_number"),
        ("[-7]", "no_number"), ("7.5", "no_number"), ("1,000", "no_number"), ("٧", "no_number"),
        ("[７]", "no_number"), ("x7", "no_number"),
        ("\0", "no_number"),
        ("1-3", "no_number"), ("9+6", "no_number"), ("1..9", "no_number"), ("[1-3]", "no_number"),
        ("5/2", "no_number"), ("3.5 or 4", "many_numbers"), ("-3 or 5", "many_numbers"),
        ("1,000 or 7", "many_numbers"), ("Player1 places 7", 7), ("v2: '7'", 7), ("__7__", 7),
        ("- 7", 7), ("$7$", 7), ("7:", 7), ("7 or 8", "many_numbers"),
        ("Player 1: 7", "many_numbers"), ("1 2 3", "many_numbers"),
    ],
)  # fmt: skip
def test_the_number_of_an_answer_is_read_in_one_way(answer: object, number: object) -> None:
    assert read_answer(answer) == number


@pytest.mark.parametrize(
    "answer",
    [
        "9" * 1_000_000,
        "[" * 1_000_000,
        "[1" * 500_000,
        "8 " * 500_000 + "[9]",
        "12" + " " * 99_999,
        "\ud800",
    ],
)
def test_huge_and_broken_answers_are_read_as_quickly_as_others(answer: str) -> None:
    table = Table(Game(Rules()))
    found = check_answer(table, answer)
    assert found.block in {None, 1, 9}
    assert len(found.problem or "") < 300


@given(st.text())
def test_no_answer_makes_trouble(answer: str) -> None:
    table = Table(Game(Rules()))
    found = check_answer(table, answer)
    assert (found.block in table.game.legal) != (found.problem is not None)


if __name__ == "__main__":
    PROMPTS.mkdir(exist_ok=True)
    for each in list_names():
        (PROMPTS / f"{each}.txt").write_text(asked(each))
