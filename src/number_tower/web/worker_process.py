"""One worker process on Pebble: it runs one task at a time, within limits of time, memory and result size.

Pebble hands questions over, keeps their time and kills a process that exceeds it. Each process has a Pebble pool of its
own, since the processes of one pool share a pipe and its lock: one that is killed while it holds the lock would stop
all. What Pebble does not do is done here: the limits of memory and of results, exceptions that say where they happened,
and that no process outlives the server. See docs/decisions/0020-worker-processes-on-pebble.md.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import pickle
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from traceback import format_exc
from typing import Any, NamedTuple, TypeVar

from pebble import ProcessExpired, ProcessPool

if sys.platform != "win32":
    import resource

Prepare = Callable[[], object] | None

T = TypeVar("T")

_GRACE = 0.5
"""Seconds beyond its time that a question has, so that its own "not solved in time" can arrive."""

_ORPHAN_GRACE = 2.5
"""Seconds beyond its time after which a process ends itself, if the server is gone and cannot end it."""

_OVERDUE_GRACE = 30.0
"""Seconds beyond its time after which a question is given up even if Pebble has not noticed."""

_START_TIMEOUT = 60.0
"""Seconds that a process has to become ready."""

_CHECK_INTERVAL = 0.25
"""Seconds between two looks whether a process is still there."""

_NICE = 5
"""How much lower the priority of a process is than that of the server, which has to answer all clients."""

_MAX_RESULT = 1 << 24
"""Bytes of a pickled result; more than any page needs, and few enough for the server's memory."""

_MAX_INLINE_RESULT = 1 << 18
"""Bytes of a result that is unpickled on the event loop; a longer one is unpickled in a thread."""

_MIB = 1 << 20
_RESULT_TOO_LONG = b""
_OUT_OF_MEMORY = 77
"""The exit code of a process whose question took more memory than it may."""

_PROCESS_ENDED = "the process that worked on it has ended"


class GaveUpError(Exception):
    """The question took more time or memory than it may, or its process has ended; nothing is known."""


class TaskResult(NamedTuple):
    """The outcome of a question: a value, or an error."""

    value: Any = None
    error: Exception | None = None


class WorkerProcess:
    """A process that answers questions, as the server sees it.

    It starts with the first question or by `start`, and again after it has ended. It is started by threads of
    `starter`, which need `block_interrupts` as their initializer.
    """

    def __init__(self, memory: int, prepare: Prepare, starter: Executor) -> None:
        self._memory = memory
        self._prepare = prepare
        self._starter = starter
        self._pool: ProcessPool | None = None
        self._child: BaseProcess | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether the process runs."""
        return (
            self._child is not None
            and self._child.is_alive()
            and self._pool is not None
            and self._pool.active
        )

    async def start(self) -> None:
        """Start the process, unless it runs already, and wait until it is ready; this must not be cancelled."""
        async with self._starting:
            if not self.ready:
                await self._start()

    async def run(self, pickled: bytes, seconds: float) -> TaskResult:
        """Return the answer to a question: a pickled function with its arguments."""
        found = await self._run_once(pickled, seconds)
        if found is None:  # the question had not begun, so it is tried once more
            found = await self._run_once(pickled, seconds)
        if found is None:
            raise GaveUpError(_PROCESS_ENDED)
        if found == _RESULT_TOO_LONG:
            raise GaveUpError(f"the answer is longer than {_MAX_RESULT // _MIB} MiB")
        load = pickle.loads  # from our own process
        result: TaskResult = (
            load(found) if len(found) <= _MAX_INLINE_RESULT else await self._in_thread(load, found)
        )
        return result

    async def close(self) -> None:
        """End the process, whatever it does; the question that it works on is given up."""
        self._closed = True
        await self._discard()
        async with self._starting:  # a process that was being started then
            await self._discard()

    async def _start(self) -> None:
        await self._discard()
        if self._closed:
            raise GaveUpError(_PROCESS_ENDED)
        limits = (self._memory, self._prepare)
        pool = ProcessPool(
            1, initializer=_initialize, initargs=limits, context=get_context("spawn")
        )
        try:
            first = await self._in_thread(
                pool.schedule, os.getpid
            )  # the first call starts the process
        except BrokenProcessPool as error:
            await self._in_thread(_stop, pool)
            raise GaveUpError("no process could be started to work on it") from error
        self._pool = pool
        try:
            pid = await self._wait_for_result(first, _START_TIMEOUT, pool)
        except (BrokenProcessPool, OSError) as error:
            raise GaveUpError(_PROCESS_ENDED) from error
        self._child = next((child for child in active_children() if child.pid == pid), None)

    async def _run_once(self, pickled: bytes, seconds: float) -> bytes | None:
        """Return the pickled answer to a question; None if the process ended before the question had begun."""
        await self.start()
        pool = self._pool
        if pool is None:
            return None
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            task = pool.schedule(run_task, (pickled, seconds), timeout=seconds + _GRACE)
            return await self._wait_for_result(task, seconds + _OVERDUE_GRACE, pool)
        except TimeoutError:
            raise _make_timeout_error(seconds) from None
        except ProcessExpired as ended:
            if ended.exitcode == _OUT_OF_MEMORY:
                raise GaveUpError(f"it took more than {self._memory:,} MiB of memory") from None
            raise (
                _make_timeout_error(seconds)
                if clock() - began > seconds + _GRACE
                else GaveUpError(_PROCESS_ENDED)
            ) from None
        except RuntimeError:  # what Pebble raises where a process ended while it was idle
            return None

    async def _wait_for_result(self, future: Future[T], seconds: float, pool: ProcessPool) -> T:
        """Return the result of a Pebble task.

        Pebble never settles the tasks of a pool that was stopped, or whose process ended with the exit code 0.
        """
        result = asyncio.wrap_future(future)
        loop = asyncio.get_running_loop()
        overdue, was_lost = loop.time() + seconds, False
        while not (await asyncio.wait([result], timeout=_CHECK_INTERVAL))[0]:
            is_lost = not pool.active or (self._child is not None and self._child.exitcode == 0)
            if is_lost and was_lost:  # a result that was on its way has arrived since the last look
                result.cancel()
                raise GaveUpError(_PROCESS_ENDED)
            if loop.time() > overdue:
                result.cancel()
                await self._discard()
                raise TimeoutError
            was_lost = is_lost
        return result.result()

    async def _discard(self) -> None:
        """Kill the process and let go of its pool; questions of the pool are never settled by Pebble."""
        child, self._child = self._child, None
        pool, self._pool = self._pool, None
        if child is not None:
            child.kill()
        if pool is not None:
            await self._in_thread(_stop, pool)

    def _in_thread(self, function: Callable[..., T], *args: object) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._starter, function, *args)


def block_interrupts() -> None:
    """Keep Ctrl-C from this thread, the threads that it starts, and their processes: it is for the server alone."""
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # which would unblock the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _stop(pool: ProcessPool) -> None:
    pool.stop()  # type: ignore[no-untyped-call] # Pebble's annotations are incomplete
    pool.join()


def _make_timeout_error(seconds: float) -> GaveUpError:
    return GaveUpError(f"it took longer than {seconds:g} seconds")


# In the process -------------------------------------------------------------------------------------------------------


def _initialize(memory: int, prepare: Prepare) -> None:
    """Prepare a new process, and limit what it may take from then on."""
    # Pebble's handler would run only once the work lets go of the interpreter.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_exit_with_server, daemon=True).start()
    if hasattr(os, "nice"):  # let the server go first
        os.nice(_NICE)
    with suppress(OSError):  # be the first to be killed where the machine has no memory left
        Path("/proc/self/oom_score_adj").write_text("1000")
    if prepare is not None:
        prepare()
    _limit_memory(memory)


def _exit_with_server() -> None:
    server = parent_process()
    if server is not None:
        wait([server.sentinel])
        os._exit(1)


def _limit_memory(memory: int) -> None:
    """Allow this many MiB more than are in use now, where the system tells how many that are."""
    if sys.platform == "win32":
        return
    with suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        known = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([used + memory * _MIB, *known]), hard))


def run_task(pickled: bytes, seconds: float) -> bytes:
    """Run a pickled function and return its pickled result; an empty one if that is too long.

    Where the work holds the interpreter, so that no thread runs, the watchdog of `faulthandler` ends an orphan.
    """
    devnull = os.open(os.devnull, os.O_WRONLY)
    faulthandler.dump_traceback_later(seconds + _ORPHAN_GRACE, exit=True, file=devnull)
    try:
        answer = _dump_result(pickled)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except BaseException:  # noqa: BLE001 - such as SystemExit, which Pebble would raise in the server
        os._exit(1)
    finally:
        faulthandler.cancel_dump_traceback_later()
        os.close(devnull)
    return answer if len(answer) <= _MAX_RESULT else _RESULT_TOO_LONG


def _dump_result(pickled: bytes) -> bytes:
    try:
        task, args = pickle.loads(pickled)  # noqa: S301 - from our own server
        return pickle.dumps(TaskResult(task(*args)))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
        return _dump_error(error)


def _dump_error(error: Exception) -> bytes:
    """Pickle an exception with a note on where it happened; one that cannot be pickled becomes a `RuntimeError`."""
    where = format_exc()
    with suppress(Exception):
        error.add_note(where)
        pickled = pickle.dumps(TaskResult(error=error))
        if type(pickle.loads(pickled).error) is type(error):  # noqa: S301 - just pickled
            return pickled
    text = RuntimeError(f"{type(error).__name__}: {error}")
    text.add_note(where)
    return pickle.dumps(TaskResult(error=text))
