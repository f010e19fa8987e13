"""Jobs on any executor: each runs once, and errors come after the results before them.

A dead worker costs nothing.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain, count
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TypeVar

import pytest

from number_tower import __version__
from number_tower.studies.batch import BatchError, StoppedError, WorkerError
from number_tower.studies.batch import executor as executor_module
from number_tower.studies.batch.executor import run_chunks, run_journaled
from number_tower.studies.batch.processes import WorkerProcesses
from support.clocks import wait_until
from support.jobs import (
    Counted,
    Entry,
    die_at,
    get_pid,
    kill_once,
    note_pid,
    refuse,
    return_function,
    square,
)

T = TypeVar("T")

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "our processes": lambda: WorkerProcesses(2),
    "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    "threads": lambda: ThreadPoolExecutor(2),
}


def collect(chunks: Iterator[list[T]]) -> list[T]:
    return list(chain.from_iterable(chunks))


@pytest.fixture
def processes() -> Iterator[WorkerProcesses]:
    with WorkerProcesses(2) as executor:
        yield executor
    assert not active_children()


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_job_runs_once_however_long_it_takes(name: str) -> None:
    indexes = [*range(600), 12_000, 3, 13_000, *range(700, 1_000)]
    with EXECUTORS[name]() as executor:
        results = collect(run_chunks(math.factorial, indexes, executor))
    assert sorted(results) == sorted(map(math.factorial, indexes))
    assert not active_children()


@pytest.mark.parametrize("name", EXECUTORS)
def test_the_results_before_an_error_are_kept(name: str) -> None:
    results: list[tuple[int, int]] = []
    with EXECUTORS[name]() as executor:
        chunks = run_chunks(partial(divmod, 7), [3, 4, 0], executor)
        with pytest.raises(
            WorkerError, match="a worker process failed at job 0: ZeroDivisionError"
        ) as failed:
            results.extend(result for chunk in chunks for result in chunk)
    assert set(results) <= {(2, 1), (1, 3)}
    assert "Traceback" in failed.value.__notes__[0]


def test_jobs_are_taken_only_as_they_are_needed(processes: WorkerProcesses) -> None:
    taken: list[int] = []

    def take() -> Iterator[int]:
        for index in count():
            taken.append(index)
            yield index

    with closing(run_chunks(abs, take(), processes)) as chunks:
        assert next(chunks)
    assert len(taken) < 20


def test_one_executor_serves_one_batch_after_another(processes: WorkerProcesses) -> None:
    first = set(collect(run_chunks(get_pid, range(50), processes)))
    assert set(collect(run_chunks(get_pid, range(50), processes))) <= first
    assert os.getpid() not in first


def test_a_function_is_read_once_by_each_worker(processes: WorkerProcesses, tmp_path: Path) -> None:
    assert len(collect(run_chunks(Counted(tmp_path), range(500), processes))) == 500
    workers = [each.name.partition("-")[0] for each in tmp_path.iterdir()]
    assert 1 <= len(workers) == len(set(workers)) <= 2


def test_threads_need_no_function_that_can_be_pickled() -> None:
    with ThreadPoolExecutor(2) as executor:
        assert sorted(collect(run_chunks(lambda index: -index, range(3), executor))) == [-2, -1, 0]


def test_a_result_that_cannot_be_sent_is_an_error_and_no_silence(
    processes: WorkerProcesses,
) -> None:
    with pytest.raises(WorkerError, match="pickle"):
        collect(run_chunks(return_function, range(3), processes))


# Workers that die ---------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_replaced_and_its_jobs_are_done_again(
    processes: WorkerProcesses, tmp_path: Path
) -> None:
    run = partial(kill_once, culprit=77, folder=tmp_path / "killed")
    assert sorted(collect(run_chunks(run, range(200), processes))) == list(map(square, range(200)))
    assert (tmp_path / "killed").exists()


def test_a_worker_that_is_killed_while_it_waits_is_replaced(processes: WorkerProcesses) -> None:
    for victim in set(collect(run_chunks(get_pid, range(50), processes))):
        os.kill(victim, signal.SIGKILL)
    wait_until(lambda: not active_children())
    assert sorted(collect(run_chunks(square, range(50), processes))) == list(map(square, range(50)))


def test_a_job_that_always_ends_its_worker_is_named_and_what_is_finished_is_kept(
    processes: WorkerProcesses,
) -> None:
    results: list[tuple[int, int]] = []
    chunks = run_chunks(
        partial(die_at, culprits=frozenset({40})), range(60), processes, noun="game"
    )
    with pytest.raises(WorkerError, match="game 40 ended its worker twice"):
        results.extend(result for chunk in chunks for result in chunk)
    assert set(results) >= set(map(square, range(20)))
    assert len(set(results)) == len(results)


def test_jobs_that_always_end_their_workers_can_be_left_out_and_nothing_else_is_lost(
    processes: WorkerProcesses,
) -> None:
    culprits = frozenset({0, 7, 8, 150, 199})
    run = partial(die_at, culprits=culprits)
    results = collect(run_chunks(run, range(200), processes, on_crash=lambda index: (index, -1)))
    assert sorted(results) == [
        (index, -1) if index in culprits else square(index) for index in range(200)
    ]


def report_crash(index: int) -> Entry:
    raise AssertionError(index)


def test_where_crashes_are_reported_jobs_run_in_this_process_only_if_that_is_asked_for() -> None:
    here, elsewhere = (
        next(run_journaled(note_pid, 1, on_crash=each)) for each in (None, report_crash)
    )
    assert here.pid == os.getpid() != elsewhere.pid
    assert next(run_journaled(note_pid, 1, jobs=1, on_crash=report_crash)).pid == os.getpid()


def test_a_pool_of_the_callers_that_breaks_is_told_in_words() -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        chunks = run_chunks(partial(die_at, culprits=frozenset({3})), range(20), executor)
        with pytest.raises(WorkerError, match="the executor failed: BrokenProcessPool"):
            collect(chunks)
        with pytest.raises(WorkerError, match="the executor failed: BrokenProcessPool"):
            collect(run_chunks(square, range(3), executor))


def test_a_worker_with_another_version_is_refused(
    processes: WorkerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_module, "__version__", "99.0")
    expected = (
        rf"the worker on \S+ has Number Tower {__version__}, and this is 99.0; "
        r"install the same on both"
    )
    with pytest.raises(WorkerError, match=expected):
        collect(run_chunks(square, range(3), processes))


def test_an_executor_that_was_shut_down_is_told_in_words() -> None:
    executor = ThreadPoolExecutor(2)
    executor.shutdown()
    with pytest.raises(
        WorkerError, match="the executor failed: RuntimeError: cannot schedule new futures"
    ):
        collect(run_chunks(square, range(3), executor))


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_job_may_stop_the_batch_in_its_own_words(name: str) -> None:
    with EXECUTORS[name]() as executor, pytest.raises(BatchError, match="not 3") as stopped:
        collect(run_chunks(refuse, [3], executor))
    assert type(stopped.value) is StoppedError
