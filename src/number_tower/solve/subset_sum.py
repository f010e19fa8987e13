"""Subset sums: the fewest of some distinct numbers that add up to a total."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import gcd
from operator import sub

from number_tower.solve.limits import SearchLimits


class SubsetSum:
    """Some rising numbers, and a total above 0."""

    def __init__(self, numbers: Sequence[int], total: int) -> None:
        self.numbers, self.total = numbers, total
        self.prefix_sums = [0, *accumulate(numbers)]
        self.most = bisect_right(self.prefix_sums, total) - 1
        """The most numbers that do not exceed the total."""

    def find_fewest(self, limits: SearchLimits) -> int | None:
        """Return the fewest of the numbers that add up to the total; None if none do.

        The memory that may be needed is required first, even if a method without it applies: a
        limit that is enough for some numbers is then enough for fewer of them and a smaller total.
        """
        size, most, total = len(self.numbers), self.most, self.total
        if most == 0 or self.prefix_sums[-1] < total:
            return None
        unit, planes = gcd(*self.numbers), most.bit_length()
        limits.require_memory((3 * planes + 8) * (total // unit) // 8)
        if total % unit:
            return None
        least = size + 1 - bisect_right(self.prefix_sums, self.prefix_sums[-1] - total)
        # All numbers lie a multiple of one step above the first, so only some counts are possible.
        step = gcd(*map(sub, self.numbers[1:], self.numbers)) or 1
        rests = ((total - count * self.numbers[0]) % step for count in range(least, most + 1))
        first = next((count for count, rest in enumerate(rests, least) if rest == 0), None)
        if first is None or self._finds_choice(first):
            return first
        numbers = [number // unit for number in self.numbers]
        return _find_by_sum(numbers, total // unit, planes, limits)

    def _finds_choice(self, count: int) -> bool:
        """Say whether it is easily seen that some `count` numbers have the total.

        Of the neighbouring numbers that have as much or a little more, one can be exchanged for a
        smaller one.
        """
        sums, size = self.prefix_sums, len(self.numbers)
        start = bisect_left(
            range(size - count), self.total, key=lambda place: sums[place + count] - sums[place]
        )
        excess = sums[start + count] - sums[start] - self.total
        smaller = frozenset(self.numbers[:start])
        neighbours = self.numbers[start : start + count]
        return excess == 0 or any(number - excess in smaller for number in neighbours)


def _find_by_sum(
    numbers: Sequence[int], total: int, planes: int, limits: SearchLimits
) -> int | None:
    """Find the fewest numbers for every sum up to the total at once.

    The counts of all sums are stored as binary digits: one set of bits for the ones, one for the
    twos, and so on.
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
