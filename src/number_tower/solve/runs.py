"""Subset sums of numbers in equal steps, of which some may be missing: their size and number hardly matter.

So many numbers in equal steps add up to every step between the smallest and the largest such sum: for if they are not
the largest, one of them can be exchanged for the next. So of several runs only how many numbers each gives has to be
found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.solve.limits import Watch

_NOTE = 250
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


class _Question(NamedTuple):
    """Whether so many numbers of the first so many runs can have ranks that add up to something in an interval."""

    runs: int
    chosen: int
    low: int
    high: int


class Runs:
    """Numbers by their ranks, in runs: the number of rank r is `first + r * step`."""

    def __init__(self, runs: list[range], first: int, step: int) -> None:
        self._runs, self._first, self._step = runs, first, step
        self._counts = [0, *accumulate(map(len, runs))]
        self._sums = [0, *accumulate(_add_up(run.start, len(run)) for run in runs)]
        spreads = (run.start - runs[0].start if len(run) == 1 else 1 for run in runs)
        self._steps = [0, *accumulate(spreads, gcd)]
        """The largest step that the ranks of the first so many runs have in common, if each run is one number."""
        self.size = self._counts[-1]

    def find_most(self, total: int) -> int:
        """Return the most numbers that do not exceed a total."""
        return bisect_right(range(self.size + 1), total, key=lambda count: self._height(count, self._lowest(count))) - 1

    def find_fewest(self, total: int, watch: Watch) -> int | None:
        """Return the fewest numbers that add up to a total; None if none do."""
        most = self.find_most(total)
        if self._height(self.size, self._lowest(self.size)) < total:
            return None
        least = bisect_left(
            range(self.size + 1), total, key=lambda count: self._height(count, self._highest(len(self._runs), count))
        )
        for count in self._possible_counts(total, least, most):
            ranks = (total - count * self._first) // self._step
            if self._exists(_Question(len(self._runs), count, ranks, ranks), watch):
                return count
        return None

    def _possible_counts(self, total: int, least: int, most: int) -> range:
        """Return how many numbers can have a total, as far as the remainder by the step tells."""
        common = gcd(self._first, self._step)
        if total % common:
            return range(0)
        period = self._step // common
        remainder = total // common * pow(self._first // common, -1, period) % period
        return range(least + (remainder - least) % period, most + 1, period)

    def _height(self, count: int, ranks: int) -> int:
        return count * self._first + ranks * self._step

    def _lowest(self, count: int) -> int:
        """Return what the lowest so many ranks add up to."""
        run = bisect_right(self._counts, count) - 1
        more = count - self._counts[run]
        return self._sums[run] + (_add_up(self._runs[run].start, more) if more else 0)

    def _highest(self, runs: int, count: int) -> int:
        """Return what the highest so many ranks of the first so many runs add up to."""
        return self._sums[runs] - self._lowest(self._counts[runs] - count)

    # How many numbers of each run --------------------------------------------------------------------------------

    def _exists(self, question: _Question, watch: Watch) -> bool:
        """Answer a question: each run from the last to the first gives so many numbers, as many as possible first."""
        seen: set[_Question] = set()
        waiting = [iter((question,))]
        while waiting:
            asked = next(waiting[-1], None)
            if asked is None:
                waiting.pop()
                continue
            known = self._answer(asked)
            if known:
                return True
            if known is None and asked not in seen:
                seen.add(asked)
                watch.claim(len(seen) * _NOTE)
                watch.pause(1)
                waiting.append(self._parts(asked))
        return False

    def _answer(self, question: _Question) -> bool | None:
        """Answer a question by the smallest and the largest sum; None if the answer is not that simple."""
        runs, count, low, high = question
        if count > self._counts[runs]:
            return False
        smallest, largest = self._lowest(count), self._highest(runs, count)
        step = self._steps[runs] or 1
        low, high = max(low, smallest), min(high, largest)
        low += (smallest - low) % step
        if low > high:
            return False
        first, last = self._runs[0].start, self._runs[max(runs, 1) - 1].stop - 1
        if low == smallest or high == largest or last - first == (self._counts[runs] - 1) * step:
            return True
        return None

    def _parts(self, question: _Question) -> Iterator[_Question]:
        """Give what is left to ask once the last run has given some numbers.

        The more of them it gives, the higher are the smallest and the largest sum: so the counts for which the
        interval is within reach are found by bisection.
        """
        runs, count, low, high = question
        run, rest = self._runs[runs - 1], runs - 1
        counts = range(max(0, count - self._counts[rest]), min(len(run), count) + 1)
        first = bisect_left(
            counts, low, key=lambda taken: self._highest(rest, count - taken) + _add_up(run.stop - taken, taken)
        )
        last = bisect_right(counts, high, key=lambda taken: self._lowest(count - taken) + _add_up(run.start, taken))
        for taken in reversed(counts[first:last]):
            smallest, largest = _add_up(run.start, taken), _add_up(run.stop - taken, taken)
            yield _Question(rest, count - taken, low - largest, high - smallest)


def _add_up(start: int, count: int) -> int:
    """Return the sum of so many whole numbers in a row."""
    return count * start + count * (count - 1) // 2
