"""Exact values for players, as far as a search of limited length finds them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from number_tower.engine.position import Position
from number_tower.engine.rules import Rules
from number_tower.solve.limits import NotSolvedError, Progress, SearchLimits
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.solution import Solution, choose_solver

OnProgress = Callable[[Progress], object] | None

MAX_POSITIONS = 200_000
"""Positions searched for one answer; with seconds, moves would depend on the machine."""

_USUAL_BLOCKS = 20
"""With more blocks than this a position takes longer, and fewer positions are searched."""

_MIN_POSITIONS = 100

MANY_MOVES = 200
"""With more moves than this it takes long to value them all, even in a solved position."""

FEW_BLOCKS = 28
"""With at most this many blocks left, plies are counted even where a theory gives the value."""

_MAX_REPLIES = 20_000
"""Count at most this many replies to find the moves that are hardest to answer."""


class Knowledge:
    """Exact values of the positions of one game; the same question always gets the same answer.

    A game that can be solved from its start is solved once for all its positions, except those
    with very many moves. Every other position is solved by itself.
    """

    def __init__(self, rules: Rules) -> None:
        self._start = Position.start(rules)
        self._whole: Solution | None = None
        self._limits: SearchLimits | None = None
        """The limits of the whole game's solution, once it was tried to solve the game."""
        self._last_solution: tuple[Position, Solution | None] | None = None

    def solve(self, position: Position, progress: OnProgress = None) -> Solution | None:
        """Solve a position; None if that would take too long."""
        whole = self._solve_by_whole_game(position, progress)
        if whole is not None:
            return whole
        if self._last_solution is None or self._last_solution[0] != position:
            self._last_solution = position, _solve_alone(position, progress)
        return self._last_solution[1]

    def find_best_moves(
        self, position: Position, progress: OnProgress = None
    ) -> tuple[int, ...] | None:
        """Return the best moves that are hardest to answer; None if that would take too long.

        A position that is solved by itself is solved anew for this: a solution that was used before
        has spent some of its limit of positions, so its answer could differ.
        """
        whole = self._solve_by_whole_game(position, progress)
        solution = _solve_alone(position, progress) if whole is None else whole
        return None if solution is None else find_hardest_moves(solution)

    def _solve_by_whole_game(self, position: Position, progress: OnProgress) -> Solution | None:
        """Solve a position by the solution of the whole game; None if that was not found."""
        if self._limits is None:
            limits = SearchLimits(positions=_limit_positions(self._start.rules), progress=progress)
            with suppress(NotSolvedError):
                whole = _make_solution(self._start, limits)
                limits.lift_positions()
                self._whole = whole if whole.plies is not None else None
            self._limits = limits
        self._limits.progress = progress
        if self._whole is None or position.legal_mask.bit_count() > MANY_MOVES:
            return None
        return self._whole.of(position)


@lru_cache(maxsize=8)
def get_knowledge(rules: Rules) -> Knowledge:
    """Return the knowledge of a game, which is cached for a few games."""
    return Knowledge(rules)


def _solve_alone(position: Position, progress: OnProgress) -> Solution | None:
    limits = SearchLimits(positions=_limit_positions(position.rules), progress=progress)
    try:
        solution = _make_solution(position, limits)
        solution.best  # noqa: B018 - values all moves within the same limits
    except NotSolvedError:
        return None
    return solution


def _limit_positions(rules: Rules) -> int:
    blocks = max(_USUAL_BLOCKS, len(rules.blocks))
    return max(_MIN_POSITIONS, MAX_POSITIONS * _USUAL_BLOCKS // blocks)


def _make_solution(position: Position, limits: SearchLimits) -> Solution:
    """Solve a position; where a theory gives the value, search plies only near the end."""
    few = position.left[position.to_move].bit_count() <= FEW_BLOCKS
    solver = choose_solver(position, limits, plies=few or not MatchingSolver.covers(position))
    return Solution(position, limits, solver=solver)


def find_hardest_moves(solution: Solution) -> tuple[int, ...]:
    """Return the best moves: the quickest wins, or those that are hardest to answer.

    The hardest to answer make the game longest, and of those leave the fewest replies that keep the
    opponent's win or draw, as far as these can be counted. Without known plies, all moves that keep
    the value are returned.
    """
    best = solution.best
    if solution.value == "win" or solution.plies is None or len(best) < 2:
        return best
    if len(best) * len(solution.moves) > _MAX_REPLIES:
        return best
    mover = solution.position.to_move
    try:
        replies = {block: _count_good_replies(solution.after(block), mover) for block in best}
    except NotSolvedError:
        return best
    return tuple(block for block in best if replies[block] == min(replies.values()))


def _count_good_replies(solution: Solution, mover: int) -> int:
    """Count the replies that keep the value, at the next choice of the opponent."""
    if not solution.moves:
        return 0
    if solution.position.to_move == mover:
        return min(_count_good_replies(solution.after(block), mover) for block in solution.best)
    return sum(worth.value == solution.value for worth in solution.moves.values())
