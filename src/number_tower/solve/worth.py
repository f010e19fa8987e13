"""What a position or move is worth: win, draw or loss, and the plies to the end."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

from number_tower.engine.position import Position

Value = Literal["win", "draw", "loss"]

VALUE_VERBS: dict[Value | None, str] = {
    "win": "wins",
    "draw": "draws",
    "loss": "loses",
    None: "not known",
}
"""What a move or a player of this value does."""

_OPPOSITE: dict[Value, Value] = {"win": "loss", "draw": "draw", "loss": "win"}
_RANKS: dict[Value, int] = {"win": 1, "draw": 0, "loss": -1}
_UNKNOWN_PLIES = 1 << 62


class Worth(NamedTuple):
    """A value for the player to move, and the plies to the end (None: not known).

    Examples:
        >>> solution = nt.solve(nt.Game(nt.Rules(supply="own", target=20), moves=(3,)))
        >>> solution.worth, solution.moves[9]
        (Worth(value='win', plies=3), Worth(value='loss', plies=2))
        >>> solution.worth.rank > solution.moves[9].rank
        True
        >>> solution.after(9).worth.before(turned=True)  # what the move was worth to its player
        Worth(value='loss', plies=2)
    """

    value: Value
    plies: int | None = None

    def before(self, *, turned: bool) -> "Worth":
        """Return the worth one ply earlier, for the player who made the move.

        `turned` if that is the other player.
        """
        return Worth(
            _OPPOSITE[self.value] if turned else self.value,
            None if self.plies is None else self.plies + 1,
        )

    @property
    def rank(self) -> tuple[int, int]:
        """Sorting key: quick wins are highest, then long draws, then slow losses.

        Unknown plies rank lowest.
        """
        if self.value == "win":
            return _RANKS[self.value], -(_UNKNOWN_PLIES if self.plies is None else self.plies)
        return _RANKS[self.value], -1 if self.plies is None else self.plies


def get_final_worth(position: Position) -> Worth | None:
    """Return the worth of a finished game to the player whose turn it would be.

    It is None while the game goes on.
    """
    outcome = position.outcome
    if outcome is None:
        return None
    if outcome.winner is None:
        return Worth("draw", 0)
    return Worth("win" if outcome.winner == position.to_move else "loss", 0)


class Solver(ABC):
    """A method to find the worth of positions.

    `solution.choose_solver` says which rules each method covers.
    """

    method: str

    def evaluate(self, position: Position) -> Worth:
        """Return the worth of a position to the player to move."""
        return get_final_worth(position) or self._evaluate_running(position)

    @abstractmethod
    def _evaluate_running(self, position: Position) -> Worth:
        """Return the worth of a position that is not over."""

    def evaluate_move(self, position: Position, block: int) -> Worth:
        """Return what placing a block is worth to its player, counted from before the move."""
        after = position.place(block)
        return self.evaluate(after).before(turned=after.to_move != position.to_move)
