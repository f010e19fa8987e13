"""Questions to worker processes: answered off the event loop, within limits, nothing stays."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import wraps
from multiprocessing import active_children
from multiprocessing.context import SpawnProcess
from operator import add
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from number_tower.coach.analysis import PositionAnalysis
from number_tower.engine.record import RecordError
from number_tower.solve.limits import NotSolvedError
from number_tower.web.thinking import tasks
from number_tower.web.thinking import workers as workers_module
from number_tower.web.thinking.workers import MAX_ANSWERS, BusyError, GaveUpError, Lane, Workers
from support.clocks import SLOW, wait_until_true
from support.forking import Forked
from support.jobs import (
    ThreadProcess,
    awkward,
    noted,
    released,
    secret,
    taking,
    unsolved,
)

P = ParamSpec("P")

posix = pytest.mark.skipif(
    os.name != "posix", reason="signals and kill -9 are what Linux and macOS know"
)
limited = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="this system does not limit memory"
)

LONG = 3600.0


@pytest.fixture(autouse=True)
def _quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep processes from loading the program that runs the tests."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, LONG))


@pytest.fixture
def _in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)


in_threads = pytest.mark.usefixtures("_in_threads")


def run_story(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def run_in_time() -> None:
            await asyncio.wait_for(test(*args, **kwargs), 3 * SLOW)

        asyncio.run(run_in_time())

    return run


@asynccontextmanager
async def open_workers(processes: int = 1, memory: int = 1024) -> AsyncIterator[Workers]:
    workers = Workers(processes, memory)
    try:
        yield workers
    finally:
        await workers.close()


def begin(
    workers: Workers, task: Callable[..., Any], *args: object, **terms: Any
) -> asyncio.Task[Any]:
    """Ask without waiting for the answer."""
    return asyncio.ensure_future(workers.ask(task, *args, **{"seconds": SLOW, **terms}))


@run_story
async def test_a_question_is_answered_in_another_process_while_the_loop_goes_on(
    tmp_path: Path,
) -> None:
    async with open_workers() as workers:
        assert await begin(workers, add, 2, 3) == 5
        asked = begin(workers, released, tmp_path / "gate")
        await wait_until_true(lambda: workers.running)
        (tmp_path / "gate").touch()
        assert await asked != os.getpid()


@run_story
async def test_processes_start_with_the_first_question_or_when_they_are_warmed() -> None:
    before = len(active_children())
    async with open_workers(2) as workers:
        assert len(active_children()) == before
        await begin(workers, add, 2, 3)
        assert len(active_children()) == before + 1
        await workers.warm()
        assert len(active_children()) == before + 2
    assert len(active_children()) == before


@posix
@pytest.mark.parametrize(
    "question", [(time.sleep, LONG), (signal.raise_signal, signal.SIGSTOP), (pow, 3, 10**9)]
)
@run_story
async def test_a_question_without_end_is_given_up_and_loses_no_other(question: Any) -> None:
    async with open_workers() as workers:
        before = await begin(workers, os.getpid)
        hanging = begin(workers, *question, seconds=0.1)
        others = [begin(workers, os.getpid) for _ in range(3)]
        with pytest.raises(GaveUpError, match=r"longer than 0\.1 seconds"):
            await hanging
        (after,) = set(await asyncio.gather(*others))
        assert after != before
        with pytest.raises(ProcessLookupError):  # nor is it a zombie
            os.kill(before, 0)


@limited
@run_story
async def test_a_question_that_takes_too_much_memory_is_given_up() -> None:
    async with open_workers(memory=256) as workers:
        assert await begin(workers, taking, 100) == 100 << 20
        with pytest.raises(GaveUpError, match="more memory than it may"):
            await begin(workers, taking, 300)
        assert await begin(workers, taking, 100) == 100 << 20


@run_story
async def test_a_question_is_given_up_where_the_system_has_no_room_for_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError("there are too many processes")

    async with open_workers() as workers:
        with monkeypatch.context() as full:
            full.setattr(SpawnProcess, "start", refuse)
            with pytest.raises(GaveUpError, match="no process could be started"):
                await begin(workers, add, 2, 3)
            await workers.warm()
            await workers.close()
    async with open_workers() as workers:
        assert await begin(workers, add, 2, 3) == 5


@posix
@pytest.mark.parametrize(
    "death",
    [(signal.raise_signal, signal.SIGKILL), (signal.raise_signal, signal.SIGSEGV), (os._exit, 0)],
)
@run_story
async def test_a_process_that_dies_gives_its_question_up_and_is_replaced(death: Any) -> None:
    async with open_workers() as workers:
        died, other = begin(workers, *death), begin(workers, add, 2, 3)
        with pytest.raises(GaveUpError, match="has ended"):
            await died
        assert await other == 5


@posix
@run_story
async def test_a_process_that_died_while_it_was_idle_costs_no_question() -> None:
    async with open_workers() as workers:
        before = await begin(workers, os.getpid)
        os.kill(before, signal.SIGKILL)
        await wait_until_true(lambda: not active_children())
        assert await begin(workers, os.getpid) != before


@run_story
async def test_what_a_task_raises_reaches_the_asker() -> None:
    async with open_workers() as workers:
        with pytest.raises(NotSolvedError, match="not solved within 3 seconds") as unknown:
            await begin(workers, unsolved)
        assert "in unsolved" in str(unknown.value.__cause__)
        with pytest.raises(RecordError, match="not the line of a game"):
            await begin(workers, tasks.parse_record, "nonsense")
        with pytest.raises(GaveUpError):
            await begin(workers, awkward)
        with pytest.raises((AttributeError, pickle.PicklingError), match="secret"):
            await begin(workers, secret)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            await begin(workers, lambda: None)
        assert await begin(workers, add, 2, 3) == 5


@run_story
async def test_closing_ends_processes_in_the_middle_of_a_question() -> None:
    workers = Workers()
    await workers.warm()
    hanging, waiting = begin(workers, time.sleep, LONG), begin(workers, add, 2, 3)
    await wait_until_true(lambda: workers.waiting)
    await workers.close()
    with pytest.raises(GaveUpError):
        await hanging
    for late in (waiting, begin(workers, add, 2, 3)):
        with pytest.raises(BusyError):
            await late
    assert not active_children()


# The lanes ----------------------------------------------------------------------------------------


@in_threads
@run_story
async def test_a_question_that_has_not_begun_in_time_is_refused_and_never_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_workers() as workers:
        blocking = begin(workers, released, tmp_path / "gate")
        await wait_until_true(lambda: workers.running)
        monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, 0.05))
        with pytest.raises(BusyError, match="busy"):
            await begin(workers, noted, tmp_path / "log", "late")
        assert (workers.waiting, workers.running) == (0, 1)
        (tmp_path / "gate").touch()
        await blocking
        assert await begin(workers, add, 2, 3) == 5
    assert not (tmp_path / "log").exists()


@in_threads
@run_story
async def test_cheap_questions_are_not_behind_expensive_ones(tmp_path: Path) -> None:
    async with open_workers(3) as workers:
        gate = tmp_path / "gate"
        flood = [begin(workers, released, gate, lane=Lane.EXPENSIVE) for _ in range(20)]
        await wait_until_true(lambda: workers.waiting == 18)
        for _ in range(3):
            assert await begin(workers, add, 2, 3) == 5
        assert (workers.running, workers.waiting) == (2, 18)
        gate.touch()
        await asyncio.gather(*flood)


# Questions that are asked again -------------------------------------------------------------------


@in_threads
@run_story
async def test_a_question_with_a_key_is_worked_on_once_and_its_answer_is_kept(
    tmp_path: Path,
) -> None:
    async with open_workers() as workers:
        blocking = begin(workers, released, tmp_path / "gate")
        asked = [begin(workers, noted, tmp_path / "log", word, key="q") for word in "ab"]
        await wait_until_true(lambda: workers.waiting == 1)
        asked[0].cancel()
        (tmp_path / "gate").touch()
        await blocking
        assert await asked[1] == await begin(workers, noted, tmp_path / "log", "c", key="q") == "a"
        for number in range(MAX_ANSWERS):
            await begin(workers, abs, number, key=number)
        assert await begin(workers, noted, tmp_path / "log", "d", key="q") == "d"
    assert (tmp_path / "log").read_text().split() == ["a", "d"]


@in_threads
@run_story
async def test_errors_and_answers_that_are_not_complete_are_not_kept() -> None:
    async with open_workers() as workers:
        for _ in range(2):
            with pytest.raises(NotSolvedError):
                await begin(workers, unsolved, key="q")
        unknown = PositionAnalysis(None, None, "", "", (), "unknown")
        assert await begin(workers, min, [unknown], key="q") == unknown
        assert await begin(workers, add, 2, 3, key="q") == 5


# The server and its processes ---------------------------------------------------------------------


SERVER = """
import asyncio, os, signal, sys, time
from number_tower.web.thinking.workers import Workers

async def serve(workers):
    {serve}

if __name__ == "__main__":
    asyncio.run(serve(Workers()))
"""


@asynccontextmanager
async def start_server(folder: Path, serve: str) -> AsyncIterator[subprocess.Popen[str]]:
    """Run a server in a session of its own, and end it."""
    script = folder / "server.py"
    script.write_text(SERVER.format(serve=serve.strip().replace("\n", "\n    ")))
    with Forked(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as popen:
        try:
            yield popen
        finally:
            with suppress(ProcessLookupError):
                os.killpg(popen.pid, signal.SIGKILL)


@posix
@pytest.mark.parametrize("work", ["asyncio.sleep(3600)", "workers.ask(time.sleep, 3600)"])
@run_story
async def test_processes_end_when_the_server_is_killed(tmp_path: Path, work: str) -> None:
    serve = f"print(await workers.ask(os.getpid), flush=True)\nawait {work}"
    async with start_server(tmp_path, serve) as server:
        assert server.stdout is not None
        assert server.stdout.readline()
        await asyncio.sleep(0.1)
        server.kill()
        # Its output ends with the last process.
        rest, _ = await asyncio.to_thread(server.communicate, timeout=SLOW)
        assert rest == ""


@posix
@run_story
async def test_ctrl_c_is_left_to_the_server(tmp_path: Path) -> None:
    serve = """
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
asked = asyncio.ensure_future(workers.ask(os.getpid))
for _ in range(20):
    await asyncio.sleep(0.01)
    os.killpg(0, signal.SIGINT)
before = await asked
asked = asyncio.ensure_future(workers.ask(time.sleep, 0.2))
await asyncio.sleep(0.05)
os.killpg(0, signal.SIGINT)
await asked
print(before == await workers.ask(os.getpid), len(heard), flush=True)
await workers.close()
"""
    async with start_server(tmp_path, serve) as server:
        said, _ = await asyncio.to_thread(server.communicate, timeout=SLOW)
        assert said == "True 21\n"
        assert server.returncode == 0
