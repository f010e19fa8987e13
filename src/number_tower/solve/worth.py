"""What a position or a move is worth: win, draw or loss for the player to move, and the plies to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from number_tower.position import Position

Value = Literal["win", "draw", "loss"]


VALUE_VERBS: dict[Value | None, str] = {"win": "wins", "draw": "draws", "loss": "loses", None: "not known"}


"""What a move or a player does whose value this is."""


_OPPOSITE: dict[Value, Value] = {"win": "loss", "draw": "draw", "loss": "win"}


_UNKNOWN_PLIES = 1 << 62


_RANKS: dict[Value, int] = {"win": 1, "draw": 0, "loss": -1}


class Worth(NamedTuple):
    """A value for the player to move, and the plies to the end (None: not known)."""

    value: Value
    plies: int | None = None

    def before(self, *, turned: bool) -> Worth:
        """Return what this is worth a ply earlier, to whoever moved into it: the other player, or the same."""
        return Worth(_OPPOSITE[self.value] if turned else self.value, None if self.plies is None else self.plies + 1)

    @property
    def rank(self) -> tuple[int, int]:
        """Where this stands among others: quick wins first, then long draws, then slow losses; unknown plies last."""
        if self.value == "win":
            return _RANKS[self.value], -(_UNKNOWN_PLIES if self.plies is None else self.plies)
        return _RANKS[self.value], -1 if self.plies is None else self.plies


def get_final_worth(position: Position) -> Worth | None:
    """Return what a finished game is worth to whoever's turn it would be; None while it goes on."""
    outcome = position.outcome
    if outcome is None:
        return None
    if outcome.winner is None:
        return Worth("draw", 0)
    return Worth("win" if outcome.winner == position.to_move else "loss", 0)


class Solver(Protocol):
    """A way to find out what positions are worth; which rules it is right for is said where it is chosen."""

    method: str

    def evaluate(self, position: Position) -> Worth:
        """Return what a position is worth to the player to move."""

    def evaluate_move(self, position: Position, block: int) -> Worth:
        """Return what placing a block is worth to the player who places it, counted from before the move."""
        after = position.place(block)
        return self.evaluate(after).before(turned=after.to_move != position.to_move)


class PlainSolver(Solver):
    """Searches with nothing but the rules: right because it is short, and slow for the same reason."""

    method = "plain search"

    def __init__(self) -> None:
        self._known: dict[Position, Worth] = {}

    def evaluate(self, position: Position) -> Worth:
        """Return what a position is worth to the player to move: the best of what its moves are worth."""
        if position not in self._known:
            self._known[position] = get_final_worth(position) or max(
                (self.evaluate_move(position, block) for block in position.legal), key=lambda worth: worth.rank
            )
        return self._known[position]
