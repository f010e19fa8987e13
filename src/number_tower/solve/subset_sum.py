"""Subset sums: the fewest of some distinct numbers that add up to a total."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from math import gcd
from operator import sub

from number_tower.solve.limits import SearchLimits

_MAX_BY_COUNT = 32
"""Counts up to which a sum for each count is faster than a count for each sum."""


class SubsetSum:
    """Some rising numbers, and a total above 0.

    Numbers are counted in the largest step that they all have in common. The rank of a number is its steps above the
    first.
    """

    def __init__(self, numbers: Sequence[int], total: int) -> None:
        self.numbers, self.total = numbers, total
        self.prefix_sums = [0, *accumulate(numbers)]
        self.most = bisect_right(self.prefix_sums, total) - 1
        """The most numbers that do not exceed the total."""

    def find_fewest(self, limits: SearchLimits) -> int | None:
        """Return the fewest of the numbers that add up to the total; None if none do.

        The memory that may be needed is required first, even if a method without it applies: a limit that is enough
        for some numbers is then enough for fewer of them and a smaller total.
        """
        size, most, total = len(self.numbers), self.most, self.total
        if most == 0 or self.prefix_sums[-1] < total:
            return None
        unit, planes = gcd(*self.numbers), most.bit_length()
        limits.require_memory((3 * planes + 8) * (total // unit) // 8)
        if total % unit:
            return None
        least = size + 1 - bisect_right(self.prefix_sums, self.prefix_sums[-1] - total)
        possible = (count for count in range(least, most + 1) if self._find_rank_sum(count) >= 0)
        first = next(possible, None)
        if first is None or self._finds_choice(first):
            return first
        limit = min(least + 2, most)
        if limit <= _MAX_BY_COUNT and limits.has_memory((limit + 1) * self._max_rank_sum // 4):
            fewest = self._find_by_count(limit, limits)
            if fewest is not None or limit == most:
                return fewest
        return _find_by_sum(
            [number // unit for number in self.numbers], total // unit, planes, limits
        )

    @cached_property
    def _step(self) -> int:
        """The largest step that all numbers have in common."""
        return gcd(*map(sub, self.numbers[1:], self.numbers)) or 1

    @cached_property
    def _max_rank_sum(self) -> int:
        """The highest sum of ranks that can be needed."""
        first, size = self.numbers[0], len(self.numbers)
        return min(self.total - first, self.prefix_sums[-1] - size * first) // self._step

    def _find_rank_sum(self, count: int) -> int:
        """Return the sum of ranks with which `count` numbers have the total; -1 if they cannot have it."""
        steps, rest = divmod(self.total - count * self.numbers[0], self._step)
        return steps if rest == 0 else -1

    def _finds_choice(self, count: int) -> bool:
        """Say whether it is easily seen that some `count` numbers have the total.

        Of the neighbouring numbers that have as much or a little more, one can be exchanged for a smaller one.
        """
        sums, size = self.prefix_sums, len(self.numbers)
        start = bisect_left(
            range(size - count), self.total, key=lambda place: sums[place + count] - sums[place]
        )
        excess = sums[start + count] - sums[start] - self.total
        smaller = frozenset(self.numbers[:start])
        return excess == 0 or any(
            number - excess in smaller for number in self.numbers[start : start + count]
        )

    def _find_by_count(self, limit: int, limits: SearchLimits) -> int | None:
        """Find the fewest numbers, up to a limit.

        For each count, the sums of ranks that it reaches are a set of bits; each number extends all sets by one.
        """
        within = (2 << self._max_rank_sum) - 1
        reached = [1, *[0] * limit]
        for done, number in enumerate(self.numbers):
            rank = (number - self.numbers[0]) // self._step
            for count in range(min(done + 1, limit), 0, -1):
                reached[count] |= reached[count - 1] << rank & within
            limits.check(1 + limit // 10)
        wanted = ((count, self._find_rank_sum(count)) for count in range(1, limit + 1))
        return next(
            (count for count, ranks in wanted if ranks >= 0 and reached[count] >> ranks & 1), None
        )


def _find_by_sum(
    numbers: Sequence[int], total: int, planes: int, limits: SearchLimits
) -> int | None:
    """Find the fewest numbers for every sum up to the total at once.

    The counts of all sums are stored as binary digits: one set of bits for the ones, one for the twos, and so on.
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
        limits.check(1 + planes)
    if not reached >> total & 1:
        return None
    return sum((digit >> total & 1) << place for place, digit in enumerate(counts))
