"""Positions: what may be placed, what that leads to, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from number_tower import Game, IllegalMoveError, NotABlockError, Outcome, Position, Rules
from support import plain
from support.sizes import examples
from support.strategies import any_game

DRAFT = Rules(fit="descending", towers="own", target=15, stuck="skips")


@given(any_game())
def test_a_block_is_legal_exactly_if_no_rule_forbids_it(game: Game) -> None:
    if game.outcome is None:
        assert list(game.legal) == plain.legal(game, game.to_move)
    else:
        assert game.legal == ()


@given(any_game())
def test_the_reason_given_is_the_first_that_applies(game: Game) -> None:
    if game.outcome is None:
        for block in range(16):
            assert game.position.refusal(block) == plain.refusal(game, game.to_move, block)


@given(any_game())
def test_every_block_is_either_legal_or_under_one_reason(game: Game) -> None:
    if game.outcome is None:
        masks = [game.position.legal_mask, *(mask for _, mask in game.position.refusals())]
        assert sum(masks) == game.rules.every
        assert sum(mask.bit_count() for mask in masks) == len(game.rules.blocks)


@given(any_game())
def test_the_player_to_move_can_move_or_the_game_is_over(game: Game) -> None:
    able = [bool(plain.legal(game, player)) for player in (0, 1)]
    if game.outcome is None:
        assert able[game.to_move]
    elif game.outcome.reason == "stuck":
        assert not able[game.to_move]
        assert game.outcome.winner == 1 - game.to_move
    elif game.outcome.reason in {"higher", "level"}:
        assert able == [False, False]


@given(any_game(to_the_end=True))
def test_an_ending_says_who_won_and_why(game: Game) -> None:
    assert game.outcome is not None
    winner, reason = game.outcome
    heights = [sum(plain.tower_of(game, player)) for player in (0, 1)]
    if reason == "exact":
        assert winner == game.movers[-1]
        assert heights[winner] == game.rules.target
    elif reason == "stuck":
        assert game.rules.stuck == "loses"
    elif reason == "higher":
        assert winner is not None
        assert heights[winner] > heights[1 - winner]
    else:
        assert (reason, winner) == ("level", None)
        assert heights[0] == heights[1]


@given(any_game())
@settings(max_examples=examples(50))
def test_positions_are_values(game: Game) -> None:
    again = Game(game.rules, game.first, game.moves).position
    assert again == game.position
    assert hash(again) == hash(game.position)


def play(rules: Rules, *blocks: int, first: int = 0) -> Position:
    position = Position.start(rules, first)
    for block in blocks:
        position = position.place(block)
    return position


def test_reaching_the_target_wins_at_once_for_whoever_placed_the_block() -> None:
    assert play(DRAFT, 9, 8, 6).outcome == Outcome(0, "exact")
    assert play(Rules(supply="own", target=20), 5, 4, 6, 5).outcome == Outcome(1, "exact")


def test_the_turn_passes_over_a_player_who_cannot_move_as_often_as_needed() -> None:
    position = play(DRAFT, 1, 9)
    assert position.to_move == 1, "nothing is left that may lie on a 1"
    assert position.place(3).to_move == 1
    assert position.place(3).place(2).outcome == Outcome(1, "higher")


def test_the_higher_tower_wins_when_neither_can_move_and_level_towers_draw() -> None:
    assert play(DRAFT, 1, 5, 4, 3, 2).outcome == Outcome(1, "higher")
    assert play(DRAFT, 8, 4, 1, 3, 2).outcome == Outcome(None, "level")
    assert play(
        Rules(blocks=[3, 4], towers="own", stuck="skips", fit="descending"), 3, 4
    ).outcome == Outcome(1, "higher")
    level = Rules(blocks=[2, 3], supply="own", towers="own", stuck="skips", target=4)
    assert play(level, 3, 3).outcome == Outcome(None, "level")


def test_one_shared_tower_is_always_level_when_nobody_can_move() -> None:
    assert play(
        Rules(blocks=[3, 5], stuck="skips", fit="unrelated", opening=[3]), 3, 5
    ).outcome == Outcome(None, "level")


def test_a_skip_on_a_shared_tower_gives_the_turn_back() -> None:
    rules = Rules(blocks=[1, 3], supply="own", stuck="skips", target=4, opening=[1])
    position = play(rules, 1)
    assert position.to_move == 1
    lone = Rules(blocks=[2, 3, 4], supply="own", stuck="skips", fit="ascending")
    assert play(lone, 2, 3, 4).outcome == Outcome(None, "level")


def test_a_first_player_who_cannot_move_at_all_is_stuck() -> None:
    assert Position.start(Rules(blocks=[5, 6], target=4)).outcome == Outcome(1, "stuck")
    assert Position.start(Rules(blocks=[5, 6], target=4), 1).outcome == Outcome(0, "stuck")
    assert Position.start(Rules(blocks=[5, 6], target=4, stuck="skips")).outcome == Outcome(
        None, "level"
    )


def test_a_limit_on_openings_holds_on_each_players_own_tower() -> None:
    rules = Rules(supply="own", towers="own", target=15, opening=[2, 4])
    assert play(rules).legal == (2, 4)
    assert play(rules, 2).legal == (2, 4)
    assert play(rules, 2, 4).legal == (1, 3, 4, 5, 6, 7, 8, 9)
    shared = Rules(fit="related", opening=[2, 4])
    assert play(shared, 2).legal == (1, 4, 6, 8)


def test_endless_blocks_come_again() -> None:
    position = play(Rules(blocks=[2, 5], supply="endless", target=6), 2, 2)
    assert position.legal == (2,)
    assert position.place(2).outcome == Outcome(0, "exact")


@pytest.mark.parametrize(
    ("moves", "block", "error", "reason"),
    [
        ((), 10, NotABlockError, "not_a_block"),
        ((), 0, NotABlockError, "not_a_block"),
        ((), -1, NotABlockError, "not_a_block"),
        ((), "9", NotABlockError, "not_a_block"),
        ((9,), 9, IllegalMoveError, "used"),
        ((5, 4), 7, IllegalMoveError, "fit"),
        ((9, 8), 7, IllegalMoveError, "target"),
        ((9, 8, 6), 1, IllegalMoveError, "over"),
        ((9, 8, 6), 10, NotABlockError, "not_a_block"),
    ],
)
def test_nonsense_and_illegal_are_different_errors(
    moves: tuple[int, ...], block: Any, error: type[NotABlockError | IllegalMoveError], reason: str
) -> None:
    with pytest.raises(error) as refused:
        play(DRAFT, *moves).place(block)
    assert (refused.value.block, refused.value.reason) == (block, reason)
    assert str(block) in str(refused.value)


def test_an_opening_that_is_not_permitted_is_its_own_reason() -> None:
    assert Position.start(Rules(opening=[1])).refusal(2) == "opening"
