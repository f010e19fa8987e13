"""The rules that every environment is tried on: the five games, and twenty drawn once."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, get_args

from number_tower import Game, Position, Rules, RulesError, rules
from number_tower.engine.blocks import MAX_NUMBER
from number_tower.engine.catalogue import list_names
from number_tower.engine.rules import Fit, Stuck, Supply, Towers

FIVE = {name: rules(name) for name in list_names()}


def random_rules(seed: int) -> Rules:
    """Draw rules from the whole vocabulary.

    They have mostly few blocks, sometimes as many as 64, or far apart.
    """
    rng = Random(f"rules {seed}")  # noqa: S311 - play, not secrets
    while True:
        largest = rng.choice((6, 12, 30, 100, MAX_NUMBER))
        blocks = sorted({rng.randint(1, largest) for _ in range(rng.choice((1, 3, 6, 9, 12, 64)))})
        fit = rng.choice(get_args(Fit))
        targets = rng.randint(1, 3 * largest), sum(blocks[:4])
        chosen: dict[str, Any] = {
            "blocks": tuple(blocks),
            "supply": rng.choice(get_args(Supply)),
            "towers": rng.choice(get_args(Towers)),
            "fit": fit,
            "step": rng.choice((None, 1, largest // 3 + 1)) if fit == "ascending" else None,
            "target": rng.choice((None, *(min(target, MAX_NUMBER) for target in targets))),
            "stuck": rng.choice(get_args(Stuck)),
            "opening": rng.choice(
                (None, None, tuple(rng.sample(blocks, rng.randint(1, len(blocks)))))
            ),
        }
        try:
            rules = Rules(**chosen)
        except RulesError:
            continue
        if rules.max_plies <= 500:
            return rules


def random_game(rules: Rules, seed: int, first: int = 0) -> Game:
    """Play random legal blocks to the end."""
    rng, game = Random(f"game {seed}"), Game(rules, first)  # noqa: S311 - likewise
    while game.outcome is None:
        game = game.play(rng.choice(game.legal))
    return game


def sample_positions(rules: Rules, games: int) -> Iterator[Position]:
    """Yield the positions of random games in which a player is to move."""
    for seed in range(games):
        for game in random_game(rules, seed, first=seed % 2).history():
            if game.outcome is None:
                yield game.position


NO_OPENING = Rules(blocks=(5, 6), target=3)
"""Nobody can place anything: the first player is stuck before the game begins."""

LARGER = {
    "64 blocks, one endless tower": Rules(blocks=range(1, 65), supply="endless", target=300),
    "higher or level": Rules(blocks=range(1, 7), towers="own", fit="unrelated", stuck="skips"),
}
"""Rules that arrays could get wrong."""

RULESETS = [
    NO_OPENING,
    Rules(blocks=tuple(range(1, 65)), fit="related"),
    *(random_rules(seed) for seed in range(18)),
]
"""Twenty rule sets, each unlike the others."""
