"""Rules: a closed vocabulary, checked when they are made, and three tables of masks."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given

from number_tower import Rules, RulesError
from support import plain
from support.strategies import any_rules


@given(any_rules())
def test_the_fit_table_agrees_with_a_plain_reading_of_the_rule(rules: Rules) -> None:
    for top in (None, *rules.blocks):
        assert rules.numbers(rules.fits(top or 0)) == tuple(
            b for b in rules.blocks if plain.fits(rules, top, b)
        )


@given(any_rules())
def test_the_room_table_keeps_a_tower_within_the_target(rules: Rules) -> None:
    for height in range((rules.target or 30) + 1):
        expected = [b for b in rules.blocks if rules.target is None or height + b <= rules.target]
        assert list(rules.numbers(rules.room(height))) == expected


@given(any_rules())
def test_rules_written_down_read_back_the_same(rules: Rules) -> None:
    assert Rules.from_dict(rules.to_dict()) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules  # noqa: S301 - its own pickle
    assert hash(Rules.from_dict(rules.to_dict())) == hash(rules)


@given(any_rules())
def test_a_mask_and_its_blocks_are_two_forms_of_one_thing(rules: Rules) -> None:
    assert rules.numbers(rules.every) == tuple(rules.blocks)
    assert rules.mask(rules.blocks) == rules.every
    for block in rules.blocks:
        assert rules.numbers(rules.bit(block)) == (block,)
        assert rules.has(block)


def test_what_is_left_out_is_as_ruled() -> None:
    rules = Rules()
    assert list(rules.blocks) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert (rules.supply, rules.towers, rules.fit, rules.stuck) == (
        "shared",
        "shared",
        "any",
        "loses",
    )
    assert (rules.target, rules.step, rules.opening) == (None, None, None)


@pytest.mark.parametrize("something", [0, 10, -1, "9", 9.0, None, 10**30, True, False])
def test_only_blocks_are_blocks(something: object) -> None:
    assert not Rules().has(something)


@pytest.mark.parametrize(
    ("wrong", "key", "said"),
    [
        ({"supply": "infinite"}, "supply", "own, shared, endless"),
        ({"towers": "none"}, "towers", "own, shared"),
        (
            {"fit": "sideways"},
            "fit",
            "any, descending, ascending, related, unrelated; got 'sideways'",
        ),
        ({"stuck": "dances"}, "stuck", "loses, skips"),
        ({"fit": ["any"]}, "fit", "got ['any']"),
        ({"target": 0}, "target", "a whole number from 1 to"),
        ({"target": -15}, "target", "a whole number from 1 to"),
        ({"target": True}, "target", "got True"),
        ({"target": 15.0}, "target", "got 15.0"),
        ({"target": 10**10}, "target", "from 1 to 1,000,000,000"),
        ({"step": 5}, "step", 'only with fit "ascending"'),
        ({"fit": "ascending", "step": 0}, "step", "a whole number from 1 to"),
        ({"blocks": []}, "blocks", "at least one block"),
        ({"blocks": "1-x"}, "blocks", "positive whole numbers"),
        ({"opening": []}, "opening", "at least one block"),
        ({"opening": [10]}, "opening", "blocks of this game (1-9); got 10"),
        ({"opening": [3, 3]}, "opening", "each block once"),
    ],
)
def test_impossible_rules_are_refused_by_key_and_reason(
    wrong: dict[str, Any], key: str, said: str
) -> None:
    with pytest.raises(RulesError) as refused:
        Rules(**wrong)
    assert refused.value.key == key
    assert said in refused.value.problem


def test_an_unknown_key_is_refused_with_those_there_are() -> None:
    with pytest.raises(RulesError, match="unknown; expected one of blocks, supply, towers"):
        Rules.from_dict({"hight": 15})


@pytest.mark.parametrize("fit", ["any", "descending", "related", "unrelated"])
def test_rules_that_could_never_end_are_refused(fit: Any) -> None:
    with pytest.raises(RulesError, match="could never end"):
        Rules(supply="endless", fit=fit)
    Rules(supply="endless", fit=fit, target=20)
    Rules(supply="own", fit=fit)


def test_endless_rules_that_must_end_are_welcome() -> None:
    assert Rules(supply="endless", fit="ascending").supply == "endless"
    assert Rules(blocks=[1, 2, 4, 8], supply="endless", fit="unrelated").supply == "endless"
    assert Rules(supply="endless", fit="unrelated", opening=[1]).supply == "endless"
    with pytest.raises(RulesError, match="could never end"):
        Rules(supply="endless", fit="unrelated", opening=[1, 4])


def test_any_set_of_distinct_positive_integers_will_do() -> None:
    primes = Rules(blocks=[2, 3, 5, 7, 11], fit="unrelated")
    assert primes.numbers(primes.fits(5)) == (2, 3, 7, 11)
    wide = Rules(blocks=[10**8, 3, 10**9], fit="related")
    assert wide.numbers(wide.fits(10**8)) == (10**8, 10**9)


def test_a_million_blocks_can_be_asked_about() -> None:
    rules = Rules(blocks=range(1, 1_000_001), fit="related", target=10**9)
    assert len(rules.numbers(rules.fits(500_000))) == 43  # its 42 divisors and 1,000,000
    assert rules.has(1_000_000)
    assert not rules.has(1_000_001)
    steps = Rules(blocks=range(1, 1_000_001), fit="ascending", step=5)
    assert steps.numbers(steps.fits(999_998)) == (999_999, 1_000_000)


def test_what_is_remembered_is_bounded() -> None:
    rules = Rules(blocks=range(1, 1_000_001), fit="descending")
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
def test_a_target_is_in_reach_if_the_blocks_of_one_tower_add_up_to_it(
    rules: Rules, *, reachable: bool | None
) -> None:
    assert rules.target_in_reach is reachable
