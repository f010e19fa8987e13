"""What is the same in all environments: how wrong games, options, seats and modes are refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from number_tower import OptionError, RulesError, UnknownGameError
from number_tower.envs import gymnasium, jax, openspiel, pettingzoo, textarena
from number_tower.envs.games import Games
from number_tower.envs.vector import NumberTowerVectorEnv

MAKERS: dict[str, Any] = {
    "games": partial(Games, number=2),
    "gymnasium": gymnasium.NumberTowerEnv,
    "jax": jax.make,
    "openspiel": openspiel.game,
    "pettingzoo": pettingzoo.env,
    "textarena": textarena.NumberTowerTextEnv,
    "vector": lambda game, **settings: NumberTowerVectorEnv(2, game, **settings),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("game", "options", "error", "problem"),
    [
        ("chess", {}, UnknownGameError, "there is no game called"),
        ("draft", {"fit": "any"}, OptionError, "draft has no option fit"),
        ("draft", {"target": -1}, RulesError, "target: expected"),
    ],
)
def test_wrong_game_or_option_is_refused(
    maker: str, game: str, options: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        MAKERS[maker](game, **options)


@pytest.mark.parametrize("seat", [2, -1, True, "first", None])
@pytest.mark.parametrize(
    ("maker", "key"), [("games", "first"), ("gymnasium", "seat"), ("pettingzoo", "first")]
)
def test_wrong_seat_is_refused(maker: str, key: str, seat: Any) -> None:
    with pytest.raises(ValueError, match=f'{key}: expected 0, 1, "alternating" or "random"; got'):
        MAKERS[maker]("draft", **{key: seat})


@pytest.mark.parametrize("maker", ["gymnasium", "pettingzoo"])
def test_wrong_render_mode_is_refused(maker: str) -> None:
    with pytest.raises(
        ValueError, match="render_mode: expected None or one of human, ansi, rgb_array; got 'film'"
    ):
        MAKERS[maker]("draft", render_mode="film")
