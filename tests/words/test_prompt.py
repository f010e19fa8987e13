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


def write_fourth_prompt(name: str) -> str:
    """Ask for the fourth move of a game, after an answer that could not be used."""
    book = load(name)
    table = Table(Game(book.rules), book.name)
    for _ in range(3):
        table = table.play(table.game.legal[len(table.game.legal) // 2])
    problem = check_answer(table, f"[{book.rules.blocks[-1] + 1}]").problem
    return f"{write_prompt(table, problem=problem)}\n"


@pytest.mark.parametrize("name", list_names())
def test_prompt_of_a_game_is_as_recorded(name: str) -> None:
    assert write_fourth_prompt(name) == (GOLDEN / f"prompts/{name}.txt").read_text()


def describe(game: Game, *, legal: bool = True, hidden: bool = False) -> str:
    return write_situation(Table(game, hidden=hidden), legal=legal)


@given(any_game())
def test_prompt_has_rules_situation_and_how_to_answer(game: Game) -> None:
    table = Table(game)
    text = write_prompt(table)
    assert text.startswith(write_rules(table))
    assert write_situation(table) in text
    assert text.endswith(HOW_TO_ANSWER)
    for height in game.heights:
        assert f"(height {height})" in text


@given(any_game())
def test_legal_blocks_are_listed_unless_switched_off(game: Game) -> None:
    listed = f"You may place: {format_blocks(game.legal)}"
    assert (listed in describe(game)) == (game.outcome is None)
    assert "You may place" not in describe(game, legal=False)


@given(any_game())
def test_hidden_blocks_are_in_no_text(game: Game) -> None:
    text = describe(game, hidden=True)
    assert "You may place" not in text
    assert "are hidden" in text
    table = Table(game, hidden=True)
    for block in game.rules.blocks:
        assert "you may place" not in (check_answer(table, block).problem or "")


@given(any_game(), st.integers(-2, 20))
def test_answer_is_refused_for_the_reason_of_the_engine(game: Game, block: int) -> None:
    answer = check_answer(Table(game), block)
    assert answer.reason == game.position.refusal(block)
    assert answer.block == (block if answer.reason is None else None)
    assert (answer.problem is None) == (answer.reason is None)


@given(any_game(), st.integers(0, 20))
def test_problem_lists_the_legal_blocks_unless_switched_off(game: Game, block: int) -> None:
    could = f"you may place {format_blocks(game.legal)}"
    with_list = check_answer(Table(game), f"[{block}]").problem
    without = check_answer(Table(game), f"[{block}]", legal=False).problem
    if with_list is not None and without is not None:
        assert (could in with_list) == (game.outcome is None)
        assert "you may place" not in without


ANSWERS: dict[object, list[object]] = {
    7: [
        *("7", " 7\n", "[7]", "[ 7 ]", "I place 7.", "**7**", "(7)", "#7!", r"\boxed{7}", "[07]"),
        *("7 it is, yes, 7", "Player1 places 7", "v2: '7'", "__7__", "- 7", "$7$", "7:"),
    ],
    4: ["[3], no: [4]"],
    5: ["[[5]]"],
    8: ["9 then 8, so\n[8]\nthank you"],
    12: [12],
    15: ["12 or 15? [15]"],
    -3: [-3],
    "empty": ["", " \n\t", None],
    "no_number": [
        *(True, 7.0, b"7", "seven", "[number]", "-7", "[-7]", "7.5", "1,000", "٧", "[７]", "x7"),
        *("\0", "1-3", "9+6", "1..9", "[1-3]", "5/2"),
    ],
    "many_numbers": [
        *("3.5 or 4", "-3 or 5", "1,000 or 7", "7 or 8", "Player 1: 7", "1 2 3"),
    ],
}


@pytest.mark.parametrize("number", ANSWERS)
def test_number_of_an_answer_is_read(number: object) -> None:
    assert [read_answer(answer) for answer in ANSWERS[number]] == [number] * len(ANSWERS[number])


@pytest.mark.parametrize(
    "answer",
    [
        "9" * 1_000_000, "[" * 1_000_000, "[1" * 500_000, "8 " * 500_000 + "[9]",
        "12" + " " * 99_999, "\ud800",
    ],
)  # fmt: skip
def test_huge_or_broken_answer_is_read_quickly(answer: str) -> None:
    checked = check_answer(Table(Game(Rules())), answer)
    assert checked.block in {None, 1, 9}
    assert len(checked.problem or "") < 300


@given(st.text())
def test_any_answer_is_a_legal_block_or_has_a_problem(answer: str) -> None:
    table = Table(Game(Rules()))
    checked = check_answer(table, answer)
    assert (checked.block in table.game.legal) != (checked.problem is not None)


if __name__ == "__main__":
    for name in list_names():
        (GOLDEN / f"prompts/{name}.txt").write_text(write_fourth_prompt(name))
