"""A solved position: its worth, the worth of each move, and the best moves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from number_tower.engine.position import Position
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Solver, Value, Worth, get_final_worth

GAME_OVER = "nothing left to play"


def choose_solver(
    position: Position, limits: SearchLimits, *, plies: bool, compiled: bool | None = None
) -> Solver:
    """Return the fastest exact method: a theory that covers the rules, or the deep search."""
    for theory in (TopSolver, SeparateTowersSolver, MatchingSolver):
        if theory.covers(position):
            return theory(position, limits, plies=plies)
    return DeepSolver(position, limits, plies=plies, compiled=compiled)


class Solution:
    """The worth of a position to the player to move, and what follows from it.

    Examples:
        >>> solution = nt.solve(nt.Game(nt.Rules(supply="own", target=20), moves=(3,)))
        >>> solution.value, solution.plies, solution.best
        ('win', 3, (7,))
        >>> solution.moves[7].value, list(solution.line())
        ('win', [7, 1, 8])
        >>> solution.after(7)  # and what follows is solved by the same method
        <Solution: loss in 2, by deep search>
        >>> solution.of(solution.position.place(7).place(1)).best
        (8, 9)
    """

    def __init__(
        self,
        position: Position,
        limits: SearchLimits,
        *,
        plies: bool = True,
        solver: Solver | None = None,
    ) -> None:
        self.position = position
        self._limits = limits
        self._wants_plies = plies
        self._solver = solver
        self.worth = get_final_worth(position) or self._strip_plies(self.solver.evaluate(position))

    def __repr__(self) -> str:
        plies = "" if self.plies is None else f" in {self.plies}"
        return f"<Solution: {self.value}{plies}, by {self.method}>"

    @property
    def value(self) -> Value:
        """Win, draw or loss for the player to move.

        Once the game is over, for the player whose turn it would be.
        """
        return self.worth.value

    @property
    def plies(self) -> int | None:
        """The plies to the end: winners hurry, losers delay, and so do both in a draw (or None)."""
        return self.worth.plies

    @property
    def method(self) -> str:
        """The method that found it.

        Examples:
            >>> nt.solve(nt.Game(nt.Rules(fit="unrelated"))).method
            'matching'
        """
        return GAME_OVER if self._solver is None else self._solver.method

    @cached_property
    def moves(self) -> Mapping[int, Worth]:
        """The worth of each legal move to the player who makes it, its plies including the move.

        Computed on access.
        """
        return _LazyMoves(
            self.position.legal,
            lambda block: self._strip_plies(self.solver.evaluate_move(self.position, block)),
        )

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The best moves: of the best value, and then of the best plies, where they are known."""
        same = {
            block: worth.plies for block, worth in self.moves.items() if worth.value == self.value
        }
        if self.plies is None:
            return tuple(same)
        exact = tuple(block for block, plies in same.items() if plies == self.plies)
        return exact or tuple(block for block, plies in same.items() if plies is None)

    def find_values(self) -> dict[int, Worth]:
        """Return the worth of each move, as far as they are values within the limits.

        Examples:
            >>> nt.solve(nt.Game(nt.Rules(target=15), moves=(9, 4)), seconds=10).find_values()
            {1: Worth(value='win', plies=1), 2: Worth(value='win', plies=1)}
        """
        values: dict[int, Worth] = {}
        with suppress(NotSolvedError):
            values.update(self.moves)
        return values

    def line(self) -> Iterator[int]:
        """Yield one best move after another, to the end of the game."""
        solution = self
        while solution.moves:
            with self._limits.measure():
                self._limits.check()
                block = solution.best[0]
                solution = solution.after(block)
            yield block

    def after(self, block: int) -> Solution:
        """Solve the position after a move, with the same solver."""
        return self.of(self.position.place(block))

    def of(self, position: Position) -> Solution:
        """Solve a position that can follow from this one, with the same solver."""
        return Solution(position, self._limits, plies=self._wants_plies, solver=self._solver)

    @property
    def solver(self) -> Solver:
        """The solver behind it, which evaluates any position of the same game.

        Examples:
            >>> solution = nt.solve(nt.Game(nt.Rules(target=15)))
            >>> solution.solver.evaluate(solution.position.place(9))
            Worth(value='win', plies=1)
        """
        if self._solver is None:
            self._solver = choose_solver(self.position, self._limits, plies=self._wants_plies)
        return self._solver

    def _strip_plies(self, worth: Worth) -> Worth:
        return worth if self._wants_plies else Worth(worth.value)


class _LazyMoves(Mapping[int, Worth]):
    """The legal moves, each evaluated when it is first read."""

    def __init__(self, legal: tuple[int, ...], evaluate: Callable[[int], Worth]) -> None:
        self._legal = legal
        self._evaluate = evaluate
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
