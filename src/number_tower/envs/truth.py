"""The exact truth about a position, as numbers that a learner can be measured with: 1 wins, 0 draws, -1 loses."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from number_tower.players.knowing import knowledge
from number_tower.solve.limits import NotSolved
from number_tower.solve.worth import ended

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from number_tower.position import Position
    from number_tower.solve.worth import Value

NUMBERS: dict[Value, float] = {"win": 1.0, "draw": 0.0, "loss": -1.0}


def worth(position: Position) -> float | None:
    """Return what a position is worth to the player to move; None if that is not found within the usual limits."""
    over = ended(position)
    if over is not None:
        return NUMBERS[over.value]
    solution = knowledge(position.rules).solution(position)
    return None if solution is None else NUMBERS[solution.value]


def action_values(position: Position) -> NDArray[np.float32]:
    """Return what each action is worth to the player to move: -inf if it is not legal, NaN if it is not known."""
    rules, legal = position.rules, position.legal
    values = np.full(len(rules.blocks), -np.inf, np.float32)
    places = [bisect_left(rules.blocks, block) for block in legal]
    values[places] = np.nan
    solution = knowledge(rules).solution(position) if legal else None
    if solution is not None:
        with suppress(NotSolved):
            values[places] = [NUMBERS[solution.moves[block].value] for block in legal]
    return values


def told(position: Position) -> dict[str, Any]:
    """Return the truth about a position as environments tell it, beside what else there is to know."""
    return {"value": worth(position), "action_values": action_values(position)}
