"""A pool of worker processes for questions that take computing time; requesters have their turns one after the other.

There are two lanes, so that no move waits for an analysis: cheap questions (computer moves, hints) may use every
process, expensive ones (analyses, reviews, puzzles) all but one. If both wait, cheap ones go first, but expensive ones
keep one process. In each lane the requester that was served longest ago is next (`FairQueue`), and a question that has
not begun in time is refused.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import NamedTuple, TypeVar

from number_tower.web.worker_process import (
    GaveUpError,
    Prepare,
    TaskResult,
    WorkerProcess,
    block_interrupts,
)

Path = tuple[Hashable, ...]
"""A requester: an address, or an address and a seat."""

T = TypeVar("T")

BUSY = "The server is busy. Please try again in a moment."
_STOPPING = "The server is being stopped. Please try again in a moment."

_CLOSE_TIMEOUT = 10.0
"""Seconds that `Workers.close` takes at most."""

_MAX_REMEMBERED = 4_096
"""Requesters whose last turn is remembered; those served longest ago are forgotten first."""


class BusyError(Exception):
    """The question was refused before it began: too many wait, or it has waited too long. It may be asked again."""

    def __init__(self, message: str = BUSY) -> None:
        super().__init__(message)


class AbandonedError(Exception):
    """The requester left before the question began."""


class Lane(StrEnum):
    """The kinds of questions; the values are labels of the metrics."""

    CHEAP = "cheap"
    EXPENSIVE = "dear"


class LaneLimits(NamedTuple):
    """How many questions may wait in a lane, how many of one requester, and for how many seconds each."""

    waiting: int
    waiting_per_requester: int
    seconds: float


LANE_LIMITS = {Lane.CHEAP: LaneLimits(256, 16, 10.0), Lane.EXPENSIVE: LaneLimits(64, 16, 20.0)}


@dataclass(eq=False)
class _WorkerJob:
    """A pickled function with its arguments, the seconds that it has, and the tickets of all requesters."""

    pickled: bytes
    seconds: float
    lane: Lane
    key: Hashable
    tickets: list[Ticket] = field(default_factory=list)
    begun: bool = False


@dataclass(eq=False)
class Ticket:
    """One requester's claim to the result of a job, with a place of its own in the queue."""

    requester: Path
    job: _WorkerJob
    since: float
    result: asyncio.Future[TaskResult]
    timer: asyncio.TimerHandle | None = None

    def stop_timer(self) -> None:
        """Let it wait for as long as it takes."""
        if self.timer is not None:
            self.timer.cancel()

    def settle(self, result: TaskResult) -> None:
        """Hand the result over, unless there is one."""
        if not self.result.done():
            self.result.set_result(result)


class Workers:
    """Worker processes that answer questions; all but one of them may work on expensive ones at the same time.

    They start with the first questions, or by `warm`. What `prepare` loads in each of them beforehand does not count
    towards `memory`, the MiB that a question may take (where the system can limit it).
    """

    def __init__(
        self,
        processes: int = 1,
        memory: int = 1024,
        prepare: Prepare = None,
        limits: Mapping[Lane, LaneLimits] = LANE_LIMITS,
    ) -> None:
        self.on_wait: Callable[[float, Lane], object] | None = None
        """Called with the seconds that a question has waited when it begins."""
        self._starter = ThreadPoolExecutor(processes, "worker-starter", block_interrupts)
        self._processes = [WorkerProcess(memory, prepare, self._starter) for _ in range(processes)]
        self._free = list(self._processes)
        self._max_expensive = max(1, processes - 1)
        self._limits = limits
        self._queues = {lane: FairQueue(limits[lane]) for lane in Lane}
        self._running: Counter[Lane] = Counter()
        self._open_jobs: dict[Hashable, _WorkerJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many questions wait, counted once for each of their requesters."""
        return sum(len(queue.tickets) for queue in self._queues.values())

    @property
    def running(self) -> int:
        """How many questions are being worked on."""
        return self._running.total()

    async def ask(
        self,
        task: Callable[..., T],
        *args: object,
        seconds: float = 5.0,
        lane: Lane = Lane.CHEAP,
        requester: Path = (None,),
        gone: asyncio.Future[None] | None = None,
        key: Hashable = None,
    ) -> T:
        """Return what a module-level function returns in a worker process.

        Questions with the same key that are asked at the same time are worked on once. Each requester keeps a place of
        its own in the queue for them, so that none waits for another's turn or is refused for another's number of
        questions. A question whose requesters all leave before it begins is dropped; `gone` is done once one has left.
        """
        if self._closed:
            raise BusyError(_STOPPING)
        key = object() if key is None else key
        job = self._open_jobs.get(key) or _WorkerJob(pickle.dumps((task, args)), seconds, lane, key)
        loop = asyncio.get_running_loop()
        ticket = Ticket(requester, job, loop.time(), loop.create_future())
        self._admit(ticket)

        def abandon(_: object) -> None:
            if not job.begun:  # otherwise the result can be cached
                self._refuse(ticket, AbandonedError())

        gone = gone or loop.create_future()
        gone.add_done_callback(abandon)
        try:
            value, error = await ticket.result
        finally:
            self._remove(ticket)
            gone.remove_done_callback(abandon)
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return] # it comes from a pickle

    async def warm(self) -> None:
        """Start the processes, one after the other, so that no question has to wait for that."""
        for process in self._processes:
            await asyncio.shield(self._create_task(self._restart(process)))

    async def close(self) -> None:
        """End all processes; questions that wait are refused, and those that have begun are given up."""
        self._closed = True
        for queue in self._queues.values():
            for ticket in list(queue.tickets):
                self._refuse(ticket, BusyError(_STOPPING))
        closing = [asyncio.create_task(process.close()) for process in self._processes]
        _, late = await asyncio.wait([*closing, *self._tasks], timeout=_CLOSE_TIMEOUT)
        self._starter.shutdown(wait=not late)

    def _admit(self, ticket: Ticket) -> None:
        """Let a ticket wait, unless its job has begun; without waiting if a process is free for it."""
        job = ticket.job
        if not job.begun:
            dropped = self._queues[job.lane].push(ticket)
            if dropped is not None:
                self._refuse(dropped, BusyError())
            seconds = self._limits[job.lane].seconds
            ticket.timer = asyncio.get_running_loop().call_later(
                seconds, self._refuse, ticket, BusyError()
            )
        job.tickets.append(ticket)
        self._open_jobs[job.key] = job
        self._begin_next()

    def _refuse(self, ticket: Ticket, error: Exception) -> None:
        """Answer a ticket that waits with an error."""
        self._remove(ticket)
        ticket.settle(TaskResult(error=error))

    def _remove(self, ticket: Ticket) -> None:
        """Remove a ticket, and its job if it was the last and the job has not begun."""
        job = ticket.job
        ticket.stop_timer()
        if ticket in job.tickets:
            job.tickets.remove(ticket)
        if not job.begun:
            self._queues[job.lane].remove(ticket)
            if not job.tickets:
                self._open_jobs.pop(job.key, None)

    def _next_lane(self) -> Lane | None:
        """Return the lane whose turn it is to use a free process."""
        cheap, expensive = self._queues[Lane.CHEAP].tickets, self._queues[Lane.EXPENSIVE].tickets
        if expensive and self._running[Lane.EXPENSIVE] < self._max_expensive:
            only_cheap_run = self._running[Lane.CHEAP] and not self._running[Lane.EXPENSIVE]
            if only_cheap_run or not cheap:
                return Lane.EXPENSIVE
        return Lane.CHEAP if cheap else None

    def _begin_next(self) -> None:
        """Begin the jobs whose turn it is, while processes are free for them."""
        while self._free and (lane := self._next_lane()) is not None:
            self._begin(self._queues[lane].pop())

    def _begin(self, ticket: Ticket) -> None:
        """Hand a job to a free process, for all of its requesters."""
        job, now = ticket.job, asyncio.get_running_loop().time()
        job.begun = True
        for each in job.tickets:
            self._queues[job.lane].remove(each)
            each.stop_timer()
        self._running[job.lane] += 1
        process = next((process for process in self._free if process.ready), self._free[0])
        self._free.remove(process)
        if self.on_wait is not None:
            self.on_wait(now - min(each.since for each in job.tickets), job.lane)
        self._create_task(self._run(process, job))

    async def _run(self, process: WorkerProcess, job: _WorkerJob) -> None:
        """Get the result of a job; then the next one has its turn."""
        result = TaskResult()
        try:
            await process.start()
            if job.tickets:  # otherwise all requesters have left while the process started
                result = await process.run(job.pickled, job.seconds)
        except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
            result = TaskResult(error=error)
        for ticket in job.tickets:
            ticket.settle(result)
        del self._open_jobs[job.key]
        self._running[job.lane] -= 1
        self._free.append(process)
        if self._closed:
            return
        self._begin_next()
        if process in self._free and not process.ready:
            self._create_task(self._restart(process))

    async def _restart(self, process: WorkerProcess) -> None:
        """Start a process before it is needed; if that fails, the next question tries it again."""
        with suppress(GaveUpError):
            await process.start()

    def _create_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class FairQueue:
    """Tickets that wait; the requester whose last turn is longest ago is served first, with its oldest ticket.

    Turns go round over the addresses, and at each address over its seats: a hundred seats at one address give it no
    more turns. A requester without a turn so far comes before all others, so that it waits for no backlog. Among those
    the first to arrive is served first.
    """

    def __init__(self, limits: LaneLimits) -> None:
        self._limits = limits
        self.tickets: list[Ticket] = []
        """In the order in which they came."""
        self._turns: OrderedDict[Path, int] = OrderedDict()
        self._clock = count(1)

    def push(self, ticket: Ticket) -> Ticket | None:
        """Add a ticket, and return the one that lost its place for it, if the queue was full.

        The ticket is refused with `BusyError` if its requester has the most that one may have, or if the queue is
        full and no other has more than the requester would have then.
        """
        if (
            sum(each.requester == ticket.requester for each in self.tickets)
            >= self._limits.waiting_per_requester
        ):
            raise BusyError
        dropped = (
            self._drop(ticket.requester) if len(self.tickets) >= self._limits.waiting else None
        )
        self.tickets.append(ticket)
        return dropped

    def pop(self) -> Ticket:
        """Take out the ticket whose turn it is."""
        ticket = min(self.tickets, key=self._get_turns)
        self.tickets.remove(ticket)
        turn = next(self._clock)
        for part in _list_prefixes(ticket.requester):
            self._turns[part] = turn
            self._turns.move_to_end(part)
        while len(self._turns) > _MAX_REMEMBERED:
            self._turns.popitem(last=False)
        return ticket

    def remove(self, ticket: Ticket) -> None:
        """Take out a ticket, if it is here."""
        with suppress(ValueError):
            self.tickets.remove(ticket)

    def _get_turns(self, ticket: Ticket) -> list[int]:
        return [self._turns.get(part, 0) for part in _list_prefixes(ticket.requester)]

    def _drop(self, requester: Path) -> Ticket:
        """Take out the newest ticket of those with the most: of an address if one has more, else of a seat there."""
        sizes = Counter(each.requester for each in self.tickets)
        counts = Counter(part for each in self.tickets for part in _list_prefixes(each.requester))
        for part in _list_prefixes(requester):
            rivals = [each for each in counts if len(each) == len(part) and each[:-1] == part[:-1]]
            largest = max(rivals, key=counts.__getitem__, default=part)
            if counts[largest] > counts[part] + 1:
                members = [
                    each for each in self.tickets if each.requester[: len(largest)] == largest
                ]
                dropped = max(reversed(members), key=lambda each: sizes[each.requester])
                self.tickets.remove(dropped)
                return dropped
        raise BusyError


def _list_prefixes(path: Path) -> list[Path]:
    """Return the beginnings of a path: the address, then the address with the seat."""
    return [path[: length + 1] for length in range(len(path))]
