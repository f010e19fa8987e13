"""How sure a mean is when what it is made of hangs together: values in clusters, and intervals that hold at 95 %."""

from __future__ import annotations

from functools import cache
from math import atan, cos, fsum, sin, sqrt
from typing import TYPE_CHECKING, NamedTuple

from number_tower.arena.ratings import Z_95, compute_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_COVERAGE = 0.95
_NORMAL_FROM = 2_000
"""Degrees of freedom from which on the normal distribution is near enough."""


class Estimate(NamedTuple):
    """A mean of so many values, None of none, and between what the true one lies, at 95 %."""

    mean: float | None
    low: float
    high: float
    number: int

    def document(self) -> dict[str, object]:
        """Give the estimate as a JSON document has it."""
        mean = None if self.mean is None else _round(self.mean)
        return {"mean": mean, "interval": [_round(self.low), _round(self.high)], "number": self.number}


_NOISE = 1e-9
"""What rounding alone can make of clusters that do not differ."""

Cluster = tuple[float, int]
"""The sum of some values that hang together, and how many they are."""


def estimate_mean(clusters: Iterable[Cluster]) -> Estimate:
    """Estimate the mean of values from 0 to 1.

    It is Wilson's interval for as many independent values as would be just as unsure: how much the clusters differ
    says how many those are (their linearised variance, with Student's quantile as there are few of them), and never
    more than there are values. Where clusters do not differ they tell nothing about that, and each counts as one value:
    whatever is the same in all that were seen may still be otherwise in one of so many. So the interval stays within 0
    and 1, and is of use even if all values are the same.
    """
    parts = [(total, number) for total, number in clusters if number]
    number = sum(number for _, number in parts)
    if not number:
        return Estimate(None, 0.0, 1.0, 0)
    value = fsum(total for total, _ in parts) / number
    error = _compute_error(parts, value, number)
    as_sure = min(number, value * (1 - value) * (Z_95 / error) ** 2) if error > _NOISE else len(parts)
    return Estimate(value, *compute_interval(value * as_sure, as_sure), number)


def estimate_difference(clusters: Iterable[Cluster]) -> Estimate:
    """Estimate the mean of values from -1 to 1, such as what one player lost more than another at the same positions.

    Where clusters do not differ there is no spread to go by; then it is as sure as a share of so many clusters is.
    """
    parts = [(total, number) for total, number in clusters if number]
    number = sum(number for _, number in parts)
    if not number:
        return Estimate(None, -1.0, 1.0, 0)
    value = fsum(total for total, _ in parts) / number
    error = _compute_error(parts, value, number)
    reach = error if error > _NOISE else compute_interval(0, len(parts))[1]
    return Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), number)


def _compute_error(parts: Sequence[Cluster], value: float, number: int) -> float:
    """Return how far a mean may be off to either side; 0 if the clusters, or the only one, do not tell."""
    count = len(parts)
    if count < 2:
        return 0.0
    squares = fsum((total - value * size) ** 2 for total, size in parts)
    return compute_quantile(count - 1) * sqrt(squares * count / (count - 1)) / number


@cache
def compute_quantile(freedom: int) -> float:
    """Return how many standard errors to either side hold 95 % of Student's distribution."""
    if freedom > _NORMAL_FROM:
        return Z_95
    low, high = Z_95, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _compute_central_probability(middle, freedom) < _COVERAGE else (low, middle)
    return high


def _compute_central_probability(reach: float, freedom: int) -> float:
    """Return which part of Student's distribution lies so near its middle: a finite sum, as the freedom is whole."""
    angle = atan(reach / sqrt(freedom))
    square, terms = cos(angle) ** 2, [1.0]
    odd = freedom % 2
    for place in range(2 + odd, freedom - 1, 2):
        terms.append(terms[-1] * square * (place - 1) / place)
    if not odd:
        return sin(angle) * fsum(terms)
    beside = sin(angle) * cos(angle) * fsum(terms) if freedom > 1 else 0.0
    return (angle + beside) / atan(1) / 2


def format_points(estimate: Estimate, to: str = " to ") -> str:
    """Write points and their interval."""
    mean, low, high, _ = estimate
    return "-" if mean is None else f"{mean:.3f} ({low:.3f}{to}{high:.3f})"


def format_share(estimate: Estimate, to: str = " to ", sign: str = "%") -> str:
    """Write a share and its interval, in hundredths."""
    mean, low, high, _ = estimate
    return "-" if mean is None else f"{100 * mean:.1f}{sign} ({100 * low:.1f}{to}{100 * high:.1f})"


def _round(value: float) -> float:
    return round(value, 4) + 0.0
