"""Hints in three steps: what kind of move to look for, the move, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.reasons import best_reason
from number_tower.coach.words import clause, say

if TYPE_CHECKING:
    from number_tower.coach.reasons import Reason
    from number_tower.solve.solution import Solution
    from number_tower.solve.worth import Worth


class Hint(NamedTuple):
    """What can be said to a player who asks for help, from the least to the most."""

    worth: Worth
    legal: int
    """How many moves there are."""
    good: int
    """How many of them keep what the position is worth."""
    best: int
    """How many of them are as good as any."""
    reason: Reason

    @property
    def block(self) -> int:
        """The block to place."""
        return self.reason.block

    def nudge(self, noun: str) -> str:
        """Say what kind of move to look for, and no number at all."""
        if self.legal == 1:
            return say("count_only", {})
        many = "all" if self.good == self.legal else "one" if self.good == 1 else "some"
        kind = self.reason.kind
        if self.worth.value == "loss":
            kind = "lost_alike" if self.best == self.legal else "lost"
        return f"{say(f'count_{self.worth.value}_{many}', {})} {say(f'nudge_{kind}', {'noun': noun})}"

    def move(self) -> str:
        """Name the move."""
        if self.legal == 1:
            key = "move_only"
        elif self.worth.value == "loss" and self.worth.plies is None:
            key = "move_loss_unknown"
        else:
            key = f"move_{self.worth.value}"
        return say(key, {"block": self.block})

    def why(self, opponent: str, noun: str) -> str:
        """Give the reason for the move."""
        return sentence(self.reason, opponent, noun)


def hint(solution: Solution) -> Hint:
    """Make a hint for whoever is to move."""
    good = sum(worth.value == solution.value for worth in solution.moves.values())
    return Hint(solution.worth, len(solution.moves), good, len(solution.best), best_reason(solution))


def sentence(reason: Reason, opponent: str, noun: str) -> str:
    """Say a reason to the player whose move it is about."""
    return f"{reason.block} {clause(reason, opponent=opponent, noun=noun)}."
