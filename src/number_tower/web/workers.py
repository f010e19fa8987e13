"""Questions that take computing time are answered by worker processes, in turn over those who ask.

There are two lanes, so that nobody's move waits for an analysis: cheap questions (computer moves, hints) may use every
process, dear ones (analyses, reviews, puzzles) all but one. If both wait, cheap ones go first, but dear ones keep one
process. In each lane the asker that was served longest ago is next (`fair_queue`), and a question that has not begun in
time is refused.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from number_tower.web.worker_process import GaveUpError, TaskResult, WorkerProcess, block_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable, Mapping

    from number_tower.web.worker_process import Prepare

__all__ = [
    "BUSY",
    "LANE_LIMITS",
    "AbandonedError",
    "BusyError",
    "GaveUpError",
    "Lane",
    "LaneLimits",
    "Requester",
    "Workers",
]


T = TypeVar("T")


BUSY = "The server is busy. Please try again in a moment."


_STOPPING = "The server is being stopped. Please try again in a moment."


_CLOSE_TIMEOUT = 10.0


"""Seconds that `close` takes at most."""


class BusyError(Exception):
    """The question was refused before it began: too many wait, or it has waited too long. It may be asked again."""

    def __init__(self, words: str = BUSY) -> None:
        super().__init__(words)


class AbandonedError(Exception):
    """The asker left before the question began."""


class Lane(StrEnum):
    """How long a kind of question takes: the cheap ones are not behind the dear ones."""

    CHEAP = "cheap"
    EXPENSIVE = "dear"


class LaneLimits(NamedTuple):
    """How many questions may wait in a lane, how many of one asker, and for how many seconds each."""

    waiting: int
    waiting_per_requester: int
    seconds: float


LANE_LIMITS: Mapping[Lane, LaneLimits] = MappingProxyType(
    {Lane.CHEAP: LaneLimits(256, 16, 10.0), Lane.EXPENSIVE: LaneLimits(64, 16, 20.0)}
)


class Requester(NamedTuple):
    """For whom a question is asked: an address, and a seat if one is held; `gone` is done once they have left."""

    address: Hashable
    seat: Hashable = None
    gone: asyncio.Future[None] | None = None

    @property
    def path(self) -> tuple[Hashable, ...]:
        """The asker as the queue knows it."""
        return (self.address,) if self.seat is None else (self.address, self.seat)


_ANONYMOUS = Requester(None)


@dataclass(eq=False)
class _WorkerJob:
    """A pickled function with its arguments, the seconds that it has, and the tickets of all who ask it."""

    pickled: bytes
    seconds: float
    lane: Lane
    key: Hashable
    tickets: list[_Ticket] = field(default_factory=list)
    begun: bool = False


@dataclass(eq=False)
class _Ticket:
    """One asker's claim to a question's answer, with a place of its own in the queue."""

    requester: tuple[Hashable, ...]
    job: _WorkerJob
    since: float
    result: asyncio.Future[TaskResult]
    timer: asyncio.TimerHandle | None = None

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def settle(self, answer: TaskResult) -> None:
        if not self.result.done():
            self.result.set_result(answer)


class Workers:
    """Worker processes that answer questions; at most `dear` of them work on dear ones at the same time.

    They start with the first questions, or by `warm`. What `prepare` loads in each of them beforehand does not count
    towards `memory`, the MiB that a question may take (where the system can limit it).
    """

    def __init__(
        self,
        processes: int = 1,
        dear: int | None = None,
        memory: int = 1024,
        prepare: Prepare = None,
        limits: Mapping[Lane, LaneLimits] = LANE_LIMITS,
    ) -> None:
        self.on_wait: Callable[[float, Lane], object] | None = None
        """Called with the seconds that a question has waited when it begins."""
        self.refused = 0
        """How many tickets were refused because the server is busy."""
        self._starter = ThreadPoolExecutor(processes, "worker-starter", block_interrupts)
        self._processes = [WorkerProcess(memory, prepare, self._starter) for _ in range(processes)]
        self._free = list(self._processes)
        self._max_expensive = processes if dear is None else dear
        self._limits = limits
        self._queues = {
            lane: FairQueue[_Ticket](limits[lane].waiting, limits[lane].waiting_per_requester)
            for lane in (Lane.CHEAP, Lane.EXPENSIVE)
        }
        self._running: Counter[Lane] = Counter()
        self._open_jobs: dict[Hashable, _WorkerJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many questions wait, counted once for each of their askers."""
        return sum(map(len, self._queues.values()))

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
        asker: Requester = _ANONYMOUS,
        key: Hashable = None,
    ) -> T:
        """Return what a module-level function returns in a worker process.

        Questions with the same key that are asked at the same time are worked on once. Each asker keeps a place of its
        own in the queue for them, so that nobody has to wait for another's turn or is refused for another's number of
        questions. A question whose askers all leave before it begins is dropped.
        """
        if self._closed:
            raise BusyError(_STOPPING)
        question = None if key is None else self._open_jobs.get(key)
        if question is None:
            question = _WorkerJob(pickle.dumps((task, args)), seconds, lane, key)
        loop = asyncio.get_running_loop()
        ticket = _Ticket(asker.path, question, loop.time(), loop.create_future())
        self._admit(ticket)

        def abandon(_: object) -> None:
            if not question.begun:  # otherwise the answer is worth remembering
                self._refuse(ticket, AbandonedError())

        if asker.gone is not None:
            asker.gone.add_done_callback(abandon)
        try:
            value, error = await ticket.result
        finally:
            self._remove(ticket)
            if asker.gone is not None:
                asker.gone.remove_done_callback(abandon)
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return] # it comes from a pickle

    async def warm(self) -> None:
        """Start the processes, one after the other, so that no question has to wait for that."""
        for process in self._processes:
            with suppress(GaveUpError):  # the next question tries it again
                await process.start()

    async def close(self) -> None:
        """End all processes; questions that wait are refused, and those that have begun are given up."""
        self._closed = True
        for queue in self._queues.values():
            for ticket in list(queue):
                self._refuse(ticket, BusyError(_STOPPING))
        closing = [asyncio.create_task(process.close()) for process in self._processes]
        _, late = await asyncio.wait([*closing, *self._tasks], timeout=_CLOSE_TIMEOUT)
        self._starter.shutdown(wait=not late)

    def _admit(self, ticket: _Ticket) -> None:
        """Begin a ticket's question at once if a process is free for it; otherwise let the ticket wait."""
        question = ticket.job
        queue, limits = self._queues[question.lane], self._limits[question.lane]
        if question.begun:
            question.tickets.append(ticket)
            return
        if self._free and (question.lane is Lane.CHEAP or self._running[Lane.EXPENSIVE] < self._max_expensive):
            queue.note_turn(ticket.requester)
            question.tickets.append(ticket)
            self._begin(ticket)
            return
        try:
            dropped = queue.push(ticket.requester, ticket)
        except QueueFullError:
            self.refused += 1
            raise BusyError from None
        question.tickets.append(ticket)
        if question.key is not None:
            self._open_jobs[question.key] = question
        ticket.timer = asyncio.get_running_loop().call_later(limits.seconds, self._refuse, ticket, BusyError())
        if dropped is not None:
            self._refuse(dropped, BusyError())

    def _refuse(self, ticket: _Ticket, error: Exception) -> None:
        """Answer a ticket that waits with an error."""
        self.refused += isinstance(error, BusyError)
        self._remove(ticket)
        ticket.settle(TaskResult(error=error))

    def _remove(self, ticket: _Ticket) -> None:
        """Let go of a ticket, and of its question if it was the last and the question has not begun."""
        question = ticket.job
        ticket.stop_timer()
        if ticket in question.tickets:
            question.tickets.remove(ticket)
        if not question.begun:
            self._queues[question.lane].remove(ticket.requester, ticket)
            if not question.tickets and self._open_jobs.get(question.key) is question:
                del self._open_jobs[question.key]

    def _next_lane(self) -> Lane | None:
        """Return the lane whose turn it is to use a free process."""
        cheap, dear = self._queues[Lane.CHEAP], self._queues[Lane.EXPENSIVE]
        if dear and self._running[Lane.EXPENSIVE] < self._max_expensive:
            only_cheap_run = self._running[Lane.CHEAP] and not self._running[Lane.EXPENSIVE]
            if only_cheap_run or not cheap:
                return Lane.EXPENSIVE
        return Lane.CHEAP if cheap else None

    def _begin(self, ticket: _Ticket) -> None:
        """Hand a question to a free process, for all who ask it."""
        question, now = ticket.job, asyncio.get_running_loop().time()
        question.begun = True
        if question.key is not None:
            self._open_jobs[question.key] = question
        for each in question.tickets:
            self._queues[question.lane].remove(each.requester, each)
            each.stop_timer()
        self._running[question.lane] += 1
        process = next((process for process in self._free if process.ready), self._free[0])
        self._free.remove(process)
        if self.on_wait is not None:
            self.on_wait(now - min(each.since for each in question.tickets), question.lane)
        self._run(self._serve(process, question))

    async def _serve(self, process: WorkerProcess, question: _WorkerJob) -> None:
        """Get the answer to a question; then the next question has its turn."""
        answer = TaskResult()
        try:
            await process.start()
            if question.tickets:  # otherwise all askers have left while the process started
                answer = await process.run(question.pickled, question.seconds)
        except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
            answer = TaskResult(error=error)
        for ticket in question.tickets:
            ticket.settle(answer)
        if self._open_jobs.get(question.key) is question:
            del self._open_jobs[question.key]
        self._running[question.lane] -= 1
        self._free.append(process)
        if self._closed:
            return
        while self._free and (lane := self._next_lane()) is not None:
            self._begin(self._queues[lane].pop())
        if process in self._free and not process.ready:
            self._run(self._restart_process(process))

    async def _restart_process(self, process: WorkerProcess) -> None:
        """Start a process again that has ended, before it is needed."""
        with suppress(GaveUpError):
            await process.start()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    Path = tuple[Hashable, ...]


Entry = TypeVar("Entry")


_MAX_REMEMBERED = 4_096


"""Askers whose last turn is remembered; those served longest ago are forgotten first."""


class QueueFullError(Exception):
    """There is no place in the queue for this asker's entry."""


class FairQueue(Generic[Entry]):
    """Waiting entries by asker; the asker whose last turn is longest ago is served first, with its oldest entry.

    An asker without a turn so far comes before all who had one, so that a newcomer waits for nobody's backlog. Among
    askers without a turn the first to arrive is served first.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: dict[Path, deque[Entry]] = {}  # in the order in which the askers began to wait
        self._turns: OrderedDict[Path, int] = OrderedDict()
        self._clock = count(1)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entries in self._waiting.values() for entry in entries)

    def push(self, asker: Path, entry: Entry) -> Entry | None:
        """Add an entry, and return the one that lost its place for it, if the queue was full.

        The entry is refused with `QueueFullError` if its asker has as many as one may have, or if the queue is full and
        nobody has more than the asker would have then.
        """
        if len(self._waiting.get(asker, ())) >= self._most_of_one:
            raise QueueFullError
        dropped = self._drop(asker) if len(self) >= self._most else None
        self._waiting.setdefault(asker, deque()).append(entry)
        return dropped

    def pop(self) -> Entry:
        """Take out the entry whose turn it is."""
        asker = min(self._waiting, key=lambda each: [self._turns.get(part, 0) for part in _list_prefixes(each)])
        entry = self._waiting[asker].popleft()
        self._forget_if_empty(asker)
        self.note_turn(asker)
        return entry

    def remove(self, asker: Path, entry: Entry) -> None:
        """Take out an entry that is no longer wanted; one that is not there is no error."""
        entries = self._waiting.get(asker, deque())
        if entry in entries:
            entries.remove(entry)
            self._forget_if_empty(asker)

    def note_turn(self, asker: Path) -> None:
        """Count a turn for an asker: also one that did not have to wait."""
        turn = next(self._clock)
        for part in _list_prefixes(asker):
            self._turns[part] = turn
            self._turns.move_to_end(part)
        while len(self._turns) > _MAX_REMEMBERED:
            self._turns.popitem(last=False)

    def _drop(self, asker: Path) -> Entry:
        """Take out the newest entry of those with the most: of an address if that has more, or else of a seat there."""
        counts = Counter(
            part for each, entries in self._waiting.items() for part in _list_prefixes(each) for _ in entries
        )
        for part in _list_prefixes(asker):
            rivals = [each for each in counts if len(each) == len(part) and each[:-1] == part[:-1]]
            largest = max(rivals, key=counts.__getitem__, default=part)
            if counts[largest] > counts[part] + 1:
                members = [each for each in self._waiting if each[: len(largest)] == largest]
                loser = max(reversed(members), key=lambda each: len(self._waiting[each]))
                dropped = self._waiting[loser].pop()
                self._forget_if_empty(loser)
                return dropped
        raise QueueFullError

    def _forget_if_empty(self, asker: Path) -> None:
        if not self._waiting[asker]:
            del self._waiting[asker]


def _list_prefixes(path: Path) -> list[Path]:
    """Return the beginnings of a path: the address, then the address with the seat."""
    return [path[: length + 1] for length in range(len(path))]
