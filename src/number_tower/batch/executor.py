"""Run many jobs on worker processes and yield their results as they come.

The workers are a `concurrent.futures` executor. What the standard library lacks is here: jobs are sent in chunks whose
size follows how long they take, running jobs can be stopped, a worker that ended is reported with its exit code, and
Ctrl-C reaches only the parent.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import islice
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from time import monotonic, sleep
from traceback import format_exc
from typing import Any, ClassVar, NoReturn, TypeVar

from number_tower.batch import BatchError
from number_tower.batch.journal import EntryT, Journal
from number_tower.text import format_text

ResultT = TypeVar("ResultT")

_CHUNK_SECONDS = 0.05
"""How long a worker runs jobs before it returns their results."""

_MAX_CHUNK = 256
"""The largest number of jobs in one chunk."""

_STOP_SECONDS = 5.0
"""How long workers may take to close their players before they are killed."""

_MISSING_GUARD = 'a script that starts workers needs `if __name__ == "__main__":` before what it does, or jobs=1'
"""The usual reason why workers end before their first job: each of them imports the script first."""


class WorkerError(BatchError):
    """A worker process ended, or a job raised an unexpected exception."""


class StoppedError(BatchError):
    """A job asks to stop the whole batch, and says why."""


_ChunkResult = tuple[list[ResultT], list[int], BatchError | None]
"""Results of the first jobs of a chunk, the jobs that were not run, and the error that ended it."""


def run_journaled(
    run: Callable[[int], EntryT],
    total: int,
    *,
    log: Journal[EntryT] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[EntryT]:
    """Yield the results of jobs 0 to `total` - 1: first those in the journal, then the others as they are run.

    New results are appended to the log. `jobs` is the number of workers (default: one for each core); one job at a
    time runs in this process. `progress` is called with the number of finished jobs and their total.
    """
    done = 0
    for entry in () if log is None else log.read():
        done += 1
        yield entry
    if progress is not None:
        progress(done, total)
    indexes = (index for index in range(total) if log is None or index not in log)
    workers = min(count_cores() if jobs is None else jobs, total - done)
    chunks = run_parallel(run, indexes, workers) if workers > 1 else ([run(index)] for index in indexes)
    with closing(chunks):
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


def run_parallel(run: Callable[[int], ResultT], indexes: Iterable[int], workers: int) -> Generator[list[ResultT]]:
    """Run jobs on worker processes; closing the generator stops them. `run` and its results must be picklable."""
    queue = iter(indexes)
    returned: deque[int] = deque()
    pending: set[Future[_ChunkResult[ResultT]]] = set()
    size, has_begun = 1, False
    with _WorkerPool(run, workers) as pool:
        try:
            while True:
                while len(pending) < 2 * workers:
                    chunk = [returned.popleft() for _ in range(min(size, len(returned)))]
                    chunk += islice(queue, size - len(chunk))
                    if not chunk:
                        break
                    pending.add(pool.submit(_run_chunk, chunk))
                if not pending:
                    return
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    results, rest, error = future.result()
                    has_begun = True
                    returned += rest
                    size = max(size // 2, 1) if rest else min(2 * size, _MAX_CHUNK)
                    yield results
                    if error is not None:
                        raise error
        except BrokenProcessPool:
            code = pool.find_exit_code()
            hint = "" if has_begun or code != 1 else f" before it began; {_MISSING_GUARD}"
            raise WorkerError(f"a worker process ended (exit code {code}){hint}") from None


class _RecordingContext(SpawnContext):
    """Starts processes by spawning, and records them."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override] # noqa: N802 - its interface
        process = SpawnProcess(*args, **options)
        self.processes.append(process)
        return process


class _WorkerPool(ProcessPoolExecutor):
    """Worker processes that call one function; at the end of the context running jobs are stopped."""

    def __init__(self, run: Callable[[int], object], workers: int) -> None:
        self._context = _RecordingContext()
        super().__init__(workers, self._context, _start_worker, (run,))

    def submit(self, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call, which may start a process; a Ctrl-C meanwhile would be taken by that process."""
        with _block_interrupts():
            return super().submit(*args, **options)

    def __exit__(self, *_: object) -> None:
        with _block_interrupts():
            self._stop()
            self.shutdown(cancel_futures=True)

    def find_exit_code(self) -> int | None:
        """Stop all workers and return the exit code of the one that ended by itself."""
        self._stop()
        deadline = monotonic() + _STOP_SECONDS
        while None in (codes := [process.exitcode for process in self._context.processes]) and monotonic() < deadline:
            sleep(0.01)  # the pool's own thread waits for them as well, and may see an end first
        return next((code for code in codes if code not in {0, -signal.SIGTERM}), codes[0])

    def _stop(self) -> None:
        """Ask all workers to stop, and kill those that do not."""
        for process in self._context.processes:
            process.terminate()
        deadline = monotonic() + _STOP_SECONDS
        for process in self._context.processes:
            process.join(max(deadline - monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Delay Ctrl-C, where the system can: new processes inherit the blocked signal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In the worker process ------------------------------------------------------------------------------------------------


class _WorkerStoppedError(BaseException):
    """Ends the running job; no exception handler of a job takes it for an error."""


class _Worker:
    """The state of this worker process."""

    run: ClassVar[Callable[[int], Any]]
    is_busy: ClassVar[bool] = False


def _start_worker(run: Callable[[int], object]) -> None:
    """Initialize a worker process."""
    _Worker.run = run
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop_worker)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # programs that are started inherit it
    Thread(target=_stop_with_parent, daemon=True).start()


def _run_chunk(indexes: list[int]) -> _ChunkResult[Any]:
    """Run jobs until the time of a chunk is over, or until one fails."""
    results: list[Any] = []
    error: BatchError | None = None
    deadline = monotonic() + _CHUNK_SECONDS
    _Worker.is_busy = True
    try:
        for index in indexes:
            results.append(_Worker.run(index))
            if monotonic() > deadline:
                break
    except _WorkerStoppedError:
        os._exit(0)
    except BatchError as refused:
        error = refused
    except Exception as unexpected:  # noqa: BLE001 - raised in the parent
        text = format_text(f"{type(unexpected).__name__}: {unexpected}")
        error = WorkerError(f"a worker process failed: {text}")
        error.add_note(format_exc())
    finally:
        _Worker.is_busy = False
    return results, indexes[len(results) :], error


def _stop_worker(*_: object) -> NoReturn:
    """End the running job, so that its players are closed, and then the process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not _Worker.is_busy:
        os._exit(0)
    raise _WorkerStoppedError


def _stop_with_parent() -> None:
    """Stop this process when its parent has ended, even in the middle of a long job."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
