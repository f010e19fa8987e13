"""How long and how large a question may be that a page or a program asks: all numbers in one place."""

from __future__ import annotations

from number_tower.coach.analysis import MEMORY, MOST_REASONS, SECONDS

__all__ = [
    "ALTOGETHER", "GAME", "LONGEST_REVIEW", "MEMORY", "MOST_REASONS", "POSITION", "PUZZLE", "SEARCHED", "SECONDS",
]  # fmt: skip

ALTOGETHER = 6.0
"""To work on all positions of a game."""

SEARCHED = 50_000
"""Positions that are searched to say more of a puzzle than its answer."""

LONGEST_REVIEW = 400
"""Moves of a game that is gone through."""

POSITION, GAME, PUZZLE = 8.0, 12.0, 15.0
"""Seconds after which a question about a position, a game or a puzzle is given up, whatever its own limits are."""
