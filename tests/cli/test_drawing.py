"""Towers drawn in text."""

from __future__ import annotations

from number_tower import Game, Table, rules
from number_tower.cli.input import MOST_ROWS, draw_towers
from number_tower.cli.terminal import count_cells


def picture(
    name: str, *moves: int, names: tuple[str, str] | None = None, columns: int = 80
) -> list[str]:
    table = Table(Game(rules(name), moves=moves), name, names)
    return draw_towers(table, columns).strip("\n").split("\n")


def test_larger_blocks_are_wider_and_lie_centred() -> None:
    tower = picture("draft", 9, 8, 5, 4, 1)
    assert [line[:23].strip() for line in tower[:3]] == [
        "[ 1 ]",
        "[     5     ]",
        "[         9         ]",
    ]
    assert tower[0].index("1") == tower[1].index("5") == tower[2].index("9")


def test_edges_say_whose_block_it_is() -> None:
    tower = "\n".join(picture("summit", 5, 4))
    assert "[     5     ]" in tower
    assert "(    4    )" in tower
    assert "[ ] Player A   ( ) Player B" in tower


def test_the_caption_says_what_matters() -> None:
    assert "height 9 of 20" in "\n".join(picture("summit", 5, 4))
    assert "top 10" in "\n".join(picture("climb", 7, 10))
    assert "empty" in "\n".join(picture("factor"))


def test_a_tall_tower_is_cut_below() -> None:
    tower = picture("climb", *range(1, 31))
    assert sum("[" in line or "(" in line for line in tower[:MOST_ROWS]) == MOST_ROWS
    assert "30" in tower[0]
    assert f"({30 - MOST_ROWS} more below)" in tower[MOST_ROWS]


def test_towers_stand_one_below_the_other_where_there_is_no_room() -> None:
    wide, narrow = picture("race", 9, 9), picture("race", 9, 9, columns=30)
    assert len(narrow) > len(wide)
    assert max(map(len, narrow)) <= 30
    assert max(map(len, wide)) > 30


def test_letters_that_take_two_columns_are_counted_as_two() -> None:
    assert count_cells("日本") == 4
    assert count_cells("Zoe\u0308") == 3
    names = ("日本語さん", "Ben")
    plain, wide = picture("race", 9, 9), picture("race", 9, 9, names=names)
    assert wide[0] == plain[0]
    assert count_cells(wide[2].split("Ben")[0]) == len("  " + "=" * 21 + "  " + " " * 9)
