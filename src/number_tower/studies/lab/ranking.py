"""Rank settings by a mix of measures, leave degenerate games out, and find the Pareto front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import ge

from number_tower.studies.lab.measures import GOALS, GUARDS, MEASURES
from number_tower.studies.lab.rows import LabRow
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value, suggest_nearest

__all__ = ["RankedRow", "Ranking", "rank_rows"]

DEFAULT_WEIGHTS = {name: measure.weight for name, measure in MEASURES.items() if measure.weight}
DEFAULT_LIMITS = {name: MEASURES[name].least for name in GUARDS}
DEFAULT_FRONT = ("fairness", "depth")

RECOMMENDED = 5
"""Settings that are recommended."""


class RankingError(NumberTowerError, ValueError):
    """Weights, guards or measures are not valid: what is wrong, and what was expected."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A setting, its score from 0 to 1, whether it is on the front, and how many are the same game.

    Examples:
        >>> from number_tower.studies import lab
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
        >>> from number_tower.studies import lab
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
        >>> from number_tower.studies import lab
        >>> rows = lab.sweep(lab.make_space(nt.Rules(), {"target": "15..20"}), jobs=1)
        >>> rank_rows(rows, weights={"fairness": 2, "depth": 1}, limits={}).rows[0].row.options
        {'target': 17}
    """
    passing: dict[object, list[LabRow]] = {}
    left_out, failing = Counter[str](), 0
    for row in rows:
        if row.status != "measured":
            continue
        problems = find_problems(row, limits)
        left_out.update(problems)
        failing += bool(problems)
        if not problems:
            # Settings with the same figures are the same game in effect.
            figures = row.value, row.plies, row.positions, row.length, row.fairness, row.depth
            results = tuple(map(tuple, row.results or ()))
            game = *figures, row.drama, row.decisions, results
            passing.setdefault(game, []).append(row)
    different = [rows[0] for rows in passing.values()]
    best = find_front(different, front)
    ranked = [
        RankedRow(rows[0], compute_score(rows[0], weights), rows[0].index in best, len(rows) - 1)
        for rows in passing.values()
    ]
    ranked.sort(key=lambda setting: (-setting.score, setting.row.index))
    return Ranking(tuple(ranked), left_out, failing, weights, limits, tuple(front))


def compute_score(row: LabRow, weights: Mapping[str, float] = DEFAULT_WEIGHTS) -> float:
    """Return the weighted mean of the goals of a row; without a target, reach does not count."""
    counting = [name for name in weights if name != "reach" or "target" in row.rules]
    whole = sum(weights[name] for name in counting)
    if not whole:
        return 0.0
    return sum(weights[name] * MEASURES[name].rate(row) for name in counting) / whole


def find_problems(row: LabRow, limits: Mapping[str, float] = DEFAULT_LIMITS) -> list[str]:
    """Return the names of the guards that a row does not pass; one that is not known passes."""
    problems = []
    for name, least in limits.items():
        figure = getattr(row, name)
        if figure is not None and figure < least:
            problems.append(name)
    return problems


def find_front(rows: Sequence[LabRow], goals: Sequence[str] = DEFAULT_FRONT) -> frozenset[int]:
    """Return the indices of the Pareto front; a goal that a row does not have counts as 0.

    A row is on it if no other row is at least as good in every goal, and better in one.
    """
    points: dict[tuple[float, ...], list[int]] = {}
    for row in rows:
        point = tuple(MEASURES[goal].rate(row) for goal in goals)
        points.setdefault(point, []).append(row.index)
    front: list[tuple[float, ...]] = []
    # Points that are ahead of another in all goals come before it.
    for point in sorted(points, reverse=True):
        if not any(all(map(ge, best, point)) for best in front):
            front.append(point)
    return frozenset(index for point in front for index in points[point])


# What the user gives ------------------------------------------------------------------------------


def parse_weights(text: str) -> dict[str, float]:
    """Read weights such as `fairness=2,depth=1`; measures that are not named have none."""
    weights = _parse_numbers(text, GOALS)
    if not any(weights.values()):
        raise RankingError("expected at least one weight above 0")
    return weights


def parse_limits(text: str) -> dict[str, float]:
    """Read limits such as `positions=50,reach=0` in place of the defaults; `none` for no guards."""
    if text.strip() == "none":
        return {}
    return {**DEFAULT_LIMITS, **_parse_numbers(text, GUARDS)}


def parse_front(text: str) -> tuple[str, ...]:
    """Read the goals of the front, such as `fairness,depth`."""
    goals = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for goal in goals:
        _check_name(goal, GOALS)
    if len(goals) < 2:
        raise RankingError(
            f"expected two measures or more, such as fairness,depth; got {format_value(text)}"
        )
    return goals


def _parse_numbers(text: str, names: Sequence[str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        _check_name(name, names)
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not equals or not isfinite(number) or number < 0:
            raise RankingError(f"expected a number from 0 after {name}=; got {format_value(value)}")
        numbers[name] = number
    return numbers


def _check_name(name: str, names: Sequence[str]) -> None:
    if name not in names:
        near = suggest_nearest(name, names)
        raise RankingError(f"expected one of {', '.join(names)}; got {format_value(name)}{near}")
