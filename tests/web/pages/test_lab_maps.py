"""A map of the rule lab has what the rows of `tower lab` say, is small, and refuses wrong rows."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab_maps
from number_tower import Game, NumberTowerError, solve
from number_tower.engine import catalogue
from number_tower.studies.lab import study
from number_tower.studies.lab.maps import LabMap
from number_tower.studies.lab.measures import NUMBERS
from number_tower.studies.lab.rows import LabRow, Status
from number_tower.web.pages.lab_maps import (
    MAP_DIRECTORY,
    describe_row,
    find_by_rules,
    load_map,
    read_map,
)
from support.lab_rows import make_grid, make_row, write_rows
from support.sizes import size

BLOCKS = [f"1-{most}" for most in range(3, 12)]
STATUSES: tuple[Status, ...] = ("measured", "too large", "crashed")


def make_map(rows: list[LabRow]) -> LabMap:
    return read_map(json.loads(json.dumps(lab_maps.make_map(rows[0].game, rows))))


def run_tool(tmp_path: Path, rows: list[LabRow]) -> None:
    path = write_rows(tmp_path / "rows.jsonl", rows)
    lab_maps.main([str(path)], tmp_path)


# What a map holds ---------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["any", "descending", "related"]), min_size=1, unique=True),
    st.lists(st.sampled_from([None, "1", "1-3", "2,3"]), min_size=1, unique=True),
)
def test_every_row_is_on_the_map_with_its_figures(
    blocks: list[str], targets: list[int], fits: list[str], openings: list[str | None]
) -> None:
    names = ("blocks", "target", "fit", "opening")
    settings = enumerate(product(blocks, targets, fits, openings))
    rows = []
    for index, values in settings:
        rules: dict[str, Any] = dict(zip(names, values, strict=True))
        rows.append(make_row("draft", index, STATUSES[index % 3], **rules))
    lab_map = make_map(rows)
    assert len(lab_map.rows) == len(rows)
    for row in rows:
        shown = find_by_rules(lab_map, row.make_rules())
        assert shown is not None
        assert (shown.status, shown.value, shown.rules) == (row.status, row.value, row.rules)
        assert_same_figures(shown, row)


def assert_same_figures(shown: LabRow, expected: object) -> None:
    """Check the figures of a map, which are rounded."""
    for measure in NUMBERS:
        figure = getattr(expected, measure.name)
        if figure is not None:
            figure = pytest.approx(figure, abs=0.501 / 10**measure.digits)
        assert getattr(shown, measure.name) == figure


def test_map_of_rows_in_any_order_goes_across_along_the_longest_list_that_fits() -> None:
    blocks, fits = ["1-9", "1-10", "1-5"], ["descending", "any"]
    rows = make_grid("draft", blocks=blocks, target=[*range(50, 10, -2)], fit=fits)
    lab_map = make_map(rows)
    assert lab_map.keys == ("target", "blocks", "fit")
    assert lab_map.values == ((*range(12, 52, 2),), ("1-5", "1-9", "1-10"), tuple(fits))
    mixed = Random(1).sample(rows, len(rows))  # noqa: S311 - not a secret
    assert lab_maps.make_map("draft", mixed) == lab_maps.make_map("draft", rows)
    many = make_map(make_grid("draft", blocks=BLOCKS, target=[*range(5, 60)]))
    assert many.keys == ("blocks", "target")
    lab_map = make_map(make_grid("climb", blocks=["1-30", "1-40"], opening=["1-6", None, "1-5"]))
    assert lab_map.values == ((None, "1-5", "1-6"), ("1-30", "1-40")), "free first blocks are first"
    assert describe_row(lab_map.rows[None, "1-30"]) == "First blocks all, blocks 1-30"


def test_map_of_a_single_setting_or_with_impossible_rules_has_their_cells_alone() -> None:
    row = make_row("factor")
    lab_map = make_map([row])
    assert [shown.rules for shown in lab_map.rows.values()] == [row.rules]
    assert len(lab_map.keys) == 2
    settings = (("1-9", "1-5"), ("1-30", "1-20"))
    lab_map = make_map(
        [make_row("climb", n, blocks=b, opening=o) for n, (b, o) in enumerate(settings)]
    )
    assert lab_map.values == (("1-9", "1-30"), ("1-5", "1-20"))
    assert set(lab_map.rows) == set(settings)


def test_map_of_too_many_settings_is_thinned_around_the_rulebook() -> None:
    blocks = [f"1-{most}" for most in range(5, 61)]
    lab_map = make_map(
        make_grid("climb", blocks=blocks, step=[*range(2, 9)], opening=[None, "1-3", "1-5"])
    )
    assert lab_map.keys == ("blocks", "step", "opening")
    assert lab_map.values == (tuple(blocks[1::2]), (*range(2, 9),), (None, "1-3", "1-5"))
    assert find_by_rules(lab_map, catalogue.load_named("climb").rules) is not None


# The tool -----------------------------------------------------------------------------------------


def test_tool_writes_a_small_file_per_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [*range(5, 61)]
    run_tool(
        tmp_path, make_grid("draft", blocks=BLOCKS[1:], target=targets, fit=["any", "related"])
    )
    run_tool(tmp_path, make_grid("race", target=[9, 10], blocks=["1-5", "1-9"]))
    assert "race.json: 4 of 4 settings" in capsys.readouterr().out
    maps = {name: load_map(name, tmp_path) for name in ("draft", "race", "climb")}
    counts = {name: lab_map and len(lab_map.rows) for name, lab_map in maps.items()}
    assert counts == {"draft": 896, "race": 4, "climb": None}
    assert (tmp_path / "draft.json").stat().st_size < 40_000


ROW = make_row("draft", target=15).to_json()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"index": 0}', "line 2: expected an object with exactly the keys of a row"),
        (ROW.replace('"draft"', '"chess"'), "there is no game called 'chess'"),
        (ROW.replace('"draft"', '"race"'), "the rules of race have changed"),
    ],
)
def test_wrong_row_is_refused_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"number_tower_lab": 1}}\n{line}\n')
    with pytest.raises(NumberTowerError, match=re.escape(words)):
        lab_maps.main([str(path)], tmp_path)
    assert list(tmp_path.glob("*.json")) == []


# The maps that come with the program --------------------------------------------------------------

SHIPPED = sorted(path.stem for path in MAP_DIRECTORY.glob("*.json"))
SAMPLE = size(3, 60)
SMALL = 3_000
"""Positions of a setting that is measured again."""


def load_shipped(name: str) -> LabMap:
    lab_map = load_map(name)
    assert lab_map is not None
    return lab_map


def test_shipped_map_of_every_game_is_small_and_has_its_rulebook() -> None:
    assert sorted(catalogue.list_names()) == SHIPPED
    for name in SHIPPED:
        assert (MAP_DIRECTORY / f"{name}.json").stat().st_size < 40_000
        assert find_by_rules(load_shipped(name), catalogue.load_named(name).rules) is not None


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_figures_are_those_measured_now(name: str) -> None:
    rows = [row for row in load_shipped(name).rows.values() if (row.positions or SMALL) < SMALL]
    for row in Random(name).sample(rows, SAMPLE):  # noqa: S311 - not a secret
        rules = row.make_rules()
        measured = study(rules)
        assert row.value == measured.value == solve(Game(rules)).value
        assert_same_figures(row, measured)
