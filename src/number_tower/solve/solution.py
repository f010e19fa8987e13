"""A solved position: what it is worth, what each move is worth, and which moves are best."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from number_tower.solve.deep import DeepSolver
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Worth, get_final_worth

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.position import Position
    from number_tower.solve.limits import SearchLimits
    from number_tower.solve.worth import Solver, Value

GAME_OVER = "nothing left to play"


def choose_solver(position: Position, watch: SearchLimits, *, plies: bool) -> Solver:
    """Return the quickest method that is exact for a position: a theory that covers its rules, or the deep search."""
    for theory in (TopSolver, SeparateTowersSolver, MatchingSolver):
        if theory.covers(position):
            return theory(position, watch, plies=plies)
    return DeepSolver(position, watch, plies=plies)


class Solution:
    """What a position is worth to the player to move, and all that follows from it."""

    def __init__(
        self, position: Position, watch: SearchLimits, *, plies: bool = True, solver: Solver | None = None
    ) -> None:
        self.position = position
        self._limits = watch
        self._wants_plies = plies
        self._solver = solver
        worth = get_final_worth(position)
        if worth is None:
            worth = self._strip_plies(self.solver.evaluate(position))
        self.worth = worth

    def __repr__(self) -> str:
        plies = "" if self.plies is None else f" in {self.plies}"
        return f"<Solution: {self.value}{plies}, by {self.method}>"

    @property
    def value(self) -> Value:
        """Win, draw or loss for the player to move; once the game is over, for whoever's turn it would be."""
        return self.worth.value

    @property
    def plies(self) -> int | None:
        """The plies to the end: winners hurry, losers delay, and in a draw both delay (None: not known)."""
        return self.worth.plies

    @property
    def method(self) -> str:
        """How this was found out."""
        return GAME_OVER if self._solver is None else self._solver.method

    @cached_property
    def moves(self) -> Mapping[int, Worth]:
        """What each legal move is worth to whoever makes it, its plies including the move; found when asked for."""
        return _LazyMoves(self.position, self._evaluate_move)

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The best moves: of the best value, and among those the best plies, where they are known."""
        same = {block: worth.plies for block, worth in self.moves.items() if worth.value == self.value}
        if self.plies is None:
            return tuple(same)
        exact = tuple(block for block, plies in same.items() if plies == self.plies)
        return exact or tuple(block for block, plies in same.items() if plies is None)

    def line(self) -> Iterator[int]:
        """Give one best move after another, to the end of the game."""
        solution = self
        while solution.moves:
            with self._limits.measure():
                self._limits.check()
                block = solution.best[0]
                solution = solution.after(block)
            yield block

    def after(self, block: int) -> Solution:
        """Solve the position after a move, with all that is known already."""
        return self.of(self.position.place(block))

    def of(self, position: Position) -> Solution:
        """Solve a position that can come of this one, with all that is known already."""
        return Solution(position, self._limits, plies=self._wants_plies, solver=self._solver)

    @property
    def solver(self) -> Solver:
        """The method behind it, for those who want to know more than values: partners, or blocks to go."""
        if self._solver is None:
            self._solver = choose_solver(self.position, self._limits, plies=self._wants_plies)
        return self._solver

    def _strip_plies(self, worth: Worth) -> Worth:
        return worth if self._wants_plies else Worth(worth.value)

    def _evaluate_move(self, block: int) -> Worth:
        return self._strip_plies(self.solver.evaluate_move(self.position, block))


class _LazyMoves(Mapping[int, Worth]):
    """The legal moves, each valued when it is looked at."""

    def __init__(self, position: Position, value: Callable[[int], Worth]) -> None:
        self._legal = position.legal
        self._evaluate = value
        self._known: dict[int, Worth] = {}

    def __repr__(self) -> str:
        return f"<{len(self)} moves, of which {len(self._known)} have been looked at>"

    def __getitem__(self, block: int) -> Worth:
        if block not in self._known:
            place = bisect_left(self._legal, block)
            if place == len(self._legal) or self._legal[place] != block:
                raise KeyError(block)
            self._known[block] = self._evaluate(block)
        return self._known[block]

    def __iter__(self) -> Iterator[int]:
        return iter(self._legal)

    def __len__(self) -> int:
        return len(self._legal)
