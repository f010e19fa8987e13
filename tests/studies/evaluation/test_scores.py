"""Scores: what is counted, what is not, and intervals that know what hangs together."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.studies.arena.ratings import Z_95, compute_interval
from number_tower.studies.arena.schedule import parse_game
from number_tower.studies.evaluation import evaluate
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
    Scores,
    compute_guess_regret,
    compute_scores,
)
from number_tower.studies.evaluation.suite import Suite, Task, TaskKind

CLUSTERS = st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=8), max_size=12)


def summed(clusters: list[list[float]]) -> list[tuple[float, int]]:
    return [(sum(values), len(values)) for values in clusters]


# Estimates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "value"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (5, 2.571),
        (10, 2.228),
        (19, 2.093),
        (30, 2.042),
        (120, 1.980),
        (9999, Z_95),
    ],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, value: float) -> None:
    assert compute_quantile(freedom) == pytest.approx(value, abs=5e-4)


@given(CLUSTERS, st.randoms(use_true_random=False))
def test_an_interval_holds_its_mean_and_stays_within_what_can_be(
    clusters: list[list[float]], rng: Random
) -> None:
    found = estimate_mean(summed(clusters))
    values = [value for cluster in clusters for value in cluster]
    assert found.number == len(values)
    assert all(map(isfinite, (found.low, found.high)))
    assert found.mean == (sum(values) / len(values) if values else None)
    assert 0 <= found.low <= (0.5 if found.mean is None else found.mean) <= found.high <= 1
    assert found.low < found.high
    rng.shuffle(clusters)
    assert estimate_mean(summed(clusters)) == found


@given(CLUSTERS)
def test_an_interval_is_never_narrower_than_if_all_were_independent(
    clusters: list[list[float]],
) -> None:
    values = [value for cluster in clusters for value in cluster]
    low, high = compute_interval(sum(values), len(values))
    found = estimate_mean(summed(clusters))
    assert found.low <= low + 1e-12
    assert found.high >= high - 1e-12


@given(CLUSTERS, CLUSTERS)
def test_differences_lie_between_minus_one_and_one_and_turn_with_the_players(
    ours: list[list[float]], theirs: list[list[float]]
) -> None:
    pairs = [
        [one - other for one, other in zip(*each, strict=False)]
        for each in zip(ours, theirs, strict=False)
    ]
    found, turned = (
        estimate_difference(summed(pairs)),
        estimate_difference(summed([[-value for value in each] for each in pairs])),
    )
    assert -1 <= found.low <= (found.mean or 0.0) <= found.high <= 1
    assert found.low < found.high
    assert (turned.low, turned.high) == (-found.high, -found.low)


def test_what_hangs_together_says_less_than_what_does_not() -> None:
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
def test_where_clusters_do_not_differ_an_interval_is_wilsons_for_so_many_clusters(
    clusters: list[Any], expected: Estimate
) -> None:
    assert estimate_mean(clusters) == expected


def test_two_clusters_that_differ_by_hand() -> None:
    """Sums 1 and 3 of 4 each.

    The mean is 1/2, its standard error 1/4, and Student's quantile for two is 12.706.
    """
    found = estimate_mean([(1.0, 4), (3.0, 4)])
    as_sure = 0.25 / (12.706205 * 0.25 / Z_95) ** 2
    assert found.low == pytest.approx(compute_interval(as_sure / 2, as_sure)[0], abs=1e-6)
    assert estimate_difference([(1.0, 4), (3.0, 4)]) == Estimate(0.5, -1.0, 1.0, 8)
    found = estimate_difference([(1.0, 10), (2.0, 10), (3.0, 10)])
    assert found.mean == 0.2
    assert found.low == pytest.approx(0.2 - 4.302653 * 0.1 / 3**0.5)


WORLDS: dict[str, tuple[float, Callable[[Random], float]]] = {
    "everybody errs here and there": (0.4, lambda rng: rng.betavariate(2, 3)),
    "one variant in twenty is misread": (0.05, lambda rng: float(rng.random() < 0.05)),
    "one variant in ten is misread": (0.1, lambda rng: float(rng.random() < 0.1)),
    "errors are rare everywhere": (0.01, lambda _: 0.01),
}


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(world: str) -> None:
    rng = Random(7)  # noqa: S311 - play, not secrets
    truth, chance = WORLDS[world]

    def holds() -> bool:
        chances = [chance(rng) for _ in range(20)]
        found = estimate_mean(
            (sum(rng.random() < chance for _ in range(12)), 12) for chance in chances
        )
        return found.low <= truth <= found.high

    assert 0.93 <= sum(holds() for _ in range(300)) / 300 <= 0.995


def test_no_spread_between_players_is_no_certainty() -> None:
    assert estimate_difference([(0.0, 10)] * 3) == Estimate(
        0.0, -compute_interval(0, 3)[1], compute_interval(0, 3)[1], 30
    )
    assert estimate_difference([]) == Estimate(None, -1.0, 1.0, 0)


# What counts --------------------------------------------------------------------------------------

SUITE = Suite(
    ("ann", "ben"), (parse_game("factor"), parse_game("draft")), number=2, position_specs=()
)


def decided(
    block: int | None, values: dict[int, float] | None, *, illegal: int = 0, moves: int = 0
) -> Decision:
    wrong = [AnswerAttempt("?", "x", None, "no number", "no_number")] * illegal
    right = [] if block is None else [AnswerAttempt("?", f"[{block}]", block, None)]
    return Decision(tuple(range(1, moves + 1)), (*wrong, *right), block, values)


def done(
    *decisions: Decision,
    index: int = 0,
    player: str = "ann",
    kind: TaskKind = "position",
    seat: int = 0,
    cluster: int = 0,
    points: float | None = None,
    forfeit: str | None = None,
    game: str = "factor",
) -> CompletedTask:
    moves = decisions[0].moves if decisions and kind == "position" else ()
    task = Task(index, player, kind, game, seat, None, 1, moves, cluster)
    return CompletedTask(task, points, None, forfeit, None, (), "", decisions)


def overall(*tasks: CompletedTask) -> PlayerFigures:
    return next(
        score.overall for score in compute_scores(SUITE, tasks).players if score.player == "ann"
    )


WON, LOST, DRAWN = {1: 1.0, 2: 0.0}, {1: 0.0, 2: 0.0}, {1: 0.5, 2: 0.0, 3: 0.5}


def test_regret_is_the_best_value_less_that_of_the_block() -> None:
    found = overall(
        done(decided(1, WON), decided(2, WON), index=0),
        done(decided(2, DRAWN), decided(3, DRAWN), index=1, cluster=1),
    )
    assert found.regret.mean == (0 + 1 + 0.5 + 0) / 4
    assert found.kept.mean == 0.5
    assert found.guessing == pytest.approx((0.5 + 0.5 + 1 / 6 + 1 / 6) / 4)


def test_what_makes_no_difference_or_is_not_known_does_not_count_but_is_a_decision() -> None:
    found = overall(done(decided(1, LOST), decided(1, None), decided(1, WON), decided(2, {2: 1.0})))
    assert (found.decisions, found.unknown, found.regret.number, found.kept.number) == (4, 1, 1, 1)


def test_no_legal_answer_loses_all_and_stays_in_every_denominator() -> None:
    found = overall(
        done(decided(None, WON, illegal=3), forfeit="no number"),
        done(
            decided(None, DRAWN, illegal=3),
            index=1,
            cluster=1,
            kind="game",
            points=0.0,
            forfeit="no number",
        ),
        done(decided(1, WON, illegal=1), index=2, cluster=2),
        done(decided(1, WON), index=3, cluster=3),
    )
    assert (found.regret.mean, found.regret.number) == ((1 + 0.5 + 0 + 0) / 4, 4)
    assert (found.kept.mean, found.kept.number) == (0.5, 4)
    assert (found.illegal.mean, found.illegal.number) == (7 / 9, 9)
    assert (found.troubled.mean, found.troubled.number) == (3 / 4, 4)
    assert (found.forfeits.mean, found.forfeits.number) == (2 / 4, 4)
    assert (found.points.mean, found.points.number) == (0.0, 1)


def test_giving_up_counts_where_something_could_be_had_and_only_there() -> None:
    sure = {1: 1.0, 2: 1.0}
    found = overall(
        done(decided(None, sure, illegal=3), forfeit="no number"),
        done(decided(None, {1: 0.5}, illegal=3), index=1, cluster=1, forfeit="no number"),
        done(decided(None, LOST, illegal=3), index=2, cluster=2, forfeit="no number"),
        done(decided(None, None, illegal=3), index=3, cluster=3, forfeit="no number"),
        done(decided(1, sure), index=4, cluster=4),
    )
    assert (found.regret.mean, found.regret.number, found.kept.mean) == (0.75, 2, 0.0)
    assert found.guessing == 0
    assert (found.forfeits.mean, found.forfeits.number) == (0.8, 5)


def test_of_those_who_lost_the_same_more_points_come_first_and_then_fewer_forfeits() -> None:
    suite = Suite(
        ("ann", "ben", "cas", "dan"), (parse_game("factor"),), number=2, position_specs=()
    )
    tasks = [
        done(decided(1, WON), index=0, player="ann", kind="game", points=0.0),
        done(decided(1, WON), index=1, player="ben", kind="game", points=1.0),
        done(
            decided(1, WON),
            decided(None, LOST),
            index=2,
            player="cas",
            kind="game",
            points=0.5,
            forfeit="no",
        ),
        done(decided(1, WON), index=3, player="dan", kind="game", points=0.5),
    ]
    assert [score.player for score in compute_scores(suite, tasks).players] == [
        "ben",
        "dan",
        "cas",
        "ann",
    ]


def test_it_is_said_why_answers_were_illegal_and_what_failed_first() -> None:
    failed = Decision(
        (),
        (
            AnswerAttempt("?", "", None, "the end", "failed"),
            AnswerAttempt("?", "[9]", None, "x", "fit"),
        ),
        None,
        WON,
    )
    first = Decision((), (AnswerAttempt("?", "", None, "no connection", "failed"),), None, WON)
    tasks = [done(failed, index=5), done(decided(1, WON, illegal=2), index=1), done(first, index=3)]
    for order in (tasks, tasks[::-1]):
        score = next(
            score for score in compute_scores(SUITE, order).players if score.player == "ann"
        )
        assert dict(score.reasons) == {"fit": 1, "no_number": 2, "failed": 2}
        assert score.failure == "no connection"
        assert set(REASONS) == set(REASON_WORDS)
    document = json.loads(compute_scores(SUITE, tasks).to_json())["players"]
    assert [player["reasons"].get("failed") for player in document] == [2, None]


def test_points_are_those_of_games_alone() -> None:
    tasks = [
        done(index=place, kind="game", cluster=place, points=points)
        for place, points in enumerate((1, 0.5, 0, 1))
    ]
    found = overall(*tasks, done(decided(1, WON), index=4))
    assert (found.won, found.drawn, found.lost, found.games, found.tasks) == (2, 1, 1, 4, 5)
    assert found.points.mean == 2.5 / 4


def test_nothing_done_is_scored_as_nothing() -> None:
    found = compute_scores(SUITE, [])
    assert [score.player for score in found.players] == ["ann", "ben"]
    for score in found.players:
        assert score.overall.regret == score.overall.points == Estimate(None, 0.0, 1.0, 0)
        assert score.overall.guessing is None
        assert score.worst == ()
    assert found.pairs["ann", "ben"] == Estimate(None, -1.0, 1.0, 0)
    assert "NaN" not in found.to_json()


def test_a_blind_guess_loses_the_mean() -> None:
    assert compute_guess_regret(decided(1, DRAWN)) == pytest.approx(1 / 6)
    assert compute_guess_regret(decided(1, None)) == 0


def test_whoever_lost_least_comes_first_and_pairs_compare_the_same_positions() -> None:
    tasks = [
        done(decided(2, WON, moves=0), index=0, player="ann"),
        done(decided(1, WON, moves=0), index=1, player="ben"),
        done(decided(1, WON, moves=1), index=2, player="ann"),
        done(decided(1, WON, moves=1), index=3, player="ben"),
        done(decided(1, WON, moves=2), index=4, player="ben"),
        done(decided(2, WON, moves=2), index=6, player="ann", kind="game", points=0),
    ]
    found = compute_scores(SUITE, tasks)
    assert [score.player for score in found.players] == ["ben", "ann"]
    assert found.pairs["ben", "ann"][::3] == (-0.5, 2)


def test_the_worst_decisions_are_those_that_lost_most_where_most_was_right() -> None:
    easy = {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0}
    tasks = [
        done(decided(2, WON, moves=3), index=0),
        done(decided(2, DRAWN, moves=1), index=1),
        done(decided(4, easy, moves=2), index=2),
        done(decided(4, easy, moves=2), index=3),
        done(decided(2, WON, moves=4), index=4),
        done(decided(1, WON, moves=5), index=5),
    ]
    for order in (tasks, tasks[::-1]):
        worst = next(
            score.worst for score in compute_scores(SUITE, order).players if score.player == "ann"
        )
        assert [blunder.task.index for blunder in worst] == [2, 0, 4]
        assert len(worst) == MAX_EXAMPLES


# A real one ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> tuple[Suite, tuple[CompletedTask, ...]]:
    found = evaluate(
        ["random", "gentle", "perfect"], variants=4, number=16, positions=32, seed=3, jobs=1
    )
    return found.suite, found.done


def test_the_order_in_which_tasks_arrive_changes_nothing(
    real: tuple[Suite, tuple[CompletedTask, ...]],
) -> None:
    suite, tasks = real
    shuffled = list(tasks)
    Random(1).shuffle(shuffled)  # noqa: S311 - likewise
    assert compute_scores(suite, shuffled) == compute_scores(suite, tasks)


PARTS: list[Callable[[Any], list[PlayerFigures]]] = [
    lambda score: list(score.by_kind.values()),
    lambda score: list(score.by_seat),
    lambda score: list(score.by_game.values()),
]


@pytest.mark.parametrize("parts", PARTS, ids=["kind", "seat", "game"])
def test_parts_make_up_the_whole(
    parts: Callable[[Any], list[PlayerFigures]], real: tuple[Suite, tuple[CompletedTask, ...]]
) -> None:
    for score in compute_scores(*real).players:
        whole, some = score.overall, parts(score)
        for count in ("tasks", "games", "won", "drawn", "lost", "decisions", "unknown"):
            assert sum(getattr(part, count) for part in some) == getattr(whole, count)
        lost = sum((part.regret.mean or 0.0) * part.regret.number for part in some)
        assert lost == pytest.approx((whole.regret.mean or 0.0) * whole.regret.number)
        assert sum(each.number for each in score.by_plies.values()) == whole.regret.number


def test_the_perfect_player_loses_nothing_and_a_random_one_what_a_guess_does(
    real: tuple[Suite, tuple[CompletedTask, ...]],
) -> None:
    by_name = {score.player: score.overall for score in compute_scores(*real).players}
    assert by_name["perfect"].regret.mean == 0
    assert by_name["perfect"].kept.mean == 1
    guess = by_name["random"].guessing
    assert guess is not None
    assert by_name["random"].regret.low <= guess <= by_name["random"].regret.high
    assert all(found.troubled.mean == found.forfeits.mean == 0 for found in by_name.values())


def test_the_json_document_has_it_all(real: tuple[Suite, tuple[CompletedTask, ...]]) -> None:
    found: Scores = compute_scores(*real)
    document = json.loads(found.to_json())
    assert [player["player"] for player in document["players"]] == [
        score.player for score in found.players
    ]
    assert (document["number"], document["positions"], document["seed"]) == (16, 32, 3)
    first = document["players"][0]
    assert first["regret"] == {
        "mean": 0.0,
        "interval": first["regret"]["interval"],
        "number": first["kept"]["number"],
    }
    assert list(first["by_kind"]) == ["game", "position"]
    assert len(first["by_seat"]) == 2
    assert list(first["by_game"]) == document["games"]
    assert len(document["pairs"]) == 3


def test_clusters_that_do_not_differ_count_as_one_value_each_whatever_rounding_makes_of_them() -> (
    None
):
    sevens = estimate_mean([(0.1 * 7 * size, size) for size in (1, 2, 3, 5, 7, 11, 13, 17, 19, 23)])
    halves = estimate_mean([(0.5 * size, size) for size in (1, 2, 3, 5, 7, 11, 13, 17, 19, 23)])
    assert sevens.high - sevens.low > 0.4
    assert halves.high - halves.low > 0.4
