"""Towers written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

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


@pytest.mark.parametrize(
    ("name", "moves", "height"),
    [
        *(("draft", (9, 8, 6), 30), ("summit", (5, 4), 30), ("draft", (9, 8), 10)),
        *(("climb", (7, 10), 30), ("climb", tuple(range(1, 31)), 30)),
    ],
    ids=["upright", "one tower", "lying", "list", "long list"],
)
def test_towers_are_drawn_as_recorded(
    name: str, moves: tuple[int, ...], height: int, snapshot: SnapshotAssertion
) -> None:
    assert "\n".join(write(name, *moves, height=height)) == snapshot


def test_letters_that_take_two_columns_are_counted_as_two() -> None:
    plain, wide = write("race", 9, 9), write("race", 9, 9, names=("日本語さん", "Ben"))
    assert wide[:-2] == plain[:-2]
    assert cell_len(wide[-2].split("Ben")[0]) == len(plain[-2].split("Ben")[0])
