"""Towers as they are laid out: every block in its place, with a number that can be read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Rules
from number_tower.drawing import towers
from number_tower.drawing.towers import HEIGHT, MAX_ROWS, MAX_SCALED_BLOCKS, Tower
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from support.strategies import any_game

NAMES = ("Ann", "Ben")


def play(*moves: int, **rules: Any) -> Table:
    return Table(Game(Rules(**rules), moves=moves))


def draw_one(*moves: int, **rules: Any) -> Tower:
    (tower,) = towers.draw_towers(play(*moves, **rules), NAMES)
    return tower


@given(any_game())
def test_every_block_is_counted_or_drawn_with_its_label_in_its_place(game: Game) -> None:
    drawn = towers.draw_towers(Table(game), NAMES)
    assert len(drawn) == (1 if game.rules.towers == "shared" else 2)
    assert sum(len(tower.blocks) + tower.lower for tower in drawn) == len(game.moves)
    for tower in drawn:
        assert sum(piece.newest for piece in tower.blocks) <= 1
        for piece in tower.blocks:
            assert 0 <= piece.x <= piece.x + piece.width <= tower.width
            assert 0 <= piece.y < piece.y + piece.height <= HEIGHT
            label_width = piece.label_size * 0.6 * len(str(piece.number))
            assert piece.beside or label_width <= piece.width
        for below, above in pairwise(tower.blocks):
            assert above.y + above.height <= below.y + 0.5
            assert above.ply > below.ply
        beside = sorted(piece.middle for piece in tower.blocks if piece.beside and piece.label_size)
        assert all(lower - upper >= 7.5 for upper, lower in pairwise(beside))


def test_tower_with_a_target_is_drawn_to_scale() -> None:
    tower = draw_one(9, 6, 5, target=20, supply="own")
    assert tower.blocks[-1].y == pytest.approx(tower.top, abs=2)
    assert tower.blocks[0].height == pytest.approx(tower.blocks[1].height * 9 / 6, rel=0.05)
    assert tower.caption == "height 20 of 20"


def test_tower_without_a_target_has_blocks_of_equal_height() -> None:
    small, large = draw_one(2, 8, fit="any").blocks
    assert small.width < large.width
    assert small.height == large.height


def test_ruler_has_a_few_marks_below_the_target() -> None:
    for target in (1, 2, 7, 15, 20, 99, 100, 1234, 10_000):
        tower = draw_one(target=target, supply="own")
        numbers = [number for number, _ in tower.ticks]
        assert len(numbers) <= 8
        assert all(0 < number < target for number in numbers)
        assert all(y > tower.top for _, y in tower.ticks)


def test_upper_blocks_of_a_long_tower_are_drawn_and_the_rest_counted() -> None:
    plain = draw_one(*range(1, 51), blocks=range(1, 101), fit="ascending")
    assert [piece.number for piece in plain.blocks] == list(range(51 - MAX_ROWS, 51))
    assert plain.lower == 50 - MAX_ROWS
    scaled = draw_one(*[1] * 100, supply="endless", target=200)
    assert len(scaled.blocks) == MAX_SCALED_BLOCKS
    assert scaled.lower == 100 - MAX_SCALED_BLOCKS
    assert scaled.base == pytest.approx(scaled.blocks[0].y + scaled.blocks[0].height, abs=1)


def test_description_names_height_and_blocks(snapshot: SnapshotAssertion) -> None:
    both = towers.draw_towers(play(9, 8, towers="own", target=15), NAMES)
    long = draw_one(*range(1, 31), blocks=range(1, 101), fit="ascending")
    assert [tower.description for tower in (*both, draw_one(), long)] == snapshot


def test_two_towers_hold_the_blocks_of_their_owners() -> None:
    ann, ben = towers.draw_towers(play(9, 8, 6, towers="own", target=15), NAMES)
    assert [(piece.number, piece.seat) for piece in ann.blocks] == [(9, 0), (6, 0)]
    assert [(piece.number, piece.newest) for piece in ben.blocks] == [(8, False)]
    assert ann.blocks[-1].newest
    assert (ann.is_reached, ben.is_reached, draw_one(3).is_reached) == (True, False, False)


@pytest.mark.parametrize("book", catalogue.load_all(), ids=lambda book: book.name)
def test_every_game_has_a_readable_sample(book: catalogue.Rulebook) -> None:
    blocks = [piece for tower in towers.draw_sample(book) for piece in tower.blocks]
    assert len(blocks) >= 3
    assert all(piece.label_size >= 13 and not piece.beside for piece in blocks), (
        "the numbers can be read"
    )


@given(any_game())
def test_next_block_lies_where_the_tower_says(game: Game) -> None:
    if game.outcome is not None or game.rules.target is None:
        return
    block = game.legal[0]
    before = towers.draw_towers(Table(game), NAMES)
    after = towers.draw_towers(Table(game.play(block)), NAMES)
    for tower, grown in zip(before, after, strict=True):
        if grown.seat in {None, game.to_move}:
            piece = grown.blocks[-1]
            assert piece.y == pytest.approx(tower.next_bottom - block * tower.unit, abs=2)
