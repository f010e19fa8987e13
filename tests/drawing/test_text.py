"""Towers written as text."""

from __future__ import annotations

from hypothesis import given
from rich.cells import cell_len

from number_tower import Game, Table, rules
from number_tower.drawing.text import write_sample, write_towers
from support.strategies import any_game

NAMES = ("Ann", "Ben")


def write(
    name: str, *moves: int, names: tuple[str, str] = NAMES, width: int = 80, height: int = 30
) -> list[str]:
    table = Table(Game(rules(name), moves=moves), name)
    lines = write_towers(table, names, width, height)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


@given(any_game())
def test_drawing_of_any_game_stays_in_its_space(game: Game) -> None:
    for width, height in ((80, 30), (40, 6), (20, 12)):
        lines = write_towers(Table(game), NAMES, width, height)
        assert len(lines) <= height
        assert write_sample(game, width)


def test_upright_towers_are_as_high_as_their_blocks_count() -> None:
    lines = write("draft", 9, 8, 6)
    assert sum("[" in line for line in lines) == 15
    assert sum("(" in line for line in lines) == 8
    assert lines[0].startswith(" 15 ╞")
    assert lines[-2].split() == ["Ann", "Ben"]
    assert "height 15 of 15" in lines[-1]


def test_edges_say_whose_block_it_is() -> None:
    tower = write("summit", 5, 4)
    assert any("[      5      ]" in line for line in tower)
    assert any("(      4      )" in line for line in tower)
    assert "height 9 of 20   [] Ann  () Ben" in tower[-1]


def test_towers_lie_where_they_do_not_fit_upright() -> None:
    lines = write("draft", 9, 8, height=10)
    assert lines[:2] == ["Ann, height 9 of 15", f"|[{'9':_^34}]{'·' * 24}|"]
    assert lines[-1].endswith("15 target")


def test_without_heights_the_numbers_are_a_list_with_what_may_follow() -> None:
    lines = write("climb", 7, 10)
    assert lines[0] == "May follow: 11-15"
    assert lines[2:] == ["  2. (10)  Ben", "  1. [7]  Ann"]
    lines = write("climb", *range(1, 31))
    assert lines[0] == "On top: 30"
    assert lines[-1] == "     and 5 below"


def test_letters_that_take_two_columns_are_counted_as_two() -> None:
    plain, wide = write("race", 9, 9), write("race", 9, 9, names=("日本語さん", "Ben"))
    assert wide[:-2] == plain[:-2]
    assert cell_len(wide[-2].split("Ben")[0]) == len(plain[-2].split("Ben")[0])
