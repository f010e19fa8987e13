"""Rules: a closed vocabulary, checked when they are made, and three tables of masks."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from number_tower import Rules, RulesError
from support import plain
from support.refusals import describe_refusals
from support.strategies import any_rules

MILLION = range(1, 1_000_001)


@given(any_rules())
def test_fitting_blocks_agree_with_a_plain_reading_of_the_rule(rules: Rules) -> None:
    for top in (None, *rules.blocks):
        assert rules.numbers(rules.fits(top or 0)) == tuple(
            b for b in rules.blocks if plain.fits(rules, top, b)
        )


@given(any_rules())
def test_room_keeps_a_tower_within_the_target(rules: Rules) -> None:
    for height in range((rules.target or 30) + 1):
        expected = [b for b in rules.blocks if rules.target is None or height + b <= rules.target]
        assert list(rules.numbers(rules.room(height))) == expected


@given(any_rules())
def test_rules_survive_their_dictionary(rules: Rules) -> None:
    assert Rules.from_dict(rules.to_dict()) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules  # noqa: S301 - its own pickle
    assert hash(Rules.from_dict(rules.to_dict())) == hash(rules)


@given(any_rules())
def test_mask_and_blocks_convert_into_each_other(rules: Rules) -> None:
    assert rules.numbers(rules.every) == tuple(rules.blocks)
    assert rules.mask(rules.blocks) == rules.every
    for block in rules.blocks:
        assert rules.numbers(rules.bit(block)) == (block,)
        assert rules.has(block)


def test_defaults_are_those_of_the_rulings() -> None:
    assert Rules() == Rules(range(1, 10), "shared", "shared", "any", None, None, "loses", None)


@pytest.mark.parametrize("something", [0, 10, -1, "9", 9.0, None, 10**30, True, False])
def test_only_blocks_are_blocks(something: object) -> None:
    assert not Rules().has(something)


IMPOSSIBLE: dict[str, list[object]] = {
    "supply": ["infinite"],
    "towers": ["none"],
    "fit": ["sideways", ["any"]],
    "stuck": ["dances"],
    "target": [0, True, 15.0, 10**10],
    "step": [5],
    "blocks": [[], "1-x"],
    "opening": [[], [10], [3, 3]],
    "hight": [15],
}


def test_impossible_rules_are_refused_by_key_and_reason(snapshot: SnapshotAssertion) -> None:
    wrong: list[dict[str, object]] = [{"fit": "ascending", "step": 0}]
    wrong += [{key: value} for key, values in IMPOSSIBLE.items() for value in values]
    assert describe_refusals(Rules.from_dict, wrong) == snapshot
    with pytest.raises(RulesError) as refused:
        Rules.from_dict({"target": 0})
    assert refused.value.key == "target"


@pytest.mark.parametrize("fit", ["any", "descending", "related", "unrelated"])
def test_rules_that_could_never_end_are_refused(fit: Any) -> None:
    with pytest.raises(RulesError, match="could never end"):
        Rules(supply="endless", fit=fit)
    assert Rules(supply="endless", fit=fit, target=20) != Rules(supply="own", fit=fit)


def test_endless_rules_that_must_end_are_accepted() -> None:
    assert Rules(supply="endless", fit="ascending").supply == "endless"
    assert Rules(blocks=[1, 2, 4, 8], supply="endless", fit="unrelated").supply == "endless"
    assert Rules(supply="endless", fit="unrelated", opening=[1]).supply == "endless"
    with pytest.raises(RulesError, match="could never end"):
        Rules(supply="endless", fit="unrelated", opening=[1, 4])


@pytest.mark.parametrize(
    ("rules", "top", "fitting"),
    [
        (Rules(blocks=[2, 3, 5, 7, 11], fit="unrelated"), 5, (2, 3, 7, 11)),
        (Rules(blocks=[10**8, 3, 10**9], fit="related"), 10**8, (10**8, 10**9)),
        (Rules(blocks=MILLION, fit="ascending", step=5), 999_998, (999_999, 1_000_000)),
    ],
)
def test_fitting_blocks_of_odd_and_large_sets(
    rules: Rules, top: int, fitting: tuple[int, ...]
) -> None:
    assert rules.numbers(rules.fits(top)) == fitting


def test_million_related_blocks_are_found() -> None:
    rules = Rules(blocks=MILLION, fit="related", target=10**9)
    assert len(rules.numbers(rules.fits(500_000))) == 43  # its 42 divisors and 1,000,000
    assert rules.has(1_000_000)
    assert not rules.has(1_000_001)


def test_remembered_fits_are_bounded() -> None:
    rules = Rules(blocks=MILLION, fit="descending")
    for top in range(1, 400):
        rules.fits(top)
    assert len(rules._fits_seen) < 300  # noqa: SLF001 - how much is remembered shows nowhere else


@pytest.mark.parametrize(
    ("rules", "reachable"),
    [
        (Rules(target=45), True),
        (Rules(target=46), False),
        (Rules(target=90, supply="own"), True),
        (Rules(target=91, supply="own"), False),
        (Rules(target=46, supply="own", towers="own"), False),
        (Rules(target=10**6, supply="endless"), True),
        (Rules(blocks=[4, 6], target=9, supply="endless"), False),
        (Rules(blocks=[4, 6], target=12), False),
        (Rules(), None),
    ],
)
def test_target_is_in_reach_if_the_blocks_of_a_tower_add_up_to_it(
    rules: Rules, *, reachable: bool | None
) -> None:
    assert rules.target_in_reach is reachable
