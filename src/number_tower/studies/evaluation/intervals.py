"""Estimates of means with 95 % intervals, for values in clusters that are not independent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import atan, cos, fsum, sin, sqrt
from typing import NamedTuple

from number_tower.studies.arena.ratings import Z_95, compute_interval

_COVERAGE = 0.95
_NORMAL_FROM = 2_000
"""Degrees of freedom from which the normal distribution is close enough."""


class Estimate(NamedTuple):
    """The mean of a number of values (None without values), and its 95 % interval."""

    mean: float | None
    low: float
    high: float
    number: int


_NOISE = 1e-9
"""An error below this is due to rounding: the clusters do not differ."""

Cluster = tuple[float, int]
"""The sum of the values in a cluster, and their number."""


def estimate_mean(clusters: Iterable[Cluster]) -> Estimate:
    """Estimate the mean of values from 0 to 1, with Wilson's interval.

    Its sample size is the effective one: it follows from the variance between the clusters
    (linearised, with Student's quantile), and is at most the number of values. Where the clusters
    do not differ, it is their number. So the interval stays within 0 and 1, and is informative even
    if all values are the same.
    """
    value, error, number, count = _summarize(clusters)
    if not number:
        return Estimate(None, 0.0, 1.0, 0)
    effective = min(number, value * (1 - value) * (Z_95 / error) ** 2) if error > _NOISE else count
    return Estimate(value, *compute_interval(value * effective, effective), number)


def estimate_difference(clusters: Iterable[Cluster]) -> Estimate:
    """Estimate the mean of values from -1 to 1, such as differences of two players' losses.

    Where the clusters do not differ, the interval is as wide as that of a share of this number of
    clusters.
    """
    value, error, number, count = _summarize(clusters)
    if not number:
        return Estimate(None, -1.0, 1.0, 0)
    reach = error if error > _NOISE else compute_interval(0, count)[1]
    return Estimate(value, max(-1.0, value - reach), min(1.0, value + reach), number)


def _summarize(clusters: Iterable[Cluster]) -> tuple[float, float, int, int]:
    """Return the mean, its error (0 for one cluster), and the numbers of values and clusters."""
    parts = [(total, size) for total, size in clusters if size]
    number, count = sum(size for _, size in parts), len(parts)
    mean = fsum(total for total, _ in parts) / max(number, 1)
    if count < 2:
        return mean, 0.0, number, count
    squares = fsum((total - mean * size) ** 2 for total, size in parts)
    error = compute_quantile(count - 1) * sqrt(squares * count / (count - 1)) / number
    return mean, error, number, count


@cache
def compute_quantile(freedom: int) -> float:
    """Return how many standard errors to either side contain 95 % of Student's distribution."""
    if freedom > _NORMAL_FROM:
        return Z_95
    low, high = Z_95, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        if _compute_central_probability(middle, freedom) < _COVERAGE:
            low = middle
        else:
            high = middle
    return high


def _compute_central_probability(reach: float, freedom: int) -> float:
    """Return how probably Student's distribution is within `reach` of 0, by a finite sum."""
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
    """Return points with their interval."""
    mean, low, high, _ = estimate
    return "-" if mean is None else f"{mean:.3f} ({low:.3f}{to}{high:.3f})"


def format_share(estimate: Estimate, to: str = " to ", sign: str = "%") -> str:
    """Return a share with its interval, in per cent."""
    mean, low, high, _ = estimate
    return "-" if mean is None else f"{100 * mean:.1f}{sign} ({100 * low:.1f}{to}{100 * high:.1f})"
