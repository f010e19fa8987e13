"""`tower lab FILE` prints the best settings, its mix and guards, and writes a report."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from support.command import run_tower
from support.lab_rows import make_grid, make_row, write_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a sweep that has settings of every status; its figures are made up."""
    rows = make_grid(
        blocks=["1-7", "1-8", "1-9"], target=list(range(12, 24, 3)), fit=["descending", "any"]
    )
    rows += [
        make_row(index=24, status="too large", blocks="1-20", target=33, fit="any"),
        make_row(index=25, status="crashed", blocks="1-20", target=36, fit="any"),
    ]
    write_rows(tmp_path / "lab.jsonl", rows)
    return tmp_path


def show(folder: Path, options: str) -> str:
    done = run_tower("lab", "lab.jsonl", *shlex.split(options), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_best_settings_are_printed(folder: Path, snapshot: SnapshotAssertion) -> None:
    assert show(folder, "--top 6") == snapshot
    assert show(folder, "--guards length=100") == snapshot(name="no setting passes")


@pytest.mark.parametrize("goal", ["depth", "fairness"])
def test_weights_decide_the_order(folder: Path, goal: str) -> None:
    document = json.loads(show(folder, f"--json --guards none --weights {goal}=1"))
    figures = [row[goal] for row in document["rows"]]
    assert figures == sorted(figures, reverse=True)


def test_ranking_as_json_has_the_whole_rows(folder: Path) -> None:
    document = json.loads(show(folder, "--json --top 2 --guards none"))
    rows = document.pop("rows")
    assert (
        document.items()
        >= {
            "game": "draft",
            "settings": 26,
            "statuses": {"measured": 24, "too large": 1, "crashed": 1},
            "guards": {},
            "left_out": 0,
            "front": ["fairness", "depth"],
        }.items()
    )
    assert len(rows) == 2
    assert {"score", "on_front", "rules", "results", "endings"} <= set(rows[0])


def test_report_has_the_commands_that_are_printed(folder: Path) -> None:
    options = "--report out --x fit --weights fairness=1 --guards none --front drama,reach"
    printed = show(folder, options)
    assert printed.endswith("\nThe report is in out: open index.html in a browser.\n")
    page = (folder / "out" / "index.html").read_text()
    assert "In each map, fit goes across and target down, and blocks from map to map." in page
    assert f"tower lab lab.jsonl {options}" in page
    for line in printed.split("To play the best:\n")[1].splitlines()[:3]:
        command = line.split(maxsplit=1)[1]
        assert f">{command}\n</code></pre>" in page
        if command.endswith(".toml"):
            assert (folder / command.split()[-1]).is_file()


def test_page_that_is_not_a_report_is_not_replaced(folder: Path) -> None:
    page = folder / "out" / "index.html"
    page.parent.mkdir()
    page.write_text("mine")
    refused = run_tower("lab", "lab.jsonl", "--report", "out", cwd=folder)
    assert refused.returncode != 0
    assert "out/index.html is not a report, so it is not replaced" in refused.stderr
    assert page.read_text() == "mine"
    page.unlink()
    show(folder, "--report out")
    show(folder, "--report out")


def test_map_of_a_rule_that_does_not_vary_is_refused(folder: Path) -> None:
    refused = run_tower("lab", "lab.jsonl", "--report", "out", "--y", "step", cwd=folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("tower: lab.jsonl does not vary 'step'")
    assert not (folder / "out").exists()
