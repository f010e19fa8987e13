"""Two separate towers with separate blocks: a race in which neither player affects the other."""
# ruff: noqa: ARG002 - solvers take what others need

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd
from operator import or_
from typing import NamedTuple

from number_tower.engine.blocks import parse_blocks
from number_tower.engine.position import Position
from number_tower.engine.rules import EMPTY, Rules
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.subset_sum import SubsetSum
from number_tower.solve.worth import Solver, Worth

_NEVER = 1 << 60
_BLOCKS_PER_POSITION = 10_000
"""The number of blocks that take as long to scan as one position of a search."""

_ENTRY_BYTES = 400
"""Memory of one remembered tower, about."""

_MAX_SUM = 1 << 24
"""The largest target for which sums are stored as bits; the deep search solves larger ones."""

_MAX_TOWER_BLOCKS = 240
"""Search a tower at most this many blocks deep where the order of the blocks matters."""

TowerState = tuple[int, int, int]
"""The blocks left for a tower, its top, and the gap to the target (-1: no target)."""


class Prospect(NamedTuple):
    """What one tower can become: the fewest blocks to the target, and the most at all."""

    fewest: int
    most: int

    @property
    def arrives(self) -> bool:
        """Whether the target can be reached at all."""
        return self.fewest < _NEVER


class SeparateTowersSolver(Solver):
    """Looks at each tower alone, and compares."""

    method = "two separate towers"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether players are never in each other's way, and sums are small enough to store."""
        rules = position.rules
        if rules.towers != "own" or rules.supply == "shared" or rules.stuck != "loses":
            return False
        if rules.target is None or (
            rules.fit in {"any", "descending"} and rules.supply == "endless"
        ):
            return True
        return rules.target // _find_unit(rules) <= _MAX_SUM

    def __init__(self, root: Position, limits: SearchLimits, *, plies: bool = True) -> None:
        self._rules = root.rules
        self._limits = limits
        self._known: dict[TowerState, Prospect] = {}

    def _evaluate_running(self, position: Position) -> Worth:
        """Find out who arrives first or, if neither player can arrive, who lasts longer."""
        with self._limits.measure():
            mine = self.find_prospect(position, position.to_move)
            yours = self.find_prospect(position, 1 - position.to_move)
        if mine.arrives and mine.fewest <= yours.fewest:
            return Worth("win", min(2 * mine.fewest - 1, 2 * yours.most + 1))
        if yours.arrives:
            return Worth("loss", min(2 * yours.fewest, 2 * mine.most))
        if mine.most > yours.most:
            return Worth("win", 2 * yours.most + 1)
        return Worth("loss", 2 * mine.most)

    def find_prospect(self, position: Position, player: int) -> Prospect:
        """Return the prospect of a player's tower."""
        gap = -1
        if self._rules.target is not None:
            gap = self._rules.target - position.heights[player]
            if gap < 0:
                return Prospect(_NEVER, 0)
        return self.compute_prospect(position.left[player], position.tops[player], gap)

    def compute_prospect(self, left: int, top: int, gap: int, depth: int = 0) -> Prospect:
        """Return the prospect of a tower by blocks left, top, and gap to the target (-1: none).

        `depth` is the number of blocks that were tried before.
        """
        state = left, top, gap
        if state in self._known:
            return self._known[state]
        self._limits.check(1 + left.bit_count() // _BLOCKS_PER_POSITION)
        room = self._rules.every if gap < 0 else self._rules.up_to(gap)
        legal = left & self._rules.fits(top) & room
        # What follows from sums needs no search.
        if gap == 0 or not self._must_branch(top):
            return self._remember(state, self._compute_directly(legal, left, gap))
        if depth == _MAX_TOWER_BLOCKS:
            raise NotSolvedError(f"not solved within towers of {_MAX_TOWER_BLOCKS} blocks")
        fewest, most = _NEVER, 0
        for block in self._rules.numbers(legal):
            left_after = left & ~self._rules.bit(block) if self._rules.supply == "own" else left
            gap_after = gap if gap < 0 else gap - block
            after = self.compute_prospect(left_after, block, gap_after, depth + 1)
            fewest, most = min(fewest, after.fewest + 1), max(most, after.most + 1)
        return self._remember(state, Prospect(fewest, most))

    def _remember(self, state: TowerState, prospect: Prospect) -> Prospect:
        """Store a prospect.

        Where none depends on others, they can be dropped when there is no more room.
        """
        self._known[state] = prospect
        needed = len(self._known) * (_ENTRY_BYTES + len(self._rules.blocks) // 8)
        if self._must_branch(EMPTY):
            self._limits.require_memory(needed)
        elif not self._limits.has_memory(needed):
            self._known.clear()
        return prospect

    def _must_branch(self, top: int) -> bool:
        """Say whether each next block has to be tried by itself."""
        rules = self._rules
        if top == EMPTY and rules.opening is not None:
            return True
        return rules.supply == "own" and rules.fit not in {"any", "descending", "ascending"}

    def _compute_directly(self, legal: int, left: int, gap: int) -> Prospect:
        rules = self._rules
        if gap == 0:
            return Prospect(0, 0)
        if rules.fit not in {"any", "descending"}:
            return self._compute_chain(legal, left, gap)
        if rules.supply == "endless":
            return self._compute_endless(rules.numbers(legal), gap)
        # Each block can be used once, in some order: the smallest last longest.
        if gap < 0:
            return Prospect(_NEVER, legal.bit_count())
        sums = SubsetSum(self._rules.numbers(legal), gap)
        fewest = sums.find_fewest(self._limits)
        return Prospect(_NEVER if fewest is None else fewest, sums.most)

    def _compute_endless(self, numbers: tuple[int, ...], gap: int) -> Prospect:
        """Return the prospect where every block can be used any number of times."""
        if not numbers:
            return Prospect(_NEVER, 0)
        most = gap // numbers[0]
        blocks = parse_blocks(numbers)
        if isinstance(blocks, range):
            counts = range(-(-gap // blocks[-1]), most + 1)[: blocks.step]
            reaching = (count for count in counts if (gap - count * blocks[0]) % blocks.step == 0)
            return Prospect(next(reaching, _NEVER), most)
        unit = gcd(*numbers)
        if gap % unit:
            return Prospect(_NEVER, most)
        gap //= unit
        numbers = tuple(number // unit for number in numbers)
        largest = numbers[-1]
        self._limits.require_memory(min(gap, largest * (largest + 1)) // 2)
        # Nearly all are the largest: fewer of them replace any `largest` others.
        spare = max(0, gap // largest - largest)
        gap -= spare * largest
        # Bit n of `heights` says whether this many numbers can add up to n.
        heights, fewest, within = 1, spare, (2 << gap) - 1
        while heights and not heights >> gap & 1:
            heights = reduce(or_, (heights << number & within for number in numbers))
            fewest += 1
            self._limits.check(1)
        return Prospect(min(_NEVER, fewest) if heights else _NEVER, most)

    # Blocks whose order counts --------------------------------------------------------------------

    def _compute_chain(self, legal: int, left: int, gap: int) -> Prospect:
        """Return the prospect where the top decides what follows: by the heights of each top."""
        rules = self._rules
        blocks = rules.numbers(left if gap < 0 else left & rules.up_to(gap))
        if gap < 0 and rules.fit == "ascending":
            return Prospect(_NEVER, _count_longest_climb(blocks, rules.numbers(legal), rules.step))
        unit = _find_unit(rules) if gap >= 0 else 1
        span, arrives = max(gap, 0) // unit, gap >= 0 and gap % unit == 0
        self._limits.require_memory(len(blocks) * max(span, 1) // 4)
        within = -1 if gap < 0 else (2 << span) - 1
        ends = {block: 1 << block // unit if gap >= 0 else 1 for block in rules.numbers(legal)}
        fewest, most = _NEVER, 0
        while ends:
            most += 1
            if (
                arrives
                and fewest == _NEVER
                and any(heights >> span & 1 for heights in ends.values())
            ):
                fewest = most
            ends_below, ends = ends, {}
            for block in blocks:
                self._limits.check(1)
                bit = rules.bit(block)
                # The heights of the towers that the block may be placed on.
                fitting = (bits for end, bits in ends_below.items() if rules.fits(end) & bit)
                heights = reduce(or_, fitting, 0)
                if gap >= 0:
                    heights = heights << block // unit & within
                if heights:
                    ends[block] = heights
            self._limits.check(1)
        return Prospect(fewest, most)


def _find_unit(rules: Rules) -> int:
    """Return the largest number that divides all blocks: heights can be counted in it."""
    blocks = rules.blocks
    return gcd(blocks[0], blocks.step) if isinstance(blocks, range) else gcd(*blocks)


def _count_longest_climb(blocks: Sequence[int], first: Sequence[int], step: int | None) -> int:
    """Return the most blocks of a rising tower: it takes every block up to the next gap."""
    firsts = frozenset(first)
    longest = above = 0
    higher: int | None = None
    for block in reversed(blocks):
        above = above + 1 if higher is None or step is None or higher - block <= step else 1
        higher = block
        if block in firsts:
            longest = max(longest, above)
    return longest
