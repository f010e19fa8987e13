"""The plain search, which is short enough to be believed: the reference for every other method."""

from __future__ import annotations

from number_tower.position import Position
from number_tower.solve.worth import Solver, Worth


class PlainSolver(Solver):
    """Searches every move of every position, using only the rules: slow, and right."""

    method = "plain search"

    def __init__(self) -> None:
        self._known: dict[Position, Worth] = {}

    def _evaluate_running(self, position: Position) -> Worth:
        if position not in self._known:
            worths = (self.evaluate_move(position, block) for block in position.legal)
            self._known[position] = max(worths, key=lambda worth: worth.rank)
        return self._known[position]
