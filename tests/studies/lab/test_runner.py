"""Sweeps: a row with the measures of each setting, also as a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from number_tower.studies.lab import Space, StudyLimits, make_space, study, sweep
from number_tower.studies.lab.rows import CSV_COLUMNS, LabRow
from number_tower.studies.lab.runner import write_csv
from support.jobs import AXES


@pytest.fixture(scope="module")
def space() -> Space:
    return make_space("draft", AXES)


@pytest.fixture(scope="module")
def rows(space: Space) -> list[LabRow]:
    return list(sweep(space, jobs=1))


def test_row_has_the_measures_of_its_rules(space: Space, rows: list[LabRow]) -> None:
    assert [row.index for row in rows] == list(range(len(space)))
    for row, setting in zip(rows, space, strict=True):
        measures = study(setting.rules)
        assert (row.options, row.make_rules()) == (setting.options, setting.rules)
        assert (row.value, row.plies, row.depth) == (measures.value, measures.plies, measures.depth)
        assert row.status == "measured"
        assert row.fairness == pytest.approx(measures.fairness, abs=1e-6)
        assert row.results is not None
        assert row.results[3][7] == pytest.approx(measures.get_games(3, None).result, abs=1e-6)
        assert LabRow.from_dict(json.loads(row.to_json())) == row


def test_setting_that_is_too_large_is_a_row_without_measures(space: Space) -> None:
    row = next(sweep(space, jobs=1, limits=StudyLimits(positions=3)))
    assert (row.status, row.value, row.fairness, row.results) == ("too large", None, None, None)


def test_name_of_a_game_stands_for_its_usual_space() -> None:
    assert next(sweep("factor", jobs=1)).game == "factor"


def test_rows_can_be_written_as_a_table(rows: list[LabRow], tmp_path: Path) -> None:
    write_csv(rows, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [int(line["index"]) for line in table] == [row.index for row in rows]
    assert list(table[0]) == list(CSV_COLUMNS)
    assert [line["opening"] or None for line in table] == [row.options["opening"] for row in rows]
    assert float(table[0]["fairness"]) == rows[0].fairness
