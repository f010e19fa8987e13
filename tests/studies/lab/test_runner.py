"""Sweeps: a row for each setting, the same on any number of cores, in a file to resume."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from number_tower.studies.batch import BatchError
from number_tower.studies.lab import LabJournal, Space, StudyLimits, make_space, study, sweep
from number_tower.studies.lab.rows import CSV_COLUMNS, LabRow
from number_tower.studies.lab.runner import write_csv

LIMITS = StudyLimits(positions=2_000)


class OneByOne(ThreadPoolExecutor):
    """Returns each row by itself, so that how far a sweep is does not depend on how fast it is."""

    chunk_seconds = 0.0


HERE = OneByOne(1)
"""Measures in a thread of this process, which starts at once."""


@pytest.fixture(scope="module")
def space() -> Space:
    return make_space("draft", {"blocks": "1-4..1-6", "target": "8..12", "opening": "none;1-5"})


@pytest.fixture(scope="module")
def rows(space: Space) -> list[LabRow]:
    return sorted(sweep(space, HERE, limits=LIMITS), key=lambda row: row.index)


def write_rows(path: Path, space: Space, *, resume: bool = False, most: int | None = None) -> bytes:
    with LabJournal(path, space, LIMITS, resume=resume) as journal:
        for number, _ in enumerate(sweep(space, HERE, limits=LIMITS, log=journal), 1):
            if number == most:
                break
    return path.read_bytes()


def test_each_row_has_the_measures_of_its_rules(space: Space, rows: list[LabRow]) -> None:
    assert [row.index for row in rows] == list(range(len(space)))
    for row, setting in zip(rows, space, strict=True):
        found = study(setting.rules)
        assert (row.options, row.make_rules(), row.status) == (
            setting.options,
            setting.rules,
            "measured",
        )
        assert (row.value, row.plies, row.depth) == (found.value, found.plies, found.depth)
        assert row.fairness == pytest.approx(found.fairness, abs=1e-6)
        assert row.results is not None
        assert row.results[3][7] == pytest.approx(found.get_games(3, None).result, abs=1e-6)
        assert LabRow.from_dict(json.loads(row.to_json())) == row


def test_a_sweep_that_was_stopped_goes_on_where_it_was(
    space: Space, rows: list[LabRow], tmp_path: Path
) -> None:
    whole, part = (
        write_rows(tmp_path / "whole", space),
        write_rows(tmp_path / "part", space, most=7),
    )
    assert set(part.splitlines()) < set(whole.splitlines())
    assert len(part.splitlines()) < len(rows)
    (tmp_path / "part").write_bytes(part + b'{"index": 29, "ga')  # as a killed process leaves it
    assert write_rows(tmp_path / "part", space, resume=True) == whole


def test_a_file_of_another_space_is_not_resumed(space: Space, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", space, most=3)
    other = make_space("draft", {"blocks": "1-4..1-6", "target": "8..13", "opening": "none;1-5"})
    with pytest.raises(BatchError, match="holds another experiment: other axes"):
        LabJournal(tmp_path / "rows", other, LIMITS, resume=True)
    with pytest.raises(BatchError, match="positions 2000, and not 5"):
        LabJournal(tmp_path / "rows", space, StudyLimits(positions=5), resume=True)


def test_what_is_too_large_is_a_row_without_measures(space: Space) -> None:
    row = next(sweep(space, HERE, limits=StudyLimits(positions=3)))
    assert (row.status, row.value, row.fairness, row.results) == ("too large", None, None, None)


def test_a_full_disk_is_reported_and_what_was_written_can_be_resumed(
    space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path = write_rows(tmp_path / "whole", space), tmp_path / "rows"
    with LabJournal(path, space, LIMITS) as journal:
        results = sweep(space, HERE, limits=LIMITS, log=journal)
        for _ in range(5):
            next(results)
        with open("/dev/full", "wb", buffering=0) as full, monkeypatch.context() as patch:
            patch.setattr(journal, "_stream", full)
            with pytest.raises(BatchError, match="No space left on device"):
                list(results)
    assert write_rows(path, space, resume=True) == whole


def test_a_name_stands_for_the_usual_space_of_a_game() -> None:
    assert next(sweep("factor", HERE)).game == "factor"


def test_rows_can_be_written_as_a_table(rows: list[LabRow], tmp_path: Path) -> None:
    write_csv(rows, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [int(line["index"]) for line in table] == [row.index for row in rows]
    assert list(table[0]) == list(CSV_COLUMNS)
    assert [line["opening"] or None for line in table] == [row.options["opening"] for row in rows]
    assert float(table[0]["fairness"]) == rows[0].fairness
