"""A file of the lab is read as it was written.

Any other file, or a damaged one, is refused with a reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from number_tower.studies.lab.results import LabFileError, read_results, sort_values
from number_tower.studies.lab.rows import CSV_COLUMNS, LabRow
from support.lab_rows import HEADER, make_grid, make_row, write_rows

FOREIGN = "lab.jsonl is not a file of the lab; tower lab GAME --out FILE writes one"
TWO_GAMES = f"{make_row(target=15).to_json()}\n{make_row('race', 1, target=16).to_json()}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.jsonl"


@pytest.fixture
def rows() -> list[LabRow]:
    return make_grid(blocks=["1-9", "1-10"], target=[15, 9], fit=["descending", "any"])


def describe_mistake(path: Path) -> str:
    with pytest.raises(LabFileError) as refusal:
        read_results(path)
    return str(refusal.value).replace(f"{path.parent}/", "")


def test_file_is_read_by_index_with_the_rules_that_vary(path: Path, rows: list[LabRow]) -> None:
    results = read_results(write_rows(path, rows[::-1]))
    assert [row.to_json() for row in results.rows] == [row.to_json() for row in rows]
    assert results.game == "draft"
    assert results.values == {
        "blocks": ("1-9", "1-10"),
        "target": (9, 15),
        "fit": ("descending", "any"),
    }
    assert results.settings["version"] == "0.1.0"


def test_rule_with_a_single_value_does_not_vary(path: Path) -> None:
    results = read_results(write_rows(path, make_grid(blocks=["1-9"], target=[15, 21])))
    assert results.values == {"target": (15, 21)}


def test_rows_without_figures_are_counted(path: Path) -> None:
    rows = [
        make_row(index=0, target=15),
        make_row(index=1, target=17, status="too large"),
        make_row(index=2, target=18, status="crashed"),
    ]
    results = read_results(write_rows(path, rows))
    assert [row.index for row in results.measured] == [0]
    assert results.statuses == {"measured": 1, "too large": 1, "crashed": 1}


def test_unfinished_last_line_is_left_out(path: Path, rows: list[LabRow]) -> None:
    path.write_text(write_rows(path, rows).read_text()[:-20])
    assert len(read_results(path).rows) == len(rows) - 1


def test_values_are_in_the_order_of_their_numbers_or_as_they_come() -> None:
    assert sort_values(["1-10", "1-9", "1-9", None]) == (None, "1-9", "1-10")
    assert sort_values([3, 20, 5]) == (3, 5, 20)
    assert sort_values(["related", "any", "descending"]) == ("related", "any", "descending")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", FOREIGN),
        ("title = 'draft'\n", FOREIGN),
        ('{"number_tower_eval": 2}\n', FOREIGN),
        ("[" * 100_000, FOREIGN),
        (",".join(CSV_COLUMNS), "lab.jsonl is a CSV file, for spreadsheets; expected the lines of"),
        ('{"number_tower_lab": 99}\n', "lab.jsonl was written by another version of Number Tower"),
        (f"{HEADER}\n", "lab.jsonl has no finished settings yet"),
        (f"{HEADER}\nnot json\n", "lab.jsonl, line 2: expected an object with exactly the keys"),
        (f"{HEADER}\n{TWO_GAMES}\n", "lab.jsonl has rows of several games (draft, race); expected"),
    ],
)
def test_wrong_file_is_refused_with_a_reason(path: Path, content: str, problem: str) -> None:
    path.write_text(content)
    assert describe_mistake(path).startswith(problem)


def test_changed_row_is_refused_with_its_line_and_key(path: Path, rows: list[LabRow]) -> None:
    text = write_rows(path, rows).read_text()
    path.write_text(text.replace('"status": "measured"', '"status": "guessed"', 1))
    problem = "lab.jsonl, line 2: status: the lab never writes 'guessed'"
    assert describe_mistake(path).startswith(problem)


def test_file_that_is_missing_or_not_text_is_refused(path: Path) -> None:
    assert describe_mistake(path).startswith("there is no file lab.jsonl; tower lab GAME --out")
    assert describe_mistake(path.parent).endswith("cannot be read: Is a directory")
    path.write_bytes(b"\x89PNG\xff\xfe")
    assert describe_mistake(path) == FOREIGN
