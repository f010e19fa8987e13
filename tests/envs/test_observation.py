"""What learners see of a position, and the exact values that they can be measured with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Position, Rules
from number_tower.envs.observation import ObservationEncoder, action_values, make_value_info, worth
from number_tower.players import knowledge
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game
from support.strategies import any_game, any_rules


def parts(position: Position, player: int) -> dict[str, list[float]]:
    encoder = ObservationEncoder(position.rules)
    vector, found, place = encoder.encode(position, player), {}, 0
    for name, places in encoder.layout:
        found[name] = vector[place : place + places].tolist()
        place += places
    assert place == encoder.size == len(vector)
    return found


@given(any_game(), st.integers(0, 1))
def test_what_is_seen_says_all_that_play_depends_on(game: Game, player: int) -> None:
    rules, position = game.rules, game.position
    seen = parts(position, player)
    assert seen["turn"] == [float(game.outcome is None and game.to_move == player)]
    for suffix, side in (("", player), (" of the other", 1 - player)):
        if rules.supply == "own" or (rules.supply == "shared" and not suffix):
            left = [
                block
                for block, there in zip(rules.blocks, seen[f"left{suffix}"], strict=True)
                if there
            ]
            assert tuple(left) == rules.numbers(position.left[side])
        if rules.towers == "own" or not suffix:
            assert [0, *rules.blocks][seen[f"top{suffix}"].index(1)] == position.tops[side]
            assert math.isclose(
                seen[f"height{suffix}"][0] * rules.max_height, position.heights[side], abs_tol=1e-3
            )
    assert ("left" in seen) == (rules.supply != "endless")


@given(any_game())
def test_every_number_that_is_seen_lies_between_0_and_1(game: Game) -> None:
    vector = ObservationEncoder(game.rules).encode(game.position, 0)
    assert vector.dtype == np.float32
    assert vector.min() >= 0
    assert vector.max() <= 1


@given(any_game())
def test_the_mask_is_the_engines(game: Game) -> None:
    mask = ObservationEncoder(game.rules).unpack_mask(game.position.legal_mask)
    assert mask.dtype == np.int8
    assert (
        tuple(block for block, may in zip(game.rules.blocks, mask, strict=True) if may)
        == game.legal
    )


@given(any_rules(), st.integers(0, 99))
def test_no_game_takes_more_blocks_or_grows_higher_than_its_rules_say(
    rules: Rules, seed: int
) -> None:
    game = random_game(rules, seed)
    assert len(game.moves) <= rules.max_plies
    assert max(game.heights) <= rules.max_height


@pytest.mark.parametrize(
    ("name", "longest"), [("climb", 30), ("draft", 9), ("factor", 9), ("race", 10), ("summit", 8)]
)
def test_the_bound_on_a_games_length_is_close(name: str, longest: int) -> None:
    assert FIVE[name].max_plies == longest


@given(any_game())
def test_a_position_is_worth_its_best_action(game: Game) -> None:
    value, values = make_value_info(game.position).values()
    assert (
        np.isfinite(values).tolist()
        == ObservationEncoder(game.rules)
        .unpack_mask(game.position.legal_mask)
        .astype(bool)
        .tolist()
    )
    if game.outcome is None:
        assert value == values.max()


def test_a_finished_game_is_worth_its_result() -> None:
    start = Position.start(NO_OPENING)
    assert worth(start) == -1
    assert np.isneginf(action_values(start)).all()


def test_what_cannot_be_known_within_limits_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MAX_POSITIONS", 1)
    large = Position.start(Rules(blocks=range(1, 65), supply="own", fit="unrelated", target=700))
    assert worth(large) is None
    assert np.isnan(action_values(large)).all()


def test_rule_sets_that_environments_are_tried_on_differ_in_everything() -> None:
    assert len(set(RULESETS)) == 20
    for field in ("supply", "towers", "fit", "stuck"):
        assert len({getattr(rules, field) for rules in RULESETS}) == len(
            {getattr(rules, field) for rules in [*RULESETS, *FIVE.values()]}
        )
