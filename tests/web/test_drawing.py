"""Towers, blocks and words as a page shows them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Rules, catalogue
from number_tower.table import Table
from number_tower.web import drawing, view
from number_tower.web.drawing import HEIGHT, MOST_BLOCKS, MOST_ROWS, MOST_SCALED_BLOCKS, Tower
from support.strategies import any_game

NAMES = ("Ann", "Ben")


def played(*moves: int, **rules: Any) -> Table:
    return Table(Game(Rules(**rules), moves=moves))


def one(table: Table) -> Tower:
    (tower,) = drawing.draw_towers(table, NAMES)
    return tower


@given(any_game())
def test_every_block_lies_within_the_picture_and_on_the_one_before(game: Game) -> None:
    for tower in drawing.draw_towers(Table(game), NAMES):
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
    towers = drawing.draw_towers(Table(game), NAMES)
    drawn = sum(len(tower.blocks) + (tower.lower) for tower in towers)
    assert drawn == len(game.moves)
    assert len(towers) == (1 if game.rules.towers == "shared" else 2)


@given(any_game())
def test_labels_never_run_into_each_other(game: Game) -> None:
    for tower in drawing.draw_towers(Table(game), NAMES):
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
    assert [piece.number for piece in plain.blocks] == list(range(51 - MOST_ROWS, 51))
    assert plain.lower == 50 - MOST_ROWS
    scaled = one(played(*[1] * 100, supply="endless", target=200))
    assert len(scaled.blocks) == MOST_SCALED_BLOCKS
    assert scaled.lower == 100 - MOST_SCALED_BLOCKS
    assert scaled.base == pytest.approx(scaled.blocks[0].y + scaled.blocks[0].height, abs=1)


def test_a_tower_is_told_to_those_who_do_not_see_it() -> None:
    ann, ben = drawing.draw_towers(played(9, 8, towers="own", target=15), NAMES)
    assert (ann.description, ben.description) == (
        "Ann's tower, height 9 of 15: 9",
        "Ben's tower, height 8 of 15: 8",
    )
    assert one(played()).description == "The tower, empty"
    long = one(Table(Game(Rules(blocks=range(1, 101), fit="ascending"), moves=tuple(range(1, 31)))))
    assert long.description.startswith("The tower, top 30: 18 more below, then 19, 20")


def test_of_two_towers_each_holds_what_its_owner_placed() -> None:
    ann, ben = drawing.draw_towers(played(9, 8, 6, towers="own", target=30), NAMES)
    assert [(piece.number, piece.seat) for piece in ann.blocks] == [(9, 0), (6, 0)]
    assert [(piece.number, piece.newest) for piece in ben.blocks] == [(8, False)]
    assert ann.blocks[-1].newest


@pytest.mark.parametrize("book", catalogue.load_all(), ids=lambda book: book.name)
def test_every_game_has_a_picture_of_its_idea(book: catalogue.Rulebook) -> None:
    blocks = [piece for tower in drawing.draw_sample(book) for piece in tower.blocks]
    assert len(blocks) >= 3
    assert all(piece.label_size >= 13 and not piece.beside for piece in blocks), (
        "the numbers can be read"
    )


@given(any_game())
def test_numbers_are_a_board_where_each_is_placed_once_and_no_height_counts(game: Game) -> None:
    rules = game.rules
    cells = drawing.draw_cells(Table(game))
    is_plain = (rules.towers, rules.supply, rules.target, rules.stuck) == (
        "shared",
        "shared",
        None,
        "loses",
    )
    assert not (is_plain and len(rules.blocks) <= MOST_BLOCKS) or cells
    if cells:
        assert rules.target is None
        assert [cell.number for cell in cells] == list(rules.blocks)
        placed = sorted((cell for cell in cells if cell.ply), key=lambda cell: cell.ply)
        assert tuple(cell.number for cell in placed) == game.moves
        assert tuple(cell.seat for cell in placed) == tuple(game.movers)
        assert [cell.number for cell in cells if cell.is_open] == list(game.legal)
        assert [cell.number for cell in cells if cell.is_last] == list(game.moves[-1:])


def test_hidden_blocks_and_very_many_numbers_are_no_board() -> None:
    assert drawing.draw_cells(Table(Game(Rules()), hidden=True)) == ()
    assert drawing.draw_cells(Table(Game(Rules(blocks=range(1, MOST_BLOCKS + 2))))) == ()


def test_the_target_is_reached_only_at_its_height() -> None:
    ann, ben = drawing.draw_towers(played(9, 8, 6, towers="own", target=15), NAMES)
    assert (ann.is_reached, ben.is_reached) == (True, False)
    assert not one(played(3)).is_reached


@given(any_game())
def test_the_next_block_lies_where_the_tower_says(game: Game) -> None:
    if game.outcome is not None or game.rules.target is None:
        return
    block = game.legal[0]
    before = drawing.draw_towers(Table(game), NAMES)
    after = drawing.draw_towers(Table(game.play(block)), NAMES)
    for tower, grown in zip(before, after, strict=True):
        if grown.seat in {None, game.to_move}:
            piece = grown.blocks[-1]
            assert piece.y == pytest.approx(tower.next_bottom - block * tower.unit, abs=2)


@given(any_game())
def test_what_is_offered_can_be_placed_and_the_rest_says_why(game: Game) -> None:
    table = Table(game)
    if table.outcome is not None:
        return
    offered = drawing.build_menu(table, game.to_move).options
    assert tuple(choice.block for choice in offered if not choice.refusal) == game.legal
    assert [choice.block for choice in offered] == list(game.rules.blocks)


@given(any_game(), st.integers(0, 1))
def test_where_blocks_are_hidden_all_are_offered_alike(game: Game, seat: int) -> None:
    table = Table(game, hidden=True)
    offered = drawing.build_menu(table, seat)
    assert offered.options == tuple(drawing.BlockOption(block, "") for block in game.rules.blocks)
    assert drawing.format_remaining(table, seat) is None


def test_whoever_has_to_wait_is_told_why_at_every_block() -> None:
    table = played(9, supply="own", target=20)
    offered = drawing.build_menu(table, 0, "It is Ben's turn.").options
    assert {choice.refusal for choice in offered} == {"It is Ben's turn."}
    assert [choice.block for choice in offered if choice.used] == [9]


def test_of_very_many_blocks_some_that_can_be_placed_are_offered() -> None:
    table = Table(Game(Rules(blocks=range(1, 1001), fit="ascending"), moves=(100,)))
    offered = drawing.build_menu(table, 1)
    assert [choice.block for choice in offered.options] == list(range(101, 101 + MOST_BLOCKS))
    assert offered.more == 900 - MOST_BLOCKS
    ended = Table(Game(Rules(blocks=range(1, 1001), fit="ascending"), moves=(1000,)))
    assert drawing.build_menu(ended, 1).options == ()


def test_what_a_seat_has_left_is_said_in_short() -> None:
    table = played(9, supply="own", target=20)
    assert drawing.format_remaining(table, 0) == "1-8"
    assert drawing.format_remaining(played(target=20, supply="endless"), 0) is None
    assert drawing.format_remaining(played(1, blocks=[1]), 0) == "none"


def test_the_log_tells_every_change_and_takebacks_too() -> None:
    table = played(9, 8).undo().play(7)
    told = view.build_log(table)
    assert [(line.version, line.kind, line.player, line.block) for line in told] == [
        (0, "start", 0, None),
        (1, "placed", 0, 9),
        (2, "placed", 1, 8),
        (3, "undone", 1, 8),
        (4, "placed", 1, 7),
    ]


def test_the_log_tells_a_result_that_was_declared() -> None:
    table = played(9).declare("resigned", 1)
    told = view.build_log(table)
    assert told[-1].kind == "end"
    assert "Player 2 resigns" in told[-1].text


def test_of_a_long_story_the_end_is_told() -> None:
    table = Table(Game(Rules(blocks=range(1, 101), fit="ascending"), moves=tuple(range(1, 91))))
    told = view.build_log(table, most=10)
    assert [line.block for line in told] == list(range(81, 91))


@given(any_game())
def test_the_log_leaves_no_empty_lines(game: Game) -> None:
    table = Table(game)
    for line in view.build_log(table):
        assert line.text
        assert all(part.strip() for part in line.text.split("\n"))
