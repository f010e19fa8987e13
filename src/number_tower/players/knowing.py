"""What a player can know for certain: exact values, as far as a search of bounded length finds them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from number_tower.players.perfect import hardest
from number_tower.position import Position
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.matching import Matching
from number_tower.solve.solution import Solution, solver_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.rules import Rules
    from number_tower.solve.limits import Progress

MOST_POSITIONS = 200_000
"""Positions that are searched for one answer. Seconds would make a player's moves depend on the machine."""

_USUAL_BLOCKS = 20
"""Blocks up to which it is so many; with more of them each position takes longer, and so fewer are searched."""

_FEWEST_POSITIONS = 100

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
        self._watch = Watch()
        self._start = Position.start(rules)
        self._whole: Solution | None = None
        self._tried = False
        self._last: tuple[Position, Solution | None] | None = None
        self._chosen: tuple[Position, tuple[int, ...] | None] | None = None

    def solution(self, position: Position, progress: Callable[[Progress], object] | None = None) -> Solution | None:
        """Solve a position; None if that would take too long."""
        whole = self._of_whole(position, progress)
        if whole is not None:
            return whole
        if self._last is None or self._last[0] != position:
            self._last = position, _solved(position, progress)
        return self._last[1]

    def best_moves(
        self, position: Position, progress: Callable[[Progress], object] | None = None
    ) -> tuple[int, ...] | None:
        """Return the best moves of a position, and of these the hardest to answer; None if that would take too long.

        A position that is a question of its own is solved for this answer alone: a solution that others have asked
        before has less of its positions left.
        """
        whole = self._of_whole(position, progress)
        if whole is not None:
            return hardest(whole)
        if self._chosen is None or self._chosen[0] != position:
            solution = _solved(position, progress)
            self._chosen = position, None if solution is None else hardest(solution)
        return self._chosen[1]

    def _of_whole(self, position: Position, progress: Callable[[Progress], object] | None) -> Solution | None:
        """Solve a position with all that is known of the game; None if the game was not solved from its start."""
        if not self._tried:
            self._whole = self._solved_whole(progress)
            self._tried = True
        self._watch.progress = progress
        if self._whole is None or position.legal_mask.bit_count() > MANY_MOVES:
            return None
        return self._whole.of(position)

    def _solved_whole(self, progress: Callable[[Progress], object] | None) -> Solution | None:
        """Solve the game from its start; an attempt that was interrupted leaves nothing to the next one."""
        self._watch = Watch(positions=_limit(self._start.rules), progress=progress)
        try:
            whole = _solution(self._start, self._watch)
        except NotSolved:
            return None
        self._watch.lift_positions()
        return whole if whole.plies is not None else None


def _solved(position: Position, progress: Callable[[Progress], object] | None) -> Solution | None:
    watch = Watch(positions=_limit(position.rules), progress=progress)
    try:
        solution = _solution(position, watch)
        solution.best  # noqa: B018 - all moves are valued now, within the same limit
    except NotSolved:
        return None
    return solution


def _limit(rules: Rules) -> int:
    return max(_FEWEST_POSITIONS, MOST_POSITIONS * _USUAL_BLOCKS // max(_USUAL_BLOCKS, len(rules.blocks)))


def _solution(position: Position, watch: Watch) -> Solution:
    """Solve a position; where a theory tells the value without the plies, these are searched for only near the end."""
    few = position.left[position.to_move].bit_count() <= FEW_BLOCKS
    return Solution(position, watch, solver=solver_for(position, watch, plies=few or not Matching.covers(position)))


@lru_cache(maxsize=8)
def knowledge(rules: Rules) -> Knowledge:
    """Return what is known of a game, kept for a few games at a time."""
    return Knowledge(rules)
