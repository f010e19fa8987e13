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


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with EXECUTORS[request.param]() as executor:
        yield executor
    assert not active_children()


def test_every_job_runs_once_however_long_it_takes(executor: Executor) -> None:
    indexes = [*range(600), 12_000, 3, 13_000, *range(700, 1_000)]
    results = collect(run_chunks(math.factorial, indexes, executor))
    assert sorted(results) == sorted(map(math.factorial, indexes))


def test_results_before_an_error_are_returned(executor: Executor) -> None:
    results: list[tuple[int, int]] = []
    chunks = run_chunks(partial(divmod, 7), [3, 4, 0], executor)
    problem = "a worker process failed at job 0: ZeroDivisionError"
    with pytest.raises(WorkerError, match=problem) as failure:
        results.extend(result for chunk in chunks for result in chunk)
    assert set(results) <= {(2, 1), (1, 3)}
    assert "Traceback" in failure.value.__notes__[0]


def test_job_may_stop_the_batch_in_its_own_words(executor: Executor) -> None:
    with pytest.raises(BatchError, match="not 3") as stop:
        collect(run_chunks(refuse, [3], executor))
    assert type(stop.value) is StoppedError


def test_jobs_are_taken_only_as_they_are_needed(processes: WorkerProcesses) -> None:
    taken: list[int] = []

    def take() -> Iterator[int]:
        for index in count():
            taken.append(index)
            yield index

    with closing(run_chunks(abs, take(), processes)) as chunks:
        assert next(chunks)
    assert len(taken) < 20


def test_executor_serves_several_batches(processes: WorkerProcesses) -> None:
    first = set(collect(run_chunks(get_pid, range(50), processes)))
    assert set(collect(run_chunks(get_pid, range(50), processes))) <= first
    assert os.getpid() not in first


def test_each_worker_unpickles_a_function_once(processes: WorkerProcesses, tmp_path: Path) -> None:
    assert len(collect(run_chunks(Counted(tmp_path), range(500), processes))) == 500
    workers = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert 1 <= len(workers) == len(set(workers)) <= 2


def test_threads_run_functions_that_cannot_be_pickled() -> None:
    with ThreadPoolExecutor(2) as executor:
        assert sorted(collect(run_chunks(lambda index: -index, range(3), executor))) == [-2, -1, 0]


def test_result_that_cannot_be_pickled_is_an_error(processes: WorkerProcesses) -> None:
    with pytest.raises(WorkerError, match="pickle"):
        collect(run_chunks(return_function, range(3), processes))


# Workers that die ---------------------------------------------------------------------------------


def test_worker_that_is_killed_is_replaced_and_its_jobs_are_run_again(
    processes: WorkerProcesses, tmp_path: Path
) -> None:
    run = partial(kill_once, culprit=77, folder=tmp_path / "killed")
    assert sorted(collect(run_chunks(run, range(200), processes))) == list(map(square, range(200)))
    assert (tmp_path / "killed").exists()


def test_worker_that_is_killed_while_it_waits_is_replaced(processes: WorkerProcesses) -> None:
    for victim in set(collect(run_chunks(get_pid, range(50), processes))):
        os.kill(victim, signal.SIGKILL)
    wait_until(lambda: not active_children())
    assert sorted(collect(run_chunks(square, range(50), processes))) == list(map(square, range(50)))


def test_job_that_always_ends_its_worker_is_named_in_the_error(
    processes: WorkerProcesses,
) -> None:
    results: list[tuple[int, int]] = []
    run = partial(die_at, culprits=frozenset({40}))
    chunks = run_chunks(run, range(60), processes, noun="game")
    with pytest.raises(WorkerError, match="game 40 ended its worker twice"):
        results.extend(result for chunk in chunks for result in chunk)
    assert set(results) >= set(map(square, range(20)))
    assert len(set(results)) == len(results)


def test_only_jobs_that_always_end_their_workers_are_left_out(processes: WorkerProcesses) -> None:
    culprits = frozenset({0, 7, 99})
    run = partial(die_at, culprits=culprits)
    results = collect(run_chunks(run, range(100), processes, on_crash=lambda index: (index, -1)))
    assert sorted(results) == [
        (index, -1) if index in culprits else square(index) for index in range(100)
    ]


def report_crash(index: int) -> Entry:
    raise AssertionError(index)


def test_with_a_report_of_crashes_jobs_run_in_this_process_only_on_request() -> None:
    here, elsewhere = (
        next(run_journaled(note_pid, 1, on_crash=on_crash)) for on_crash in (None, report_crash)
    )
    assert here.pid == os.getpid() != elsewhere.pid
    assert next(run_journaled(note_pid, 1, jobs=1, on_crash=report_crash)).pid == os.getpid()


# Executors that fail ------------------------------------------------------------------------------


def test_pool_of_the_caller_that_breaks_is_an_error() -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        for run in (partial(die_at, culprits=frozenset({3})), square):
            with pytest.raises(WorkerError, match="the executor failed: BrokenProcessPool"):
                collect(run_chunks(run, range(20), executor))


def test_executor_that_was_shut_down_is_an_error() -> None:
    executor = ThreadPoolExecutor(2)
    executor.shutdown()
    problem = "the executor failed: RuntimeError: cannot schedule new futures"
    with pytest.raises(WorkerError, match=problem):
        collect(run_chunks(square, range(3), executor))


def test_worker_with_another_version_is_refused(
    processes: WorkerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_module, "__version__", "99.0")
    problem = (
        rf"the worker on \S+ has Number Tower {__version__}, and this is 99.0; "
        r"install the same on both"
    )
    with pytest.raises(WorkerError, match=problem):
        collect(run_chunks(square, range(3), processes))
