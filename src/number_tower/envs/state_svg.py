"""Drawings of states as SVG, many games side by side.

A state has no history: of a tower, top and height are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from number_tower.drawing.picture import Scene, describe_left, draw_scenes
from number_tower.drawing.towers import draw_position
from number_tower.engine.position import Position

Rewards = tuple[float, float] | None
"""The last rewards of a game that is over, player 0 first; None while it goes on."""

_NAMES = ("Player 1", "Player 2")


def draw_games(games: Sequence[tuple[Position, Rewards]], scale: float = 1.0) -> str:
    """Draw games side by side; of very many, the first ones."""
    scenes = [
        Scene(
            "",
            _describe_status(position, rewards),
            describe_left(position, _NAMES),
            _NAMES,
            draw_position(position),
        )
        for position, rewards in games
    ]
    return draw_scenes(scenes, scale / 2)


def _describe_status(position: Position, rewards: Rewards) -> str:
    """Say whose turn it is, or who won: by the rewards of the last step, or the position."""
    if rewards is None:
        return f"{_NAMES[position.to_move]} is to move."
    if rewards[0] != rewards[1]:
        return f"{_NAMES[0 if rewards[0] > rewards[1] else 1]} wins."
    if position.outcome is None:
        return "Game over."
    winner = position.outcome.winner
    return "It is a draw." if winner is None else f"{_NAMES[winner]} wins."
