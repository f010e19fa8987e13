"""`tower arena`, `eval` and `lab`: what all commands that save a study have in common."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower.studies.arena import arena
from number_tower.studies.arena.playout import ArenaJournal
from number_tower.studies.arena.results import Score
from number_tower.studies.arena.schedule import arrange
from number_tower.studies.batch import WorkerError, journal
from number_tower.terminal.cli.commands import arena as arena_command
from support.clocks import SLOW
from support.command import plain_environment, run_tower
from support.jobs import FullDisk
from support.lab_rows import make_grid, write_rows

STUDIES = {
    "arena": "arena draft factor --players random,gentle,perfect --games 20 --seed 5",
    "eval": "eval --player random --player perfect --games 8 --positions 16 --variants 4",
    "lab": "lab draft --blocks 1-5..1-7 --target 8,10 --opening none;1-6",
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_saved_in_a_new_file_and_resumed_in_an_old_one(
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


def test_the_standings_are_a_json_document(tmp_path: Path) -> None:
    call = STUDIES["arena"].split()
    document = json.loads(run_tower(*call, "--jobs", "1", "--json", cwd=tmp_path).stdout)
    assert document["played"] == 120
    assert [player["player"] for player in document["players"]] == ["perfect", "gentle", "random"]
    assert {pair["games"] for pair in document["pairs"]} == {40}
    assert [results["game"] for results in document["by_game"]] == ["draft", "factor"]
    assert document["by_game"][0]["players"]["perfect"]["games"] == 40


# Wrong calls --------------------------------------------------------------------------------------

PAIR = "arena draft --players random,perfect"
FACTOR = "arena factor --players random,gentle --games 2"
RANDOM = "eval draft --player random"
RULES = "eval 'rules(blocks=1)' --player random --games 0"

WRONG = [
    ("arena draft --players random", 2, "expected two players or more, such as random,perfect"),
    ("arena draft --players random,nobody", 2, "there is no level 'nobody'"),
    ("arena draft --players random,./nobot", 2, "./nobot cannot be started: there is no file"),
    ("arena draft --players 'random,./no \"bot'", 2, 'a quotation mark is missing in ./no "bot'),
    ("arena draft --players random,./text", 2, "./text is not executable: chmod +x ./text"),
    ("arena nothing --players random,perfect", 2, "'nothing' cannot be played"),
    (f"{PAIR} --out .", 2, "games cannot be saved to .: Is a directory"),
    (f"{PAIR} --out text --resume", 1, "text is not the file of an arena"),
    (f"{PAIR} --out other --resume --seed 2", 2, "seed 1, and not 2"),
    pytest.param(
        f"{PAIR} --cluster tcp://127.0.0.1", 1, "expected the address of a Dask scheduler",
        marks=pytest.mark.slow,
    ),
    (f"{PAIR} --cluster tcp://127.0.0.1:1 --jobs 2", 2, "--jobs is for the processes of this"),
    (f"{FACTOR} --out torn --resume", 1, "torn, line 2: not a game of this arena"),
    ("eval", 2, "--player: expected a command, module:function or a level; or --baselines"),
    ("eval draft --player nobody", 2, "random, gentle, easy, fair, strong, perfect; a program"),
    ("eval draft --player json.py:loads", 2, "expected module:function, as in my_player:answer"),
    ("eval --player random --variants 1000", 2, "variants; got 1000"),
    ("eval --resume", 2, "there is nothing to resume in eval.jsonl: No such file"),
    ("eval --resume --out text", 1, "text is not the file of an evaluation"),
    ("eval --resume --out text --seed 2", 2, "--player: expected a command"),
    (f"{RANDOM} --variants 3", 2, "--variants makes new games"),
    (f"{RANDOM} --against json:loads", 2, "json:loads cannot be the opponent"),
    (f"{RANDOM} --games -1", 2, "--games: expected a whole number from 0 to 1,000,000; got '-1'"),
    (f"{RANDOM} --games 0 --positions 0", 2, "expected games or positions"),
    (RULES, 2, "known to matter; add games with --games"),
    (f"{RANDOM} --tries 0", 2, "--tries: expected a whole number"),
    (f"{RANDOM} --report text", 2, "--report: expected a folder"),
    (f"{RANDOM} --report ''", 2, "--report: expected a folder"),
    ("lab", 2, "expected a game, such as draft, or a rule file"),
    ("lab drfat", 2, "there is no game called 'drfat'"),
    ("lab draft --target 9..5", 2, "--target: expected a range upwards of at most 1,000,000"),
    ("lab draft --fit up", 2, "--fit: expected one of any, descending"),
    ("lab draft --opening 50", 2, "none of these combinations are rules that can be played; the"),
    ("lab draft --sample 0", 2, "--sample: expected a whole number from 1"),
    ("lab draft --out /nowhere/rows.jsonl", 2, "settings cannot be saved to /nowhere/rows.jsonl"),
    ("lab none.jsonl", 1, "there is no file none.jsonl; tower lab GAME --out FILE writes one"),
    ("lab lab.jsonl --weights fun=1", 2, "--weights: expected one of fairness, depth, drama"),
    ("lab lab.jsonl --guards fairness=-1", 2, "--guards: expected a number from 0 after fairness="),
    ("lab lab.jsonl --front depth", 2, "--front: expected two measures or more"),
    ("lab lab.jsonl --top 0", 2, "--top: expected a whole number from 1"),
    ("lab lab.jsonl --report lab.jsonl", 2, "--report: expected a folder; it is created if needed"),
    ("lab lab.jsonl --x fit", 2, "--x is for the maps of a report; add --report FOLDER"),
    pytest.param(
        "lab lab.jsonl --report out --y step", 1, "lab.jsonl does not vary 'step'",
        marks=pytest.mark.slow,
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, two files of arenas, one of them damaged, and one of the lab."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "text").write_text("text\n")
    with ArenaJournal(folder / "other", arrange(["draft"], ["random", "perfect"], seed=1)):
        pass
    with ArenaJournal(folder / "torn", arrange(["factor"], ["random", "gentle"], number=2)):
        pass
    with (folder / "torn").open("a") as torn:
        torn.write("{}\n")
    write_rows(folder / "lab.jsonl", make_grid(target=[12, 15], fit=["descending", "any"]))
    return folder


@pytest.mark.parametrize(("call", "code", "problem"), WRONG)
def test_a_wrong_call_is_refused_in_one_line_before_any_work(
    call: str, code: int, problem: str, folder: Path
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run_tower(*shlex.split(call), cwd=folder)
    assert problem in done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# Work that ends early -----------------------------------------------------------------------------


def test_a_worker_that_fails_is_reported_with_the_call_that_resumes(
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
def test_a_full_disk_leaves_a_file_that_can_be_resumed(
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
    polite, rude = tmp_path / "polite.sh", tmp_path / "rude.sh"
    polite.write_text(
        "#!/bin/sh\nwhile read -r q; do q=${q##*\\[}; q=${q%%]*}; echo ${q%%,*}; done\n"
    )
    rude.write_text("#!/bin/sh\nwhile read -r q; do echo 77; done\n")
    for path in (polite, rude):
        path.chmod(0o755)
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
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGES, *calls, *plain],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=plain_environment(),
        timeout=SLOW,
        check=True,
    )
    charts, maps = done.stderr.splitlines()
    assert charts.startswith("tower: a report with charts needs a few more packages: ")
    assert maps.startswith("tower: a report with maps needs a few more packages: ")
    assert all("[lab]" in advice for advice in (charts, maps))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["1", "1"]
    assert lines[2].startswith("8 games and 16 positions for each player")
    assert lines[-1] == "0"
    assert not (tmp_path / "out").exists()
