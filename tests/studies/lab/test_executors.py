"""Sweeps whose workers or own process die."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

from number_tower import __version__
from number_tower.studies.lab import sweep
from number_tower.studies.lab.rows import LabRow
from support.clocks import wait_until
from support.command import TOWER, plain_environment, run_tower
from support.jobs import make_deadly_space


def test_only_a_setting_that_ends_its_worker_twice_is_left_out() -> None:
    space = make_deadly_space()
    rows = sorted(sweep(space, jobs=2), key=lambda row: row.index)
    alone = list(sweep(space, jobs=1))  # which does not die
    setting = space[space.deadly]
    alone[space.deadly] = LabRow(
        space.deadly,
        "draft",
        setting.options,
        setting.rules.to_dict(),
        "crashed",
        version=__version__,
    )
    assert rows == alone
    assert Counter(row.status for row in rows) == {"measured": 24, "crashed": 1}


def test_sweep_whose_process_was_killed_is_resumed_to_the_same_rows(tmp_path: Path) -> None:
    call = ["lab", "climb", "--blocks", "1-5..1-40", "--opening", "none;1-2..1-9", "--jobs", "1"]
    file = tmp_path / "killed.jsonl"
    with subprocess.Popen(
        [TOWER, *call, "--out", str(file)],
        env=plain_environment(),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as killed:
        wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") > 20)
        os.killpg(killed.pid, signal.SIGKILL)
    assert file.read_bytes().count(b"\n") < 300
    done = run_tower(*call, "--out", str(file), "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run_tower(*call, "--out", "whole.jsonl", cwd=tmp_path)
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
