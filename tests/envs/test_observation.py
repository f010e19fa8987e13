"""What learners see of a position, and the exact values that they can be measured with."""

from __future__ import annotations

import itertools
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


def encode_parts(position: Position, player: int) -> dict[str, list[float]]:
    """Return the parts of an observation by their names."""
    encoder = ObservationEncoder(position.rules)
    vector, parts, start = encoder.encode(position, player), dict[str, list[float]](), 0
    assert vector.dtype == np.float32
    assert 0 <= vector.min() <= vector.max() <= 1
    for name, length in encoder.layout:
        parts[name] = vector[start : start + length].tolist()
        start += length
    assert start == encoder.size == len(vector)
    return parts


@given(any_game(), st.integers(0, 1))
def test_observation_holds_everything_that_play_depends_on(game: Game, player: int) -> None:
    rules, position = game.rules, game.position
    parts = encode_parts(position, player)
    assert parts["turn"] == [float(game.outcome is None and game.to_move == player)]
    for suffix, side in (("", player), (" of the other", 1 - player)):
        if rules.supply == "own" or (rules.supply == "shared" and not suffix):
            left = itertools.compress(rules.blocks, parts[f"left{suffix}"])
            assert tuple(left) == rules.numbers(position.left[side])
        if rules.towers == "own" or not suffix:
            assert [0, *rules.blocks][parts[f"top{suffix}"].index(1)] == position.tops[side]
            height = parts[f"height{suffix}"][0] * rules.max_height
            assert math.isclose(height, position.heights[side], abs_tol=1e-3)
    assert ("left" in parts) == (rules.supply != "endless")


@given(any_game())
def test_mask_is_the_engines_and_a_position_is_worth_its_best_action(game: Game) -> None:
    mask = ObservationEncoder(game.rules).unpack_mask(game.position.legal_mask)
    assert mask.dtype == np.int8
    assert tuple(itertools.compress(game.rules.blocks, mask)) == game.legal
    value, values = make_value_info(game.position).values()
    assert np.isfinite(values).tolist() == mask.astype(bool).tolist()
    if game.outcome is None:
        assert value == values.max()


@given(any_rules(), st.integers(0, 99))
def test_game_stays_within_the_plies_and_height_of_its_rules(rules: Rules, seed: int) -> None:
    game = random_game(rules, seed)
    assert len(game.moves) <= rules.max_plies
    assert max(game.heights) <= rules.max_height


@pytest.mark.parametrize(
    ("name", "longest"), [("climb", 30), ("draft", 9), ("factor", 9), ("race", 10), ("summit", 8)]
)
def test_bound_of_plies_is_close(name: str, longest: int) -> None:
    assert FIVE[name].max_plies == longest


def test_value_of_a_finished_game_is_its_result() -> None:
    start = Position.start(NO_OPENING)
    assert worth(start) == -1
    assert np.isneginf(action_values(start)).all()


def test_value_beyond_the_limits_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MAX_POSITIONS", 1)
    large = Position.start(Rules(blocks=range(1, 65), supply="own", fit="unrelated", target=700))
    assert worth(large) is None
    assert np.isnan(action_values(large)).all()


def test_rule_sets_of_the_tests_differ_in_everything() -> None:
    assert len(set(RULESETS)) == 20
    for field in ("supply", "towers", "fit", "stuck"):
        values = {getattr(rules, field) for rules in [*RULESETS, *FIVE.values()]}
        assert {getattr(rules, field) for rules in RULESETS} == values
