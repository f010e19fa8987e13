"""`tower arena`, `eval` and `lab`: what all commands that save a study have in common."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower.studies.arena import arena
from number_tower.studies.arena.results import Score
from number_tower.studies.batch import WorkerError, journal
from number_tower.terminal.cli.commands import arena as arena_command
from support.command import run_process, run_tower, write_script
from support.jobs import FullDisk
from support.lab_rows import make_grid, write_rows

STUDIES = {
    "arena": "arena draft factor --players random,gentle,perfect --games 20 --seed 5",
    "eval": "eval --player random --player perfect --games 8 --positions 16 --variants 4",
    "lab": "lab draft --blocks 1-5..1-7 --target 8,10 --opening none;1-6",
}


@pytest.mark.parametrize("name", STUDIES)
def test_study_is_saved_in_a_new_file_and_resumed_in_an_old_one(
    name: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    call = [*STUDIES[name].split(), "--jobs", "1"]
    first = run_tower(*call, cwd=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == snapshot
    assert max(map(len, first.stdout.splitlines())) <= 80
    saved = (tmp_path / f"{name}.jsonl").read_bytes()

    second = run_tower(*call, cwd=tmp_path)
    assert second.stdout == first.stdout.replace(f"{name}.jsonl", f"{name}-2.jsonl")
    assert (tmp_path / f"{name}-2.jsonl").read_bytes() == saved

    refused = run_tower(*call, "--out", f"{name}.jsonl", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == snapshot(name=f"{name} refused")

    (tmp_path / f"{name}.jsonl").write_bytes(saved[: len(saved) // 2])
    resumed = run_tower(*call, "--resume", cwd=tmp_path)
    assert (resumed.returncode, resumed.stdout) == (0, first.stdout)
    assert (tmp_path / f"{name}.jsonl").read_bytes() == saved


def test_standings_are_a_json_document(tmp_path: Path) -> None:
    call = STUDIES["arena"].split()
    document = json.loads(run_tower(*call, "--jobs", "1", "--json", cwd=tmp_path).stdout)
    assert document["played"] == 120
    assert [player["player"] for player in document["players"]] == ["perfect", "gentle", "random"]
    assert {pair["games"] for pair in document["pairs"]} == {40}
    assert [results["game"] for results in document["by_game"]] == ["draft", "factor"]
    assert document["by_game"][0]["players"]["perfect"]["games"] == 40


# Wrong calls --------------------------------------------------------------------------------------

PAIR = "arena draft --players random,perfect"


# Work that ends early -----------------------------------------------------------------------------


def test_worker_that_fails_is_reported_with_the_call_that_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise WorkerError("a worker process ended (exit code -9)")

    monkeypatch.setattr(arena_command, "compute_results", fail)
    done = run_tower(*f"{PAIR} --games 3".split(), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "tower: a worker process ended (exit code -9). 0 of 3 games are saved in arena.jsonl. "
        f"Resume with: tower {PAIR} --games 3 --resume --out arena.jsonl\n"
    )


@pytest.mark.parametrize("room", [10, 700, 3000, 4500])
def test_full_disk_leaves_a_file_that_can_be_resumed(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = shlex.split("arena draft --players random,gentle --games 20 --jobs 1 --out")
    assert run_tower(*call, "whole.jsonl", cwd=tmp_path).returncode == 0
    with monkeypatch.context() as full:
        full.setattr(journal, "open", partial(FullDisk, room=room), raising=False)
        failed = run_tower(*call, "a.jsonl", cwd=tmp_path)
    assert failed.returncode != 0
    assert failed.stderr.startswith("tower: a.jsonl cannot be written: No space left on device")
    assert failed.stderr.count("\n") == 1
    resume = f"Resume with: tower {shlex.join([*call, 'a.jsonl'])} --resume"
    # Where the settings do not fit, there is nothing to resume.
    assert (resume in failed.stderr) is (room > 10)
    assert run_tower(*call, "a.jsonl", "--resume", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_programs_take_part(tmp_path: Path) -> None:
    """One plays its lowest block, the other a number that is on no block."""
    lowest = "while read -r q; do q=${q##*\\[}; q=${q%%]*}; echo ${q%%,*}; done"
    polite = write_script(tmp_path / "polite.sh", lowest)
    rude = write_script(tmp_path / "rude.sh", "while read -r q; do echo 77; done")
    players, out = [str(polite), str(rude), "perfect"], tmp_path / "a.jsonl"
    results = arena(["factor"], players, number=2, jobs=2, out=out)
    assert results.score(str(polite), str(rude)) == Score(2, 0, 0)
    forfeits = {standing.player: standing.forfeits for standing in results.standings}
    assert forfeits == {str(polite): 0, "perfect": 0, str(rude): 4}
    assert "it answered 77" in out.read_text()


# Without extras -----------------------------------------------------------------------------------

WITHOUT_PACKAGES = """
import sys
sys.modules.update(dict.fromkeys(("matplotlib", "jinja2", "numpy", "numba")))
from number_tower.terminal.cli.main import main
for call in sys.argv[1:]:
    print(main(call.split()), flush=True)
"""


def test_without_the_extra_studies_are_run_and_only_reports_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "lab.jsonl", make_grid(target=[12, 15], fit=["descending", "any"]))
    plain = [f"{STUDIES['eval']} --jobs 1 --out eval.jsonl", "lab lab.jsonl"]
    calls = [f"{call} --report out" for call in plain]
    done = run_process(sys.executable, "-c", WITHOUT_PACKAGES, *calls, *plain, cwd=tmp_path)
    charts, maps = done.stderr.splitlines()
    assert charts.startswith("tower: a report with charts needs a few more packages: ")
    assert maps.startswith("tower: a report with maps needs a few more packages: ")
    assert all("[lab]" in advice for advice in (charts, maps))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["1", "1"]
    assert lines[2].startswith("8 games and 16 positions for each player")
    assert lines[-1] == "0"
    assert not (tmp_path / "out").exists()
