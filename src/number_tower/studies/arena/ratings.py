"""Confidence intervals of scores, and Elo ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, log1p, sqrt
from operator import mul
from typing import NamedTuple

Z_95 = 1.959964
"""Standard deviations to either side that contain 95 % of a normal distribution."""

_ELO_SCALE = 400 / log(10)
"""Elo points per unit of natural log odds."""

Matrix = list[list[float]]

_TOLERANCE = 1e-9
_MAX_STEPS = 200


class Rating(NamedTuple):
    """A strength in Elo points and its 95 % margin to either side."""

    elo: float
    margin: float


def compute_interval(points: float, games: float, deviations: float = Z_95) -> tuple[float, float]:
    """Return Wilson's interval of the true share of points, after `points` in `games`.

    It is for 95 %, unless other deviations are given. It stays within 0 and 1, and is informative
    even if every game was won. A draw counts as half a point; since its variance is less than that
    of a win and a loss, the interval is then slightly too wide.
    """
    if not games:
        return 0.0, 1.0
    share, square = points / games, deviations**2
    widening = 1 + square / games
    centre = (share + square / (2 * games)) / widening
    variance = share * (1 - share) / games + square / (4 * games**2)
    reach = deviations * sqrt(variance) / widening
    return max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach))


def compute_ratings(
    players: Sequence[str], scores: Mapping[tuple[str, str], tuple[float, int]]
) -> dict[str, Rating]:
    """Return the maximum likelihood ratings; `scores` has points and games of each pair's first.

    Bradley and Terry's model on Elo's scale; a draw is half a win for each. As a prior, every
    player gets one drawn game against a player rated 0, so that a player who won every game has a
    finite rating. The mean rating is 0. The margins come from the curvature of the likelihood.
    Newton's method finds the maximum, with damped steps.
    """
    places = {player: number for number, player in enumerate(players)}
    played = [
        (places[one], places[other], points, games)
        for (one, other), (points, games) in scores.items()
    ]
    strengths = [0.0] * len(players)
    covariance: Matrix = []
    for _ in range(_MAX_STEPS):
        gradient, curvature = _compute_derivatives(strengths, played)
        covariance = _invert_matrix(curvature)
        steps = [sum(map(mul, row, gradient)) for row in covariance]
        size = 2 * max(map(abs, steps))
        if size < _TOLERANCE:
            break
        damping = log1p(size) / size
        strengths = [
            strength + damping * step for strength, step in zip(strengths, steps, strict=True)
        ]
    # Only differences matter: the mean becomes 0, and each margin is that of the distance from it.
    count = len(players)
    mean = sum(strengths) / count
    means = [sum(row) / count for row in covariance]
    overall = sum(means) / count
    ratings = {}
    for player, number in places.items():
        error = sqrt(covariance[number][number] - 2 * means[number] + overall)
        ratings[player] = Rating(_ELO_SCALE * (strengths[number] - mean), _ELO_SCALE * Z_95 * error)
    return ratings


def _compute_derivatives(
    strengths: list[float], played: list[tuple[int, int, float, int]]
) -> tuple[list[float], Matrix]:
    """Return the gradient of the log likelihood and its negative second derivatives."""
    everyone = range(len(strengths))
    chances = [_predict_score(strength) for strength in strengths]
    gradient = [0.5 - chance for chance in chances]
    curvature = [
        [chances[row] * (1 - chances[row]) if row == column else 0.0 for column in everyone]
        for row in everyone
    ]
    for one, other, points, games in played:
        chance = _predict_score(strengths[one] - strengths[other])
        weight = games * chance * (1 - chance)
        for mine, theirs, surplus in (
            (one, other, points - games * chance),
            (other, one, games * chance - points),
        ):
            gradient[mine] += surplus
            curvature[mine][mine] += weight
            curvature[mine][theirs] -= weight
    return gradient, curvature


def _predict_score(difference: float) -> float:
    return 1 / (1 + exp(-difference))


def _invert_matrix(matrix: Matrix) -> Matrix:
    """Invert a positive definite matrix, which needs no pivoting."""
    size = len(matrix)
    # Each row is followed by that of the unit matrix, which becomes the inverse.
    rows = [
        [*row, *(float(number == column) for column in range(size))]
        for number, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = rows[column][column]
        above = rows[column] = [value / pivot for value in rows[column]]
        for number, row in enumerate(rows):
            factor = row[column]
            if number != column and factor:
                rows[number] = [
                    value - factor * other for value, other in zip(row, above, strict=True)
                ]
    return [row[size:] for row in rows]
