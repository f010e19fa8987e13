"""Rank settings by a mix of measures, leave degenerate games out, and find the settings that no other one beats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from number_tower.lab.rows import SIGHTS, LabRow
from number_tower.text import format_value, suggest_nearest

__all__ = ["RankedRow", "Ranking", "rank_rows"]

STEPS = len(SIGHTS) - 1
"""Steps of the ladder of players."""

FULL_DRAMA = 2.0
"""How often the value changes hands in a game that counts as fully dramatic."""


class RankingError(ValueError):
    """Weights, guards or measures are not valid: what is wrong, and what was expected."""


def _get_drama(row: LabRow) -> float | None:
    return None if row.drama is None else min(1.0, row.drama / FULL_DRAMA)


GOALS: dict[str, Callable[[LabRow], float | None]] = {
    "fairness": lambda row: row.fairness,
    "depth": lambda row: None if row.depth is None else row.depth / STEPS,
    "drama": _get_drama,
    "decisions": lambda row: row.decisions,
    "reach": lambda row: row.reach,
    "decided": lambda row: None if row.draws is None else 1 - row.draws,
}
"""The measures that can be mixed, each from 0 (worst) to 1 (best); `decided` is the share of games without a draw."""

SCALES = {"depth": STEPS, "drama": FULL_DRAMA}
"""What a goal of 1 is in the unit of its measure, where that is not 1."""

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "fairness": 3,
    "depth": 3,
    "drama": 1,
    "decisions": 1,
    "reach": 1,
}

DEFAULT_FRONT = ("fairness", "depth")

RECOMMENDED = 5
"""Settings that are recommended."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The least that a measure has to be, and the words for games below it."""

    least: float
    problem: str
    measure: Callable[[LabRow], float | None]


GUARDS: dict[str, Guard] = {
    "positions": Guard(20, "with too few positions", lambda row: row.positions),
    "openings": Guard(2, "without a choice of first moves", lambda row: row.openings),
    "length": Guard(4, "that are too short", lambda row: row.length),
    "fairness": Guard(0.25, "that are too one-sided", lambda row: row.fairness),
    "reach": Guard(0.05, "whose target is hardly ever reached", lambda row: row.reach),
    "decisions": Guard(0.05, "whose choices hardly ever matter", lambda row: row.decisions),
}
"""The guards against degenerate games; a measure that is not known passes."""

DEFAULT_LIMITS: Mapping[str, float] = {name: guard.least for name, guard in GUARDS.items()}


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A setting with its score from 0 to 1, whether it is on the front, and how many others are the same game.

    Examples:
        >>> from number_tower import lab
        >>> rows = lab.sweep(lab.make_space(nt.Rules(), {"target": "15..20"}), jobs=1)
        >>> best = rank_rows(rows, limits={}).rows[0]
        >>> best.row.options, 0 < best.score <= 1
        ({'target': 17}, True)
    """

    row: LabRow
    score: float
    on_front: bool
    same: int = 0


@dataclass(frozen=True)
class Ranking:
    """The settings that pass all guards, the best first, and how many each guard left out.

    Examples:
        >>> from number_tower import lab
        >>> rows = lab.sweep(lab.make_space(nt.Rules(), {"target": [2, 15, 20]}), jobs=1)
        >>> ranking = rank_rows(rows)
        >>> ranking.failing, dict(ranking.left_out)
        (2, {'positions': 1, 'length': 2, 'fairness': 1, 'decisions': 1})
    """

    rows: tuple[RankedRow, ...]
    left_out: Counter[str]
    """How many settings each guard left out; one that several leave out counts for each."""
    failing: int
    """The number of settings that were left out."""
    weights: Mapping[str, float]
    limits: Mapping[str, float]
    front: tuple[str, ...]


def rank_rows(
    rows: Iterable[LabRow],
    weights: Mapping[str, float] = DEFAULT_WEIGHTS,
    limits: Mapping[str, float] = DEFAULT_LIMITS,
    front: Sequence[str] = DEFAULT_FRONT,
) -> Ranking:
    """Rank the rows with measures: by the weighted mean of their goals, equal ones by their index.

    Of settings with the same figures, which are the same game in effect, the first stands for all.

    Examples:
        >>> from number_tower import lab
        >>> rows = lab.sweep(lab.make_space(nt.Rules(), {"target": "15..20"}), jobs=1)
        >>> rank_rows(rows, weights={"fairness": 2, "depth": 1}, limits={}).rows[0].row.options
        {'target': 17}
    """
    passing: dict[object, list[LabRow]] = {}
    left_out, failing = Counter[str](), 0
    for row in rows:
        if not row.has_measures:
            continue
        problems = find_problems(row, limits)
        left_out.update(problems)
        failing += bool(problems)
        if not problems:
            passing.setdefault(_identify_game(row), []).append(row)
    different = [rows[0] for rows in passing.values()]
    best = find_front(different, front)
    ranked = [
        RankedRow(rows[0], compute_score(rows[0], weights), rows[0].index in best, len(rows) - 1)
        for rows in passing.values()
    ]
    ranked.sort(key=lambda each: (-each.score, each.row.index))
    return Ranking(tuple(ranked), left_out, failing, weights, limits, tuple(front))


def compute_score(row: LabRow, weights: Mapping[str, float] = DEFAULT_WEIGHTS) -> float:
    """Return the weighted mean of the goals of a row.

    Reach does not count where there is no target. Any other goal that is not known, as in an estimate, counts as 0, so
    that no setting is ahead by what is not known about it.
    """
    counting = [name for name in weights if name != "reach" or "target" in row.rules]
    whole = sum(weights[name] for name in counting)
    return (
        sum(weights[name] * (GOALS[name](row) or 0.0) for name in counting) / whole
        if whole
        else 0.0
    )


def find_problems(row: LabRow, limits: Mapping[str, float] = DEFAULT_LIMITS) -> list[str]:
    """Return the names of the guards that a row does not pass."""
    measures = {name: GUARDS[name].measure(row) for name in limits}
    return [
        name
        for name, least in limits.items()
        if (value := measures[name]) is not None and value < least
    ]


def find_front(rows: Sequence[LabRow], goals: Sequence[str] = DEFAULT_FRONT) -> frozenset[int]:
    """Return the indices of the Pareto front: rows that no other row equals or beats in every goal, and beats in one.

    A goal that a row does not have counts as 0.
    """
    points: dict[tuple[float, ...], list[int]] = {}
    for row in rows:
        points.setdefault(tuple(GOALS[goal](row) or 0.0 for goal in goals), []).append(row.index)
    front: list[tuple[float, ...]] = []
    for point in sorted(points, reverse=True):  # each is dominated only by points before it
        if not any(
            all(one >= other for one, other in zip(best, point, strict=True)) for best in front
        ):
            front.append(point)
    return frozenset(index for point in front for index in points[point])


def _identify_game(row: LabRow) -> object:
    """Return the figures that only settings have which are the same game in effect."""
    if row.is_estimate or row.results is None:
        return row.index
    figures = (
        row.value,
        row.plies,
        row.positions,
        row.length,
        row.fairness,
        row.depth,
        row.drama,
        row.decisions,
    )
    return *figures, tuple(map(tuple, row.results))


# What the user gives --------------------------------------------------------------------------------------------------


def parse_weights(text: str) -> dict[str, float]:
    """Read weights such as `fairness=2,depth=1`; measures that are not named have none."""
    weights = _parse_numbers(text, tuple(GOALS))
    if not any(weights.values()):
        raise RankingError("expected at least one weight above 0")
    return weights


def parse_limits(text: str) -> dict[str, float]:
    """Read limits such as `positions=50,reach=0`, which replace the default ones; `none` removes all guards."""
    return (
        {} if text.strip() == "none" else {**DEFAULT_LIMITS, **_parse_numbers(text, tuple(GUARDS))}
    )


def parse_front(text: str) -> tuple[str, ...]:
    """Read the goals of the front, such as `fairness,depth`."""
    goals = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for goal in goals:
        _check_name(goal, tuple(GOALS))
    if len(goals) < 2:
        raise RankingError(
            f"expected two measures or more, such as fairness,depth; got {format_value(text)}"
        )
    return goals


def _parse_numbers(text: str, names: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        _check_name(name, names)
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not equals or not isfinite(number) or number < 0:
            raise RankingError(f"expected a number from 0 after {name}=; got {format_value(value)}")
        found[name] = number
    return found


def _check_name(name: str, names: Sequence[str]) -> None:
    if name not in names:
        near = suggest_nearest(name, names)
        raise RankingError(f"expected one of {', '.join(names)}; got {format_value(name)}{near}")
