"""Run many jobs on any executor and yield their results as they come.

An executor has the interface of `concurrent.futures`: worker processes on this machine
(`processes`), a Dask cluster (`cluster`), or a pool of the caller. Jobs are sent in chunks whose
size follows how long they take. If a worker dies, its jobs are run again one by one, and a job at
which a worker dies again is reported.

An executor may have `slots`, how many calls it runs at once; `chunk_seconds`, how long a chunk
should take; and `check`, which is called with the seconds of silence while no chunk has finished.
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
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from platform import node
from time import monotonic
from traceback import format_exc
from typing import Any, Generic, NamedTuple, TypeVar

from number_tower import __version__
from number_tower.studies.batch import BatchError, WorkerError
from number_tower.studies.batch.journal import EntryT, Journal
from number_tower.studies.batch.processes import WorkerProcesses
from number_tower.support.text import format_error

ResultT = TypeVar("ResultT")

_CHUNK_SECONDS = 0.05
"""How long a worker runs jobs before it returns their results, unless the executor has its own
`chunk_seconds`."""

_GROWTH = 4
"""By how much chunks may become longer at once."""

_CHUNKS_PER_SLOT = 2
"""Chunks of each worker: one that runs, and one to begin without waiting for the parent."""

_CACHED_FUNCTIONS = 4
"""How many functions a worker keeps unpickled; in a cluster it may have several parents."""

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
    """Yield the results of jobs 0 to `total` - 1: first those in the journal, then the others.

    New results are appended to the log. Jobs are run by the executor; without one, by `jobs` worker
    processes on this machine (default: one for each core; a single job at a time runs in this
    process). `progress` is called with the number of finished jobs and their total.

    A job at which a worker has died twice raises a `WorkerError`; with `on_crash`, this function
    makes its result instead. With `on_crash` and without `jobs`, no job runs in this process.
    """
    done = 0
    if log is not None:
        for entry in log.read():
            done += 1
            yield entry
    if progress is not None:
        progress(done, total)
    indexes = (index for index in range(total) if log is None or index not in log)
    workers = min(count_cores() if jobs is None else jobs, total - done)
    with ExitStack() as stack:
        # With `on_crash`, jobs may crash, so this process runs them only if it is told to.
        if executor is None and workers <= 1 and (on_crash is None or jobs == 1):
            chunks: Iterator[list[EntryT]] = ([run(index)] for index in indexes)
        else:
            if executor is None:
                executor = stack.enter_context(WorkerProcesses(max(workers, 1)))
            noun = "job" if log is None else log.entry_noun
            # Closed, so that no more jobs begin once the caller has stopped reading.
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
    # Workers finish in any order; the file does not depend on it.
    if log is not None:
        log.sort_lines()


def count_cores() -> int:
    """Return how many processes can run at once."""
    # A container or a batch system may allow this process fewer cores than there are.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_chunks(
    run: Callable[[int], ResultT],
    indexes: Iterable[int],
    executor: Executor,
    *,
    on_crash: Callable[[int], ResultT] | None = None,
    noun: str = "job",
) -> Generator[list[ResultT]]:
    """Run jobs on an executor and yield lists of results; closing the generator drops the others.

    `run` and its results must be picklable, unless the executor runs them in this process. `noun`
    is what a job is called in errors; `on_crash` is described at `run_journaled`.
    """
    batch = _Batch(run, iter(indexes), executor, on_crash, noun)
    try:
        while batch.submit_chunks():
            yield from batch.wait_for_chunks()
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


@dataclass(eq=False)
class _Batch(Generic[ResultT]):
    """The jobs that are waiting, and the chunks that are running.

    Nobody knows which job of a dead worker is to blame, and one job may end several workers. So the
    jobs of all lost chunks are run again one by one, while nothing else runs.
    """

    run: Callable[[int], ResultT] | bytes
    queue: Iterator[int]
    executor: Executor
    on_crash: Callable[[int], ResultT] | None
    noun: str
    returned: deque[int] = field(default_factory=deque)
    """Jobs for which a chunk had no time."""
    suspects: deque[int] = field(default_factory=deque)
    """Jobs of lost chunks."""
    pending: dict[Future[ChunkResult[ResultT]], _Chunk] = field(default_factory=dict)
    size: int = 1
    """How many jobs the next chunk has."""

    def __post_init__(self) -> None:
        with suppress(pickle.PicklingError, AttributeError, TypeError):  # threads need no pickle
            self.run = pickle.dumps(self.run)

    @property
    def seconds(self) -> float:
        """How long a chunk should take."""
        return getattr(self.executor, "chunk_seconds", _CHUNK_SECONDS)

    def submit_chunks(self) -> bool:
        """Submit as many chunks as the workers need, and return whether any is running."""
        if self.suspects:
            if not self.pending:
                self._submit(_Chunk([self.suspects.popleft()], is_alone=True))
            return True
        # Our executors say how many slots they have; those of the standard library nearly do.
        slots = getattr(self.executor, "slots", 0) or getattr(self.executor, "_max_workers", 0)
        wanted = _CHUNKS_PER_SLOT * (slots or count_cores())
        while len(self.pending) < wanted:
            returned = min(self.size, len(self.returned))
            indexes = [self.returned.popleft() for _ in range(returned)]
            indexes += islice(self.queue, self.size - returned)
            if not indexes:
                break
            self._submit(_Chunk(indexes, is_alone=False))
        return bool(self.pending)

    def wait_for_chunks(self) -> Iterator[list[ResultT]]:
        """Wait until a chunk has finished; yield the results of all that have, or raise."""
        began = monotonic()
        check: Callable[[float], object] | None = getattr(self.executor, "check", None)
        while not (finished := wait(self.pending, _WAIT_SECONDS, FIRST_COMPLETED).done):
            if check is not None:
                check(monotonic() - began)
        for future in finished:
            chunk = self.pending.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                result = future.result()
                self.returned += result.rest
                # As many jobs as fill the time of a chunk, by the pace of this one.
                fitting = int(len(result.results) * self.seconds / max(result.seconds, 1e-6))
                self.size = max(1, min(fitting, self.size * _GROWTH))
                if result.results:
                    yield result.results
                if result.error is not None:
                    raise result.error
            # Dask's error is known by its name, so that nothing has to be imported.
            elif not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
                raise _explain_failure(error) from error
            elif not chunk.is_alone:
                self.suspects += chunk.indexes
                self.size = 1
            elif self.on_crash is None:
                raise WorkerError(f"{self.noun} {chunk.indexes[0]} ended its worker twice")
            else:
                yield [self.on_crash(chunk.indexes[0])]

    def cancel(self) -> None:
        """Drop the chunks that have not begun; wait for others that the executor cannot stop."""
        begun = [future for future in self.pending if not future.cancel()]
        if not isinstance(self.executor, WorkerProcesses):
            wait(begun)

    def _submit(self, chunk: _Chunk) -> None:
        try:
            future = self.executor.submit(
                run_chunk, self.run, chunk.indexes, self.seconds, __version__
            )
        except RuntimeError as error:  # it was shut down, or is broken
            raise _explain_failure(error) from error
        self.pending[future] = chunk


def _explain_failure(error: BaseException) -> WorkerError:
    return WorkerError(f"the executor failed: {format_error(error)}")


# In a worker --------------------------------------------------------------------------------------


@lru_cache(_CACHED_FUNCTIONS)
def _load_function(pickled: bytes) -> Callable[[int], Any]:
    function: Callable[[int], Any] = pickle.loads(pickled)  # noqa: S301 - from our parent
    return function


def run_chunk(
    run: Callable[[int], ResultT] | bytes, indexes: list[int], seconds: float, version: str
) -> ChunkResult[ResultT]:
    """Run jobs until the time of a chunk is over or one fails; refuse a parent of another version.

    A function comes pickled, so that it is unpickled once, and here, where an exception can be
    reported.
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
