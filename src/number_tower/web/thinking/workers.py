"""Questions that take computing time, answered by worker processes.

There are two lanes, so that no move waits for an analysis: cheap questions (computer moves, hints)
may use every process, expensive ones (analyses, reviews, puzzles) all but one. A question stops by
limits of its own; one that does not costs its process, which is killed and replaced.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from number_tower.solve import jit
from number_tower.studies.batch.processes import WorkerProcess
from number_tower.support.errors import NumberTowerError

if sys.platform != "win32":
    import resource

T = TypeVar("T")

BUSY = "The server is busy. Please try again in a moment."

MAX_ANSWERS = 128
"""Answers that are cached; the one that was asked for longest ago is dropped first."""

_START_SECONDS = 60.0
"""Seconds that a process has to become ready."""

_NICE = 5
"""How much lower the priority of a process is than that of the server."""

_MIB = 1 << 20


class BusyError(NumberTowerError):
    """The question has waited too long, or the server is stopping. It may be asked again."""

    def __init__(self) -> None:
        super().__init__(BUSY)


class GaveUpError(NumberTowerError):
    """The question took too much time or memory, or its process has ended; nothing is known."""


class Lane(StrEnum):
    """The kinds of questions."""

    CHEAP = "cheap"
    EXPENSIVE = "dear"


MAX_WAIT = {Lane.CHEAP: 10.0, Lane.EXPENSIVE: 20.0}
"""Seconds that a question waits for a process; what has waited for longer was often abandoned."""


class Workers:
    """Worker processes that answer questions; they start with the first ones, or by `warm`.

    A question may take `memory` MiB more than a new process, where the system can limit that.
    """

    def __init__(self, processes: int = 1, memory: int = 1024) -> None:
        self.waiting = 0
        """How many questions wait for a process."""
        self._processes = [WorkerProcess(partial(_prepare, memory)) for _ in range(processes)]
        self._free: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        for process in self._processes:
            self._free.put_nowait(process)
        self._expensive = asyncio.Semaphore(max(1, processes - 1))
        self._answers: dict[Hashable, asyncio.Task[Any]] = {}
        self._closed = False

    @property
    def running(self) -> int:
        """How many questions are being worked on."""
        return len(self._processes) - self._free.qsize()

    async def ask(
        self,
        task: Callable[..., T],
        *args: object,
        seconds: float = 5.0,
        lane: Lane = Lane.CHEAP,
        key: Hashable = None,
    ) -> T:
        """Return what a function of a module returns in a worker, which is killed after `seconds`.

        A question with a key is worked on once while it is open, and its answer is cached, unless
        more time might complete it.
        """
        if self._closed:
            raise BusyError
        work = self._answers.pop(key, None)
        if work is None:
            work = asyncio.create_task(self._answer(task, args, seconds, lane))
            work.add_done_callback(partial(self._drop_failure, key))
        if key is not None:
            self._answers[key] = work  # as the newest one
            if len(self._answers) > MAX_ANSWERS:
                del self._answers[next(iter(self._answers))]
        # The work goes on when its asker leaves: others may ask the same.
        answer: T = await asyncio.shield(work)
        return answer

    async def warm(self) -> None:
        """Start the processes, one after the other, so that no question has to wait for that."""
        for _ in self._processes:  # the process that has been free for longest is the next
            with suppress(BusyError, GaveUpError):
                await self.ask(os.getpid)

    async def close(self) -> None:
        """End all processes; what they work on is given up."""
        self._closed = True
        for process in self._processes:
            await asyncio.to_thread(process.kill)

    def _drop_failure(self, key: Hashable, work: asyncio.Task[Any]) -> None:
        """Forget an answer that is none, or that more time might complete."""
        failed = work.cancelled() or work.exception() is not None
        if failed or not getattr(work.result(), "complete", True):
            self._answers.pop(key, None)

    async def _answer(
        self, task: Callable[..., Any], args: tuple[object, ...], seconds: float, lane: Lane
    ) -> Any:
        async with AsyncExitStack() as stack:
            try:
                self.waiting += 1
                async with asyncio.timeout(MAX_WAIT[lane]):
                    if lane is Lane.EXPENSIVE:
                        await stack.enter_async_context(self._expensive)
                    process = await self._free.get()
            except TimeoutError:
                raise BusyError from None
            finally:
                self.waiting -= 1
            stack.callback(self._free.put_nowait, process)
            if self._closed:
                raise BusyError
            return await _run(process, task, args, seconds)


async def _run(
    process: WorkerProcess, task: Callable[..., Any], args: tuple[object, ...], seconds: float
) -> Any:
    """Call a function in a process, started if need be, and kill it if that takes too long."""
    try:
        call = process.submit(task, *args)
    except BrokenExecutor:
        try:
            started = await asyncio.to_thread(process.start)
            await asyncio.wait_for(asyncio.wrap_future(started), _START_SECONDS)
            call = process.submit(task, *args)
        except (OSError, BrokenExecutor, TimeoutError):
            raise GaveUpError("no process could be started to work on it") from None
    try:
        return await asyncio.wait_for(asyncio.wrap_future(call), seconds)
    except TimeoutError:
        await asyncio.to_thread(process.kill)
        raise GaveUpError(f"it took longer than {seconds:g} seconds") from None
    except BrokenExecutor:
        raise GaveUpError("the process that worked on it has ended") from None
    except MemoryError:
        raise GaveUpError("it took more memory than it may") from None


def _prepare(memory: int) -> None:
    """Prepare a new process, and limit its memory where the system says how much it has now."""
    jit.disable_jit()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    if sys.platform == "win32":
        return
    with suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([used + memory * _MIB, *limits]), hard))
