"""Estimates for games that are too large to be measured: sampled games of players who look some plies ahead.

The players are those of an exact study, except that they look less far where that takes too many positions
(`players.levels`), and that none sees everything. Each measure has a 95 % interval, except the shares of endings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from random import Random
from statistics import fmean, stdev

from number_tower.arena.ratings import Z_95, compute_interval
from number_tower.arena.schedule import derive_seed
from number_tower.lab.measures import HELPFUL_RESULT
from number_tower.lab.rows import ENDINGS, SIGHTS
from number_tower.players.levels import evaluate_moves, select_moves
from number_tower.position import Outcome, Position
from number_tower.rules import Rules

SEEING = tuple(sight for sight in SIGHTS if sight is not None)

_Z_95_OF_SEVEN = 2.69
"""Standard deviations to either side with which all seven results of equal players are within their intervals."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class SampledGames:
    """Games of two players: how they ended, and their plies."""

    outcomes: tuple[Outcome, ...]
    lengths: tuple[int, ...]

    @property
    def points(self) -> float:
        """The points of the first player."""
        return sum(
            0.5 if outcome.winner is None else float(outcome.winner == 0)
            for outcome in self.outcomes
        )

    @property
    def result(self) -> float:
        """The mean result of the first player."""
        return self.points / len(self.outcomes)


@dataclass(frozen=True)
class Estimate:
    """Estimated measures of one set of rules, each with its interval."""

    rules: Rules
    openings: int
    length: float
    fairness: float
    depth: int
    reach: float | None
    draws: float
    endings: Mapping[str, float]
    pair_results: Mapping[tuple[int, int], float]
    """The first player's result, by the plies that the two players see."""
    intervals: Mapping[str, Interval]


def estimate(rules: Rules, games: int, *, seed: int = 1) -> Estimate:
    """Let every pair of equal players, and of neighbours on the ladder, play some games.

    The same seed gives the same games.
    """
    played = {pair: _play_games(rules, pair, games, seed) for pair in _list_pairs()}
    equal = [played[sight, sight] for sight in SEEING]
    count = games * len(equal)
    outcomes = [outcome for each in equal for outcome in each.outcomes]
    reasons = Counter[str](outcome.reason for outcome in outcomes)
    lengths = [length for each in equal for length in each.lengths]
    endings = {reason: reasons[reason] / count for reason in ENDINGS}
    drawn = sum(outcome.winner is None for outcome in outcomes)
    error = Z_95 * stdev(lengths) / sqrt(count)
    steps = [(played[above, below], played[below, above]) for below, above in pairwise(SEEING)]
    gained = [upper.points + games - lower.points for upper, lower in steps]
    intervals = {
        "length": (max(0.0, fmean(lengths) - error), fmean(lengths) + error),
        "fairness": _compute_fairness_interval(equal, games),
        "depth": _compute_depth_interval(
            [compute_interval(points, 2 * games) for points in gained]
        ),
        "draws": compute_interval(drawn, count),
    }
    if rules.target is not None:
        intervals["reach"] = compute_interval(reasons["exact"], count)
    return Estimate(
        rules,
        len(Position.start(rules).legal),
        fmean(lengths),
        1 - 2 * fmean(abs(each.result - 0.5) for each in equal),
        sum(points / (2 * games) >= HELPFUL_RESULT for points in gained),
        None if rules.target is None else endings["exact"],
        drawn / count,
        endings,
        {pair: each.result for pair, each in played.items()},
        intervals,
    )


def _list_pairs() -> Iterator[tuple[int, int]]:
    """Yield the equal players, and those one step apart in both seats."""
    for sight in SEEING:
        yield sight, sight
    for below, above in pairwise(SEEING):
        yield above, below
        yield below, above


def _play_games(rules: Rules, pair: tuple[int, int], games: int, seed: int) -> SampledGames:
    """Play games between players who look some plies ahead."""
    outcomes, lengths = [], []
    for number in range(games):
        rng = Random(derive_seed(seed, pair, number))  # noqa: S311 - play, not secrets
        position, plies = Position.start(rules), 0
        while (outcome := position.outcome) is None:
            position = position.place(_choose_block(position, pair[position.to_move], rng))
            plies += 1
        outcomes.append(outcome)
        lengths.append(plies)
    return SampledGames(tuple(outcomes), tuple(lengths))


def _choose_block(position: Position, plies: int, rng: Random) -> int:
    """Return one of the moves that look best, each as likely: seen wins, then what is not seen to the end."""
    moves = select_moves(position, rng) if plies else position.legal
    if plies:
        looks = {
            block: (score > 0) - (score < 0)
            for block, score in evaluate_moves(position, plies, moves).items()
        }
        moves = [block for block in looks if looks[block] == max(looks.values())]
    return moves[int(rng.random() * len(moves))]


def _compute_fairness_interval(equal: Sequence[SampledGames], games: int) -> Interval:
    """Return the fairness between the results that are furthest from even and those that are nearest to it."""
    far, near = [], []
    for each in equal:
        low, high = compute_interval(each.points, games, _Z_95_OF_SEVEN)
        far.append(max(abs(low - 0.5), abs(high - 0.5)))
        near.append(0.0 if low <= 0.5 <= high else min(abs(low - 0.5), abs(high - 0.5)))
    return max(0.0, 1 - 2 * fmean(far)), 1 - 2 * fmean(near)


def _compute_depth_interval(steps: Sequence[Interval]) -> Interval:
    """Return the steps that help for certain, and those that may, one of which is the step to seeing everything."""
    return sum(low >= HELPFUL_RESULT for low, _ in steps), 1 + sum(
        high >= HELPFUL_RESULT for _, high in steps
    )
