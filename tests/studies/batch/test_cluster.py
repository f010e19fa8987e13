"""Jobs on a Dask cluster: the same results as anywhere, whoever dies meanwhile.

Errors say what to do.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
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
from number_tower.terminal.cli.main import main
from support.clocks import SLOW, wait_until
from support.clusters import start_cluster
from support.command import ROOT, TOWER, plain_environment
from support.jobs import Counted, die_at, kill_once, square


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


SQUARES = list(map(square, range(200)))


# The same results ---------------------------------------------------------------------------------


@contextmanager
def open_executors(address: str) -> Iterator[dict[str, dict[str, Any]]]:
    """Give the options that run a batch in each of the ways."""
    with ThreadPoolExecutor(2) as threads, ClusterExecutor(address) as connected:
        yield {
            "one job": {"jobs": 1},
            "two jobs": {"jobs": 2},
            "threads": {"executor": threads},
            "cluster": {"executor": connected},
        }


def test_an_arena_is_the_same_wherever_it_is_held(address: str, tmp_path: Path) -> None:
    with open_executors(address) as ways:
        for name, options in ways.items():
            arena(
                ["draft", "factor"],
                ["random", "fair", "perfect"],
                number=20,
                out=tmp_path / name,
                **options,
            )
            assert (tmp_path / name).read_bytes() == (tmp_path / "one job").read_bytes(), name


def test_an_evaluation_is_the_same_wherever_it_is_run(address: str, tmp_path: Path) -> None:
    players = ["gentle", "support.jobs:answer_lowest"]
    with open_executors(address) as ways:
        for name, options in ways.items():
            evaluate(players, ["draft"], number=4, positions=6, out=tmp_path / name, **options)
            assert (tmp_path / name).read_bytes() == (tmp_path / "one job").read_bytes(), name


def test_a_function_is_read_once_by_each_worker(executor: ClusterExecutor, tmp_path: Path) -> None:
    assert collect(Counted(tmp_path), 200, executor) == SQUARES
    workers = [each.name.partition("-")[0] for each in tmp_path.iterdir()]
    assert 1 <= len(workers) == len(set(workers)) <= 2


def test_a_function_that_is_given_itself_cannot_be_sent_anywhere() -> None:
    with (
        ThreadPoolExecutor(1) as threads,
        pytest.raises(BatchError, match="name it as module:function"),
    ):
        evaluate(lambda _: "1", ["draft"], executor=threads)


def test_a_client_of_the_callers_is_used_and_left_open(address: str) -> None:
    with Client(address, set_as_default=False) as client:
        with ClusterExecutor(client) as connected:
            assert collect(square, 200, connected) == SQUARES
        assert client.submit(square, 3).result() == (3, 9)
        assert collect(square, 200, client.get_executor(pure=False)) == SQUARES


# Workers that die ---------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_replaced_and_its_jobs_are_done_again(
    executor: ClusterExecutor, tmp_path: Path
) -> None:
    run = partial(kill_once, culprit=77, folder=tmp_path / "killed")
    assert collect(run, 200, executor) == SQUARES
    assert (tmp_path / "killed").exists()


def allow_no_failures(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0


def test_a_job_that_always_ends_its_worker_is_left_out() -> None:
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


# The cluster --------------------------------------------------------------------------------------


def test_jobs_wait_for_workers_with_a_message_and_a_bound() -> None:
    told: SimpleQueue[str] = SimpleQueue()
    with start_cluster(0, processes=False) as started:
        address = started.scheduler_address
        with ClusterExecutor(address, notify=told.put) as executor, ThreadPoolExecutor(1) as other:
            results = other.submit(collect, square, 200, executor)
            waiting = "the cluster has no workers; waiting for one (Ctrl-C stops)"
            assert told.get(timeout=SLOW) == waiting
            started.scale(2)
            assert results.result(SLOW) == SQUARES
        assert told.empty()
        started.scale(0)
        with ClusterExecutor(address, max_idle_seconds=0.1) as executor:
            started.sync(started._correct_state)  # noqa: SLF001 - wait until the workers have gone
            with pytest.raises(
                WorkerError, match="no worker of the cluster has worked for 1 second"
            ):
                collect(square, 3, executor)


def test_a_cluster_that_is_gone_is_told_in_words() -> None:
    with ExitStack() as stack:
        started = stack.enter_context(start_cluster(1, processes=False))
        executor = stack.enter_context(ClusterExecutor(started.scheduler_address))
        chunks = stack.enter_context(closing(run_chunks(square, range(10**9), executor)))
        next(chunks)
        started.close()
        with pytest.raises(WorkerError, match="the connection to the cluster was lost"):
            list(chunks)


def test_a_closed_connection_takes_no_more_work(address: str) -> None:
    with ClusterExecutor(address) as executor:
        pass
    with pytest.raises(WorkerError, match="the connection to the cluster was lost"):
        collect(square, 3, executor)


@pytest.mark.parametrize("text", ["nonsense", "tcp://127.0.0.1", "http://127.0.0.1:80", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(
        ClusterError,
        match=r"expected the address of a Dask scheduler, such as tcp://127.0.0.1:8786",
    ):
        ClusterExecutor(text)


def test_an_address_without_a_scheduler_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(
            ClusterError, match=f"no Dask scheduler answers at {address}; start one with"
        ):
            ClusterExecutor(address)


# The command --------------------------------------------------------------------------------------


CALL = ("arena", "draft", "--players", "random,fair", "--games")


def test_the_command_uses_the_cluster_that_it_is_told(
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
    assert Path("here").read_bytes() == Path("there").read_bytes() == Path("variable").read_bytes()
    monkeypatch.setenv("NUMBER_TOWER_CLUSTER", "tcp://127.0.0.1")
    assert main([*CALL, "30", "--out", "jobs", "--jobs", "1"]) == 0
    assert main([*CALL, "30", "--out", "none", "--cluster", "none"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*CALL, "30", "--out", "wrong"]) == 1
    assert "expected the address of a Dask scheduler" in capsys.readouterr().err
    assert not Path("wrong").exists()


def test_jobs_and_a_cluster_are_not_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CALL, "2", "--jobs", "2", "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "--jobs is for the processes of this machine" in capsys.readouterr().err


def test_what_has_to_be_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "number_tower.studies.batch.cluster")
    assert main([*CALL, "2", "--cluster", "tcp://127.0.0.1:1"]) == 1
    assert "tower: using a cluster needs a few more packages: " in (told := capsys.readouterr().err)
    assert "[cluster]" in told


def start_arena(address: str, file: Path, games: int) -> subprocess.Popen[str]:
    call = [TOWER, *CALL, str(games), "--cluster", address, "--out", str(file)]
    return subprocess.Popen(
        call,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=plain_environment(),
    )


def test_a_client_that_is_killed_can_be_resumed_to_the_same_file(
    address: str, tmp_path: Path
) -> None:
    file, whole, games = tmp_path / "a.jsonl", tmp_path / "whole.jsonl", 800
    with start_arena(address, file, games) as running:
        wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") > 5)
        running.kill()
        running.communicate(timeout=SLOW)
    assert main([*CALL, str(games), "--cluster", address, "--out", str(file), "--resume"]) == 0
    arena(["draft"], ["random", "fair"], number=games, jobs=1, out=whole)
    assert file.read_bytes() == whole.read_bytes()


def test_ctrl_c_stops_waiting_for_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
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
