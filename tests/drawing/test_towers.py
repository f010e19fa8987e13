"""Towers as they are laid out: every block in its place, with a number that can be read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from number_tower import Game, Rules
from number_tower.drawing import towers
from number_tower.drawing.towers import HEIGHT, MAX_ROWS, MAX_SCALED_BLOCKS, Tower
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from support.strategies import any_game

NAMES = ("Ann", "Ben")


def played(*moves: int, **rules: Any) -> Table:
    return Table(Game(Rules(**rules), moves=moves))


def one(table: Table) -> Tower:
    (tower,) = towers.draw_towers(table, NAMES)
    return tower


@given(any_game())
def test_every_block_lies_within_the_picture_and_on_the_one_before(game: Game) -> None:
    for tower in towers.draw_towers(Table(game), NAMES):
        assert sum(1 for piece in tower.blocks if piece.newest) <= 1
        for piece in tower.blocks:
            assert piece.x >= 0
            assert piece.x + piece.width <= tower.width
            assert 0 <= piece.y < piece.y + piece.height <= HEIGHT
        for below, above in pairwise(tower.blocks):
            assert above.y + above.height <= below.y + 0.5
            assert above.ply > below.ply


@given(any_game())
def test_every_block_is_drawn_or_counted(game: Game) -> None:
    drawn_towers = towers.draw_towers(Table(game), NAMES)
    drawn = sum(len(tower.blocks) + (tower.lower) for tower in drawn_towers)
    assert drawn == len(game.moves)
    assert len(drawn_towers) == (1 if game.rules.towers == "shared" else 2)


@given(any_game())
def test_labels_never_run_into_each_other(game: Game) -> None:
    for tower in towers.draw_towers(Table(game), NAMES):
        beside = sorted(piece.middle for piece in tower.blocks if piece.beside and piece.label_size)
        assert all(lower - upper >= 7.5 for upper, lower in pairwise(beside))
        for piece in tower.blocks:
            assert piece.beside or piece.label_size * 0.6 * len(str(piece.number)) <= piece.width


def test_with_a_target_a_tower_is_as_high_as_its_height_says() -> None:
    tower = one(played(9, 6, 5, target=20, supply="own"))
    assert tower.blocks[-1].y == pytest.approx(tower.top, abs=2)
    assert tower.blocks[0].height == pytest.approx(tower.blocks[1].height * 9 / 6, rel=0.05)
    assert tower.caption == "height 20 of 20"


def test_without_a_target_a_larger_number_is_wider_and_as_high() -> None:
    small, large = one(played(2, 8, fit="any")).blocks
    assert small.width < large.width
    assert small.height == large.height


def test_the_ruler_has_a_few_round_marks_below_the_target() -> None:
    for target in (1, 2, 7, 15, 20, 99, 100, 1234, 10_000):
        tower = one(played(target=target, supply="own"))
        numbers = [number for number, _ in tower.ticks]
        assert len(numbers) <= 8
        assert all(0 < number < target for number in numbers)
        assert all(y > tower.top for _, y in tower.ticks)


def test_of_a_long_tower_the_upper_blocks_are_drawn_and_the_rest_counted() -> None:
    plain = one(
        Table(Game(Rules(blocks=range(1, 101), fit="ascending"), moves=tuple(range(1, 51))))
    )
    assert [piece.number for piece in plain.blocks] == list(range(51 - MAX_ROWS, 51))
    assert plain.lower == 50 - MAX_ROWS
    scaled = one(played(*[1] * 100, supply="endless", target=200))
    assert len(scaled.blocks) == MAX_SCALED_BLOCKS
    assert scaled.lower == 100 - MAX_SCALED_BLOCKS
    assert scaled.base == pytest.approx(scaled.blocks[0].y + scaled.blocks[0].height, abs=1)


def test_a_tower_is_told_to_those_who_do_not_see_it() -> None:
    ann, ben = towers.draw_towers(played(9, 8, towers="own", target=15), NAMES)
    assert (ann.description, ben.description) == (
        "Ann's tower, height 9 of 15: 9",
        "Ben's tower, height 8 of 15: 8",
    )
    assert one(played()).description == "The tower, empty"
    long = one(Table(Game(Rules(blocks=range(1, 101), fit="ascending"), moves=tuple(range(1, 31)))))
    assert long.description.startswith("The tower, top 30: 18 more below, then 19, 20")


def test_of_two_towers_each_holds_what_its_owner_placed() -> None:
    ann, ben = towers.draw_towers(played(9, 8, 6, towers="own", target=30), NAMES)
    assert [(piece.number, piece.seat) for piece in ann.blocks] == [(9, 0), (6, 0)]
    assert [(piece.number, piece.newest) for piece in ben.blocks] == [(8, False)]
    assert ann.blocks[-1].newest


@pytest.mark.parametrize("book", catalogue.load_all(), ids=lambda book: book.name)
def test_every_game_has_a_picture_of_its_idea(book: catalogue.Rulebook) -> None:
    blocks = [piece for tower in towers.draw_sample(book) for piece in tower.blocks]
    assert len(blocks) >= 3
    assert all(piece.label_size >= 13 and not piece.beside for piece in blocks), (
        "the numbers can be read"
    )


def test_the_target_is_reached_only_at_its_height() -> None:
    ann, ben = towers.draw_towers(played(9, 8, 6, towers="own", target=15), NAMES)
    assert (ann.is_reached, ben.is_reached) == (True, False)
    assert not one(played(3)).is_reached


@given(any_game())
def test_the_next_block_lies_where_the_tower_says(game: Game) -> None:
    if game.outcome is not None or game.rules.target is None:
        return
    block = game.legal[0]
    before = towers.draw_towers(Table(game), NAMES)
    after = towers.draw_towers(Table(game.play(block)), NAMES)
    for tower, grown in zip(before, after, strict=True):
        if grown.seat in {None, game.to_move}:
            piece = grown.blocks[-1]
            assert piece.y == pytest.approx(tower.next_bottom - block * tower.unit, abs=2)
