"""Spaces of rules: which settings a grid has, how its values are read, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Rules, RulesError
from number_tower.engine import catalogue
from number_tower.studies.lab import SpaceError, make_space
from number_tower.studies.lab.space import KEYS, parse_values

NAMES = catalogue.list_names()


@pytest.mark.parametrize(
    ("key", "text", "values"),
    [
        ("target", "15", [15]),
        ("target", "5..8", [5, 6, 7, 8]),
        ("target", "5..15/5", [5, 10, 15]),
        ("target", "15, 20,30..31", [15, 20, 30, 31]),
        ("target", "none", [None]),
        ("blocks", "1-5..1-7", ["1-5", "1-6", "1-7"]),
        ("blocks", "1,3,5", ["1,3,5"]),
        ("blocks", "1,3,5;2-4", ["1,3,5", "2-4"]),
        ("blocks", "1-2,4..1-2,6", ["1-2,4", "1-2,5", "1-2,6"]),
        ("opening", "none;1..3", [None, "1", "2", "3"]),
        ("fit", "any,related", ["any", "related"]),
    ],
)
def test_values_are_lists_and_ranges(key: str, text: str, values: list[object]) -> None:
    assert parse_values(key, text) == values


RANGE = "expected a range upwards of at most 1,000,000 values"


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"target": "9..5"}, f"target: {RANGE}, such as 5..60 or 5..60/5; got '9..5'"),
        ({"target": "5..9/0"}, f"target: {RANGE}"),
        ({"target": "1.." + 5000 * "9"}, f"target: {RANGE}"),
        ({"target": "1..999999999999999999"}, f"target: {RANGE}"),
        ({"target": "1..1000000000"}, f"target: {RANGE}"),
        ({"blocks": "1-5..2-9"}, f"blocks: {RANGE}, such as 1-5..1-12"),
        ({"target": "high"}, "target: expected a whole number from 1 to .*, a range: 5..60"),
        ({"target": "0"}, "target: expected a whole number from 1 to"),
        ({"blocks": "9-1"}, "blocks: expected the smaller number first"),
        ({"blocks": "none"}, "blocks: expected"),
        ({"fit": "descending,upwards"}, "fit: expected one of any, descending"),
        ({"fits": "any"}, "fits: unknown; expected one of blocks, supply, .* did you mean fit"),
        ({"target": []}, "target: expected a value; got none"),
        ({"opening": "10..12"}, "none of these combinations are rules .*; the first: opening: "),
        ({"target": "1..2000", "blocks": "1-1..1-2000"}, "4,000,000 combinations .* --sample"),
    ],
)
def test_wrong_axis_is_refused_with_a_reason(axes: dict[str, object], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        make_space("draft", axes)


def test_grid_has_every_combination_that_is_a_game() -> None:
    space = make_space(
        "climb", {"blocks": "1-3..1-5", "opening": ["none", "1-4", [2, 3]], "step": range(1, 3)}
    )
    expected = [
        {"blocks": blocks, "step": step, "opening": opening}
        for blocks, step, opening in product(("1-3", "1-4", "1-5"), (1, 2), (None, "1-4", "2,3"))
        if (blocks, opening) != ("1-3", "1-4")
    ]
    assert [setting.options for setting in space] == expected
    assert [setting.index for setting in space] == list(range(len(expected)))
    assert space.combinations == 18
    assert all(setting.rules == nt.rules("climb").replace(setting.options) for setting in space)


def test_blocks_can_be_given_as_numbers() -> None:
    space = make_space("race", {"blocks": [[1, 2, 3], range(1, 6)], "target": 9})
    assert [setting.options["blocks"] for setting in space] == ["1-3", "1-5"]
    assert len(make_space("race", {"blocks": [1, 2, 3]})) == 1


def test_rule_file_and_plain_rules_have_spaces_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[rules]\nblocks = "1-6"\nfit = "related"\n')
    assert make_space(file, {"blocks": "1-4..1-6"}).game == str(file)
    assert len(make_space(Rules(blocks=range(1, 5), target=9), {"target": "5..9"})) == 5


@pytest.mark.parametrize("name", NAMES)
def test_every_game_has_a_usual_space_with_its_own_setting_in_it(name: str) -> None:
    space = make_space(name)
    assert 50 <= len(space) <= 5_000
    assert nt.rules(name) in [setting.rules for setting in space]


@given(st.integers(1, 60), st.integers(0, 5))
def test_sample_has_no_repetition_and_follows_from_the_seed(sample: int, seed: int) -> None:
    axes = {"blocks": "1-3..1-12", "target": "5..20", "opening": "none;1-10"}
    settings, again = (
        [setting.options for setting in make_space("draft", axes, sample=sample, seed=seed)]
        for _ in range(2)
    )
    assert len(settings) == len({str(options) for options in settings}) == sample
    assert settings == again


def test_huge_space_can_be_sampled() -> None:
    axes = {"blocks": "1-5..1-60", "target": "1..100000", "step": "none", "supply": "own,shared"}
    assert len(make_space("race", axes, sample=100)) == 100


def test_sample_of_more_than_there_is_has_everything() -> None:
    whole = make_space("draft", {"target": "5..9"})
    drawn = make_space("draft", {"target": "5..9"}, sample=50)
    assert {setting.rules for setting in drawn} == {setting.rules for setting in whole}
    assert len(drawn) == len(whole)


@st.composite
def any_axes(draw: st.DrawFn) -> dict[str, Sequence[Any]]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "blocks": st.sampled_from(["1-3", "1-5", "2,4,6"]),
        "supply": st.sampled_from(["own", "shared", "endless"]),
        "towers": st.sampled_from(["own", "shared"]),
        "fit": st.sampled_from(["any", "descending", "ascending", "related", "unrelated"]),
        "step": st.sampled_from([None, 1, 3]),
        "target": st.none() | st.integers(1, 12),
        "stuck": st.sampled_from(["loses", "skips"]),
        "opening": st.sampled_from([None, "1", "2,4"]),
    }
    keys = draw(st.sets(st.sampled_from(KEYS), min_size=1, max_size=4))
    return {
        key: draw(st.lists(values[key], min_size=1, max_size=3, unique=True))
        for key in sorted(keys)
    }


@given(st.sampled_from(NAMES), any_axes())
def test_settings_are_exactly_the_valid_rules_among_all_combinations(
    name: str, axes: dict[str, Sequence[Any]]
) -> None:
    base, expected = nt.rules(name), []
    keys = sorted(axes, key=KEYS.index)
    for values in product(*(axes[key] for key in keys)):
        try:
            expected.append(base.replace(dict(zip(keys, values, strict=True))))
        except RulesError:
            continue
    if not expected:
        with pytest.raises(SpaceError, match="none of these combinations"):
            make_space(name, axes)
    else:
        assert [setting.rules for setting in make_space(name, axes)] == expected
