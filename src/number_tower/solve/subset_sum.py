"""Subset sums: the fewest of some distinct numbers that add up to a total; `runs` has those in equal steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from math import gcd
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from number_tower.solve.limits import SearchLimits

_MAX_BY_COUNT = 32


"""Numbers up to which a sum for each count of them is quicker than a count for each sum."""


class SubsetSum:
    """Some rising numbers, and a total above 0.

    Numbers are counted in the largest step that they all have in common. The rank of a number is its steps above the
    first.
    """

    def __init__(self, numbers: Sequence[int], total: int) -> None:
        self.numbers, self.total = numbers, total
        self.prefix_sums = [0, *accumulate(numbers)]
        """What the first so many numbers add up to."""
        self.most = bisect_right(self.prefix_sums, total) - 1
        """The most numbers that do not exceed the total."""

    def find_fewest(self, watch: SearchLimits) -> int | None:
        """Return the fewest of the numbers that add up to the total; None if none do.

        The memory that may be needed is claimed first, even if there is a way without it: what is enough for some
        numbers is then enough for fewer of them and a smaller total.
        """
        size, most, total = len(self.numbers), self.most, self.total
        if most == 0 or self.prefix_sums[-1] < total:
            return None
        unit, planes = gcd(*self.numbers), most.bit_length()
        watch.require_memory((3 * planes + 8) * (total // unit) // 8)
        if total % unit:
            return None
        least = size + 1 - bisect_right(self.prefix_sums, self.prefix_sums[-1] - total)
        if self.numbers[-1] - self.numbers[0] == (size - 1) * self.step:
            return next((count for count in range(least, most + 1) if self.find_rank_sum(count) >= 0), None)
        limit = min(least + 2, most)
        if limit <= _MAX_BY_COUNT and watch.has_memory((limit + 1) * self.max_rank_sum // 4):
            fewest = _find_by_count(self, limit, watch)
            if fewest is not None or limit == most:
                return fewest
        return _find_by_sum([number // unit for number in self.numbers], total // unit, planes, watch)

    @cached_property
    def step(self) -> int:
        """The largest step that all numbers have in common."""
        return gcd(*map(sub, self.numbers[1:], self.numbers)) or 1

    @cached_property
    def max_rank_sum(self) -> int:
        """The highest sum of ranks that can be of use."""
        first, size = self.numbers[0], len(self.numbers)
        return min(self.total - first, self.prefix_sums[-1] - size * first) // self.step

    @cached_property
    def ranks(self) -> list[int]:
        """The steps of each number above the first."""
        first, step = self.numbers[0], self.step
        return [(number - first) // step for number in self.numbers]

    def find_rank_sum(self, count: int) -> int:
        """Return what the ranks of so many numbers must add up to; -1 if these cannot have the total."""
        steps, rest = divmod(self.total - count * self.numbers[0], self.step)
        return steps if rest == 0 else -1


def _find_by_count(sums: SubsetSum, limit: int, watch: SearchLimits) -> int | None:
    """Find the fewest numbers, up to a limit.

    What exactly so many of them can add up to is a set of bits; each number moves all sets on by one.
    """
    within = (2 << sums.max_rank_sum) - 1
    reached = [1, *[0] * limit]
    for done, rank in enumerate(sums.ranks):
        for count in range(min(done + 1, limit), 0, -1):
            reached[count] |= reached[count - 1] << rank & within
        watch.check(1 + limit // 10)
    wanted = [sums.find_rank_sum(count) for count in range(limit + 1)]
    found = (count for count, total in enumerate(wanted) if count and total >= 0 and reached[count] >> total & 1)
    return next(found, None)


def _find_by_sum(numbers: Sequence[int], total: int, planes: int, watch: SearchLimits) -> int | None:
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
        watch.check(1 + planes)
    if not reached >> total & 1:
        return None
    return sum((digit >> total & 1) << place for place, digit in enumerate(counts))


_SUBPROBLEM_BYTES = 250


"""Bytes that remembering one question takes, about."""


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
    """Whether so many numbers of the first so many runs can have ranks that add up to something in an interval."""

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
        """The largest step that the ranks of the first so many runs have in common, if each run is one number."""
        self.size = self._counts[-1]

    def find_most(self, total: int) -> int:
        """Return the most numbers that do not exceed a total."""
        return (
            bisect_right(
                range(self.size + 1), total, key=lambda count: self._compute_total(count, self._sum_lowest(count))
            )
            - 1
        )

    def find_fewest(self, total: int, watch: SearchLimits) -> int | None:
        """Return the fewest numbers that add up to a total; None if none do."""
        most = self.find_most(total)
        if self._compute_total(self.size, self._sum_lowest(self.size)) < total:
            return None
        least = bisect_left(
            range(self.size + 1),
            total,
            key=lambda count: self._compute_total(count, self._sum_highest(len(self._runs), count)),
        )
        for count in self._find_possible_counts(total, least, most):
            ranks = (total - count * self._first) // self._step
            if self._is_solvable(_Subproblem(len(self._runs), count, ranks, ranks), watch):
                return count
        return None

    def _find_possible_counts(self, total: int, least: int, most: int) -> range:
        """Return how many numbers can have a total, as far as the remainder by the step tells."""
        common = gcd(self._first, self._step)
        if total % common:
            return range(0)
        period = self._step // common
        remainder = total // common * pow(self._first // common, -1, period) % period
        return range(least + (remainder - least) % period, most + 1, period)

    def _compute_total(self, count: int, ranks: int) -> int:
        return count * self._first + ranks * self._step

    def _sum_lowest(self, count: int) -> int:
        """Return what the lowest so many ranks add up to."""
        run = bisect_right(self._counts, count) - 1
        more = count - self._counts[run]
        return self._sums[run] + (_sum_consecutive(self._runs[run].start, more) if more else 0)

    def _sum_highest(self, runs: int, count: int) -> int:
        """Return what the highest so many ranks of the first so many runs add up to."""
        return self._sums[runs] - self._sum_lowest(self._counts[runs] - count)

    # How many numbers of each run --------------------------------------------------------------------------------

    def _is_solvable(self, question: _Subproblem, watch: SearchLimits) -> bool:
        """Answer a question: each run from the last to the first gives so many numbers, as many as possible first."""
        seen: set[_Subproblem] = set()
        waiting = [iter((question,))]
        while waiting:
            asked = next(waiting[-1], None)
            if asked is None:
                waiting.pop()
                continue
            known = self._solve_by_bounds(asked)
            if known:
                return True
            if known is None and asked not in seen:
                seen.add(asked)
                watch.require_memory(len(seen) * _SUBPROBLEM_BYTES)
                watch.check(1)
                waiting.append(self._split(asked))
        return False

    def _solve_by_bounds(self, question: _Subproblem) -> bool | None:
        """Answer a question by the smallest and the largest sum; None if the answer is not that simple."""
        runs, count, low, high = question
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

    def _split(self, question: _Subproblem) -> Iterator[_Subproblem]:
        """Give what is left to ask once the last run has given some numbers.

        The more of them it gives, the higher are the smallest and the largest sum: so the counts for which the
        interval is within reach are found by bisection.
        """
        runs, count, low, high = question
        run, rest = self._runs[runs - 1], runs - 1
        counts = range(max(0, count - self._counts[rest]), min(len(run), count) + 1)
        first = bisect_left(
            counts,
            low,
            key=lambda taken: self._sum_highest(rest, count - taken) + _sum_consecutive(run.stop - taken, taken),
        )
        last = bisect_right(
            counts, high, key=lambda taken: self._sum_lowest(count - taken) + _sum_consecutive(run.start, taken)
        )
        for taken in reversed(counts[first:last]):
            smallest, largest = _sum_consecutive(run.start, taken), _sum_consecutive(run.stop - taken, taken)
            yield _Subproblem(rest, count - taken, low - largest, high - smallest)


def _sum_consecutive(start: int, count: int) -> int:
    """Return the sum of so many whole numbers in a row."""
    return count * start + count * (count - 1) // 2
