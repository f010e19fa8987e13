"""A first lesson: a few positions with something to find, from a win in hand to one that needs an idea."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from number_tower.coach.puzzles import puzzles

if TYPE_CHECKING:
    from number_tower.coach.puzzles import Puzzle
    from number_tower.rules import Rules

EXERCISES = 3
_LOOKED_AT = 40
"""Puzzles among which the exercises are chosen."""


def exercises(rules: Rules, seed: int = 0) -> tuple[Puzzle, ...]:
    """Return up to three puzzles, the easiest first and the hardest last; none where these rules have no puzzles."""
    found = sorted(islice(puzzles(rules, seed), _LOOKED_AT), key=_difficulty)
    if len(found) <= EXERCISES:
        return tuple(found)
    return found[0], found[len(found) // 2], found[-1]


def _difficulty(puzzle: Puzzle) -> tuple[int, int, int]:
    """Grade first; of one grade, what takes fewer plies and has fewer moves to choose from."""
    return puzzle.grade, puzzle.plies or 0, len(puzzle.game.legal)
