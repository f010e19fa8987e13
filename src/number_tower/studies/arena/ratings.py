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
    """Return the interval of the true share of points, after `points` in `games`; the usual deviations are for 95 %.

    Wilson's interval: it stays within 0 and 1 and is informative even if every game was won. A draw counts as half a
    point; since its variance is less than that of a win and a loss, the interval is then slightly too wide.
    """
    if not games:
        return 0.0, 1.0
    share, square = points / games, deviations**2
    centre = (share + square / (2 * games)) / (1 + square / games)
    reach = (
        deviations
        * sqrt(share * (1 - share) / games + square / (4 * games**2))
        / (1 + square / games)
    )
    return max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach))


def compute_ratings(
    players: Sequence[str], scores: Mapping[tuple[str, str], tuple[float, int]]
) -> dict[str, Rating]:
    """Return the maximum likelihood ratings; `scores` has points and games of the first of each pair.

    Bradley and Terry's model on Elo's scale, with a draw as half a win for each. As a prior every player is given one
    drawn game against a player rated 0, so that one who won every game has a finite rating. The mean rating is 0. The
    margins come from the curvature of the likelihood. Newton's method, with damped steps.
    """
    place = {player: number for number, player in enumerate(players)}
    played = [
        (place[one], place[other], points, games)
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
    return dict(zip(players, _center_ratings(strengths, covariance), strict=True))


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


def _center_ratings(strengths: list[float], covariance: Matrix) -> list[Rating]:
    """Return ratings whose mean is 0, with the margins of their distance from that mean."""
    count = len(strengths)
    mean = sum(strengths) / count
    means = [sum(row) / count for row in covariance]
    overall = sum(means) / count
    return [
        Rating(
            _ELO_SCALE * (strength - mean),
            _ELO_SCALE * Z_95 * sqrt(row[place] - 2 * means[place] + overall),
        )
        for place, (strength, row) in enumerate(zip(strengths, covariance, strict=True))
    ]


def _predict_score(difference: float) -> float:
    return 1 / (1 + exp(-difference))


def _invert_matrix(matrix: Matrix) -> Matrix:
    """Invert a positive definite matrix, which needs no pivoting."""
    size = len(matrix)
    rows = [
        [*row, *(float(place == column) for column in range(size))]
        for place, row in enumerate(matrix)
    ]
    for place in range(size):
        pivot = rows[place][place]
        rows[place] = [value / pivot for value in rows[place]]
        for other in range(size):
            if other != place and rows[other][place]:
                factor = rows[other][place]
                rows[other] = [
                    value - factor * above
                    for value, above in zip(rows[other], rows[place], strict=True)
                ]
    return [row[size:] for row in rows]
