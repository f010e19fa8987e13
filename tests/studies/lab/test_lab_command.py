"""`tower lab GAME`: what it measures, and which files it writes."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.command import run_tower


def run_lab(call: str, folder: Path) -> str:
    done = run_tower("lab", *shlex.split(call), "--jobs", "1", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_same_seed_draws_the_same_rows(tmp_path: Path) -> None:
    call = "race --blocks 1-3..1-7 --target 5..12 --sample 6 --seed 4 --out"
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for path in (one, two):
        run_lab(f"{call} {path.name}", tmp_path)
    assert one.read_bytes() == two.read_bytes()
    assert len(one.read_text().splitlines()) == 7


def test_a_table_is_written_beside_the_rows_if_the_file_is_named_csv(tmp_path: Path) -> None:
    shown = run_lab("factor --blocks 1-3..1-5 --out rows.csv", tmp_path)
    assert "The rows are in rows.csv and rows.jsonl." in shown
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 4


def test_the_rules_of_a_file_are_varied_like_those_of_a_game(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[rules]\nblocks = "1-6"\nfit = "related"\n')
    shown = run_lab("mine.toml --blocks 1-4..1-6 --stuck loses,skips", tmp_path)
    assert "6 settings measured." in shown


def test_settings_that_are_too_large_are_counted(tmp_path: Path) -> None:
    shown = run_lab("race --target 15 --positions 100", tmp_path)
    assert shown.startswith("0 settings measured.\n1 setting too large, not measured; --positions")
