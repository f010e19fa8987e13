"""Games in which only the top counts: one tower that only rises, or only falls, until someone is stuck."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from number_tower.rules import EMPTY
from number_tower.solve.worth import Solver, Worth, get_final_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.position import Position
    from number_tower.solve.limits import SearchLimits

_WIN_SCORE = 1 << 30
_CHECK_EVERY = 100_000


class TopSolver(Solver):
    """Gives each top a score, from the end of the game backwards: what may lie on it is a window of those beyond it."""

    method = "the top alone"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether nothing but the top decides: a block once passed can never be placed again, by either player."""
        rules = position.rules
        if rules.towers != "shared" or rules.target is not None:
            return False
        if rules.fit == "descending":
            return rules.supply == "shared"
        mine, yours = (left & ~rules.up_to(position.tops[0]) for left in position.left)
        return rules.fit == "ascending" and mine == yours

    def __init__(self, root: Position, watch: SearchLimits, *, plies: bool = True) -> None:  # noqa: ARG002 - plies cost nothing
        rules = root.rules
        self._limits = watch
        self._step = rules.step
        self._draws = rules.stuck == "skips"
        beyond = root.left[root.to_move]
        if root.tops[0] != EMPTY:
            below = rules.up_to(root.tops[0])
            beyond &= below if rules.fit == "descending" else ~below
        blocks = rules.numbers(beyond)
        with watch.measure():
            watch.require_memory(len(blocks) * 200)
            rising = blocks if rules.fit == "ascending" else [-block for block in reversed(blocks)]
            scores = self._compute_scores(rising)
        self._score_by_block = dict(zip((abs(block) for block in rising), scores, strict=True))

    def evaluate(self, position: Position) -> Worth:
        """Return what a position is worth: the best that a move onto its top leaves to the other player."""
        return get_final_worth(position) or self._to_worth(
            self._find_best_score([self._score_by_block[block] for block in position.legal])
        )

    def evaluate_move(self, position: Position, block: int) -> Worth:  # noqa: ARG002 - only the top counts
        """Return what placing a block is worth, whatever lies beneath it."""
        return self._to_worth(self._find_best_score([self._score_by_block[block]]))

    def _compute_scores(self, rising: Sequence[int]) -> list[int]:
        """Return for each block what it is worth to face it as the top; each may lie on any before it, within the step.

        The window of what may lie on a block moves down with it. Whoever moves chooses the lowest score to leave, or
        if all is drawn the highest; a block counts only while no later one in the window is as good.
        """
        scores = [0] * len(rising)
        step = max(map(abs, rising), default=0) if self._step is None else self._step
        sign = -1 if self._draws else 1
        window: deque[tuple[int, int]] = deque()
        for place in range(len(rising) - 1, -1, -1):
            block = rising[place]
            while window and window[0][0] > block + step:
                window.popleft()
            if not window:
                score = 0 if self._draws else -_WIN_SCORE
            elif self._draws:
                score = 1 - window[0][1]
            else:
                left = window[0][1]
                score = -left - 1 if left < 0 else 1 - left
            scores[place] = score
            cost = sign * score
            while window and window[-1][1] >= cost:
                window.pop()
            window.append((block, cost))
            if place % _CHECK_EVERY == 0:
                self._limits.check()
        return scores

    def _find_best_score(self, left: Sequence[int]) -> int:
        """Return the score of whoever can leave one of these to the other player."""
        if self._draws:
            return 1 + max(left)
        score = min(left)
        return -score - 1 if score < 0 else 1 - score

    def _to_worth(self, score: int) -> Worth:
        if self._draws:
            return Worth("draw", score)
        return Worth("win" if score > 0 else "loss", _WIN_SCORE - abs(score))
