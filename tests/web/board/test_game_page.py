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


def make_table(*moves: int, **rules: Any) -> Table:
    return Table(Game(Rules(**rules), moves=moves))


@given(any_game())
def test_board_of_numbers_shows_every_game_without_repeats_and_heights(game: Game) -> None:
    rules = game.rules
    cells = blocks.draw_cells(Table(game))
    kind = (rules.towers, rules.supply, rules.target, rules.stuck)
    is_plain = kind == ("shared", "shared", None, "loses")
    assert not (is_plain and len(rules.blocks) <= MAX_BLOCKS) or cells
    if cells:
        assert rules.target is None
        assert [cell.number for cell in cells] == list(rules.blocks)
        placed = sorted((cell for cell in cells if cell.ply), key=lambda cell: cell.ply)
        assert tuple(cell.number for cell in placed) == game.moves
        assert tuple(cell.seat for cell in placed) == tuple(game.movers)
        assert [cell.number for cell in cells if cell.is_open] == list(game.legal)
        assert [cell.number for cell in cells if cell.is_last] == list(game.moves[-1:])


@given(any_game())
def test_offered_blocks_can_be_placed_and_others_have_a_reason(game: Game) -> None:
    table = Table(game)
    if table.outcome is not None:
        return
    offered = blocks.build_menu(table, game.to_move).options
    assert tuple(choice.block for choice in offered if not choice.refusal) == game.legal
    assert [choice.block for choice in offered] == list(game.rules.blocks)


@given(any_game(), st.integers(0, 1))
def test_hidden_blocks_are_all_offered_alike(game: Game, seat: int) -> None:
    table = Table(game, hidden=True)
    offered = blocks.build_menu(table, seat)
    assert offered.options == tuple(blocks.BlockOption(block, "") for block in game.rules.blocks)
    assert blocks.format_remaining(table, seat) is None


def test_waiting_player_reads_the_reason_at_every_block() -> None:
    table = make_table(9, supply="own", target=20)
    offered = blocks.build_menu(table, 0, "It is Ben's turn.").options
    assert {choice.refusal for choice in offered} == {"It is Ben's turn."}
    assert [choice.block for choice in offered if choice.used] == [9]


def test_very_many_blocks_are_offered_in_part_and_have_no_board() -> None:
    table = make_table(100, blocks=range(1, 1001), fit="ascending")
    offered = blocks.build_menu(table, 1)
    assert [choice.block for choice in offered.options] == list(range(101, 101 + MAX_BLOCKS))
    assert offered.more == 900 - MAX_BLOCKS
    ended = make_table(1000, blocks=range(1, 1001), fit="ascending")
    assert blocks.build_menu(ended, 1).options == ()
    assert blocks.draw_cells(make_table(blocks=range(1, MAX_BLOCKS + 2))) == ()
    assert blocks.draw_cells(Table(Game(Rules()), hidden=True)) == ()


def test_remaining_blocks_of_a_seat_are_ranges() -> None:
    table = make_table(9, supply="own", target=20)
    assert blocks.format_remaining(table, 0) == "1-8"
    assert blocks.format_remaining(make_table(target=20, supply="endless"), 0) is None
    assert blocks.format_remaining(make_table(1, blocks=[1]), 0) == "none"


def test_log_has_every_change_takeback_and_result_or_the_last_lines() -> None:
    log = view.build_log(make_table(9, 8).undo().play(7).declare("resigned", 1))
    assert [(line.version, line.kind, line.player, line.block) for line in log[:-1]] == [
        (0, "start", 0, None), (1, "placed", 0, 9), (2, "placed", 1, 8), (3, "undone", 1, 8),
        (4, "placed", 1, 7),
    ]  # fmt: skip
    assert log[-1].kind == "end"
    assert "Player 2 resigns" in log[-1].text
    table = make_table(*range(1, 91), blocks=range(1, 101), fit="ascending")
    assert [line.block for line in view.build_log(table, most=10)] == list(range(81, 91))


@given(any_game())
def test_log_has_no_empty_lines(game: Game) -> None:
    table = Table(game)
    for line in view.build_log(table):
        assert line.text
        assert all(part.strip() for part in line.text.split("\n"))


def test_page_of_a_game_needs_no_server_store_or_room() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert "Easy" in done.stderr
    assert 'name="block" value="7"' in done.stderr
    modules = set(done.stdout.split())
    assert not modules & {"fastapi", "starlette", "sqlalchemy", "uvicorn", "pydantic"}
    foreign = ("rooms", "store", "web.live", "web.http", "web.pages", "web.classes", "web.thinking")
    names = tuple(f"number_tower.{name}" for name in foreign)
    assert not {module for module in modules if module.startswith(names)}
