"""A row of a lab file can be written and read again, and nothing else is read as one."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from number_tower.studies.lab.rows import CSV_COLUMNS, LabFileError, LabRow
from support.lab_rows import make_row


def describe_mistake(**changes: Any) -> str:
    document = json.loads(make_row(target=15).to_json()) | changes
    with pytest.raises(LabFileError) as refusal:
        LabRow.from_dict(document)
    return str(refusal.value)


@pytest.mark.parametrize("status", ["measured", "too large", "crashed"])
def test_row_is_read_as_it_was_written(status: Any) -> None:
    row = make_row(target=15, status=status)
    assert LabRow.from_dict(json.loads(row.to_json())).to_json() == row.to_json()


def test_row_knows_its_rules() -> None:
    assert make_row(blocks="1-7", target=12).make_rules().target == 12


def test_wrong_row_is_refused_with_the_key_that_is_wrong() -> None:
    end = "measure the setting again"
    assert describe_mistake(depth=None) == f"depth: the lab never writes None; {end}"
    assert describe_mistake(value="lost") == f"value: the lab never writes 'lost'; {end}"
    assert describe_mistake(status="done") == f"status: the lab never writes 'done'; {end}"
    assert describe_mistake(colour="red") == "expected an object with exactly the keys of a row"
    assert describe_mistake(rules={"fit": "sideways"}).startswith("rules: expected rules of a game")
    assert describe_mistake(rules=None).startswith("rules: expected rules of a game")


@pytest.mark.parametrize("status", ["measured", "crashed"])
def test_row_of_csv_has_a_cell_for_each_column(status: Any) -> None:
    row = make_row(target=15, status=status)
    stream = io.StringIO()
    csv.writer(stream).writerows([CSV_COLUMNS, row.to_csv()])
    stream.seek(0)
    (cells,) = csv.DictReader(stream)
    assert None not in cells
    assert cells["target"] == "15"
    assert cells["step"] == ""
    assert cells["fairness"] == ("" if row.fairness is None else str(row.fairness))
    assert cells["result_all_0"] == ("" if row.results is None else str(row.results[-1][0]))
