"""Run many jobs on any executor and yield their results as they come.

An executor has the interface of `concurrent.futures`: worker processes on this machine (`processes`), a Dask cluster
(`cluster`), or a pool of the caller. Jobs are sent in chunks whose size follows how long they take. If a worker dies,
the jobs that it had are run again one by one, and a job at which a worker dies again is reported.

An executor may have `slots`, how many calls it runs at once; `chunk_seconds`, how long a chunk should take; and
`check`, which is called with the seconds of silence while no chunk has finished.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import ExitStack, closing, suppress
from functools import lru_cache
from itertools import islice
from platform import node
from time import monotonic
from traceback import format_exc
from typing import Any, Generic, NamedTuple, TypeVar

from number_tower import __version__
from number_tower.batch import BatchError, WorkerError
from number_tower.batch.journal import EntryT, Journal
from number_tower.batch.processes import WorkerProcesses
from number_tower.text import format_error

ResultT = TypeVar("ResultT")

_CHUNK_SECONDS = 0.05
"""How long a worker runs jobs before it returns their results, unless the executor has its own `chunk_seconds`."""

_GROWTH = 4
"""By how much chunks may become longer at once."""

_CHUNKS_PER_SLOT = 2
"""How many chunks each worker has: one that runs, and one that it can begin without waiting for the parent."""

_CACHED_FUNCTIONS = 4
"""How many functions a worker keeps unpickled; a worker of a cluster may work for several parents."""

_WAIT_SECONDS = 0.5
"""How long to wait at once: a Ctrl-C that comes just before the wait is noticed only after it."""


def run_journaled(  # noqa: PLR0913 - all options are keywords
    run: Callable[[int], EntryT],
    total: int,
    *,
    log: Journal[EntryT] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    executor: Executor | None = None,
    on_crash: Callable[[int], EntryT] | None = None,
) -> Generator[EntryT]:
    """Yield the results of jobs 0 to `total` - 1: first those in the journal, then the others as they are run.

    New results are appended to the log. Jobs are run by the executor; without one, by `jobs` worker processes on this
    machine (default: one for each core), where one job at a time runs in this process. `progress` is called with the
    number of finished jobs and their total.

    A job at which a worker has died twice raises a `WorkerError`. With `on_crash`, the entry that this function makes
    from the job takes the place of its result instead; without `jobs`, such jobs never run in this
    process.
    """
    done = 0
    for entry in () if log is None else log.read():
        done += 1
        yield entry
    if progress is not None:
        progress(done, total)
    indexes = (index for index in range(total) if log is None or index not in log)
    workers = min(count_cores() if jobs is None else jobs, total - done)
    with ExitStack() as stack:
        if executor is None and workers <= 1 and (on_crash is None or jobs == 1):
            chunks: Iterator[list[EntryT]] = ([run(index)] for index in indexes)
        else:
            if executor is None:
                executor = stack.enter_context(WorkerProcesses(max(workers, 1)))
            noun = "job" if log is None else log.entry_noun
            chunks = stack.enter_context(
                closing(run_chunks(run, indexes, executor, on_crash=on_crash, noun=noun))
            )
        for entries in chunks:
            if log is not None:
                log.append(entries)
            done += len(entries)
            if progress is not None:
                progress(done, total)
            yield from entries
    if log is not None:
        log.sort_lines()


def count_cores() -> int:
    """Return how many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_chunks(
    run: Callable[[int], ResultT],
    indexes: Iterable[int],
    executor: Executor,
    *,
    on_crash: Callable[[int], ResultT] | None = None,
    noun: str = "job",
) -> Generator[list[ResultT]]:
    """Run jobs on an executor and yield lists of their results; closing the generator drops what has not begun.

    `run` and its results must be picklable, unless the executor runs them in this process. `noun` is what a job is
    called in errors; `on_crash` is described at `run_journaled`.
    """
    batch = _Batch(run, iter(indexes), executor, on_crash, noun)
    try:
        while batch.submit_chunks():
            for future in batch.wait_for_chunks():
                yield from batch.settle(future)
    finally:
        batch.cancel()


class ChunkResult(NamedTuple, Generic[ResultT]):
    """What a worker returns for a chunk."""

    results: list[ResultT]
    rest: list[int]
    """The jobs that were not run."""
    error: BatchError | None
    """The error that ended it."""
    seconds: float


class _Chunk(NamedTuple):
    """Jobs that are sent to a worker together."""

    indexes: list[int]
    is_alone: bool
    """Whether it is run while no other chunk is, because a worker has died at it before."""


class _Batch(Generic[ResultT]):
    """The jobs that are waiting, and the chunks that are running.

    A dead worker says nothing about which of its jobs is to blame, and a job may take several workers down. So the jobs
    of all chunks that were lost are run again one by one, while nothing else runs.
    """

    def __init__(
        self,
        run: Callable[[int], ResultT],
        queue: Iterator[int],
        executor: Executor,
        on_crash: Callable[[int], ResultT] | None,
        noun: str,
    ) -> None:
        self._run: Callable[[int], ResultT] | bytes = run
        with suppress(pickle.PicklingError, AttributeError, TypeError):  # threads need no pickle
            self._run = pickle.dumps(run)
        self._on_crash = on_crash
        self._noun = noun
        self._queue = queue
        self._executor = executor
        self._returned: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._pending: dict[Future[ChunkResult[ResultT]], _Chunk] = {}
        self._size = 1
        self._seconds: float = getattr(executor, "chunk_seconds", _CHUNK_SECONDS)
        self._check: Callable[[float], object] = getattr(executor, "check", lambda _: None)

    def submit_chunks(self) -> bool:
        """Submit as many chunks as the workers need, and return whether any is running."""
        if self._suspects:
            if not self._pending:
                self._submit(_Chunk([self._suspects.popleft()], is_alone=True))
            return True
        wanted = _CHUNKS_PER_SLOT * _count_slots(self._executor)
        while len(self._pending) < wanted:
            indexes = [
                self._returned.popleft() for _ in range(min(self._size, len(self._returned)))
            ]
            indexes += islice(self._queue, self._size - len(indexes))
            if not indexes:
                break
            self._submit(_Chunk(indexes, is_alone=False))
        return bool(self._pending)

    def wait_for_chunks(self) -> set[Future[ChunkResult[ResultT]]]:
        """Wait until a chunk has finished, and return all that have."""
        began = monotonic()
        while not (finished := wait(self._pending, _WAIT_SECONDS, FIRST_COMPLETED).done):
            self._check(monotonic() - began)
        return finished

    def settle(self, future: Future[ChunkResult[ResultT]]) -> Iterator[list[ResultT]]:
        """Yield the results of a chunk that has finished, then raise its error."""
        chunk = self._pending.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            result = future.result()
            self._returned += result.rest
            self._adjust_size(result)
            if result.results:
                yield result.results
            if result.error is not None:
                raise result.error
        elif not _is_death(error):
            raise _explain_failure(error) from error
        elif not chunk.is_alone:
            self._suspects += chunk.indexes
            self._size = 1
        elif self._on_crash is None:
            raise WorkerError(f"{self._noun} {chunk.indexes[0]} ended its worker twice")
        else:
            yield [self._on_crash(chunk.indexes[0])]

    def cancel(self) -> None:
        """Drop the chunks that have not begun, and wait for the others where the executor cannot stop them."""
        begun = [future for future in self._pending if not future.cancel()]
        if not isinstance(self._executor, WorkerProcesses):
            wait(begun)

    def _adjust_size(self, result: ChunkResult[ResultT]) -> None:
        """Choose how many jobs fill the time of a chunk, by those of the last one."""
        fitting = int(len(result.results) * self._seconds / max(result.seconds, 1e-6))
        self._size = max(1, min(fitting, self._size * _GROWTH))

    def _submit(self, chunk: _Chunk) -> None:
        try:
            future = self._executor.submit(
                run_chunk, self._run, chunk.indexes, self._seconds, __version__
            )
        except RuntimeError as error:  # it was shut down, or is broken
            raise _explain_failure(error) from error
        self._pending[future] = chunk


def _is_death(error: BaseException) -> bool:
    """Return whether a worker has died, as the standard library or Dask says it."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


def _explain_failure(error: BaseException) -> WorkerError:
    return WorkerError(f"the executor failed: {format_error(error)}")


def _count_slots(executor: Executor) -> int:
    """Return how many calls an executor can run at once: ours say so, those of the standard library nearly do."""
    slots: int = (
        getattr(executor, "slots", 0) or getattr(executor, "_max_workers", 0) or count_cores()
    )
    return slots


# In a worker ----------------------------------------------------------------------------------------------------------


@lru_cache(_CACHED_FUNCTIONS)
def _load_function(pickled: bytes) -> Callable[[int], Any]:
    function: Callable[[int], Any] = pickle.loads(pickled)  # noqa: S301 - from our parent
    return function


def run_chunk(
    run: Callable[[int], ResultT] | bytes, indexes: list[int], seconds: float, version: str
) -> ChunkResult[ResultT]:
    """Run jobs until the time of a chunk is over, or until one fails; refuse a parent of another version.

    A function comes pickled, so that it is unpickled once, and here, where an exception can be reported.
    """
    if version != __version__:
        problem = f"the worker on {node()} has Number Tower {__version__}, and this is {version}"
        return ChunkResult([], indexes, WorkerError(f"{problem}; install the same on both"), 0.0)
    results: list[ResultT] = []
    error: BatchError | None = None
    started = monotonic()
    try:
        function = _load_function(run) if isinstance(run, bytes) else run
        for index in indexes:
            results.append(function(index))
            if monotonic() > started + seconds:
                break
    except BatchError as refused:
        error = refused
    except Exception as unexpected:  # noqa: BLE001 - raised in the parent
        job = indexes[len(results)]
        error = WorkerError(f"a worker process failed at job {job}: {format_error(unexpected)}")
        error.add_note(format_exc())
    return ChunkResult(results, indexes[len(results) :], error, monotonic() - started)
