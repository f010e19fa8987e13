"""Sweeps on every executor: the same rows, whoever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from number_tower.studies.batch.cluster import ClusterExecutor
from number_tower.studies.lab import LabJournal, Space, StudyLimits, make_space, sweep
from number_tower.studies.lab.rows import LabRow
from support.clocks import wait_until
from support.clusters import start_cluster
from support.command import TOWER, plain_environment, run_tower
from support.jobs import AXES, make_deadly_space


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClusterExecutor]:
    with (
        start_cluster(2, processes=True) as started,
        ClusterExecutor(started.scheduler_address) as connected,
    ):
        yield connected


def write_rows(path: Path, space: Space, *executor: Any, **options: Any) -> bytes:
    with LabJournal(path, space, StudyLimits()) as journal:
        for _ in sweep(space, *executor, log=journal, **options):
            pass
    return path.read_bytes()


def test_the_rows_are_the_same_whichever_executor_measured_them(
    cluster: ClusterExecutor, tmp_path: Path
) -> None:
    space = make_space("draft", AXES)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1) as own:
        files = {
            write_rows(tmp_path / "one", space, jobs=1),
            write_rows(tmp_path / "two", space, jobs=2),
            write_rows(tmp_path / "threads", space, threads),
            write_rows(tmp_path / "own", space, own),
            write_rows(tmp_path / "cluster", space, cluster),
        }
    assert len(files) == 1


def test_a_setting_that_ends_its_worker_twice_is_left_out_and_nothing_else() -> None:
    space = make_deadly_space()
    rows = sorted(sweep(space, jobs=2), key=lambda row: row.index)
    assert [row.status for row in rows] == [
        "crashed" if index == space.deadly else "measured" for index in range(25)
    ]
    assert rows[space.deadly] == LabRow(
        space.deadly,
        "draft",
        space[space.deadly].options,
        space[space.deadly].rules.to_dict(),
        "crashed",
        version=rows[0].version,
    )


def test_a_sweep_whose_process_was_killed_is_resumed_to_the_same_rows(tmp_path: Path) -> None:
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
