"""Subset sums: the fewest of some distinct numbers that add up to a total.

`RunSubsetSum` is for numbers in equal steps, of which some may be missing: their size and count hardly matter. Of
consecutive such numbers, a fixed count reaches every step between its smallest and its largest sum, since any but the
largest choice can exchange one number for the next. So only the count from each run has to be found.
`SubsetSum` is for any other numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from math import gcd
from operator import sub
from typing import NamedTuple

from number_tower.solve.limits import SearchLimits

_MAX_BY_COUNT = 32
"""Counts up to which a sum for each count is faster than a count for each sum."""

_SUBPROBLEM_BYTES = 250
"""Memory of one remembered subproblem, about."""


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
        if self.numbers[-1] - self.numbers[0] == (size - 1) * self._step:
            return next(
                (count for count in range(least, most + 1) if self._find_rank_sum(count) >= 0), None
            )
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


# Numbers in equal steps --------------------------------------------------------------------------------------------


def find_runs(mask: int) -> list[range]:
    """Return the runs of bits that are set, the lowest first."""
    runs, start = [], 0
    while mask:
        zeros = (mask & -mask).bit_length() - 1
        mask >>= zeros
        ones = (~mask & (mask + 1)).bit_length() - 1
        mask >>= ones
        runs.append(range(start + zeros, start + zeros + ones))
        start += zeros + ones
    return runs


class _Subproblem(NamedTuple):
    """Whether `chosen` numbers from the first `runs` can have ranks with a sum from `low` to `high`."""

    runs: int
    chosen: int
    low: int
    high: int


class RunSubsetSum:
    """Numbers by their ranks, in runs: the number of rank r is `first + r * step`."""

    def __init__(self, runs: list[range], first: int, step: int) -> None:
        self._runs, self._first, self._step = runs, first, step
        self._counts = [0, *accumulate(map(len, runs))]
        self._sums = [0, *accumulate(_sum_consecutive(run.start, len(run)) for run in runs)]
        spreads = (run.start - runs[0].start if len(run) == 1 else 1 for run in runs)
        self._steps = [0, *accumulate(spreads, gcd)]
        """For each number of runs, the largest step that their ranks have in common, if each run is one number."""
        self.size = self._counts[-1]

    def find_most(self, total: int) -> int:
        """Return the most numbers that do not exceed a total."""
        counts = range(self.size + 1)
        return (
            bisect_right(
                counts, total, key=lambda count: self._compute_total(count, self._sum_lowest(count))
            )
            - 1
        )

    def find_fewest(self, total: int, limits: SearchLimits) -> int | None:
        """Return the fewest numbers that add up to a total; None if none do."""
        runs, counts = len(self._runs), range(self.size + 1)
        if self._compute_total(self.size, self._sums[runs]) < total:
            return None
        least = bisect_left(
            counts,
            total,
            key=lambda count: self._compute_total(count, self._sum_highest(runs, count)),
        )
        for count in self._find_possible_counts(total, least, self.find_most(total)):
            ranks = (total - count * self._first) // self._step
            if self._is_solvable(_Subproblem(runs, count, ranks, ranks), limits):
                return count
        return None

    def _find_possible_counts(self, total: int, least: int, most: int) -> range:
        """Return the counts of numbers that can have a total, by its remainder modulo the step."""
        common = gcd(self._first, self._step)
        if total % common:
            return range(0)
        period = self._step // common
        remainder = total // common * pow(self._first // common, -1, period) % period
        return range(least + (remainder - least) % period, most + 1, period)

    def _compute_total(self, count: int, ranks: int) -> int:
        return count * self._first + ranks * self._step

    def _sum_lowest(self, count: int) -> int:
        """Return the sum of the lowest `count` ranks."""
        run = bisect_right(self._counts, count) - 1
        more = count - self._counts[run]
        return self._sums[run] + (_sum_consecutive(self._runs[run].start, more) if more else 0)

    def _sum_highest(self, runs: int, count: int) -> int:
        """Return the sum of the highest `count` ranks of the first `runs`."""
        return self._sums[runs] - self._sum_lowest(self._counts[runs] - count)

    def _is_solvable(self, problem: _Subproblem, limits: SearchLimits) -> bool:
        """Search depth-first for a count of numbers from each run, from the last run to the first."""
        seen: set[_Subproblem] = set()
        pending = [iter((problem,))]
        while pending:
            current = next(pending[-1], None)
            if current is None:
                pending.pop()
                continue
            solvable = self._solve_by_bounds(current)
            if solvable:
                return True
            if solvable is None and current not in seen:
                seen.add(current)
                limits.require_memory(len(seen) * _SUBPROBLEM_BYTES)
                limits.check(1)
                pending.append(self._split(current))
        return False

    def _solve_by_bounds(self, problem: _Subproblem) -> bool | None:
        """Decide a subproblem by its smallest and its largest sum; None if these do not decide it."""
        runs, count, low, high = problem
        if count > self._counts[runs]:
            return False
        smallest, largest = self._sum_lowest(count), self._sum_highest(runs, count)
        step = self._steps[runs] or 1
        low, high = max(low, smallest), min(high, largest)
        low += (smallest - low) % step
        if low > high:
            return False
        first, last = self._runs[0].start, self._runs[max(runs, 1) - 1].stop - 1
        if low == smallest or high == largest or last - first == (self._counts[runs] - 1) * step:
            return True
        return None

    def _split(self, problem: _Subproblem) -> Iterator[_Subproblem]:
        """Yield what remains for the other runs, for each count from the last run, the largest first.

        The more numbers it gives, the higher are the smallest and the largest sum: so the counts for which the
        interval is within reach are found by bisection.
        """
        runs, count, low, high = problem
        run, rest = self._runs[runs - 1], runs - 1
        counts = range(max(0, count - self._counts[rest]), min(len(run), count) + 1)

        def sum_lowest(taken: int) -> int:
            return _sum_consecutive(run.start, taken)

        def sum_highest(taken: int) -> int:
            return _sum_consecutive(run.stop - taken, taken)

        first = bisect_left(
            counts,
            low,
            key=lambda taken: self._sum_highest(rest, count - taken) + sum_highest(taken),
        )
        last = bisect_right(
            counts, high, key=lambda taken: self._sum_lowest(count - taken) + sum_lowest(taken)
        )
        for taken in reversed(counts[first:last]):
            yield _Subproblem(
                rest, count - taken, low - sum_highest(taken), high - sum_lowest(taken)
            )


def _sum_consecutive(start: int, count: int) -> int:
    """Return the sum of `count` consecutive integers."""
    return count * start + count * (count - 1) // 2
