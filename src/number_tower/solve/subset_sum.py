"""Subset sums: the fewest of some distinct numbers that add up to a total; `runs` has those in equal steps."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from math import gcd
from operator import sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.solve.limits import Watch

_FEW = 32
"""Numbers up to which a sum for each count of them is quicker than a count for each sum."""


class SubsetSum:
    """Some rising numbers, and a total above 0.

    Numbers are counted in the largest step that they all have in common. The rank of a number is its steps above the
    first.
    """

    def __init__(self, numbers: Sequence[int], total: int) -> None:
        self.numbers, self.total = numbers, total
        self.heights = [0, *accumulate(numbers)]
        """What the first so many numbers add up to."""
        self.most = bisect_right(self.heights, total) - 1
        """The most numbers that do not exceed the total."""

    def find_fewest(self, watch: Watch) -> int | None:
        """Return the fewest of the numbers that add up to the total; None if none do.

        The memory that may be needed is claimed first, even if there is a way without it: what is enough for some
        numbers is then enough for fewer of them and a smaller total.
        """
        size, most, total = len(self.numbers), self.most, self.total
        if most == 0 or self.heights[-1] < total:
            return None
        unit, planes = gcd(*self.numbers), most.bit_length()
        watch.claim((3 * planes + 8) * (total // unit) // 8)
        if total % unit:
            return None
        least = size + 1 - bisect_right(self.heights, self.heights[-1] - total)
        if self.numbers[-1] - self.numbers[0] == (size - 1) * self.step:
            return next((count for count in range(least, most + 1) if self.rank_sum(count) >= 0), None)
        limit = min(least + 2, most)
        if limit <= _FEW and watch.room((limit + 1) * self.highest // 4):
            fewest = _find_by_count(self, limit, watch)
            if fewest is not None or limit == most:
                return fewest
        return _find_by_sum([number // unit for number in self.numbers], total // unit, planes, watch)

    @cached_property
    def step(self) -> int:
        """The largest step that all numbers have in common."""
        return gcd(*map(sub, self.numbers[1:], self.numbers)) or 1

    @cached_property
    def highest(self) -> int:
        """The highest sum of ranks that can be of use."""
        first, size = self.numbers[0], len(self.numbers)
        return min(self.total - first, self.heights[-1] - size * first) // self.step

    @cached_property
    def ranks(self) -> list[int]:
        """The steps of each number above the first."""
        first, step = self.numbers[0], self.step
        return [(number - first) // step for number in self.numbers]

    def rank_sum(self, count: int) -> int:
        """Return what the ranks of so many numbers must add up to; -1 if these cannot have the total."""
        steps, rest = divmod(self.total - count * self.numbers[0], self.step)
        return steps if rest == 0 else -1


def _find_by_count(sums: SubsetSum, limit: int, watch: Watch) -> int | None:
    """Find the fewest numbers, up to a limit.

    What exactly so many of them can add up to is a set of bits; each number moves all sets on by one.
    """
    within = (2 << sums.highest) - 1
    reached = [1, *[0] * limit]
    for done, rank in enumerate(sums.ranks):
        for count in range(min(done + 1, limit), 0, -1):
            reached[count] |= reached[count - 1] << rank & within
        watch.pause(1 + limit // 10)
    wanted = [sums.rank_sum(count) for count in range(limit + 1)]
    found = (count for count, total in enumerate(wanted) if count and total >= 0 and reached[count] >> total & 1)
    return next(found, None)


def _find_by_sum(numbers: Sequence[int], total: int, planes: int, watch: Watch) -> int | None:
    """Find the fewest numbers for every sum up to the total at once.

    The counts of all sums are kept as binary digits: one set of bits for the ones, one for the twos, and so on.
    """
    within = (2 << total) - 1
    reached, counts = 1, [0] * planes
    for number in numbers:
        moved = reached << number & within
        carry, longer = moved, []
        for digit in counts:
            shifted = digit << number & within
            longer.append(shifted ^ carry)
            carry &= shifted
        fewer, equal = 0, moved & reached
        for old, new in zip(reversed(counts), reversed(longer), strict=True):
            unlike = equal & (old ^ new)
            fewer |= unlike & old
            equal ^= unlike
        better = moved & ~reached | fewer
        counts = [old ^ (old ^ new) & better for old, new in zip(counts, longer, strict=True)]
        reached |= moved
        watch.pause(1 + planes)
    if not reached >> total & 1:
        return None
    return sum((digit >> total & 1) << place for place, digit in enumerate(counts))
