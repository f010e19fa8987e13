"""Positions: what may be placed, what that leads to, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from number_tower import Game, IllegalMoveError, NotABlockError, Outcome, Position, Rules
from support import plain
from support.strategies import any_game

DRAFT = Rules(fit="descending", towers="own", target=15, stuck="skips")


@given(any_game())
def test_block_is_legal_or_refused_for_the_first_reason_that_applies(game: Game) -> None:
    if game.outcome is not None:
        assert game.legal == ()
        return
    assert list(game.legal) == plain.legal(game, game.to_move)
    for block in range(16):
        assert game.position.refusal(block) == plain.refusal(game, game.to_move, block)
    masks = [game.position.legal_mask, *(mask for _, mask in game.position.refusals())]
    assert sum(masks) == game.rules.every
    assert sum(mask.bit_count() for mask in masks) == len(game.rules.blocks)


@given(any_game())
def test_player_to_move_can_move_or_the_game_is_over(game: Game) -> None:
    able = [bool(plain.legal(game, player)) for player in (0, 1)]
    if game.outcome is None:
        assert able[game.to_move]
    elif game.outcome.reason == "stuck":
        assert not able[game.to_move]
    elif game.outcome.reason in {"higher", "level"}:
        assert able == [False, False]


@given(any_game(to_the_end=True))
def test_ending_names_the_winner_and_the_reason(game: Game) -> None:
    assert game.outcome is not None
    winner, reason = game.outcome
    heights = [sum(plain.tower_of(game, player)) for player in (0, 1)]
    if winner is None:
        assert reason == "level"
        assert heights[0] == heights[1]
    elif reason == "exact":
        assert winner == game.movers[-1]
        assert heights[winner] == game.rules.target
    elif reason == "stuck":
        assert game.rules.stuck == "loses"
        assert winner == 1 - game.to_move
    else:
        assert reason == "higher"
        assert heights[winner] > heights[1 - winner]


def play(rules: Rules, *blocks: int, first: int = 0) -> Position:
    position = Position.start(rules, first)
    for block in blocks:
        position = position.place(block)
    return position


def test_player_who_cannot_move_is_skipped_again_and_again() -> None:
    position = play(DRAFT, 1, 9)
    assert position.to_move == 1, "nothing is left that may lie on a 1"
    assert position.place(3).to_move == 1
    assert position.place(3).place(2).outcome == Outcome(1, "higher")


def test_opening_holds_on_the_tower_of_each_player() -> None:
    rules = Rules(supply="own", towers="own", target=15, opening=[2, 4])
    assert play(rules).legal == (2, 4)
    assert play(rules, 2).legal == (2, 4)
    assert play(rules, 2, 4).legal == (1, 3, 4, 5, 6, 7, 8, 9)
    shared = Rules(fit="related", opening=[2, 4])
    assert play(shared, 2).legal == (1, 4, 6, 8)


def test_endless_blocks_can_be_placed_again() -> None:
    assert play(Rules(blocks=[2, 5], supply="endless", target=6), 2, 2).legal == (2,)


STUCK_AT_ONCE = Rules(blocks=[5, 6], target=4)
SKIPS = Rules(blocks=[3, 4], towers="own", stuck="skips", fit="descending")
LEVEL = Rules(blocks=[2, 3], supply="own", towers="own", stuck="skips", target=4)
SHARED = Rules(blocks=[3, 5], stuck="skips", fit="unrelated", opening=[3])


@pytest.mark.parametrize(
    ("rules", "first", "moves", "outcome"),
    [
        (DRAFT, 0, (9, 8, 6), (0, "exact")),
        (Rules(supply="own", target=20), 0, (5, 4, 6, 5), (1, "exact")),
        (Rules(blocks=[2, 5], supply="endless", target=6), 0, (2, 2, 2), (0, "exact")),
        (DRAFT, 0, (1, 5, 4, 3, 2), (1, "higher")),
        (SKIPS, 0, (3, 4), (1, "higher")),
        (DRAFT, 0, (8, 4, 1, 3, 2), (None, "level")),
        (LEVEL, 0, (3, 3), (None, "level")),
        (SHARED, 0, (3, 5), (None, "level")),
        (STUCK_AT_ONCE, 0, (), (1, "stuck")),
        (STUCK_AT_ONCE, 1, (), (0, "stuck")),
        (STUCK_AT_ONCE.replace({"stuck": "skips"}), 0, (), (None, "level")),
    ],
)
def test_outcome_of_a_game(
    rules: Rules, first: int, moves: tuple[int, ...], outcome: tuple[int | None, str]
) -> None:
    assert play(rules, *moves, first=first).outcome == outcome


@pytest.mark.parametrize("block", [10, 0, -1, "9"])
@pytest.mark.parametrize("moves", [(), (9, 8, 6)])
def test_block_of_no_game_is_refused_even_after_the_end(moves: tuple[int, ...], block: Any) -> None:
    with pytest.raises(NotABlockError, match=f"{block}") as refused:
        play(DRAFT, *moves).place(block)
    assert (refused.value.block, refused.value.reason) == (block, "not_a_block")


@pytest.mark.parametrize(
    ("moves", "block", "reason"),
    [((9,), 9, "used"), ((5, 4), 7, "fit"), ((9, 8), 7, "target"), ((9, 8, 6), 1, "over")],
)
def test_illegal_block_is_refused_with_its_reason(
    moves: tuple[int, ...], block: int, reason: str
) -> None:
    with pytest.raises(IllegalMoveError, match=f"{block}") as refused:
        play(DRAFT, *moves).place(block)
    assert (refused.value.block, refused.value.reason) == (block, reason)
