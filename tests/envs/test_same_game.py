"""What is the same in all environments: how wrong games, options, seats and modes are refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower.envs import gymnasium, jax, openspiel, pettingzoo, textarena
from number_tower.envs.games import Games
from number_tower.envs.vector import NumberTowerVectorEnv
from support.refusals import describe_refusal, describe_refusals

MAKERS: dict[str, Any] = {
    "games": partial(Games, number=2),
    "gymnasium": gymnasium.NumberTowerEnv,
    "jax": jax.make,
    "openspiel": openspiel.game,
    "pettingzoo": pettingzoo.env,
    "textarena": textarena.NumberTowerTextEnv,
    "vector": lambda game, **settings: NumberTowerVectorEnv(2, game, **settings),
}


WRONG_OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("chess", {}),
    ("draft", {"fit": "any"}),
    ("draft", {"target": -1}),
]


def test_wrong_game_or_option_is_refused_alike_everywhere(snapshot: SnapshotAssertion) -> None:
    refusals = [
        {describe_refusal(make, game, **options) for make in MAKERS.values()}
        for game, options in WRONG_OPTIONS
    ]
    assert refusals == snapshot


@pytest.mark.parametrize(
    ("maker", "key"), [("games", "first"), ("gymnasium", "seat"), ("pettingzoo", "first")]
)
def test_wrong_seat_is_refused(maker: str, key: str, snapshot: SnapshotAssertion) -> None:
    def make(seat: Any) -> object:
        return MAKERS[maker]("draft", **{key: seat})

    assert describe_refusals(make, [2, -1, True, "first", None]) == snapshot


@pytest.mark.parametrize("maker", ["gymnasium", "pettingzoo"])
def test_wrong_render_mode_is_refused(maker: str, snapshot: SnapshotAssertion) -> None:
    assert describe_refusal(MAKERS[maker], "draft", render_mode="film") == snapshot
