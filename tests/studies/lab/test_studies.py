"""Exact measures of rules, against a plain computation from the rules and against played games."""

from __future__ import annotations

from collections import Counter
from itertools import chain, product
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Rules
from number_tower.engine import catalogue
from number_tower.solve import jit
from number_tower.studies.lab import NotMeasuredError, Study, study
from number_tower.studies.lab.measures import ENDINGS, SIGHTS
from support.plain import LADDER, PlainStudy
from support.sizes import examples, size
from support.strategies import any_rules

NAMES = catalogue.list_names()
SMALL = any_rules(most_blocks=4, largest=10, highest=16)
CLOSE = 1e-9


def assert_equal_games(exact: Study, plain: PlainStudy) -> None:
    for first, second in product(LADDER, repeat=2):
        games, expected = exact.get_games(first, second), plain.expect(first, second)
        assert games.result == pytest.approx(expected.result, abs=CLOSE)
        assert games.draws == pytest.approx(expected.draws, abs=CLOSE)
        assert games.length == pytest.approx(expected.length, abs=CLOSE)
        assert games.swings == pytest.approx(expected.swings, abs=CLOSE)
        assert games.endings == pytest.approx(
            {reason: expected.endings[reason] for reason in ENDINGS}, abs=CLOSE
        )


@settings(max_examples=examples(300))
@given(SMALL)
def test_games_of_every_pair_are_those_of_a_brute_force_expectation(rules: Rules) -> None:
    assert_equal_games(study(rules, compiled=False), PlainStudy(rules))


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(any_rules(most_blocks=4, largest=10, highest=16, beyond=True))
def test_games_are_measured_exactly_where_the_target_is_out_of_reach(rules: Rules) -> None:
    assert_equal_games(study(rules, compiled=False), PlainStudy(rules))


@settings(max_examples=examples(500))
@given(any_rules(most_blocks=6, largest=12, highest=24))
def test_values_and_plies_are_those_of_the_solver(rules: Rules) -> None:
    exact, solution = study(rules), nt.solve(Game(rules))
    assert (exact.value, exact.plies) == (solution.value, solution.plies)
    assert exact.openings == len(solution.moves)
    assert exact.winning_openings == sum(worth.value == "win" for worth in solution.moves.values())


@settings(max_examples=examples(300))
@given(any_rules(most_blocks=5, largest=10, highest=20))
def test_equal_positions_are_counted_once_and_nothing_else_is_left_out(rules: Rules) -> None:
    exact, plain = study(rules), PlainStudy(rules)
    assert exact.longest == plain.longest
    assert min(1, len(plain.positions)) <= exact.positions <= len(plain.positions)
    differ = [
        len({plain.move_value(position, block, None) for block in position.legal}) > 1
        for position in plain.positions
    ]
    assert (exact.decisions > 0) == any(differ)
    assert (exact.decisions == 1) == (differ != [] and all(differ))


@pytest.mark.slow
@pytest.mark.skipif(not jit.is_available(), reason="Numba is not installed")
@settings(max_examples=examples(300))
@given(any_rules(most_blocks=6, largest=12, highest=24))
def test_compiled_and_interpreted_studies_are_the_same_to_the_last_bit(rules: Rules) -> None:
    assert study(rules, compiled=True) == study(rules, compiled=False)


@settings(max_examples=examples(300))
@given(any_rules(most_blocks=5, largest=12, highest=20))
def test_measures_follow_from_the_games_of_equal_players_by_their_formulas(rules: Rules) -> None:
    exact = study(rules)
    equal = [exact.get_games(sight, sight) for sight in (0, 1, 2, 3, 4, 6, 8)]
    assert exact.fairness == pytest.approx(
        1 - 2 * sum(abs(games.result - 1 / 2) for games in equal) / 7
    )
    assert exact.length == pytest.approx(sum(games.length for games in equal) / 7)
    assert exact.drama == pytest.approx(sum(games.swings for games in equal) / 7)
    assert exact.draws == pytest.approx(exact.endings["level"], abs=CLOSE)
    assert exact.reach == (None if rules.target is None else exact.endings["exact"])
    assert sum(exact.endings.values()) == pytest.approx(1)
    ladder = zip(SIGHTS[1:], SIGHTS, strict=False)
    steps = [
        (exact.get_games(above, below).result + 1 - exact.get_games(below, above).result) / 2
        for above, below in ladder
    ]
    assert exact.depth == sum(step >= 0.55 for step in steps)
    shares = [exact.fairness, exact.decisions, exact.draws, exact.reach or 0]
    for games in chain.from_iterable(exact.games):
        shares += [games.result, games.draws, *games.endings.values()]
    assert 0 <= min(shares) <= max(shares) <= 1


@given(any_rules(most_blocks=6, largest=12, highest=24))
def test_player_who_sees_everything_gets_the_value_at_least(rules: Rules) -> None:
    exact = study(rules)
    value = {"win": 1.0, "draw": 0.5, "loss": 0.0}[exact.value]
    for sight in SIGHTS:
        assert exact.get_games(None, sight).result >= value - CLOSE
        assert exact.get_games(sight, None).result <= value + CLOSE


@pytest.mark.parametrize(
    ("game", "options", "fairness", "depth"),
    [
        ("draft", {}, 0.49, 3),
        ("summit", {"target": 23}, 0.63, 5),
        ("climb", {"opening": range(1, 7)}, 1.00, 7),
    ],
)
def test_figures_of_the_prototype_are_reproduced(
    game: str, options: dict[str, object], fairness: float, depth: int
) -> None:
    exact = study(nt.rules(game, **options))
    assert (round(exact.fairness, 2), exact.depth) == (fairness, depth)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_played_games_agree_with_the_expected_ones(name: str) -> None:
    rules = nt.rules(name) if name != "climb" else nt.rules(name, blocks=range(1, 13))
    exact, plain, rng = study(rules), PlainStudy(rules), Random(7)  # noqa: S311 - not a secret
    number = size(600, 6000)
    for first, second in ((0, 0), (1, 2), (3, 1), (None, 2), (4, None)):
        games = [plain.play(first, second, rng) for _ in range(number)]
        expected = exact.get_games(first, second)
        outcomes = [outcome for positions in games if (outcome := positions[-1].outcome)]
        assert len(outcomes) == number
        points = fmean({0: 1.0, 1: 0.0, None: 0.5}[outcome.winner] for outcome in outcomes)
        margin = 5 * sqrt(0.25 / number)
        assert abs(points - expected.result) < margin
        reasons = Counter[str](outcome.reason for outcome in outcomes)
        for reason in ENDINGS:
            assert abs(reasons[reason] / number - expected.endings[reason]) < margin
        length = fmean(len(positions) - 1 for positions in games)
        assert abs(length - expected.length) < 5 * exact.longest / 2 / sqrt(number)


def test_rule_file_is_measured_like_a_game(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[rules]\nblocks = "1-6"\nfit = "related"\n')
    assert study(file) == study(str(file)) == study(Rules(blocks=range(1, 7), fit="related"))
    assert study("factor") == study(nt.rules("factor"))


def test_game_that_is_over_before_it_begins_is_lost_by_the_first_player() -> None:
    exact = study(Rules(blocks=[5], target=3))
    assert (exact.value, exact.plies, exact.openings) == ("loss", 0, 0)
    assert (exact.positions, exact.length, exact.reach) == (0, 0, 0)
    assert (exact.fairness, exact.depth, exact.endings["stuck"]) == (0, 0, 1)
    assert study(Rules(blocks=[5], target=3, stuck="skips")).value == "draw"


def test_more_blocks_than_bits_of_a_machine_word_are_measured_too() -> None:
    exact = study(nt.rules("climb", blocks=range(1, 101), opening=range(1, 7)))
    assert (exact.value, exact.winning_openings, exact.positions) == ("win", 1, 100)


@pytest.mark.parametrize("compiled", [False, True])
def test_too_large_rules_are_not_measured(compiled: bool) -> None:  # noqa: FBT001 - a parameter
    if compiled and not jit.is_available():
        pytest.skip("Numba is not installed")
    rules = nt.rules("race")
    count = study(rules, compiled=compiled).positions
    assert study(rules, positions=count, compiled=compiled).positions == count
    with pytest.raises(NotMeasuredError, match=f"not measured: more than {count - 1:,} positions"):
        study(rules, positions=count - 1, compiled=compiled)
    with pytest.raises(NotMeasuredError, match="not measured: more than 1 MiB of memory"):
        study(rules.replace({"target": 30}), memory=1, compiled=compiled)


@pytest.mark.parametrize(
    "options",
    [
        {"blocks": "1-1000000", "target": 10**6},
        {"supply": "endless", "target": 10**9, "blocks": "1-3"},
        {"supply": "endless", "towers": "shared", "target": 10**5, "blocks": "1-3"},
        {"target": 10**9},
    ],
)
def test_far_too_large_rules_are_refused_at_once(options: dict[str, object]) -> None:
    with pytest.raises(NotMeasuredError, match="too large, not measured"):
        study(nt.rules("race").replace(options), positions=20_000, memory=64)


@given(st.sampled_from(NAMES), st.integers(1, 400))
def test_limit_of_positions_never_changes_a_result(name: str, limit: int) -> None:
    try:
        exact = study(name, positions=limit, compiled=False)
    except NotMeasuredError:
        assert study(name).positions > limit
    else:
        assert exact == study(name)


@pytest.mark.parametrize("book", catalogue.load_all(), ids=lambda book: book.name)
def test_every_preset_is_fairer_and_deeper_than_its_rulebook(book: catalogue.Rulebook) -> None:
    usual = study(book.rules)
    assert len(book.presets) >= 2
    for preset in book.presets.values():
        exact = study(book.apply_options(preset.options))
        assert exact.fairness > usual.fairness + 0.1
        assert exact.depth > usual.depth
