"""Worker processes on this machine: they stop with their parent, and Ctrl-C reaches it alone.

Each worker is a `ProcessPoolExecutor` of one process: a pool of several breaks as a whole when one
process ends, but here a worker that ends costs only its own calls.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from time import monotonic, sleep
from typing import Any, ClassVar, NoReturn

from number_tower.studies.batch import WorkerError

_STOP_SECONDS = 5.0
"""How long a worker may take to close its players before it is killed."""

_NOT_STARTED = (
    "a worker process ended before it began; a script that starts workers needs "
    '`if __name__ == "__main__":` before what it does, or jobs=1'
)
"""Each worker imports the script first, which is the usual reason."""


class WorkerProcess:
    """A process that runs one call after the other; `start` starts it, also after it has ended.

    `prepare` is called in the new process before anything else.
    """

    def __init__(self, prepare: Callable[[], object] | None = None) -> None:
        self.calls: set[Future[Any]] = set()
        """The calls that have not ended."""
        self._prepare = prepare
        self._context = _RecordingContext()
        self._pool = ProcessPoolExecutor(1)

    def start(self) -> Future[int]:
        """Start a process; the future has its id once it is ready, or `BrokenProcessPool`."""
        self.calls = set()
        self._pool = ProcessPoolExecutor(1, self._context, _start_worker, (self._prepare,))
        with _block_interrupts():  # a Ctrl-C would be taken by the process that starts
            return self._pool.submit(os.getpid)

    def submit(self, fn: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        """Submit a call; where no process is or remains, the error is `BrokenProcessPool`."""
        if self._find_process() is None:
            raise BrokenProcessPool
        call = self._pool.submit(_run_call, partial(fn, *args, **options))
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)
        return call

    def ask_to_stop(self) -> None:
        """Let the process end its call, close its players, and exit."""
        process = self._find_process()
        if process is not None:
            process.terminate()

    def kill(self, seconds: float = 0.0) -> None:
        """Kill the process, unless it ends within some seconds."""
        process = self._find_process()
        if process is not None:
            process.join(seconds)
            process.kill()
            process.join()
        self._pool.shutdown(cancel_futures=True)

    def _find_process(self) -> SpawnProcess | None:
        """Return the process if it is running."""
        process = self._context.process
        return process if process is not None and process.is_alive() else None


class WorkerProcesses(Executor):
    """Runs calls on a number of workers, and replaces dead ones; `shutdown` stops running calls."""

    def __init__(self, number: int) -> None:
        self.slots = number
        """How many calls can run at once."""
        self._workers: list[WorkerProcess] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call to the worker with the fewest calls, which may have to be replaced."""
        if not self._workers:
            self._workers = [WorkerProcess() for _ in range(self.slots)]
            _start_all(self._workers)
        worker = min(self._workers, key=lambda worker: len(worker.calls))
        try:
            return worker.submit(fn, *args, **options)
        except BrokenProcessPool:
            _start_all([worker])
            return worker.submit(fn, *args, **options)

    def shutdown(self, wait: bool = True, **_: bool) -> None:  # noqa: ARG002, FBT001, FBT002
        """Stop all workers, also in the middle of a call."""
        with _block_interrupts():
            for worker in self._workers:
                worker.ask_to_stop()
            deadline = monotonic() + _STOP_SECONDS
            for worker in self._workers:
                worker.kill(max(deadline - monotonic(), 0.0))


def _start_all(workers: list[WorkerProcess]) -> None:
    """Start workers and wait until they are ready."""
    starting = [worker.start() for worker in workers]
    try:
        for start in starting:
            start.result()
    except BrokenProcessPool:
        raise WorkerError(_NOT_STARTED) from None


class _RecordingContext(SpawnContext):
    """Starts processes by spawning, and records the last one."""

    process: SpawnProcess | None = None

    def Process(  # type: ignore[override] # noqa: N802
        self, *args: Any, **options: Any
    ) -> SpawnProcess:
        self.process = SpawnProcess(*args, **options)
        return self.process


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


# In the worker process ----------------------------------------------------------------------------


class _WorkerStoppedError(BaseException):
    """Ends the running call; no exception handler of a job takes it for an error."""


class _Worker:
    """The state of this worker process."""

    is_busy: ClassVar[bool] = False


def _start_worker(prepare: Callable[[], object] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop_worker)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_stop_with_parent, daemon=True).start()
    if prepare is not None:
        prepare()


def _run_call(call: Callable[[], Any]) -> Any:
    """Run a call, which a signal to stop may end."""
    _Worker.is_busy = True
    try:
        return call()
    except _WorkerStoppedError:
        os._exit(0)
    finally:
        _Worker.is_busy = False


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
        sleep(_STOP_SECONDS)
        os._exit(1)
