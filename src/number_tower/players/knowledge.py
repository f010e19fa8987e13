"""What a player can know for certain: exact values, as far as a search of bounded length finds them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from number_tower.position import Position
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.solution import Solution, choose_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.rules import Rules
    from number_tower.solve.limits import Progress

MAX_POSITIONS = 200_000


"""Positions that are searched for one answer. Seconds would make a player's moves depend on the machine."""


_USUAL_BLOCKS = 20


"""Blocks up to which it is so many; with more of them each position takes longer, and so fewer are searched."""


_MIN_POSITIONS = 100


MANY_MOVES = 200


"""Moves beyond which to value them all may take long, even where the position itself does not."""


FEW_BLOCKS = 28


"""Blocks left among which the plies are counted where they do not come with the value."""


class Knowledge:
    """The truth about the positions of one game, where it can be had; the same question always gets the same answer.

    A game that can be solved from its start is solved once, and what was learned serves all its positions, unless
    they have very many moves. Every other position is a question of its own.
    """

    def __init__(self, rules: Rules) -> None:
        self._watch = SearchLimits()
        self._start = Position.start(rules)
        self._whole: Solution | None = None
        self._tried = False
        self._last: tuple[Position, Solution | None] | None = None
        self._chosen: tuple[Position, tuple[int, ...] | None] | None = None

    def solve(self, position: Position, progress: Callable[[Progress], object] | None = None) -> Solution | None:
        """Solve a position; None if that would take too long."""
        whole = self._solve_by_whole_game(position, progress)
        if whole is not None:
            return whole
        if self._last is None or self._last[0] != position:
            self._last = position, _solve_alone(position, progress)
        return self._last[1]

    def find_best_moves(
        self, position: Position, progress: Callable[[Progress], object] | None = None
    ) -> tuple[int, ...] | None:
        """Return the best moves of a position, and of these the hardest to answer; None if that would take too long.

        A position that is a question of its own is solved for this answer alone: a solution that others have asked
        before has less of its positions left.
        """
        whole = self._solve_by_whole_game(position, progress)
        if whole is not None:
            return find_hardest_moves(whole)
        if self._chosen is None or self._chosen[0] != position:
            solution = _solve_alone(position, progress)
            self._chosen = position, None if solution is None else find_hardest_moves(solution)
        return self._chosen[1]

    def _solve_by_whole_game(
        self, position: Position, progress: Callable[[Progress], object] | None
    ) -> Solution | None:
        """Solve a position with all that is known of the game; None if the game was not solved from its start."""
        if not self._tried:
            self._whole = self._solve_whole_game(progress)
            self._tried = True
        self._watch.progress = progress
        if self._whole is None or position.legal_mask.bit_count() > MANY_MOVES:
            return None
        return self._whole.of(position)

    def _solve_whole_game(self, progress: Callable[[Progress], object] | None) -> Solution | None:
        """Solve the game from its start; an attempt that was interrupted leaves nothing to the next one."""
        self._watch = SearchLimits(positions=_limit_positions(self._start.rules), progress=progress)
        try:
            whole = _make_solution(self._start, self._watch)
        except NotSolvedError:
            return None
        self._watch.lift_positions()
        return whole if whole.plies is not None else None


def _solve_alone(position: Position, progress: Callable[[Progress], object] | None) -> Solution | None:
    watch = SearchLimits(positions=_limit_positions(position.rules), progress=progress)
    try:
        solution = _make_solution(position, watch)
        solution.best  # noqa: B018 - all moves are valued now, within the same limit
    except NotSolvedError:
        return None
    return solution


def _limit_positions(rules: Rules) -> int:
    return max(_MIN_POSITIONS, MAX_POSITIONS * _USUAL_BLOCKS // max(_USUAL_BLOCKS, len(rules.blocks)))


def _make_solution(position: Position, watch: SearchLimits) -> Solution:
    """Solve a position; where a theory tells the value without the plies, these are searched for only near the end."""
    few = position.left[position.to_move].bit_count() <= FEW_BLOCKS
    return Solution(
        position, watch, solver=choose_solver(position, watch, plies=few or not MatchingSolver.covers(position))
    )


@lru_cache(maxsize=8)
def get_knowledge(rules: Rules) -> Knowledge:
    """Return what is known of a game, kept for a few games at a time."""
    return Knowledge(rules)


_MAX_REPLIES = 20_000


"""Replies that are counted to find out which moves leave the fewest good ones."""


def find_hardest_moves(solution: Solution) -> tuple[int, ...]:
    """Return the best moves: winning, the quickest; otherwise the longest, and of these what is hardest to answer.

    Hardest is what leaves the fewest replies that keep the other's win or draw, as far as these can be counted. Where
    the plies are not known every move that keeps the value is as good as any other.
    """
    best = solution.best
    if solution.value == "win" or solution.plies is None or len(best) < 2:
        return best
    if len(best) * len(solution.moves) > _MAX_REPLIES:
        return best
    mover = solution.position.to_move
    try:
        good = {block: _count_good_replies(solution.after(block), mover) for block in best}
    except NotSolvedError:
        return best
    return tuple(block for block in best if good[block] == min(good.values()))


def _count_good_replies(solution: Solution, mover: int) -> int:
    """Count the replies that keep the value, when next the other player chooses."""
    if not solution.moves:
        return 0
    if solution.position.to_move == mover:
        return min(_count_good_replies(solution.after(block), mover) for block in solution.best)
    return sum(worth.value == solution.value for worth in solution.moves.values())
