"""Two separate towers and blocks that nobody can take away: a race in which the players never meet."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from math import gcd
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from number_tower.blocks import block_set
from number_tower.rules import EMPTY
from number_tower.solve.limits import NotSolved
from number_tower.solve.worth import Solver, Worth, ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from number_tower.position import Position
    from number_tower.solve.limits import Watch

_NEVER = 1 << 60
_MANY = 10_000
"""Blocks to look through that take as long as a position of a search."""

_ENTRY = 400
"""Bytes that remembering one tower takes, about."""

_LARGEST_SUM = 1 << 24
"""The largest target for which what blocks add up to is kept as bits; beyond, few blocks are better searched."""


class Prospect(NamedTuple):
    """What one tower can still become: the fewest blocks to the target, and the most that can be placed at all."""

    fewest: int
    most: int

    @property
    def arrives(self) -> bool:
        """Whether the target can be reached at all."""
        return self.fewest < _NEVER


class Towers(Solver):
    """Looks at each tower alone, and compares."""

    method = "two separate towers"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether neither player can ever be in the other's way, and sums are small enough to be kept."""
        rules = position.rules
        by_counting = rules.fit in {"any", "descending"} and (
            rules.supply == "endless" or isinstance(rules.blocks, range)
        )
        return (
            rules.towers == "own"
            and rules.supply != "shared"
            and rules.stuck == "loses"
            and (by_counting or rules.target is None or rules.target <= _LARGEST_SUM)
        )

    def __init__(self, root: Position, watch: Watch, *, plies: bool = True) -> None:  # noqa: ARG002 - plies cost nothing
        self._rules = root.rules
        self._watch = watch
        self._known: dict[tuple[int, int, int], Prospect] = {}

    def worth(self, position: Position) -> Worth:
        """Return who arrives first; if nobody can arrive, who lasts longer."""
        over = ended(position)
        if over is not None:
            return over
        try:
            with self._watch.work():
                mine = self.prospect(position, position.to_move)
                yours = self.prospect(position, 1 - position.to_move)
        except RecursionError:
            raise NotSolved("not solved within towers of so many blocks") from None
        if mine.fewest < _NEVER and mine.fewest <= yours.fewest:
            return Worth("win", min(2 * mine.fewest - 1, 2 * yours.most + 1))
        if yours.fewest < _NEVER:
            return Worth("loss", min(2 * yours.fewest, 2 * mine.most))
        if mine.most > yours.most:
            return Worth("win", 2 * yours.most + 1)
        return Worth("loss", 2 * mine.most)

    def prospect(self, position: Position, player: int) -> Prospect:
        """Return what a player's tower can still become."""
        gap = -1
        if self._rules.target is not None:
            gap = self._rules.target - position.heights[player]
            if gap < 0:
                return Prospect(_NEVER, 0)
        return self.look(position.left[player], position.tops[player], gap)

    def look(self, left: int, top: int, gap: int) -> Prospect:
        """Return the prospect of a tower: the blocks left for it, its top, and the gap to the target (-1: none)."""
        at = (left, top, gap)
        if at not in self._known:
            self._watch.pause(1 + left.bit_count() // _MANY)
            self._known[at] = self._found(left, top, gap)
            self._watch.claim(len(self._known) * _ENTRY)
        return self._known[at]

    def _found(self, left: int, top: int, gap: int) -> Prospect:
        rules = self._rules
        if gap == 0:
            return Prospect(0, 0)
        legal = left & rules.fits(top) & (rules.every if gap < 0 else rules.up_to(gap))
        if top == EMPTY and rules.opening is not None:
            return self._best(self.look(*self._placed(left, block, gap)) for block in rules.numbers(legal))
        if rules.fit in {"any", "descending"}:
            numbers = rules.numbers(legal)
            return self._again(numbers, gap) if rules.supply == "endless" else self._once(numbers, gap)
        if rules.supply == "endless" or rules.fit == "ascending":
            return self._chain(legal, left, gap)
        return self._best(self.look(*self._placed(left, block, gap)) for block in rules.numbers(legal))

    def _placed(self, left: int, block: int, gap: int) -> tuple[int, int, int]:
        if self._rules.supply == "own":
            left &= ~self._rules.bit(block)
        return left, block, gap if gap < 0 else gap - block

    @staticmethod
    def _best(after: Iterable[Prospect]) -> Prospect:
        """Return the prospect of whoever may choose among those that each next block leaves."""
        fewest, most = _NEVER, 0
        for prospect in after:
            fewest = min(fewest, prospect.fewest + 1)
            most = max(most, prospect.most + 1)
        return Prospect(min(fewest, _NEVER), most)

    # Blocks that may lie upon each other in some order ---------------------------------------------------------

    def _once(self, numbers: tuple[int, ...], gap: int) -> Prospect:
        """Return the prospect with each block to be used once: the smallest last longest."""
        if gap < 0:
            return Prospect(_NEVER, len(numbers))
        most = sum(1 for height in accumulate(numbers) if height <= gap)
        if sum(numbers) < gap:
            return Prospect(_NEVER, most)
        in_steps = _steps(numbers)
        if in_steps is not None:
            return Prospect(_fewest_in_steps(in_steps, gap, most), most)
        least = next(count for count, height in enumerate(accumulate(reversed(numbers)), 1) if height >= gap)
        for limit in _widening(least, most):
            fewest = self._fewest(numbers, gap, limit)
            if fewest < _NEVER:
                return Prospect(fewest, most)
        return Prospect(_NEVER, most)

    def _fewest(self, numbers: Sequence[int], gap: int, limit: int) -> int:
        """Return the fewest of some numbers that add up to the gap, if no more than a limit are needed.

        What exactly so many of them can add up to is a set of bits; each number moves all sets on by one.
        """
        self._watch.claim((limit + 1) * gap // 4)
        within = (2 << gap) - 1
        sums = [1, *[0] * limit]
        for done, number in enumerate(numbers):
            for count in range(min(done + 1, limit), 0, -1):
                sums[count] |= sums[count - 1] << number & within
            self._watch.pause(1 + limit // 10)
        return next((count for count, heights in enumerate(sums) if heights >> gap & 1), _NEVER)

    def _again(self, numbers: tuple[int, ...], gap: int) -> Prospect:
        """Return the prospect with every block to be used as often as wanted."""
        if not numbers:
            return Prospect(_NEVER, 0)
        most = gap // numbers[0]
        in_steps = _steps(numbers)
        if in_steps is not None:
            low, high, step = in_steps[0], in_steps[-1], in_steps.step
            counts = range(-(-gap // high), most + 1)[:step]
            return Prospect(next((count for count in counts if (gap - count * low) % step == 0), _NEVER), most)
        if gap % gcd(*numbers):
            return Prospect(_NEVER, most)
        spare = max(0, gap // numbers[-1] - numbers[-1])
        return Prospect(min(_NEVER, spare + self._coins(numbers, gap - spare * numbers[-1])), most)

    def _coins(self, numbers: Sequence[int], gap: int) -> int:
        """Return the fewest numbers, each as often as wanted, that add up to a gap."""
        self._watch.claim(gap // 2)
        within = (2 << gap) - 1
        heights, count = 1, 0
        while heights and not heights >> gap & 1:
            heights = reduce(or_, (heights << number & within for number in numbers))
            count += 1
            self._watch.pause(1)
        return count if heights else _NEVER

    # Blocks whose order counts -----------------------------------------------------------------------------------

    def _chain(self, legal: int, left: int, gap: int) -> Prospect:
        """Return the prospect where only the top decides what may follow: by the heights that end in each block."""
        rules = self._rules
        blocks = rules.numbers(left if gap < 0 else left & rules.up_to(gap))
        if gap < 0 and rules.fit == "ascending":
            return Prospect(_NEVER, _longest_climb(blocks, rules.numbers(legal), rules.step))
        self._watch.claim(len(blocks) * max(gap, 1) // 4)
        within = -1 if gap < 0 else (2 << gap) - 1
        ends = {block: 1 << block if gap >= 0 else 1 for block in rules.numbers(legal)}
        fewest, most = _NEVER, 0
        while ends:
            most += 1
            if gap >= 0 and fewest == _NEVER and any(heights >> gap & 1 for heights in ends.values()):
                fewest = most
            ends = {
                block: heights
                for block, beneath in self._beneath(blocks, ends)
                if (heights := beneath << block & within if gap >= 0 else beneath)
            }
            self._watch.pause(1)
        return Prospect(fewest, most)

    def _beneath(self, blocks: Sequence[int], ends: dict[int, int]) -> Iterator[tuple[int, int]]:
        """Give for each block the heights of the towers that it may be placed on."""
        fits = self._rules.fits
        for block in blocks:
            self._watch.pause(1)
            bit = self._rules.bit(block)
            yield block, reduce(or_, (heights for end, heights in ends.items() if fits(end) & bit), 0)


def _steps(numbers: tuple[int, ...]) -> range | None:
    """Return numbers in equal steps as a range; None if they are not."""
    compact = block_set(numbers) if numbers else None
    return compact if isinstance(compact, range) else None


def _fewest_in_steps(numbers: range, gap: int, most: int) -> int:
    """Return the fewest numbers in equal steps that add up to a gap.

    So many of them add up to every step between the smallest and the largest such sum: for if they are not the
    largest, one of them can be exchanged for the next.
    """
    low = high = 0
    for count in range(1, most + 1):
        low += numbers[count - 1]
        high += numbers[-count]
        if low <= gap <= high and (gap - low) % numbers.step == 0:
            return count
    return _NEVER


def _widening(least: int, most: int) -> Iterator[int]:
    """Give limits from a little above the least to the most: few more than the least are needed as a rule."""
    limit = least + 2
    while limit < most:
        yield limit
        limit *= 4
    yield most


def _longest_climb(blocks: Sequence[int], first: Sequence[int], step: int | None) -> int:
    """Return the most blocks of a rising tower: from its first block it can take every one up to the next gap."""
    firsts = frozenset(first)
    longest = above = 0
    higher: int | None = None
    for block in reversed(blocks):
        above = above + 1 if higher is None or step is None or higher - block <= step else 1
        higher = block
        if block in firsts:
            longest = max(longest, above)
    return longest
