"""Questions to worker processes: answered off the event loop, within limits, nothing stays."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from multiprocessing import active_children
from multiprocessing.context import SpawnProcess
from operator import add
from pathlib import Path
from textwrap import indent
from typing import Any
from unittest.mock import Mock

import pytest

from number_tower.coach.analysis import PositionAnalysis
from number_tower.engine.record import RecordError
from number_tower.solve.limits import NotSolvedError
from number_tower.web.thinking import tasks
from number_tower.web.thinking import workers as workers_module
from number_tower.web.thinking.workers import MAX_ANSWERS, BusyError, GaveUpError, Lane, Workers
from support.clocks import SLOW, wait_until_true
from support.jobs import ThreadProcess, awkward, noted, released, secret, taking, unsolved

pytest_plugins = ["anyio.pytest_plugin"]

pytestmark = pytest.mark.usefixtures("anyio_backend", "fast_start")

posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of Linux and macOS")
limited = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")

LONG = 3600.0


@pytest.fixture
def fast_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep processes from loading the program that runs the tests, and let questions wait."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, LONG))


@asynccontextmanager
async def open_workers(processes: int = 1, memory: int = 1024) -> AsyncIterator[Workers]:
    workers = Workers(processes, memory)
    try:
        yield workers
    finally:
        await workers.close()


@pytest.fixture(scope="module")
async def shared_workers() -> AsyncIterator[Workers]:
    """One worker process, which starts when it is needed, for tests that leave it usable."""
    async with open_workers() as workers:
        yield workers


def ask(workers: Workers, task: Any, *args: object, **terms: Any) -> asyncio.Task[Any]:
    """Ask without waiting for the answer."""
    return asyncio.ensure_future(workers.ask(task, *args, **{"seconds": SLOW, **terms}))


async def test_answer_comes_from_another_process(shared_workers: Workers, tmp_path: Path) -> None:
    assert await ask(shared_workers, add, 2, 3) == 5
    answer = ask(shared_workers, released, tmp_path / "gate")
    await wait_until_true(lambda: shared_workers.running)
    (tmp_path / "gate").touch()
    assert await answer != os.getpid()


async def test_processes_start_with_the_first_question_or_when_they_are_warmed() -> None:
    before = len(active_children())
    async with open_workers(2) as workers:
        assert len(active_children()) == before
        await ask(workers, add, 2, 3)
        assert len(active_children()) == before + 1
        await workers.warm()
        assert len(active_children()) == before + 2
    assert len(active_children()) == before


@posix
@pytest.mark.parametrize(
    "question", [(time.sleep, LONG), (signal.raise_signal, signal.SIGSTOP), (pow, 3, 10**9)]
)
async def test_endless_question_blocks_no_others(shared_workers: Workers, question: Any) -> None:
    before = await ask(shared_workers, os.getpid)
    endless = ask(shared_workers, *question, seconds=0.1)
    others = [ask(shared_workers, os.getpid) for _ in range(3)]
    with pytest.raises(GaveUpError, match=r"longer than 0\.1 seconds"):
        await endless
    (after,) = set(await asyncio.gather(*others))
    assert after != before
    with pytest.raises(ProcessLookupError):  # nor is it a zombie
        os.kill(before, 0)


@limited
async def test_question_that_takes_too_much_memory_is_given_up() -> None:
    async with open_workers(memory=256) as workers:
        assert await ask(workers, taking, 100) == 100 << 20
        with pytest.raises(GaveUpError, match="more memory than it may"):
            await ask(workers, taking, 300)
        assert await ask(workers, taking, 100) == 100 << 20


async def test_refused_process_gives_its_question_up(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = Mock(side_effect=BlockingIOError("there are too many processes"))
    monkeypatch.setattr(SpawnProcess, "start", refuse)
    async with open_workers() as workers:
        with pytest.raises(GaveUpError, match="no process could be started"):
            await ask(workers, add, 2, 3)
        await workers.warm()


@posix
@pytest.mark.parametrize(
    "death",
    [(signal.raise_signal, signal.SIGKILL), (signal.raise_signal, signal.SIGSEGV), (os._exit, 0)],
)
async def test_dying_process_loses_its_question_alone(shared_workers: Workers, death: Any) -> None:
    died, other = ask(shared_workers, *death), ask(shared_workers, add, 2, 3)
    with pytest.raises(GaveUpError, match="has ended"):
        await died
    assert await other == 5


@posix
async def test_idle_process_that_dies_loses_no_question(shared_workers: Workers) -> None:
    before = await ask(shared_workers, os.getpid)
    os.kill(before, signal.SIGKILL)
    await wait_until_true(lambda: not active_children())
    assert await ask(shared_workers, os.getpid) != before


async def test_error_of_a_task_reaches_the_asker(shared_workers: Workers) -> None:
    with pytest.raises(NotSolvedError, match="not solved within 3 seconds") as unknown:
        await ask(shared_workers, unsolved)
    assert "in unsolved" in str(unknown.value.__cause__)
    with pytest.raises(RecordError, match="not the line of a game"):
        await ask(shared_workers, tasks.parse_record, "nonsense")
    with pytest.raises(GaveUpError):
        await ask(shared_workers, awkward)
    for task in (secret, lambda: None):
        with pytest.raises((AttributeError, pickle.PicklingError)):
            await ask(shared_workers, task)
    assert await ask(shared_workers, add, 2, 3) == 5


async def test_closing_ends_processes_in_the_middle_of_a_question() -> None:
    before = len(active_children())
    async with open_workers() as workers:
        await workers.warm()
        running, waiting = ask(workers, time.sleep, LONG), ask(workers, add, 2, 3)
        await wait_until_true(lambda: workers.waiting)
    with pytest.raises(GaveUpError):
        await running
    for late in (waiting, ask(workers, add, 2, 3)):
        with pytest.raises(BusyError):
            await late
    assert len(active_children()) == before


# Questions that are asked again -------------------------------------------------------------------


@pytest.fixture
async def thread(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workers]:
    """Workers of one thread instead of a process: nothing has to start."""
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)
    async with open_workers() as workers:
        yield workers


async def test_answer_with_a_key_is_computed_once(thread: Workers, tmp_path: Path) -> None:
    def note(word: str) -> asyncio.Task[Any]:
        return ask(thread, noted, tmp_path / "log", word, key="q")

    running = ask(thread, released, tmp_path / "gate")
    cancelled, waiting = note("a"), note("b")
    await wait_until_true(lambda: thread.waiting == 1)
    cancelled.cancel()
    (tmp_path / "gate").touch()
    await running
    assert await waiting == await note("c") == "a"
    for number in range(MAX_ANSWERS):
        await ask(thread, abs, number, key=number)
    assert await note("d") == "d"
    assert (tmp_path / "log").read_text().split() == ["a", "d"]


async def test_errors_and_incomplete_answers_are_not_cached(thread: Workers) -> None:
    for _ in range(2):
        with pytest.raises(NotSolvedError):
            await ask(thread, unsolved, key="q")
    unknown = PositionAnalysis(None, None, "", "", (), "unknown")
    assert await ask(thread, min, [unknown], key="q") == unknown
    assert await ask(thread, add, 2, 3, key="q") == 5


# The server and its processes ---------------------------------------------------------------------


SERVER = """
import asyncio, os, signal, sys, time
from number_tower.web.thinking.workers import Workers

async def serve(workers):{serve}

if __name__ == "__main__":
    asyncio.run(serve(Workers()))
"""


@contextmanager
def run_server(folder: Path, serve: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server in a session of its own, and end all its processes after the test."""
    script = folder / "server.py"
    script.write_text(SERVER.format(serve=indent(serve, "    ")))
    call, pipe = [sys.executable, str(script)], subprocess.PIPE
    with subprocess.Popen(call, stdout=pipe, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@posix
@pytest.mark.parametrize("work", ["asyncio.sleep(3600)", "workers.ask(time.sleep, 3600)"])
def test_processes_end_when_the_server_is_killed(tmp_path: Path, work: str) -> None:
    serve = f"\nprint(await workers.ask(os.getpid), flush=True)\nawait {work}"
    with run_server(tmp_path, serve) as server:
        assert server.stdout is not None
        assert server.stdout.readline()
        time.sleep(0.1)
        server.kill()
        # Its output ends with the last process.
        assert server.communicate(timeout=SLOW)[0] == ""


@posix
def test_ctrl_c_reaches_only_the_server(tmp_path: Path) -> None:
    serve = """
signals = []
signal.signal(signal.SIGINT, lambda *_: signals.append(1))
question = asyncio.ensure_future(workers.ask(os.getpid))
for _ in range(20):
    await asyncio.sleep(0.01)
    os.killpg(0, signal.SIGINT)
before = await question
question = asyncio.ensure_future(workers.ask(time.sleep, 0.2))
await asyncio.sleep(0.05)
os.killpg(0, signal.SIGINT)
await question
print(before == await workers.ask(os.getpid), len(signals), flush=True)
await workers.close()
"""
    with run_server(tmp_path, serve) as server:
        assert server.communicate(timeout=SLOW)[0] == "True 21\n"
        assert server.returncode == 0
