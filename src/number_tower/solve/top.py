"""Games in which only the top counts: one tower that rises, or falls, to the end."""
# ruff: noqa: ARG002 - solvers take what others need

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from number_tower.engine.position import Position
from number_tower.engine.rules import EMPTY
from number_tower.solve.limits import SearchLimits
from number_tower.solve.worth import Solver, Worth

_WIN_SCORE = 1 << 30
_CHECK_EVERY = 100_000


class TopSolver(Solver):
    """Scores each top, from the end of the game backwards.

    The blocks that fit on it are a window of those beyond.
    """

    method = "the top alone"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether only the top decides: neither player can ever place a passed block again."""
        rules = position.rules
        if rules.towers != "shared" or rules.target is not None:
            return False
        if rules.fit == "descending":
            return rules.supply == "shared"
        mine, yours = (left & ~rules.up_to(position.tops[0]) for left in position.left)
        return rules.fit == "ascending" and mine == yours

    def __init__(self, root: Position, limits: SearchLimits, *, plies: bool = True) -> None:
        rules = root.rules
        self._limits = limits
        self._draws = rules.stuck == "skips"
        beyond = root.left[root.to_move]
        if root.tops[0] != EMPTY:
            below = rules.up_to(root.tops[0])
            beyond &= below if rules.fit == "descending" else ~below
        blocks = rules.numbers(beyond)
        with limits.measure():
            limits.require_memory(len(blocks) * 200)
            rising = blocks if rules.fit == "ascending" else [-block for block in reversed(blocks)]
            step = max(blocks, default=0) if rules.step is None else rules.step
            scores = self._compute_scores(rising, step)
        self._score_by_block = dict(zip(map(abs, rising), scores, strict=True))

    def _evaluate_running(self, position: Position) -> Worth:
        """Find the best score of a top that a move can leave to the other player."""
        best = max if self._draws else min
        score = best(self._score_by_block[block] for block in position.legal)
        return self._to_worth(self._back_up(score))

    def evaluate_move(self, position: Position, block: int) -> Worth:
        """Return the worth of placing a block, whatever lies beneath it."""
        return self._to_worth(self._back_up(self._score_by_block[block]))

    def _compute_scores(self, rising: Sequence[int], step: int) -> list[int]:
        """Return for each block the score of facing it as the top.

        Each fits on any before it, within the step.

        The window of blocks that fit moves down with the top. The mover leaves the lowest score or,
        if every game is a draw, the highest; so a block leaves the window as soon as a later one is
        as good.
        """
        scores = [0] * len(rising)
        sign = -1 if self._draws else 1
        window: deque[tuple[int, int]] = deque()
        for place in range(len(rising) - 1, -1, -1):
            block = rising[place]
            while window and window[0][0] > block + step:
                window.popleft()
            if window:
                scores[place] = self._back_up(sign * window[0][1])
            else:
                scores[place] = 0 if self._draws else -_WIN_SCORE
            cost = sign * scores[place]
            # A later block that is as good makes earlier ones useless.
            while window and window[-1][1] >= cost:
                window.pop()
            window.append((block, cost))
            if place % _CHECK_EVERY == 0:
                self._limits.check()
        return scores

    def _back_up(self, score: int) -> int:
        """Return the score of a player who leaves this score to the other."""
        if self._draws:
            return score + 1
        return -score - 1 if score < 0 else 1 - score

    def _to_worth(self, score: int) -> Worth:
        if self._draws:
            return Worth("draw", score)
        return Worth("win" if score > 0 else "loss", _WIN_SCORE - abs(score))
