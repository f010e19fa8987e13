"""How sure a score is, and how strong the players are who made it."""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Z_95 = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""

_ELO_SCALE = 400 / log(10)
"""Elo points in a natural logarithm of odds."""

Matrix = list[list[float]]

_TOLERANCE = 1e-9
_MAX_STEPS = 200


class Rating(NamedTuple):
    """A player's strength in Elo points, and how far it may be off to either side, at 95 %."""

    elo: float
    margin: float


def compute_interval(points: float, games: float) -> tuple[float, float]:
    """Return between which shares the true one lies, at 95 %, after so many points in so many games.

    It is Wilson's interval, which stays within 0 and 1 and is of use even when every game was won. A draw counts as
    half a point; as it takes less of a chance than a win and a loss, the interval is then a little too wide.
    """
    if not games:
        return 0.0, 1.0
    share, square = points / games, Z_95**2
    centre = (share + square / (2 * games)) / (1 + square / games)
    reach = Z_95 * sqrt(share * (1 - share) / games + square / (4 * games**2)) / (1 + square / games)
    return max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach))


def compute_ratings(players: Sequence[str], scores: Mapping[tuple[str, str], tuple[float, int]]) -> dict[str, Rating]:
    """Return the strengths that explain the scores best; `scores` has points and games of the first of each pair.

    The chance of a player to beat another is a function of the difference of their ratings (Bradley and Terry's
    model, on Elo's scale); a draw is half a win for each. Besides what was played every player is given one drawn
    game against one of rating 0, so that a player who won every game is rated high and not without end. The mean of
    the ratings is 0, and the margins are from the curvature of the likelihood there.
    """
    seat = {player: number for number, player in enumerate(players)}
    played = [(seat[one], seat[other], points, games) for (one, other), (points, games) in scores.items()]
    strengths = [0.0] * len(players)
    spread: Matrix = []
    for _ in range(_MAX_STEPS):
        slopes, curvature = _compute_derivatives(strengths, played)
        spread = _invert_matrix(curvature)
        steps = [sum(map(mul, row, slopes)) for row in spread]
        turned = 2 * max(map(abs, steps))
        if turned < _TOLERANCE:
            break
        damped = log1p(turned) / turned
        strengths = [strength + damped * step for strength, step in zip(strengths, steps, strict=True)]
    return dict(zip(players, _center_ratings(strengths, spread), strict=True))


def _compute_derivatives(
    strengths: list[float], played: list[tuple[int, int, float, int]]
) -> tuple[list[float], Matrix]:
    """Return how the likelihood rises with each strength, and how that bends, turned to be positive."""
    everyone = range(len(strengths))
    chances = [_predict_score(strength) for strength in strengths]
    slopes = [0.5 - chance for chance in chances]
    curvature = [
        [chances[row] * (1 - chances[row]) if row == column else 0.0 for column in everyone] for row in everyone
    ]
    for one, other, points, games in played:
        chance = _predict_score(strengths[one] - strengths[other])
        bend = games * chance * (1 - chance)
        for mine, theirs, surplus in ((one, other, points - games * chance), (other, one, games * chance - points)):
            slopes[mine] += surplus
            curvature[mine][mine] += bend
            curvature[mine][theirs] -= bend
    return slopes, curvature


def _center_ratings(strengths: list[float], spread: Matrix) -> list[Rating]:
    """Return ratings whose mean is 0, and how far each may be off from that mean."""
    count = len(strengths)
    mean = sum(strengths) / count
    means = [sum(row) / count for row in spread]
    overall = sum(means) / count
    return [
        Rating(
            _ELO_SCALE * (strength - mean), _ELO_SCALE * Z_95 * sqrt(spread[place][place] - 2 * means[place] + overall)
        )
        for place, strength in enumerate(strengths)
    ]


def _predict_score(difference: float) -> float:
    return 1 / (1 + exp(-difference))


def _invert_matrix(matrix: Matrix) -> Matrix:
    """Invert a symmetric matrix that bends one way, so that no order of the rows is better than another."""
    size = len(matrix)
    rows = [[*row, *(float(place == column) for column in range(size))] for place, row in enumerate(matrix)]
    for place in range(size):
        pivot = rows[place][place]
        rows[place] = [value / pivot for value in rows[place]]
        for other in range(size):
            if other != place and rows[other][place]:
                factor = rows[other][place]
                rows[other] = [value - factor * above for value, above in zip(rows[other], rows[place], strict=True)]
    return [row[size:] for row in rows]
