"""The best that can be done: to keep what a position is worth, and to make it as hard as possible for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.solve.limits import NotSolved

if TYPE_CHECKING:
    from number_tower.solve.solution import Solution

_MOST_REPLIES = 20_000
"""Replies that are counted to find out which moves leave the fewest good ones."""


def hardest(solution: Solution) -> tuple[int, ...]:
    """Return the best moves: winning, the quickest; otherwise the longest, and of these what is hardest to answer.

    Hardest is what leaves the fewest replies that keep the other's win or draw, as far as these can be counted. Where
    the plies are not known every move that keeps the value is as good as any other.
    """
    best = solution.best
    if solution.value == "win" or solution.plies is None or len(best) < 2:
        return best
    if len(best) * len(solution.moves) > _MOST_REPLIES:
        return best
    mover = solution.position.to_move
    try:
        good = {block: _good_replies(solution.after(block), mover) for block in best}
    except NotSolved:
        return best
    return tuple(block for block in best if good[block] == min(good.values()))


def _good_replies(solution: Solution, mover: int) -> int:
    """Count the replies that keep the value, when next the other player chooses."""
    if not solution.moves:
        return 0
    if solution.position.to_move == mover:
        return min(_good_replies(solution.after(block), mover) for block in solution.best)
    return sum(worth.value == solution.value for worth in solution.moves.values())
