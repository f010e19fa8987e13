"""Worker processes on this machine, behind the interface of `concurrent.futures`.

What the standard library lacks is here: a worker that ended is replaced and only its own calls fail, running calls can
be stopped, and Ctrl-C reaches only the parent. Each worker is a `ProcessPoolExecutor` of one process, so that it is
known which calls a worker had when it ended: a pool of several fails all calls of all workers.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from time import monotonic
from typing import Any, ClassVar, NoReturn

from number_tower.batch import WorkerDiedError

_STOP_SECONDS = 5.0
"""How long workers may take to close their players before they are killed."""

_EXIT_SECONDS = 1.0
"""How long to wait for the exit code of a process whose pipe is closed."""

_MISSING_GUARD = (
    'a script that starts workers needs `if __name__ == "__main__":` before what it does, or jobs=1'
)
"""The usual reason why workers end before their first call: each of them imports the script first."""


class WorkerProcesses(Executor):
    """Runs calls on a number of processes; at the end of the context running calls are stopped."""

    def __init__(self, number: int) -> None:
        self.slots = number
        """How many calls can run at once."""
        self._workers = [_WorkerProcess() for _ in range(number)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call to the worker with the fewest calls, which may have to be started or replaced."""
        place = min(range(self.slots), key=lambda each: len(self._workers[each].calls))
        call = partial(fn, *args, **options)
        with _block_interrupts():  # a Ctrl-C would be taken by the process that starts
            if not self._workers[place].has_ended:
                with suppress(BrokenProcessPool):  # it ended while it had nothing to do
                    return self._workers[place].submit(call)
            self._workers[place] = _WorkerProcess()
            return self._workers[place].submit(call)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - its interface
        """Stop all workers, also in the middle of a call."""
        with _block_interrupts():
            for worker in self._workers:
                worker.ask_to_stop()
            deadline = monotonic() + _STOP_SECONDS
            for worker in self._workers:
                worker.stop(deadline)


class _RecordingContext(SpawnContext):
    """Starts processes by spawning, and records the last one."""

    process: SpawnProcess | None = None

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override] # noqa: N802 - its interface
        self.process = SpawnProcess(*args, **options)
        return self.process


class _WorkerProcess:
    """A pool with a single process, which starts with the first call."""

    def __init__(self) -> None:
        self.calls: set[Future[Any]] = set()
        """The calls that have not ended."""
        self.has_ended = False
        self._context = _RecordingContext()
        self._pool = ProcessPoolExecutor(1, self._context, _start_worker)
        self._ready: Future[int] | None = None

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Submit a call; its exception is a `WorkerDiedError` if the process ends."""
        if self._ready is None:
            self._ready = self._pool.submit(os.getpid)
        running = self._pool.submit(_run_call, call)
        outcome: Future[Any] = Future()
        outcome.set_running_or_notify_cancel()
        self.calls.add(outcome)
        running.add_done_callback(partial(self._settle, outcome))
        return outcome

    def ask_to_stop(self) -> None:
        """Send the process a signal to stop."""
        process = self._context.process
        if process is not None and process.pid is not None:  # without one its start has failed
            process.terminate()

    def stop(self, deadline: float) -> None:
        """Wait until the process has stopped, and kill it after the deadline."""
        process = self._context.process
        if process is not None and process.pid is not None:
            process.join(max(deadline - monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()
        self._pool.shutdown(cancel_futures=True)

    def _settle(self, outcome: Future[Any], running: Future[Any]) -> None:
        """Pass on how a call ended. This runs in the pool's thread, the only one that waits for the process then."""
        error: BaseException | None = (
            CancelledError() if running.cancelled() else running.exception()
        )
        if isinstance(error, BrokenProcessPool):
            self.has_ended = True
            error = self._explain_end()
        self.calls.discard(outcome)
        if error is None:
            outcome.set_result(running.result())
        else:
            outcome.set_exception(error)

    def _explain_end(self) -> WorkerDiedError:
        """Return the error of a broken pool: its process has ended, or sent a result that cannot be unpickled."""
        process = self._context.process
        if process is not None and process.pid is not None:
            process.join(_EXIT_SECONDS)
        code = None if process is None else process.exitcode
        has_begun = (
            self._ready is not None and self._ready.done() and self._ready.exception() is None
        )
        if code is None:
            return WorkerDiedError(
                "a worker process sent a result that cannot be read", suspects_calls=has_begun
            )
        hint = "" if has_begun or code != 1 else f" before it began; {_MISSING_GUARD}"
        message = f"a worker process ended (exit code {code}){hint}"
        return WorkerDiedError(message, suspects_calls=has_begun, may_recover=code != 1)


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
    """Ends the running call; no exception handler of a job takes it for an error."""


class _Worker:
    """The state of this worker process."""

    is_busy: ClassVar[bool] = False


def _start_worker() -> None:
    """Initialize a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop_worker)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, {signal.SIGINT}
        )  # programs that are started inherit it
    Thread(target=_stop_with_parent, daemon=True).start()


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
