"""Jobs on a Dask cluster: the same results as anywhere, also when workers die.

Errors say what to do.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from distributed import Client

from number_tower.studies.arena import arena
from number_tower.studies.batch import BatchError, WorkerError, cluster
from number_tower.studies.batch.cluster import ClusterError, ClusterExecutor
from number_tower.studies.batch.executor import run_chunks
from number_tower.studies.evaluation import evaluate
from number_tower.studies.lab import LabJournal, StudyLimits, make_space, sweep
from number_tower.terminal.cli.main import main
from support.clocks import SLOW, wait_until
from support.clusters import start_cluster
from support.command import ROOT, TOWER, plain_environment
from support.jobs import AXES, Counted, die_at, kill_once, released, square

SQUARES = list(map(square, range(200)))
CALL = ("arena", "draft", "--players", "random,fair", "--games")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two processes, which are replaced when they die."""
    with start_cluster(2, processes=True) as started:
        yield started.scheduler_address


@pytest.fixture
def executor(address: str) -> Iterator[ClusterExecutor]:
    with ClusterExecutor(address) as connected:
        yield connected


def collect(
    run: Callable[[int], Any], number: int, executor: Executor, **options: Any
) -> list[Any]:
    return sorted(chain.from_iterable(run_chunks(run, range(number), executor, **options)))


# The same results ---------------------------------------------------------------------------------


def run_arena(**options: Any) -> None:
    arena(["draft", "factor"], ["random", "fair", "perfect"], number=20, **options)


def run_evaluation(**options: Any) -> None:
    players = ["gentle", "support.jobs:answer_lowest"]
    evaluate(players, ["draft"], number=4, positions=6, **options)


def run_sweep(out: Path, **options: Any) -> None:
    space = make_space("draft", AXES)
    with LabJournal(out, space, StudyLimits()) as log:
        assert len(list(sweep(space, log=log, **options))) == len(space)


@pytest.mark.parametrize("run", [run_arena, run_evaluation, run_sweep])
def test_study_has_the_same_file_on_all_executors(
    run: Callable[..., None], executor: ClusterExecutor, tmp_path: Path
) -> None:
    run(jobs=1, out=tmp_path / "alone")
    with ThreadPoolExecutor(2) as threads:
        run(executor=threads, out=tmp_path / "threads")
    run(executor=executor, out=tmp_path / "cluster")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_each_worker_unpickles_a_function_once(executor: ClusterExecutor, tmp_path: Path) -> None:
    assert collect(Counted(tmp_path), 200, executor) == SQUARES
    workers = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert 1 <= len(workers) == len(set(workers)) <= 2


def test_player_that_is_a_function_object_cannot_be_sent_to_an_executor() -> None:
    with (
        ThreadPoolExecutor(1) as threads,
        pytest.raises(BatchError, match="name it as module:function"),
    ):
        evaluate(lambda _: "1", ["draft"], executor=threads)


def test_client_of_the_caller_is_used_and_stays_open(address: str) -> None:
    with Client(address, set_as_default=False) as client:
        with ClusterExecutor(client) as connected:
            assert collect(square, 200, connected) == SQUARES
        assert client.submit(square, 3).result() == (3, 9)
        assert collect(square, 200, client.get_executor(pure=False)) == SQUARES


# Workers that die, and calls that get lost --------------------------------------------------------


def test_worker_that_is_killed_is_replaced_and_its_jobs_are_run_again(
    executor: ClusterExecutor, tmp_path: Path
) -> None:
    run = partial(kill_once, culprit=77, folder=tmp_path / "killed")
    assert collect(run, 200, executor) == SQUARES
    assert (tmp_path / "killed").exists()


def allow_no_failures(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0


def test_job_that_always_ends_its_worker_is_left_out() -> None:
    """Use a cluster of its own: Dask does not replace a worker that dies while it begins."""
    with (
        start_cluster(3, processes=True) as started,
        ClusterExecutor(started.scheduler_address) as executor,
        Client(started.scheduler_address, set_as_default=False) as client,
    ):
        client.run_on_scheduler(allow_no_failures)
        run = partial(die_at, culprits=frozenset({9}))
        results = collect(run, 20, executor, on_crash=lambda index: (index, -1))
    assert results == [(9, -1) if index == 9 else square(index) for index in range(20)]


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Ask the cluster at once, and give up at the first answer without work."""
    monkeypatch.setattr(cluster, "_QUIET_SECONDS", 0.0)
    return {"max_idle_seconds": 0.1}


def test_lost_job_ends_the_batch_although_another_client_works(
    no_patience: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask has been seen to wait without end for a call that its worker never received."""
    with start_cluster(2, processes=False) as started:
        address = started.scheduler_address
        busy, deaf = started.workers.values()
        with (
            Client(address, set_as_default=False) as other,
            ClusterExecutor(address, **no_patience) as executor,
        ):
            working = other.submit(released, tmp_path / "gate", workers=[busy.address])
            wait_until(lambda: busy.active_keys)
            monkeypatch.setitem(deaf.stream_handlers, "compute-task", lambda **_: None)
            with pytest.raises(
                WorkerError,
                match="no worker of the cluster has worked for 1 second: it has lost calls that "
                "were sent to it; restart its workers",
            ):
                collect(square, 1, executor)
            (tmp_path / "gate").touch()
            working.result(SLOW)


def test_job_behind_the_work_of_others_waits(no_patience: dict[str, Any], tmp_path: Path) -> None:
    with start_cluster(1, processes=False) as started:
        scheduler: Any = started.scheduler
        with (
            Client(scheduler.address, set_as_default=False) as other,
            ClusterExecutor(scheduler.address, **no_patience) as executor,
        ):
            working = other.submit(released, tmp_path / "gate")
            wait_until(lambda: started.workers[0].active_keys)
            waiting = executor.submit(square, 3)
            wait_until(lambda: len(scheduler.tasks) == 2)
            executor.check(silent=60.0)
            (tmp_path / "gate").touch()
            working.result(SLOW)
            assert waiting.result(SLOW) == (3, 9)


def test_jobs_wait_for_workers_with_a_message_and_a_bound(no_patience: dict[str, Any]) -> None:
    messages: SimpleQueue[str] = SimpleQueue()
    with start_cluster(0, processes=False) as started, ThreadPoolExecutor(1) as thread:
        address = started.scheduler_address
        with ClusterExecutor(address, notify=messages.put) as executor:
            results = thread.submit(collect, square, 200, executor)
            waiting = "the cluster has no workers; waiting for one (Ctrl-C stops)"
            assert messages.get(timeout=SLOW) == waiting
            started.scale(2)
            assert results.result(SLOW) == SQUARES
        assert messages.empty()
        started.scale(0)
        started.sync(started._correct_state)  # noqa: SLF001 - wait until the workers have gone
        with (
            ClusterExecutor(address, **no_patience) as executor,
            pytest.raises(WorkerError, match="for 1 second: it has none; start some"),
        ):
            collect(square, 3, executor)


# The connection -----------------------------------------------------------------------------------


def test_cluster_that_ends_is_an_error() -> None:
    with ExitStack() as stack:
        started = stack.enter_context(start_cluster(1, processes=False))
        executor = stack.enter_context(ClusterExecutor(started.scheduler_address))
        chunks = stack.enter_context(closing(run_chunks(square, range(10**9), executor)))
        next(chunks)
        started.close()
        with pytest.raises(WorkerError, match="the connection to the cluster was lost"):
            list(chunks)


def test_closed_connection_takes_no_more_work(address: str) -> None:
    with ClusterExecutor(address) as executor:
        pass
    with pytest.raises(WorkerError, match="the connection to the cluster was lost"):
        collect(square, 3, executor)


@pytest.mark.parametrize("text", ["nonsense", "tcp://127.0.0.1", "http://127.0.0.1:80", ""])
def test_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(ClusterError, match=r"expected the address of a Dask scheduler, such as"):
        ClusterExecutor(text)


def test_command_refuses_a_wrong_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CALL, "2", "--cluster", "tcp://127.0.0.1"]) == 1
    assert "expected the address of a Dask scheduler" in capsys.readouterr().err


def test_address_without_a_scheduler_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"no Dask scheduler answers at {address}"):
            ClusterExecutor(address)


# The command --------------------------------------------------------------------------------------


def test_command_uses_the_cluster_of_its_options_or_of_the_environment(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*CALL, "30", "--out", "here", "--jobs", "1"]) == 0
    assert main([*CALL, "30", "--out", "there", "--cluster", address]) == 0
    monkeypatch.setenv("NUMBER_TOWER_CLUSTER", address)
    assert main([*CALL, "30", "--out", "variable"]) == 0
    monkeypatch.setenv("NUMBER_TOWER_CLUSTER", "tcp://127.0.0.1")
    assert main([*CALL, "30", "--out", "jobs", "--jobs", "1"]) == 0
    assert main([*CALL, "30", "--out", "none", "--cluster", "none"]) == 0
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    assert capsys.readouterr().err == ""


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "number_tower.studies.batch.cluster")
    assert main([*CALL, "2", "--cluster", "tcp://127.0.0.1:1"]) == 1
    complaint = capsys.readouterr().err
    assert "tower: using a cluster needs a few more packages: " in complaint
    assert "[cluster]" in complaint


def start_arena(address: str, file: Path, games: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [TOWER, *CALL, str(games), "--cluster", address, "--out", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=plain_environment(),
    )


def test_client_that_is_killed_is_resumed_to_the_same_file(address: str, tmp_path: Path) -> None:
    file, whole, games = tmp_path / "a.jsonl", tmp_path / "whole.jsonl", 800
    with start_arena(address, file, games) as running:
        wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") > 5)
        running.kill()
        running.communicate(timeout=SLOW)
    assert main([*CALL, str(games), "--cluster", address, "--out", str(file), "--resume"]) == 0
    arena(["draft"], ["random", "fair"], number=games, jobs=1, out=whole)
    assert file.read_bytes() == whole.read_bytes()


def test_ctrl_c_stops_waiting_for_workers_and_drops_the_calls(tmp_path: Path) -> None:
    with start_cluster(0, processes=False) as started:
        scheduler: Any = started.scheduler
        with start_arena(started.scheduler_address, tmp_path / "a.jsonl", 30) as running:
            assert running.stderr is not None
            assert "waiting for one (Ctrl-C stops)" in running.stderr.readline()
            running.send_signal(signal.SIGINT)
            _, complaint = running.communicate(timeout=SLOW)
        assert running.returncode == 130
        assert complaint.startswith("tower: stopped. 0 of 30 games are saved in ")
        assert complaint.count("\n") == 1
        wait_until(lambda: not scheduler.tasks)
