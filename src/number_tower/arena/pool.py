"""Many games at once: worker processes that are handed a few fixtures at a time and send back what they played."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from time import monotonic
from traceback import format_exc
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from number_tower.arena.runner import play
from number_tower.arena.schedule import ArenaError
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from multiprocessing.connection import Connection

    from number_tower.arena.runner import Maker, Played
    from number_tower.arena.schedule import Contest, Fixture

_SOON = 0.05
"""Seconds after which a worker sends what it has; a handful of fixtures should take about as long."""

_HANDFUL = 256
"""Fixtures that a worker is handed at most."""

_GRACE = 5.0
"""Seconds that a worker has to send its players home."""


class WorkerFailed(ArenaError):  # noqa: N818 - named for what happened
    """A worker process could not go on, and why."""


class _Trouble(NamedTuple):
    """What went wrong in a worker: in a line, and where."""

    text: str
    where: str


def cores() -> int:
    """Return how many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_by_one(contest: Contest, fixtures: Iterator[Fixture], make: Maker) -> Generator[list[Played]]:
    """Play one game after the other, in this process."""
    for fixture in fixtures:
        yield [play(contest, fixture, make)]


def side_by_side(contest: Contest, fixtures: Iterator[Fixture], make: Maker, jobs: int) -> Generator[list[Played]]:
    """Play many games at once and give them as they come; when nobody wants more of them, the workers stop."""
    workers: list[_Worker] = []
    try:
        with _interrupts_held():
            workers += (_Worker(contest, make) for _ in range(jobs))
        busy = [worker for worker in workers if worker.hand(fixtures)]
        while busy:
            ready = wait([worker.line for worker in busy])
            for worker in [each for each in busy if each.line in ready]:
                games = worker.receive()
                if not worker.pending and not worker.hand(fixtures):
                    busy.remove(worker)
                yield games
    finally:
        with _interrupts_held():
            _stop(workers)


class _Worker:
    """A process that plays what it is handed."""

    def __init__(self, contest: Contest, make: Maker) -> None:
        context = get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, contest, make), daemon=True)
        self.process.start()
        theirs.close()
        self.pending = 0
        self._size = 1
        self._since = monotonic()

    def hand(self, fixtures: Iterator[Fixture]) -> bool:
        """Hand over some fixtures, more of them the quicker they are played; say whether there were any."""
        spent = monotonic() - self._since
        self._size = min(2 * self._size, _HANDFUL) if spent < _SOON else max(self._size // 2, 1)
        some = list(islice(fixtures, self._size))
        self.pending = len(some)
        self._since = monotonic()
        if some:
            with suppress(OSError):  # a process that is gone is noticed when it is listened to
                self.line.send(some)
        return bool(some)

    def receive(self) -> list[Played]:
        """Return games that the worker has finished."""
        try:
            answer: list[Played] | _Trouble = self.line.recv()
        except (EOFError, OSError):
            self.process.join(_GRACE)
            raise WorkerFailed(f"a worker process ended (exit code {self.process.exitcode})") from None
        if isinstance(answer, _Trouble):
            failed = WorkerFailed(f"a worker process could not go on: {answer.text}")
            failed.add_note(answer.where)
            raise failed
        self.pending -= len(answer)
        return answer


def _stop(workers: list[_Worker]) -> None:
    """End all workers: whoever waits for fixtures leaves by itself, and the others are told to."""
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


def _work(line: Connection, contest: Contest, make: Maker) -> None:
    """Play what is handed over, until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with suppress(EOFError, OSError):
        while True:
            for answer in _answers(line.recv(), contest, make):
                line.send(answer)


def _answers(fixtures: list[Fixture], contest: Contest, make: Maker) -> Iterator[list[Played] | _Trouble]:
    """Play some games and give them now and then; the last answer may be what went wrong."""
    games: list[Played] = []
    trouble = None
    since = monotonic()
    for fixture in fixtures:
        try:
            games.append(play(contest, fixture, make))
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is told to whoever waits for the game
            trouble = _Trouble(shown_text(f"{type(wrong).__name__}: {wrong}"), format_exc())
            break
        if monotonic() - since > _SOON:
            yield games
            games, since = [], monotonic()
    if games:
        yield games
    if trouble is not None:
        yield trouble


def _leave(*_: object) -> NoReturn:
    """End the game at hand; its players are sent home on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit


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
