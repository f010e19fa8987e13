"""The ranking follows the weights and leaves degenerate games out.

No setting beats one of its front.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.studies.lab.measures import GOALS, MEASURES
from number_tower.studies.lab.ranking import (
    DEFAULT_LIMITS,
    RankingError,
    compute_score,
    find_front,
    find_problems,
    parse_front,
    parse_limits,
    parse_weights,
    rank_rows,
)
from number_tower.studies.lab.rows import LabRow
from support.lab_rows import make_row

SHARES = st.integers(0, 10).map(lambda tenths: tenths / 10)
FIGURES = st.fixed_dictionaries(
    {
        "fairness": SHARES,
        "depth": st.integers(0, 7),
        "drama": st.integers(0, 6).map(lambda halves: halves / 2),
        "decisions": SHARES,
        "reach": st.none() | SHARES,
        "draws": SHARES,
        "positions": st.integers(0, 200),
        "length": st.integers(1, 12).map(float),
    }
)
ROWS = st.lists(FIGURES, max_size=12).map(
    lambda settings: [make_row(index=i, figures=figures) for i, figures in enumerate(settings)]
)
GOAL_SETS = st.lists(st.sampled_from(list(GOALS)), min_size=2, unique=True)


GOOD = {
    "positions": 500,
    "openings": 9,
    "length": 8.0,
    "fairness": 0.8,
    "reach": 0.5,
    "decisions": 0.6,
}
"""Figures that all guards let pass."""


def get_goals(row: LabRow, goals: list[str]) -> list[float]:
    return [MEASURES[goal].rate(row) for goal in goals]


def beats(one: list[float], other: list[float]) -> bool:
    return one != other and all(mine >= theirs for mine, theirs in zip(one, other, strict=True))


@given(ROWS, GOAL_SETS)
def test_front_is_what_no_other_setting_beats(rows: list[LabRow], goals: list[str]) -> None:
    points = {row.index: get_goals(row, goals) for row in rows}
    unbeaten = {
        index
        for index, point in points.items()
        if not any(beats(other, point) for other in points.values())
    }
    assert find_front(rows, goals) == unbeaten


@given(ROWS, st.sampled_from(["fairness", "depth", "drama", "decisions", "decided"]))
def test_with_one_weight_the_order_is_that_of_its_measure(rows: list[LabRow], goal: str) -> None:
    ranked = rank_rows(rows, {goal: 1.0}, {}).rows
    values = [MEASURES[goal].rate(item.row) for item in ranked]
    assert values == sorted(values, reverse=True)
    assert [item.score for item in ranked] == pytest.approx(values)


@given(ROWS, st.sampled_from(["fairness", "depth", "decisions"]), st.integers(1, 50))
def test_more_weight_never_lowers_its_best_setting(
    rows: list[LabRow], goal: str, more: int
) -> None:
    weights = {"fairness": 1.0, "depth": 1.0, "decisions": 1.0}
    heavier = weights | {goal: weights[goal] + more}
    rate = MEASURES[goal].rate

    def count_ahead(best: LabRow, mix: dict[str, float]) -> int:
        return sum(compute_score(row, mix) > compute_score(best, mix) + 1e-9 for row in rows)

    for best in (row for row in rows if rate(row) == max(map(rate, rows))):
        assert count_ahead(best, heavier) <= count_ahead(best, weights)


@given(ROWS)
def test_scores_are_from_0_to_1_and_equal_settings_keep_their_order(rows: list[LabRow]) -> None:
    ranked = rank_rows(rows, limits={}).rows
    assert len(ranked) == len(rows)
    assert all(0 <= item.score <= 1 for item in ranked)
    keys = [(-item.score, item.row.index) for item in ranked]
    assert keys == sorted(keys)


def test_reach_does_not_count_without_a_target() -> None:
    figures = {"fairness": 0.8, "drama": 1.0, "reach": None}
    weights = {"fairness": 1.0, "drama": 1.0, "reach": 1.0}
    assert compute_score(make_row("climb", figures=figures), weights) == pytest.approx(1.3 / 2)
    assert compute_score(make_row("draft", figures=figures), weights) == pytest.approx(1.3 / 3)


@given(ROWS)
def test_guard_leaves_out_what_is_below_its_limit_and_nothing_else(rows: list[LabRow]) -> None:
    ranking = rank_rows(rows)
    listed = {item.row.index for item in ranking.rows}
    for row in rows:
        problems = find_problems(row)
        assert (row.index in listed) == (not problems)
        for name, least in DEFAULT_LIMITS.items():
            value = getattr(row, name)
            assert (name in problems) == (value is not None and value < least)
    assert ranking.failing == len(rows) - len(listed)
    assert ranking.left_out == {
        name: sum(name in find_problems(row) for row in rows) for name in ranking.left_out
    }


@given(ROWS)
def test_setting_on_the_front_passes_the_guards(rows: list[LabRow]) -> None:
    ranking = rank_rows(rows)
    passing = [item.row for item in ranking.rows]
    assert {item.row.index for item in ranking.rows if item.on_front} == find_front(passing)


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        ({"positions": 19}, "positions"),
        ({"openings": 1}, "openings"),
        ({"length": 3.9}, "length"),
        ({"fairness": 0.2}, "fairness"),
        ({"reach": 0.01}, "reach"),
        ({"decisions": 0.01}, "decisions"),
    ],
)
def test_every_kind_of_degenerate_game_is_left_out_unless_its_guard_is_lowered(
    figures: dict[str, Any], problem: str
) -> None:
    assert find_problems(make_row(figures=GOOD)) == []
    row = make_row(figures=GOOD | figures)
    assert find_problems(row) == [problem]
    assert find_problems(row, parse_limits(f"{problem}=0")) == []
    assert find_problems(row, parse_limits("none")) == []


def test_settings_that_were_not_measured_are_not_ranked() -> None:
    rows = [make_row(index=0, status="too large"), make_row(index=1, status="crashed")]
    ranking = rank_rows(rows)
    assert (ranking.rows, ranking.failing) == ((), 0)


def test_settings_with_the_same_figures_are_ranked_once() -> None:
    figures = GOOD | {"value": "win", "plies": 5, "depth": 4}
    rows = [make_row(index=index, figures=figures) for index in range(3)]
    rows.append(make_row(index=3, figures=figures | {"depth": 3}))
    assert [(item.row.index, item.same) for item in rank_rows(rows).rows] == [
        (0, 2),
        (3, 0),
    ]


def test_weights_limits_and_fronts_are_read() -> None:
    assert parse_weights("fairness=2, depth=0.5") == {"fairness": 2.0, "depth": 0.5}
    assert parse_limits("positions=50,reach=0") == DEFAULT_LIMITS | {"positions": 50, "reach": 0}
    assert parse_limits("none") == {}
    assert parse_front("fairness, drama") == ("fairness", "drama")


MIXED = "expected one of fairness, depth, drama, decisions, reach, decided; got "
NUMBER = "expected a number from 0 after fairness=; got "
GUARDED = "expected one of openings, positions, length, fairness, decisions, reach; got "


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (parse_weights, "fairnes=1", f"{MIXED}'fairnes'; did you mean fairness?"),
        (parse_weights, "fairness", f"{NUMBER}''"),
        (parse_weights, "fairness=much", f"{NUMBER}'much'"),
        (parse_weights, "fairness=-1", f"{NUMBER}'-1'"),
        (parse_weights, "fairness=inf", f"{NUMBER}'inf'"),
        (parse_weights, "fairness=nan", f"{NUMBER}'nan'"),
        (parse_weights, "fairness=0", "expected at least one weight above 0"),
        (parse_limits, "drama=1", f"{GUARDED}'drama'"),
        (parse_front, "fairness", "expected two measures or more, such as fairness,depth; got"),
        (parse_front, "fairness,fun", f"{MIXED}'fun'"),
    ],
)
def test_mistake_is_refused_with_advice(parse: Any, text: str, problem: str) -> None:
    with pytest.raises(RankingError) as refusal:
        parse(text)
    assert str(refusal.value).startswith(problem)
