"""`tower lab` at a prompt: what it prints, what it writes, and what it says of wrong calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from number_tower.studies.lab.rows import LabRow
from support.command import run_tower


def read_rows(path: Path) -> list[LabRow]:
    return [LabRow.from_dict(json.loads(line)) for line in path.read_text().splitlines()[1:]]


def test_a_grid_is_measured_and_its_rows_are_saved(tmp_path: Path) -> None:
    call = [
        "lab",
        "draft",
        "--blocks",
        "1-5..1-7",
        "--target",
        "8,10",
        "--opening",
        "none;1-6",
        "--jobs",
        "1",
    ]
    done = run_tower(*call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "10 settings measured.\n2 combinations left out: not valid rules.\n\n"
        "The rows are in lab.jsonl. The best settings: tower lab lab.jsonl\n"
    )
    rows = read_rows(tmp_path / "lab.jsonl")
    assert [row.options["blocks"] for row in rows] == ["1-5", "1-5", *["1-6"] * 4, *["1-7"] * 4]


def test_the_same_seed_draws_the_same_rows(tmp_path: Path) -> None:
    call = [
        "lab",
        "race",
        "--blocks",
        "1-3..1-7",
        "--target",
        "5..12",
        "--sample",
        "6",
        "--seed",
        "4",
        "--jobs",
        "1",
    ]
    run_tower(*call, "--out", "one.jsonl", cwd=tmp_path)
    run_tower(*call, "--out", "two.jsonl", cwd=tmp_path)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert len(read_rows(tmp_path / "one.jsonl")) == 6


def test_a_table_is_written_if_the_file_is_named_so(tmp_path: Path) -> None:
    done = run_tower(
        "lab", "factor", "--blocks", "1-3..1-5", "--out", "rows.csv", "--jobs", "1", cwd=tmp_path
    )
    assert "The rows are in rows.csv and rows.jsonl." in done.stdout
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 4


def test_a_rule_file_has_a_lab_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[rules]\nblocks = "1-6"\nfit = "related"\n')
    done = run_tower(
        "lab",
        "mine.toml",
        "--blocks",
        "1-4..1-6",
        "--stuck",
        "loses,skips",
        "--jobs",
        "1",
        cwd=tmp_path,
    )
    assert "6 settings measured." in done.stdout


def test_what_is_too_large_is_counted(tmp_path: Path) -> None:
    call = ["lab", "race", "--target", "15", "--positions", "100", "--jobs", "1"]
    said = run_tower(*call, cwd=tmp_path).stdout
    assert said.startswith("0 settings measured.\n1 setting too large, not measured; --positions")


def test_an_experiment_in_the_file_is_resumed_or_left_as_it_is(tmp_path: Path) -> None:
    call = ["lab", "factor", "--blocks", "1-3..1-6", "--out", "rows.jsonl", "--jobs", "1"]
    run_tower(*call, cwd=tmp_path)
    whole = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    again = run_tower(*call, cwd=tmp_path)
    assert again.returncode == 2
    assert "--resume continues the experiment in it" in again.stderr
    assert run_tower(*call, "--resume", cwd=tmp_path).returncode == 0
    assert (tmp_path / "rows.jsonl").read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a game, such as draft, or a rule file"),
        (["drfat"], "there is no game called 'drfat'"),
        (
            ["draft", "--target", "9..5"],
            "--target: expected a range upwards of at most 1,000,000 values, such as 5..60",
        ),
        (["draft", "--fit", "up"], "--fit: expected one of any, descending"),
        (
            ["draft", "--opening", "50"],
            (
                "none of these combinations are rules that can be played; the first: "
                "opening: expected blocks of this game"
            ),
        ),
        (["draft", "--sample", "0"], "--sample: expected a whole number from 1"),
        (
            ["draft", "--out", "/nowhere/rows.jsonl"],
            "settings cannot be saved to /nowhere/rows.jsonl",
        ),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = run_tower("lab", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout
