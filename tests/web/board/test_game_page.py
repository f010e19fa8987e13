"""The page of a game: its blocks and words, and what it needs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Rules
from number_tower.engine.table import Table
from number_tower.web.board import blocks, view
from number_tower.web.board.blocks import MAX_BLOCKS
from support.strategies import any_game

SCRIPT = """
import sys
from number_tower import Game, rules
from number_tower.engine.table import Table
from number_tower.web.board.templates import render
from number_tower.web.board.view import GameView, RoomFacts
from number_tower.words.voice import Reader

seats = ("person", "Ann"), ("computer", "Easy")
room = RoomFacts(seats, may=frozenset({"move", "resign"}))
view = GameView(Table(Game(rules("draft"), moves=(9, 8))), Reader(0), room)
print(render("room.html", view=view, values=None), file=sys.stderr)
print(*sys.modules)
"""


def played(*moves: int, **rules: Any) -> Table:
    return Table(Game(Rules(**rules), moves=moves))


@given(any_game())
def test_numbers_are_a_board_where_each_is_placed_once_and_no_height_counts(game: Game) -> None:
    rules = game.rules
    cells = blocks.draw_cells(Table(game))
    is_plain = (rules.towers, rules.supply, rules.target, rules.stuck) == (
        "shared",
        "shared",
        None,
        "loses",
    )
    assert not (is_plain and len(rules.blocks) <= MAX_BLOCKS) or cells
    if cells:
        assert rules.target is None
        assert [cell.number for cell in cells] == list(rules.blocks)
        placed = sorted((cell for cell in cells if cell.ply), key=lambda cell: cell.ply)
        assert tuple(cell.number for cell in placed) == game.moves
        assert tuple(cell.seat for cell in placed) == tuple(game.movers)
        assert [cell.number for cell in cells if cell.is_open] == list(game.legal)
        assert [cell.number for cell in cells if cell.is_last] == list(game.moves[-1:])


def test_hidden_blocks_and_very_many_numbers_are_no_board() -> None:
    assert blocks.draw_cells(Table(Game(Rules()), hidden=True)) == ()
    assert blocks.draw_cells(Table(Game(Rules(blocks=range(1, MAX_BLOCKS + 2))))) == ()


@given(any_game())
def test_what_is_offered_can_be_placed_and_the_rest_says_why(game: Game) -> None:
    table = Table(game)
    if table.outcome is not None:
        return
    offered = blocks.build_menu(table, game.to_move).options
    assert tuple(choice.block for choice in offered if not choice.refusal) == game.legal
    assert [choice.block for choice in offered] == list(game.rules.blocks)


@given(any_game(), st.integers(0, 1))
def test_where_blocks_are_hidden_all_are_offered_alike(game: Game, seat: int) -> None:
    table = Table(game, hidden=True)
    offered = blocks.build_menu(table, seat)
    assert offered.options == tuple(blocks.BlockOption(block, "") for block in game.rules.blocks)
    assert blocks.format_remaining(table, seat) is None


def test_whoever_has_to_wait_is_told_why_at_every_block() -> None:
    table = played(9, supply="own", target=20)
    offered = blocks.build_menu(table, 0, "It is Ben's turn.").options
    assert {choice.refusal for choice in offered} == {"It is Ben's turn."}
    assert [choice.block for choice in offered if choice.used] == [9]


def test_of_very_many_blocks_some_that_can_be_placed_are_offered() -> None:
    table = Table(Game(Rules(blocks=range(1, 1001), fit="ascending"), moves=(100,)))
    offered = blocks.build_menu(table, 1)
    assert [choice.block for choice in offered.options] == list(range(101, 101 + MAX_BLOCKS))
    assert offered.more == 900 - MAX_BLOCKS
    ended = Table(Game(Rules(blocks=range(1, 1001), fit="ascending"), moves=(1000,)))
    assert blocks.build_menu(ended, 1).options == ()


def test_what_a_seat_has_left_is_said_in_short() -> None:
    table = played(9, supply="own", target=20)
    assert blocks.format_remaining(table, 0) == "1-8"
    assert blocks.format_remaining(played(target=20, supply="endless"), 0) is None
    assert blocks.format_remaining(played(1, blocks=[1]), 0) == "none"


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


def test_the_page_of_a_game_is_drawn_without_a_server_a_store_or_a_room() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert "Easy" in done.stderr
    assert 'name="block" value="7"' in done.stderr
    modules = set(done.stdout.split())
    assert not modules & {"fastapi", "starlette", "sqlalchemy", "uvicorn", "pydantic"}
    own = {module for module in modules if module.startswith("number_tower.")}
    foreign = ("rooms", "store", "web.live", "web.http", "web.pages", "web.classes", "web.thinking")
    assert not {
        module
        for module in own
        if module.startswith(tuple(f"number_tower.{name}" for name in foreign))
    }
