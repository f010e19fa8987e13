"""Subset sums: the fewest of some distinct numbers that add up to a total."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.solve.limits import Watch

_FEW = 32
"""Numbers up to which a sum for each count of them is quicker than a count for each sum."""

_LARGEST_SUM = 1 << 24
"""The largest total for which a count for each sum is kept."""

_NOTE = 150
"""Bytes that remembering one state of a search takes, about."""


def fewest_summands(numbers: Sequence[int], total: int, watch: Watch) -> int | None:
    """Return the fewest of some rising numbers that add up to a total above 0; None if none do.

    So many numbers in equal steps add up to every step between the smallest and the largest such sum: for if they are
    not the largest, one of them can be exchanged for the next. Other numbers are counted in the steps that they have
    in common, so that only their number and spread make the work large, and not their size.
    """
    most = sum(1 for height in accumulate(numbers) if height <= total)
    if most == 0 or sum(numbers) < total:
        return None
    least = next(count for count, height in enumerate(accumulate(reversed(numbers)), 1) if height >= total)
    ranks = _Ranks(numbers, total)
    if ranks.in_steps:
        return next((count for count in range(least, most + 1) if ranks.between(count)), None)
    limit = min(least + 2, most)
    if limit <= _FEW and watch.room((limit + 1) * ranks.highest // 4):
        fewest = _find_by_count(ranks, limit, watch)
        if fewest is not None or limit == most:
            return fewest
    unit = gcd(*numbers)
    if total % unit:
        return None
    planes = most.bit_length()
    if total // unit <= _LARGEST_SUM and watch.room((3 * planes + 8) * (total // unit) // 8):
        return _find_by_sum([number // unit for number in numbers], total // unit, planes, watch)
    return next((count for count in range(least, most + 1) if _find_choice(ranks, count, watch)), None)


class _Ranks:
    """Numbers as ranks: the steps of each above the first, in the largest step that they all have in common."""

    def __init__(self, numbers: Sequence[int], total: int) -> None:
        self._first, self._total = numbers[0], total
        self._step = gcd(*(higher - lower for lower, higher in pairwise(numbers))) or 1
        self.ranks = [(number - self._first) // self._step for number in numbers]
        self.heights = [0, *accumulate(self.ranks)]
        """What the first so many ranks add up to."""
        self.in_steps = self.ranks[-1] == len(numbers) - 1
        self.highest = min((total - self._first) // self._step, self.heights[-1])
        """The highest sum of ranks that can be of use."""

    @cached_property
    def steps(self) -> list[int]:
        """The largest step that each rank and all before it have in common."""
        return list(accumulate(self.ranks, gcd))

    def wanted(self, count: int) -> int:
        """Return what the ranks of so many numbers must add up to; -1 if these cannot have the total."""
        steps, rest = divmod(self._total - count * self._first, self._step)
        return steps if rest == 0 else -1

    def between(self, count: int) -> bool:
        """Say whether the total lies between the smallest and the largest sum of so many numbers, in whole steps."""
        return self.heights[count] <= self.wanted(count) <= self.heights[-1] - self.heights[-1 - count]


def _find_by_count(ranks: _Ranks, limit: int, watch: Watch) -> int | None:
    """Find the fewest numbers, up to a limit.

    What exactly so many of them can add up to is a set of bits; each number moves all sets on by one.
    """
    within = (2 << ranks.highest) - 1
    sums = [1, *[0] * limit]
    for done, rank in enumerate(ranks.ranks):
        for count in range(min(done + 1, limit), 0, -1):
            sums[count] |= sums[count - 1] << rank & within
        watch.pause(1 + limit // 10)
    counts = ((count, ranks.wanted(count)) for count in range(1, limit + 1))
    return next((count for count, wanted in counts if wanted >= 0 and sums[count] >> wanted & 1), None)


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


def _find_choice(ranks: _Ranks, count: int, watch: Watch) -> bool:
    """Say whether so many numbers can be chosen that have the total, the largest first.

    Of numbers with few gaps almost every choice can be completed, unless the total is close to the smallest or the
    largest sum, where little is left to choose.
    """
    numbers, heights = ranks.ranks, ranks.heights
    seen: set[tuple[int, int, int]] = set()
    waiting = [(count, ranks.wanted(count), len(numbers))] if ranks.between(count) else []
    while waiting:
        count, rest, size = waiting.pop()
        if count == 0:
            if rest == 0:
                return True
            continue
        size = bisect_right(numbers, rest - heights[count - 1], 0, size)
        if size < count or not heights[count] <= rest <= heights[size] - heights[size - count]:
            continue
        step = ranks.steps[size - 1]
        if step and rest % step:
            continue
        if size == count or numbers[size - 1] == (size - 1) * step:
            return True
        if (count, rest, size) not in seen:
            seen.add((count, rest, size))
            watch.claim(len(seen) * _NOTE)
            watch.pause(1)
            waiting.append((count, rest, size - 1))
            waiting.append((count - 1, rest - numbers[size - 1], size - 1))
    return False
