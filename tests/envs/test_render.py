"""Pictures of tables as arrays: of one size, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from number_tower import Game, Rules, Table
from number_tower.envs.render import HEIGHT, WIDTH, draw_table
from support.rulesets import FIVE, RULESETS, random_game

LARGE = [
    Rules(blocks=range(1, 65)),
    Rules(blocks=range(1, 65), towers="own", supply="own", target=1000),
    Rules(blocks=(1, 10**9, 10**8 + 3, 5 * 10**8), towers="own", supply="own"),
    Rules(blocks=range(1, 10_001), target=40_000),
]


@pytest.mark.parametrize("played", [*FIVE.values(), *RULESETS, *LARGE])
def test_picture_of_any_game_has_one_size_and_is_repeatable(played: Rules) -> None:
    game = random_game(played, 1)
    for moves in {len(game.moves) // 2, len(game.moves)}:
        pixels = draw_table(Table(Game(played, 0, game.moves[:moves])))
        assert pixels.shape == (HEIGHT, WIDTH, 3) == (336, 640, 3)
        assert pixels.dtype == np.uint8
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    assert (draw_table(Table(Game(played))) == draw_table(Table(Game(played)))).all()
