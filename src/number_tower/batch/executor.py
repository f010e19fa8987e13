"""Many things at once: worker processes that are handed a few of them at a time and send back what came of each."""

from __future__ import annotations

import os
import signal
from contextlib import closing, contextmanager, suppress
from itertools import islice
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from threading import Thread
from time import monotonic
from traceback import format_exc
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, TypeVar

from number_tower.batch import BatchError
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from multiprocessing.connection import Connection

    from number_tower.batch.journal import Done, Journal

Item = TypeVar("Item")
Result = TypeVar("Result")

_SOON = 0.05
"""Seconds after which a worker sends what it has; a handful of things should take about as long."""

_HANDFUL = 256
"""Things that a worker is handed at most."""

_GRACE = 5.0
"""Seconds that a worker has to send its players home."""

_GUARD = 'a script that starts workers needs `if __name__ == "__main__":` before what it does, or jobs=1'
"""What is mostly wrong where workers do not even begin: each of them runs the script first."""


class WorkerError(BatchError):
    """A worker process could not go on, and why."""


class StoppedError(BatchError):
    """Something that is not done, since going on without it would be wrong; it says why."""


class _Trouble(NamedTuple):
    """What went wrong in a worker: in a line, and where."""

    text: str
    where: str


def count_cores() -> int:
    """Return how many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_journaled(
    total: int,
    item: Callable[[int], Item],
    do: Callable[[Item], Done],
    *,
    log: Journal[Done] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[Done]:
    """Give so many things as they are done: first what the log holds, then the others, which are done and kept.

    `progress` is told how many there are now, and how many there will be.
    """
    done = 0
    for one in () if log is None else log.read():
        done += 1
        yield one
    if progress is not None:
        progress(done, total)
    todo = (item(index) for index in range(total) if log is None or index not in log)
    at_once = min(count_cores() if jobs is None else jobs, total - done)
    with closing(one_by_one(do, todo) if at_once < 2 else side_by_side(do, todo, at_once)) as running:
        for some in running:
            if log is not None:
                log.append(some)
            done += len(some)
            if progress is not None:
                progress(done, total)
            yield from some
    if log is not None:
        log.sort_lines()


def one_by_one(do: Callable[[Item], Result], items: Iterator[Item]) -> Generator[list[Result]]:
    """Do one thing after the other, in this process."""
    for item in items:
        yield [do(item)]


def side_by_side(do: Callable[[Item], Result], items: Iterator[Item], jobs: int) -> Generator[list[Result]]:
    """Do many things at once and give them as they come; when nobody wants more of them, the workers stop.

    Worker processes have to find what is done by its name, and its results have to travel.
    """
    workers: list[_Worker[Item, Result]] = []
    try:
        with _interrupts_held():
            workers += (_Worker(do) for _ in range(jobs))
        busy = [worker for worker in workers if worker.hand(items)]
        while busy:
            ready = wait([worker.line for worker in busy])
            for worker in [each for each in busy if each.line in ready]:
                results = worker.receive()
                if not worker.pending and not worker.hand(items):
                    busy.remove(worker)
                yield results
    finally:
        with _interrupts_held():
            _stop(workers)


class _Worker(Generic[Item, Result]):
    """A process that does what it is handed."""

    def __init__(self, do: Callable[[Item], Result]) -> None:
        context = get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, do), daemon=True)
        self.process.start()
        theirs.close()
        self.pending = 0
        self._began = False
        self._size = 1
        self._since = monotonic()

    def hand(self, items: Iterator[Item]) -> bool:
        """Hand over some things, more of them the quicker they are done; say whether there were any."""
        spent = monotonic() - self._since
        self._size = min(2 * self._size, _HANDFUL) if spent < _SOON else max(self._size // 2, 1)
        some = list(islice(items, self._size))
        self.pending = len(some)
        self._since = monotonic()
        if some:
            with suppress(OSError):  # a process that is gone is noticed when it is listened to
                self.line.send(some)
        return bool(some)

    def receive(self) -> list[Result]:
        """Return what the worker has done."""
        try:
            answer: list[Result] | _Trouble | StoppedError = self.line.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            hint = "" if self._began or self.process.exitcode != 1 else f" before it began; {_GUARD}"
            raise WorkerError(f"a worker process ended (exit code {self.process.exitcode}){hint}") from None
        self._began = True
        if isinstance(answer, StoppedError):
            raise answer
        if isinstance(answer, _Trouble):
            failed = WorkerError(f"a worker process could not go on: {answer.text}")
            failed.add_note(answer.where)
            raise failed
        self.pending -= len(answer)
        return answer


def _stop(workers: list[_Worker[Item, Result]]) -> None:
    """End all workers: whoever waits for more leaves by itself, and the others are told to."""
    for worker in workers:
        worker.line.close()
        if worker.pending:
            worker.process.terminate()
    deadline = monotonic() + _GRACE
    for worker in workers:
        worker.process.join(max(deadline - monotonic(), 0))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


class _Leaving(BaseException):
    """Somebody ended this process: nothing that runs in it may take that for an error of its own."""


def _work(line: Connection, do: Callable[[Item], object]) -> None:
    """Do what is handed over, until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_follow, daemon=True).start()
    with suppress(_Leaving):
        with suppress(EOFError, OSError):
            while True:
                for answer in _answers(line.recv(), do):
                    line.send(answer)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _follow() -> None:
    """Leave when whoever started this process is gone, even in the middle of something long."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _answers(items: list[Item], do: Callable[[Item], Result]) -> Iterator[list[Result] | _Trouble | StoppedError]:
    """Do some things and give them now and then; the last answer may be what went wrong."""
    results: list[Result] = []
    trouble: _Trouble | StoppedError | None = None
    since = monotonic()
    for item in items:
        try:
            results.append(do(item))
        except StoppedError as why:
            trouble = why
            break
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is told to whoever waits for the result
            trouble = _Trouble(format_text(f"{type(wrong).__name__}: {wrong}"), format_exc())
            break
        if monotonic() - since > _SOON:
            yield results
            results, since = [], monotonic()
    if results:
        yield results
    if trouble is not None:
        yield trouble


def _leave(*_: object) -> NoReturn:
    """End what is at hand; players are sent home on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Leaving


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let a Ctrl-C wait: processes that are being started would take it for their own, and stopping must not stop."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
