"""The rules read plainly: lists and comparisons instead of masks, as a person would check a move at the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from number_tower import Game, Rules


def fits(rules: Rules, top: int | None, block: int) -> bool:
    if top is None:
        return rules.opening is None or block in rules.opening
    divides = top % block == 0 or block % top == 0
    return {
        "any": True,
        "descending": block <= top,
        "ascending": block > top and (rules.step is None or block - top <= rules.step),
        "related": divides,
        "unrelated": not divides,
    }[rules.fit]


def refusal(game: Game, player: int, block: int) -> str | None:
    """Say why a player cannot place a block, in the order of the rulings."""
    rules = game.rules
    used = list(game.moves)
    if rules.supply == "own":
        used = [
            placed for placed, mover in zip(game.moves, game.movers, strict=True) if mover == player
        ]
    elif rules.supply == "endless":
        used = []
    tower = tower_of(game, player)
    if block not in list(rules.blocks):
        return "not_a_block"
    if block in used:
        return "used"
    if not fits(rules, tower[-1] if tower else None, block):
        return "fit" if tower else "opening"
    if rules.target is not None and sum(tower) + block > rules.target:
        return "target"
    return None


def tower_of(game: Game, player: int) -> list[int]:
    return [
        placed
        for placed, mover in zip(game.moves, game.movers, strict=True)
        if game.rules.towers == "shared" or mover == player
    ]


def legal(game: Game, player: int) -> list[int]:
    return [block for block in game.rules.blocks if refusal(game, player, block) is None]
