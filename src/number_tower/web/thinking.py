"""Questions that take thought are answered in processes of their own, within limits that nothing can overstep.

The event loop only hands questions over. Each process has a thread here that waits for its answer; one that is silent
for too long is killed and replaced, which `concurrent.futures` cannot do for one question alone. Nor does a process
outlive the server: a thread of its own ends it when the server is gone, and where the work holds the interpreter so
that no thread runs, the watchdog of `faulthandler`, which needs none, does so a little after the question's time.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import pickle
import signal
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from traceback import format_exc
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    Prepare = Callable[[], object] | None

T = TypeVar("T")

_GRACE = 0.5
"""Seconds beyond its time that a question has, so that its own "not solved in time" can arrive."""

_BEGINNING = 60.0
"""Seconds that a process has to become ready."""

_NICE = 5
"""How far a process stands back behind the server, which should answer everybody at once."""

_LONGEST_ANSWER = 1 << 24
"""Bytes that no page needs; the server's own memory has to be safe from an answer as well."""

_MIB = 1 << 20
_NO_MEMORY = b""
_STOPPING = "the server is being stopped"


class Busy(Exception):  # noqa: N818 - named for what it says
    """Too many questions wait already; the same one may be asked a little later."""


class GaveUp(Exception):  # noqa: N818 - named for what happened
    """The question took more time or memory than it may; nothing is known."""


class _Answer(NamedTuple):
    """What came of a question: a value, or what went wrong."""

    value: Any = None
    wrong: Exception | None = None


class _Question(NamedTuple):
    """A task with its arguments, pickled, the seconds that it has, and where somebody waits for the answer."""

    pickled: bytes
    seconds: float
    answer: asyncio.Future[_Answer]

    def settle(self, answer: _Answer) -> None:
        """Give the answer to whoever asked, if they are still there."""
        if not self.answer.done():
            self.answer.set_result(answer)


class Thinkers:
    """A few processes that answer questions in the order in which they came.

    They start with the first questions, or by `warm`. What `prepare` loads in each of them beforehand does not count
    towards `memory`, the MiB that the questions may take there (where the system can limit it).
    """

    def __init__(self, processes: int = 1, waiting: int = 64, memory: int = 1024, prepare: Prepare = None) -> None:
        self._waiting = waiting
        self._memory = memory
        self._prepare = prepare
        self._questions: deque[_Question] = deque()
        self._idle: list[_Worker | None] = [None] * processes  # None: its process has not been started
        self._busy: set[_Worker] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(processes, "thinker", _hold_interrupts)
        self._closed = False

    async def ask(self, task: Callable[..., T], *args: object, seconds: float = 5.0) -> T:
        """Return what a module-level function answers; a question whose asker leaves before it begins is dropped."""
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        question = _Question(pickle.dumps((task, args)), seconds, answer)
        if self._closed:
            raise Busy(_STOPPING)
        if self._idle:
            self._serve(self._idle.pop(), question)
        elif len(self._questions) < self._waiting:
            self._questions.append(question)
        else:
            raise Busy("too many questions wait already; please try again in a moment")
        try:
            value, wrong = await answer
        except asyncio.CancelledError:
            with suppress(ValueError):  # it has begun, and whoever works on it comes to an end
                self._questions.remove(question)
            raise
        if wrong is not None:
            raise wrong
        return value  # type: ignore[no-any-return] # it comes from a pickle

    async def warm(self) -> None:
        """Start all processes and wait until they are ready, so that nobody's question has to."""
        idle, self._idle = self._idle, []
        starting = [self._serve(worker, None) for worker in idle]
        if starting:
            await asyncio.wait(starting)

    async def close(self) -> None:
        """End all processes; questions that wait or have begun get no answer."""
        self._closed = True
        while self._questions:
            self._questions.popleft().settle(_Answer(wrong=Busy(_STOPPING)))
        for worker in self._busy:
            worker.kill()
        if self._serving:
            await asyncio.wait(self._serving)
        idle, self._idle = self._idle, []
        for each in idle:
            if each is not None:
                await self._in_thread(each.end)
        self._threads.shutdown()

    def _serve(self, worker: _Worker | None, question: _Question | None) -> asyncio.Task[None]:
        serving = asyncio.get_running_loop().create_task(self._answered(worker, question))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        return serving

    async def _answered(self, worker: _Worker | None, question: _Question | None) -> None:
        """Get the answer to a question, or only a worker that is ready for one; then the next question has its turn."""
        try:
            worker = await self._living(worker)
            if question is not None and not question.answer.done():
                question.settle(await self._in_time(worker, question.seconds, worker.ask, question))
                worker = await self._kept(worker)
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is told to whoever waits for the answer
            worker = None
            if question is not None:
                question.settle(_Answer(wrong=wrong))
        if self._questions:
            self._serve(worker, self._questions.popleft())
        elif worker is None and question is not None and not self._closed:
            self._serve(None, None)
        else:
            self._idle.append(worker)

    async def _living(self, worker: _Worker | None) -> _Worker:
        """Return a worker that is there: this one, or a new one where it died while it was idle."""
        if worker is not None and worker.alive():
            return worker
        if worker is not None:
            await self._in_thread(worker.end)
        try:
            worker = await self._in_thread(_Worker, self._memory, self._prepare)
        except OSError as short:
            raise GaveUp("no process could be started to work on it") from short
        _, wrong = await self._in_time(worker, _BEGINNING, worker.hear)
        if wrong is not None:
            await self._in_thread(worker.end)
            raise wrong
        return worker

    async def _in_time(self, worker: _Worker, seconds: float, listen: Callable[..., _Answer], *args: object) -> _Answer:
        """Return what a worker answers; one that takes too long is killed."""
        self._busy.add(worker)
        if self._closed:
            worker.kill()
        heard = self._in_thread(listen, *args)
        in_time, _ = await asyncio.wait([heard], timeout=seconds + _GRACE)
        if not in_time:
            worker.kill()
        answer = await heard
        self._busy.discard(worker)
        return answer if in_time else _Answer(wrong=GaveUp(f"it took longer than {seconds:g} seconds"))

    async def _kept(self, worker: _Worker) -> _Worker | None:
        """Return a worker that can go on, and nothing in place of one that cannot."""
        if not worker.lost:
            return worker
        await self._in_thread(worker.end)
        return None

    def _in_thread(self, function: Callable[..., T], *args: object) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, function, *args)


class _Worker:
    """A process as the server sees it; what it is asked blocks the thread that asks, until it answers or has ended."""

    def __init__(self, memory: int, prepare: Prepare) -> None:
        context = get_context("spawn")
        self.lost = False
        self._memory = memory
        self._line, theirs = context.Pipe()
        with theirs:
            self._process = context.Process(target=_work, args=(theirs, memory, prepare), daemon=True)
            self._process.start()

    def ask(self, question: _Question) -> _Answer:
        """Hand over a question and return its answer."""
        with suppress(OSError):  # a process that is gone is noticed when it is listened to
            self._line.send((question.seconds, question.pickled))
        return self.hear()

    def hear(self) -> _Answer:
        """Return what the process has to say; whatever keeps it from answering is an answer as well."""
        try:
            pickled = self._line.recv_bytes(_LONGEST_ANSWER)
        except (EOFError, OSError):
            self.lost = True
            return _Answer(wrong=GaveUp("the process that worked on it has ended"))
        if pickled == _NO_MEMORY:
            self.lost = True
            return _Answer(wrong=GaveUp(f"it took more than {self._memory:,} MiB of memory"))
        try:
            answer: _Answer = pickle.loads(pickled)  # noqa: S301 - from our own process
        except Exception as wrong:  # noqa: BLE001 - a value that cannot be put together here is told to whoever asked
            return _Answer(wrong=wrong)
        return answer

    def alive(self) -> bool:
        """Say whether the process is there."""
        return self._process.is_alive()

    def kill(self) -> None:
        """End the process whatever it does; whoever listens to it hears so."""
        self.lost = True
        self._process.kill()

    def end(self) -> None:
        """Leave nothing of the process behind."""
        self.kill()
        self._process.join()
        self._line.close()
        with suppress(ValueError):  # another thread has just learned that it ended; then what is left is collected
            self._process.close()


def _hold_interrupts() -> None:
    """Keep Ctrl-C from this thread and from all processes that it starts, even before they could ignore it."""
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # it would let them through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _work(line: Connection, memory: int, prepare: Prepare) -> None:
    """Answer what is asked, until nobody listens any more or there is no memory left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with_server, daemon=True).start()
    _stand_back()
    if prepare is not None:
        prepare()
    _limit(memory)
    with Path(os.devnull).open("w") as nowhere, suppress(EOFError, OSError):
        answer = pickle.dumps(_Answer())
        while True:
            line.send_bytes(answer)
            if answer == _NO_MEMORY:
                return
            seconds, pickled = line.recv()
            faulthandler.dump_traceback_later(seconds + 2 * _GRACE, exit=True, file=nowhere)
            answer = _answer(pickled)
            faulthandler.cancel_dump_traceback_later()


def _leave_with_server() -> None:
    server = parent_process()
    if server is not None:
        wait([server.sentinel])
        os._exit(1)


def _stand_back() -> None:
    """Let the server go first, and be the first to go where the whole machine has no memory left."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(memory: int) -> None:
    """Allow so many MiB more than are in use now, where the system says how many that are."""
    with suppress(ImportError, OSError, ValueError):
        from resource import RLIM_INFINITY, RLIMIT_AS, getpagesize, getrlimit, setrlimit  # noqa: PLC0415 - not on Windows

        used = int(Path("/proc/self/statm").read_text().split()[0]) * getpagesize()
        soft, hard = getrlimit(RLIMIT_AS)
        known = [limit for limit in (soft, hard) if limit != RLIM_INFINITY]
        setrlimit(RLIMIT_AS, (min([used + memory * _MIB, *known]), hard))


def _answer(pickled: bytes) -> bytes:
    """Do what is asked and return what came of it."""
    try:
        try:
            task, args = pickle.loads(pickled)  # noqa: S301 - from our own server
            return pickle.dumps(_Answer(task(*args)))
        except MemoryError:
            raise
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is told to whoever asked
            return _told(wrong)
    except MemoryError:
        return _NO_MEMORY


def _told(wrong: Exception) -> bytes:
    """Return an exception ready to travel, with where it happened; one that cannot travel goes as text."""
    where = format_exc()
    with suppress(Exception):
        wrong.add_note(where)
        pickled = pickle.dumps(_Answer(wrong=wrong))
        if type(pickle.loads(pickled).wrong) is type(wrong):  # noqa: S301 - just pickled
            return pickled
    text = RuntimeError(f"{type(wrong).__name__}: {wrong}")
    text.add_note(where)
    return pickle.dumps(_Answer(wrong=text))
