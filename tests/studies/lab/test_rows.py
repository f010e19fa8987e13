"""A row of a lab file can be written and read again, and nothing else is read as one."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from number_tower.lab.rows import CSV_COLUMNS, LabFileError, LabRow
from support.lab_rows import make_row


def describe_mistake(**changes: Any) -> str:
    document = json.loads(make_row(target=15).to_json()) | changes
    with pytest.raises(LabFileError) as caught:
        LabRow.from_document(document)
    return str(caught.value)


@pytest.mark.parametrize("status", ["measured", "too large", "crashed"])
def test_a_row_is_read_as_it_was_written(status: Any) -> None:
    row = make_row(target=15, status=status)
    assert LabRow.from_document(json.loads(row.to_json())).to_json() == row.to_json()


def test_a_row_knows_its_rules() -> None:
    assert make_row(blocks="1-7", target=12).make_rules().target == 12


def test_each_mistake_is_named_with_what_would_be_right() -> None:
    assert describe_mistake(fairness=1.5) == "fairness: expected a number from 0 to 1; got 1.5"
    assert describe_mistake(fairness=float("nan")).startswith("fairness: expected a number")
    assert describe_mistake(value="lost") == "value: expected one of win, draw, loss; got 'lost'"
    assert describe_mistake(status="done").startswith(
        "status: expected one of measured, too large, crashed"
    )
    assert describe_mistake(colour="red") == (
        "colour: expected exactly the keys of a row; got 'red'"
    )
    assert describe_mistake(rules={"blocks": "1-9", "fit": "sideways"}).startswith(
        "rules: expected rules of a game"
    )
    assert (
        describe_mistake(options={"target": 16}) == "options.target: expected the rule 15; got 16"
    )


def test_the_measures_follow_from_the_status() -> None:
    assert (
        describe_mistake(status="too large")
        == "value: expected null, because the status is \"too large\"; got 'win'"
    )
    assert describe_mistake(depth=None) == "depth: expected a number from 0 to 7; got None"


def test_rules_that_are_not_written_in_full_are_refused() -> None:
    assert describe_mistake(rules={"target": 15}).startswith(
        "rules: expected every rule as a rule file writes it"
    )


@pytest.mark.parametrize("status", ["measured", "crashed"])
def test_a_row_of_csv_has_a_cell_for_each_column(status: Any) -> None:
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
