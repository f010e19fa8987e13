"""The plain search: every move of every position, remembered; the reference for every other method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.solve.worth import Solver, Worth, ended

if TYPE_CHECKING:
    from number_tower.position import Position


class Plain(Solver):
    """Searches with nothing but the rules: right because it is short, and slow for the same reason."""

    method = "plain search"

    def __init__(self) -> None:
        self._known: dict[Position, Worth] = {}

    def worth(self, position: Position) -> Worth:
        """Return what a position is worth to the player to move: the best of what its moves are worth."""
        if position not in self._known:
            self._known[position] = ended(position) or max(
                (self.after(position, block) for block in position.legal), key=lambda worth: worth.rank
            )
        return self._known[position]
