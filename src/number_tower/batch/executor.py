"""Run many jobs on any executor and yield their results as they come.

An executor has the interface of `concurrent.futures`: worker processes on this machine (`processes`), a Dask cluster
(`cluster`), or a pool of the caller. Jobs are sent in chunks whose size follows how long they take. If a worker dies,
the jobs that it had are run again one by one, and a job at which a worker dies again is reported.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import cached_property
from itertools import islice
from threading import Lock, Timer
from time import monotonic
from traceback import format_exc
from typing import Any, Generic, NamedTuple, TypeVar

from number_tower.batch import BatchError, WorkerDiedError
from number_tower.batch.journal import EntryT, Journal
from number_tower.batch.processes import WorkerProcesses
from number_tower.text import format_text

ResultT = TypeVar("ResultT")

_CHUNK_SECONDS = 0.05
"""How long a worker runs jobs before it returns their results, unless the executor has its own `chunk_seconds`."""

_MAX_CHUNK = 4096
"""The largest number of jobs in one chunk."""

_CHUNKS_PER_SLOT = 2
"""How many chunks each worker has: one that runs, and one that it can begin without waiting for the parent."""

_WAIT_SECONDS = 0.5
"""How long to wait at once: a Ctrl-C that comes just before the wait is noticed only after it."""

_CACHED_FUNCTIONS = 4
"""How many functions a worker keeps unpickled; a worker of a cluster may work for several parents."""

_KEEP_SECONDS = 60.0
"""How long a worker keeps functions that no chunk uses."""


class WorkerError(BatchError):
    """A worker ended, or a job raised an unexpected exception."""


class StoppedError(BatchError):
    """A job asks to stop the whole batch, and says why."""


def run_journaled(  # noqa: PLR0913 - all options are keywords
    run: Callable[[int], EntryT],
    total: int,
    *,
    log: Journal[EntryT] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    executor: Executor | None = None,
    on_crash: Callable[[int, str], EntryT] | None = None,
) -> Generator[EntryT]:
    """Yield the results of jobs 0 to `total` - 1: first those in the journal, then the others as they are run.

    New results are appended to the log. Jobs are run by the executor; without one, by `jobs` worker processes on this
    machine (default: one for each core), where one job at a time runs in this process. `progress` is called with the
    number of finished jobs and their total.

    A job at which a worker has died twice raises a `WorkerError`. With `on_crash`, the entry that this function makes
    from the job and the reason takes the place of its result instead; such jobs never run in this process.
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
        if executor is None and workers <= 1 and on_crash is None:
            chunks: Iterator[list[EntryT]] = ([run(index)] for index in indexes)
        else:
            if executor is None:
                executor = stack.enter_context(WorkerProcesses(max(workers, 1)))
            noun = "job" if log is None else log.entry_noun
            chunks = stack.enter_context(closing(run_chunks(run, indexes, executor, on_crash=on_crash, noun=noun)))
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
    on_crash: Callable[[int, str], ResultT] | None = None,
    noun: str = "job",
) -> Generator[list[ResultT]]:
    """Run jobs on an executor and yield lists of their results; closing the generator drops what has not begun.

    `run` and its results must be picklable, unless the executor runs them in this process. `noun` is what a job is
    called in errors; `on_crash` is described at `run_journaled`.
    """
    batch = _Batch(SharedFunction(run), iter(indexes), executor)
    try:
        while batch.submit_chunks():
            outcome = batch.wait_for_chunks()
            if outcome.results:
                yield outcome.results
            if outcome.error is not None:
                raise outcome.error
            if outcome.crash is not None:
                index, reason = outcome.crash
                if on_crash is None:
                    raise WorkerError(f"{reason} at {noun} {index}, twice")
                yield [on_crash(index, reason)]
    finally:
        batch.cancel()


class _Chunk(NamedTuple):
    """Jobs that are sent to a worker together."""

    indexes: list[int]
    is_alone: bool
    """Whether it is run while no other chunk is, because a worker has died at it before."""


class _Outcome(Generic[ResultT]):
    """What finished chunks came to."""

    def __init__(self) -> None:
        self.results: list[ResultT] = []
        self.error: BatchError | None = None
        self.crash: tuple[int, str] | None = None


class _Batch(Generic[ResultT]):
    """The jobs that are waiting, and the chunks that are running.

    A dead worker says nothing about which of its jobs is to blame, and a job may take several workers down. So the jobs
    of all chunks that were lost are run again one by one, while nothing else runs.
    """

    def __init__(self, run: SharedFunction[ResultT], queue: Iterator[int], executor: Executor) -> None:
        self._run = run
        self._queue = queue
        self._executor = executor
        self._returned: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._pending: dict[Future[_ChunkResult[ResultT]], _Chunk] = {}
        self._size = 1
        self._seconds: float = getattr(executor, "chunk_seconds", _CHUNK_SECONDS)

    def submit_chunks(self) -> bool:
        """Submit as many chunks as the workers need, and return whether any is running."""
        if self._suspects:
            if not self._pending:
                self._submit(_Chunk([self._suspects.popleft()], is_alone=True))
            return True
        while len(self._pending) < _CHUNKS_PER_SLOT * _count_slots(self._executor):
            indexes = [self._returned.popleft() for _ in range(min(self._size, len(self._returned)))]
            indexes += islice(self._queue, self._size - len(indexes))
            if not indexes:
                break
            self._submit(_Chunk(indexes, is_alone=False))
        return bool(self._pending)

    def wait_for_chunks(self) -> _Outcome[ResultT]:
        """Wait until a chunk has finished, and return what all finished chunks came to."""
        outcome: _Outcome[ResultT] = _Outcome()
        finished: set[Future[_ChunkResult[ResultT]]] = set()
        while not finished:
            finished = wait(self._pending, _WAIT_SECONDS, FIRST_COMPLETED).done
        for future in finished:
            chunk = self._pending.pop(future)
            error = None if future.cancelled() else future.exception()
            if future.cancelled():
                outcome.error = WorkerError("the executor has cancelled the work")
            elif error is not None and _is_death(error):
                self._handle_death(chunk, error, outcome)
            elif error is not None:
                outcome.error = WorkerError(format_text(f"the executor failed: {type(error).__name__}: {error}"))
            else:
                results, rest, refusal = future.result()
                outcome.results += results
                self._returned += rest
                self._size = max(self._size // 2, 1) if rest else min(2 * self._size, _MAX_CHUNK)
                outcome.error = refusal or outcome.error
        return outcome

    def cancel(self) -> None:
        """Drop the chunks that have not begun, and wait for the others where the executor cannot stop them."""
        for future in self._pending:
            future.cancel()
        if not isinstance(self._executor, WorkerProcesses):
            wait(self._pending)

    def _submit(self, chunk: _Chunk) -> None:
        try:
            future = self._executor.submit(_run_chunk, self._run, chunk.indexes, self._seconds)
        except RuntimeError as error:  # it was shut down, or is broken
            raise WorkerError(format_text(f"the executor failed: {type(error).__name__}: {error}")) from error
        self._pending[future] = chunk

    def _handle_death(self, chunk: _Chunk, error: BaseException, outcome: _Outcome[ResultT]) -> None:
        if isinstance(error, WorkerDiedError) and not error.suspects_calls:
            outcome.error = WorkerError(str(error))
        elif chunk.is_alone:
            outcome.crash = chunk.indexes[0], format_text(str(error))
        else:
            self._suspects += chunk.indexes
            self._size = 1


def _is_death(error: BaseException) -> bool:
    """Return whether a worker has died: as our executors say it, or as Dask's own says it after several tries."""
    return isinstance(error, WorkerDiedError) or type(error).__name__ == "KilledWorker"


def _count_slots(executor: Executor) -> int:
    """Return how many calls an executor can run at once: ours say so, those of the standard library nearly do."""
    slots: int = getattr(executor, "slots", 0) or getattr(executor, "_max_workers", 0) or count_cores()
    return slots


# In the worker --------------------------------------------------------------------------------------------------------


_ChunkResult = tuple[list[ResultT], list[int], BatchError | None]
"""Results of the first jobs of a chunk, the jobs that were not run, and the error that ended it."""


class SharedFunction(Generic[ResultT]):
    """A function that is sent with every chunk, and unpickled only once in each worker.

    It may hold much, and start programs that stay from job to job. In this process, it is the function itself.
    """

    def __init__(self, function: Callable[[int], ResultT] | bytes) -> None:
        self._function = function

    def __reduce__(self) -> tuple[type[SharedFunction[ResultT]], tuple[bytes]]:
        """Pickle the function once; it is unpickled where an exception can be reported."""
        return SharedFunction, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        return self._function if isinstance(self._function, bytes) else pickle.dumps(self._function)

    def use(self) -> AbstractContextManager[Callable[[int], ResultT]]:
        """Return a context that gives the function."""
        return _functions.use(self._function) if isinstance(self._function, bytes) else nullcontext(self._function)


class _FunctionCache:
    """The functions that this worker has unpickled.

    They are dropped, and with them what they have started, when no chunk has come for a while: a worker of a cluster
    outlives its parents, and does not learn that one was killed.
    """

    def __init__(self) -> None:
        self._functions: dict[bytes, Callable[[int], Any] | None] = {}
        self._users = 0
        self._timer: Timer | None = None
        self._lock = Lock()

    @contextmanager
    def use(self, pickled: bytes) -> Iterator[Callable[[int], Any]]:
        """Give a function for the time of the context."""
        with self._lock:
            self._users += 1
            if self._timer is not None:
                self._timer.cancel()
        try:
            yield self._load(pickled)
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._timer = Timer(_KEEP_SECONDS, self._drop_unused)
                    self._timer.daemon = True
                    self._timer.start()

    def _load(self, pickled: bytes) -> Callable[[int], Any]:
        with self._lock:
            cached = self._functions.pop(pickled, None)
            function = pickle.loads(pickled) if cached is None else cached  # noqa: S301 - from our parent
            self._functions[pickled] = function
            for oldest in [*self._functions][:-_CACHED_FUNCTIONS]:
                del self._functions[oldest]
            return function

    def _drop_unused(self) -> None:
        with self._lock:
            if not self._users:
                self._functions.clear()


_functions = _FunctionCache()


def _run_chunk(run: SharedFunction[ResultT], indexes: list[int], seconds: float) -> _ChunkResult[ResultT]:
    """Run jobs until the time of a chunk is over, or until one fails."""
    results: list[ResultT] = []
    error: BatchError | None = None
    deadline = monotonic() + seconds
    try:
        with run.use() as function:
            for index in indexes:
                results.append(function(index))
                if monotonic() > deadline:
                    break
    except BatchError as refused:
        error = refused
    except Exception as unexpected:  # noqa: BLE001 - raised in the parent
        text = format_text(f"{type(unexpected).__name__}: {unexpected}")
        error = WorkerError(f"a worker process failed: {text}")
        error.add_note(format_exc())
    return results, indexes[len(results) :], error
