"""Scores: what is counted, what is not, and intervals of values that are not independent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import isfinite
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.studies.arena.ratings import Z_95, compute_interval
from number_tower.studies.arena.schedule import parse_game
from number_tower.studies.evaluation import Evaluation, evaluate
from number_tower.studies.evaluation.intervals import (
    Estimate,
    compute_quantile,
    estimate_difference,
    estimate_mean,
)
from number_tower.studies.evaluation.questions import AnswerAttempt, Decision
from number_tower.studies.evaluation.run import CompletedTask
from number_tower.studies.evaluation.scores import (
    MAX_EXAMPLES,
    REASON_WORDS,
    REASONS,
    PlayerFigures,
    PlayerScore,
    compute_guess_regret,
    compute_scores,
)
from number_tower.studies.evaluation.suite import Suite, Task, TaskKind

CLUSTERS = st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=8), max_size=12)


def add_up(clusters: list[list[float]]) -> list[tuple[float, int]]:
    return [(sum(values), len(values)) for values in clusters]


# Estimates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (30, 2.042), (120, 1.980), (9999, Z_95)],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, value: float) -> None:
    assert compute_quantile(freedom) == pytest.approx(value, abs=5e-4)


@given(CLUSTERS, st.randoms(use_true_random=False))
def test_interval_contains_its_mean_and_is_not_narrower_than_for_independent_values(
    clusters: list[list[float]], rng: Random
) -> None:
    estimate = estimate_mean(add_up(clusters))
    values = [value for cluster in clusters for value in cluster]
    assert estimate.number == len(values)
    assert all(map(isfinite, (estimate.low, estimate.high)))
    assert estimate.mean == (sum(values) / len(values) if values else None)
    mean = 0.5 if estimate.mean is None else estimate.mean
    assert 0 <= estimate.low <= mean <= estimate.high <= 1
    assert estimate.low < estimate.high
    low, high = compute_interval(sum(values), len(values))
    assert estimate.low <= low + 1e-12
    assert estimate.high >= high - 1e-12
    rng.shuffle(clusters)
    assert estimate_mean(add_up(clusters)) == estimate


@given(CLUSTERS, CLUSTERS)
def test_differences_are_from_minus_one_to_one_and_change_sign_with_the_order(
    ours: list[list[float]], theirs: list[list[float]]
) -> None:
    pairs = [
        [one - other for one, other in zip(*clusters, strict=False)]
        for clusters in zip(ours, theirs, strict=False)
    ]
    estimate = estimate_difference(add_up(pairs))
    reverse = estimate_difference(add_up([[-value for value in pair] for pair in pairs]))
    assert -1 <= estimate.low <= (estimate.mean or 0.0) <= estimate.high <= 1
    assert estimate.low < estimate.high
    assert (reverse.low, reverse.high) == (-estimate.high, -estimate.low)


def test_clusters_say_less_than_independent_values() -> None:
    values = [0.0, 1.0] * 20
    alone = estimate_mean((value, 1) for value in values)
    together = estimate_mean((4 * value, 4) for value in values[:10])
    assert together.number == alone.number == 40
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        ([], Estimate(None, 0.0, 1.0, 0)),
        ([(0.0, 0)], Estimate(None, 0.0, 1.0, 0)),
        ([(3.0, 10)], Estimate(0.3, *compute_interval(0.3, 1), 10)),
        ([(0.0, 10)] * 20, Estimate(0.0, *compute_interval(0, 20), 200)),
        ([(5.0, 5), (1.0, 1)], Estimate(1.0, *compute_interval(2, 2), 6)),
        ([(5.0, 10)] * 4, Estimate(0.5, *compute_interval(2, 4), 40)),
    ],
)
def test_clusters_that_do_not_differ_have_wilsons_interval_for_their_number(
    clusters: list[Any], expected: Estimate
) -> None:
    assert estimate_mean(clusters) == expected


def test_clusters_that_differ_have_the_interval_computed_by_hand() -> None:
    """Sums 1 and 3 of 4 each.

    The mean is 1/2, its standard error 1/4, and Student's quantile for two is 12.706.
    """
    estimate = estimate_mean([(1.0, 4), (3.0, 4)])
    effective = 0.25 / (12.706205 * 0.25 / Z_95) ** 2
    assert estimate.low == pytest.approx(compute_interval(effective / 2, effective)[0], abs=1e-6)
    assert estimate_difference([(1.0, 4), (3.0, 4)]) == Estimate(0.5, -1.0, 1.0, 8)
    estimate = estimate_difference([(1.0, 10), (2.0, 10), (3.0, 10)])
    assert estimate.mean == 0.2
    assert estimate.low == pytest.approx(0.2 - 4.302653 * 0.1 / 3**0.5)


def test_clusters_that_differ_by_rounding_alone_do_not_differ() -> None:
    for mean in (0.7, 0.5):
        estimate = estimate_mean((mean * size, size) for size in (1, 2, 3, 5, 7, 11, 13, 17))
        assert estimate.high - estimate.low > 0.4


WORLDS: dict[str, tuple[float, Callable[[Random], float]]] = {
    "errors are frequent everywhere": (0.4, lambda rng: rng.betavariate(2, 3)),
    "one variant in twenty is misread": (0.05, lambda rng: float(rng.random() < 0.05)),
    "one variant in ten is misread": (0.1, lambda rng: float(rng.random() < 0.1)),
    "errors are rare everywhere": (0.01, lambda _: 0.01),
}


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_contain_the_truth_about_as_often_as_they_say(world: str) -> None:
    rng = Random(7)  # noqa: S311 - play, not secrets
    truth, chance = WORLDS[world]

    def contains_truth() -> bool:
        chances = [chance(rng) for _ in range(20)]
        estimate = estimate_mean(
            (sum(rng.random() < chance for _ in range(12)), 12) for chance in chances
        )
        return estimate.low <= truth <= estimate.high

    assert 0.93 <= sum(contains_truth() for _ in range(300)) / 300 <= 0.995


def test_equal_players_are_not_certainly_equal() -> None:
    high = compute_interval(0, 3)[1]
    assert estimate_difference([(0.0, 10)] * 3) == Estimate(0.0, -high, high, 30)
    assert estimate_difference([]) == Estimate(None, -1.0, 1.0, 0)


# What counts --------------------------------------------------------------------------------------

SUITE = Suite(
    ("ann", "ben"), (parse_game("factor"), parse_game("draft")), number=2, position_specs=()
)


def decide(
    block: int | None, values: dict[int, float] | None, *, illegal: int = 0, moves: int = 0
) -> Decision:
    """Return a decision after some illegal answers; without a block, there were no others."""
    wrong = [AnswerAttempt("?", "x", None, "no number", "no_number")] * illegal
    right = [] if block is None else [AnswerAttempt("?", f"[{block}]", block, None)]
    return Decision(tuple(range(1, moves + 1)), (*wrong, *right), block, values)


def complete(
    *decisions: Decision,
    index: int = 0,
    player: str = "ann",
    kind: TaskKind = "position",
    points: float | None = None,
    forfeit: str | None = None,
) -> CompletedTask:
    """Return a completed task, which is a cluster of its own."""
    moves = decisions[0].moves if decisions and kind == "position" else ()
    task = Task(index, player, kind, "factor", 0, None, 1, moves, index)
    return CompletedTask(task, points, None, forfeit, None, (), "", decisions)


def score_ann(*tasks: CompletedTask) -> PlayerScore:
    (score,) = [score for score in compute_scores(SUITE, tasks).players if score.player == "ann"]
    return score


WON, LOST, DRAWN = {1: 1.0, 2: 0.0}, {1: 0.0, 2: 0.0}, {1: 0.5, 2: 0.0, 3: 0.5}


def test_regret_is_the_best_value_less_that_of_the_block() -> None:
    figures = score_ann(
        complete(decide(1, WON), decide(2, WON)),
        complete(decide(2, DRAWN), decide(3, DRAWN), index=1),
    ).overall
    assert figures.regret.mean == (0 + 1 + 0.5 + 0) / 4
    assert figures.kept.mean == 0.5
    assert figures.guessing == pytest.approx((0.5 + 0.5 + 1 / 6 + 1 / 6) / 4)


def test_decisions_without_a_difference_or_a_known_value_do_not_count() -> None:
    figures = score_ann(
        complete(decide(1, LOST), decide(1, None), decide(1, WON), decide(2, {2: 1.0}))
    ).overall
    assert (figures.decisions, figures.unknown) == (4, 1)
    assert (figures.regret.number, figures.kept.number) == (1, 1)


def test_no_legal_answer_loses_all_and_stays_in_every_denominator() -> None:
    figures = score_ann(
        complete(decide(None, WON, illegal=3), forfeit="no number"),
        complete(
            decide(None, DRAWN, illegal=3), index=1, kind="game", points=0.0, forfeit="no number"
        ),
        complete(decide(1, WON, illegal=1), index=2),
        complete(decide(1, WON), index=3),
    ).overall
    assert figures.regret[::3] == ((1 + 0.5 + 0 + 0) / 4, 4)
    assert figures.kept[::3] == (0.5, 4)
    assert figures.illegal[::3] == (7 / 9, 9)
    assert figures.troubled[::3] == (3 / 4, 4)
    assert figures.forfeits[::3] == (2 / 4, 4)
    assert figures.points[::3] == (0.0, 1)


def test_giving_up_counts_where_the_position_is_worth_something() -> None:
    sure = {1: 1.0, 2: 1.0}
    given_up = [decide(None, values, illegal=3) for values in (sure, {1: 0.5}, LOST, None)]
    figures = score_ann(
        *(complete(decision, index=i, forfeit="no number") for i, decision in enumerate(given_up)),
        complete(decide(1, sure), index=4),
    ).overall
    assert (*figures.regret[::3], figures.kept.mean) == (0.75, 2, 0.0)
    assert figures.guessing == 0
    assert figures.forfeits[::3] == (0.8, 5)


def test_players_who_lost_the_same_are_ranked_by_points_and_then_by_forfeits() -> None:
    suite = replace(SUITE, players=("ann", "ben", "cas", "dan"))
    won = decide(1, WON)
    tasks = [
        complete(won, player="ann", kind="game", points=0.0),
        complete(won, index=1, player="ben", kind="game", points=1.0),
        complete(
            won, decide(None, LOST), index=2, player="cas", kind="game", points=0.5, forfeit="no"
        ),
        complete(won, index=3, player="dan", kind="game", points=0.5),
    ]
    ranked = [score.player for score in compute_scores(suite, tasks).players]
    assert ranked == ["ben", "dan", "cas", "ann"]


def test_reasons_of_illegal_answers_and_the_first_failure_are_counted() -> None:
    failed = AnswerAttempt("?", "", None, "the end", "failed")
    unfit = AnswerAttempt("?", "[9]", None, "x", "fit")
    tasks = [
        complete(Decision((), (failed, unfit), None, WON), index=5),
        complete(decide(1, WON, illegal=2), index=1),
        complete(Decision((), (failed._replace(problem="offline"),), None, WON), index=3),
    ]
    for order in (tasks, tasks[::-1]):
        score = score_ann(*order)
        assert dict(score.reasons) == {"fit": 1, "no_number": 2, "failed": 2}
        assert score.failure == "offline"
    assert set(REASONS) == set(REASON_WORDS)
    document = json.loads(compute_scores(SUITE, tasks).to_json())["players"]
    assert [player["reasons"].get("failed") for player in document] == [2, None]


def test_points_are_those_of_games_alone() -> None:
    games = [
        complete(index=index, kind="game", points=points)
        for index, points in enumerate((1, 0.5, 0, 1))
    ]
    figures = score_ann(*games, complete(decide(1, WON), index=4)).overall
    assert (figures.won, figures.drawn, figures.lost) == (2, 1, 1)
    assert (figures.games, figures.tasks) == (4, 5)
    assert figures.points.mean == 2.5 / 4


def test_without_tasks_scores_are_empty() -> None:
    scores = compute_scores(SUITE, [])
    assert [score.player for score in scores.players] == ["ann", "ben"]
    for score in scores.players:
        assert score.overall.regret == score.overall.points == Estimate(None, 0.0, 1.0, 0)
        assert score.overall.guessing is None
        assert score.worst == ()
    assert scores.pairs["ann", "ben"] == Estimate(None, -1.0, 1.0, 0)
    assert "NaN" not in scores.to_json()


def test_blind_guess_loses_the_mean() -> None:
    assert compute_guess_regret(decide(1, DRAWN)) == pytest.approx(1 / 6)
    assert compute_guess_regret(decide(1, None)) == 0


def test_player_who_lost_least_comes_first_and_pairs_compare_the_same_positions() -> None:
    won, lost = partial(decide, 1, WON), partial(decide, 2, WON)
    tasks = [
        complete(lost(moves=0), index=0),
        complete(won(moves=0), index=1, player="ben"),
        complete(won(moves=1), index=2),
        complete(won(moves=1), index=3, player="ben"),
        complete(won(moves=2), index=4, player="ben"),
        complete(lost(moves=2), index=6, kind="game", points=0),
    ]
    scores = compute_scores(SUITE, tasks)
    assert [score.player for score in scores.players] == ["ben", "ann"]
    assert scores.pairs["ben", "ann"][::3] == (-0.5, 2)


def test_worst_decisions_are_those_that_lost_most_where_most_was_right() -> None:
    easy = {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0}
    decisions = [
        decide(2, WON, moves=3),
        decide(2, DRAWN, moves=1),
        decide(4, easy, moves=2),
        decide(4, easy, moves=2),
        decide(2, WON, moves=4),
        decide(1, WON, moves=5),
    ]
    tasks = [complete(decision, index=index) for index, decision in enumerate(decisions)]
    for order in (tasks, tasks[::-1]):
        worst = score_ann(*order).worst
        assert [blunder.task.index for blunder in worst] == [2, 0, 4]
        assert len(worst) == MAX_EXAMPLES


# A real evaluation --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(
        ["random", "gentle", "perfect"], variants=4, number=16, positions=32, seed=3, jobs=1
    )


def test_order_of_tasks_does_not_matter(evaluation: Evaluation) -> None:
    shuffled = Random(1).sample(evaluation.done, len(evaluation.done))  # noqa: S311 - likewise
    assert compute_scores(evaluation.suite, shuffled) == evaluation.scores


PARTS: dict[str, Callable[[PlayerScore], Iterable[PlayerFigures]]] = {
    "kind": lambda score: score.by_kind.values(),
    "seat": lambda score: score.by_seat,
    "game": lambda score: score.by_game.values(),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_add_up_to_the_whole(name: str, evaluation: Evaluation) -> None:
    for score in evaluation.scores.players:
        whole, parts = score.overall, list(PARTS[name](score))
        for count in ("tasks", "games", "won", "drawn", "lost", "decisions", "unknown"):
            assert sum(getattr(part, count) for part in parts) == getattr(whole, count)
        lost = sum((part.regret.mean or 0.0) * part.regret.number for part in parts)
        assert lost == pytest.approx((whole.regret.mean or 0.0) * whole.regret.number)
        assert sum(estimate.number for estimate in score.by_plies.values()) == whole.regret.number


def test_perfect_loses_nothing_and_random_as_much_as_a_guess(evaluation: Evaluation) -> None:
    figures = {score.player: score.overall for score in evaluation.scores.players}
    assert (figures["perfect"].regret.mean, figures["perfect"].kept.mean) == (0, 1)
    guess = figures["random"].guessing
    assert guess is not None
    assert figures["random"].regret.low <= guess <= figures["random"].regret.high
    assert all(part.troubled.mean == part.forfeits.mean == 0 for part in figures.values())


def test_json_document_has_all_figures(evaluation: Evaluation) -> None:
    document = json.loads(evaluation.scores.to_json())
    assert [player["player"] for player in document["players"]] == [
        score.player for score in evaluation.scores.players
    ]
    assert (document["number"], document["positions"], document["seed"]) == (16, 32, 3)
    first = document["players"][0]
    assert (first["regret"]["mean"], first["regret"]["number"]) == (0.0, first["kept"]["number"])
    assert set(first["regret"]) == {"mean", "interval", "number"}
    assert list(first["by_kind"]) == ["game", "position"]
    assert len(first["by_seat"]) == 2
    assert list(first["by_game"]) == document["games"]
    assert len(document["pairs"]) == 3
