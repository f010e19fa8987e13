"""Questions to worker processes: answered off the event loop, within limits, in order, and nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
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

from number_tower.solve.limits import NotSolved
from number_tower.web.thinking import Busy, GaveUp, Thinkers
from thoughts import awkward, exhausted, growing, pid_after, prepare, prepared, secret, stumble, taking, unsolved

P = ParamSpec("P")

posix = pytest.mark.skipif(os.name != "posix", reason="signals and kill -9 are what Linux and macOS know")
limited = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not limit memory")

LONG = 3600.0
GENEROUS = 60.0
HOLDS_THE_INTERPRETER = (pow, 3, 10**9)


@pytest.fixture(autouse=True)
def _quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep processes from loading the program that runs the tests."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)


def story(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        async def in_time() -> None:
            await asyncio.wait_for(test(*args, **kwargs), GENEROUS)

        asyncio.run(in_time())

    return told


@asynccontextmanager
async def thinking(processes: int = 1, waiting: int = 64, memory: int = 1024) -> AsyncIterator[Thinkers]:
    thinkers = Thinkers(processes, waiting, memory)
    try:
        yield thinkers
    finally:
        await thinkers.close()


def begun(thinkers: Thinkers, task: Callable[..., Any], *args: object, seconds: float = GENEROUS) -> asyncio.Task[Any]:
    """Ask without waiting for the answer."""
    return asyncio.ensure_future(thinkers.ask(task, *args, seconds=seconds))


@story
async def test_a_question_is_answered_in_another_process_while_the_loop_goes_on() -> None:
    async with thinking() as thinkers:
        assert await thinkers.ask(add, 2, 3) == 5
        asked = begun(thinkers, pid_after, 0.2)
        rounds = 0
        while not asked.done():
            await asyncio.sleep(0.001)
            rounds += 1
        assert await asked != os.getpid()
        assert rounds > 5


def test_it_works_with_the_other_event_loop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def questions() -> None:
        async with thinking() as thinkers:
            with pytest.raises(GaveUp):
                await thinkers.ask(time.sleep, LONG, seconds=0)
            assert await thinkers.ask(add, 2, 3) == 5

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(questions())


@story
async def test_processes_start_with_the_first_question_or_when_they_are_warmed() -> None:
    before = len(active_children())
    async with thinking(2) as thinkers:
        assert len(active_children()) == before
        await thinkers.ask(add, 2, 3)
        assert len(active_children()) == before + 1
        await thinkers.warm()
        assert len(active_children()) == before + 2
        await thinkers.warm()
        assert len(active_children()) == before + 2
    assert len(active_children()) == before


@story
async def test_two_processes_think_at_the_same_time() -> None:
    async with thinking(2) as thinkers:
        one, other = await asyncio.gather(*(thinkers.ask(pid_after, 0.2) for _ in range(2)))
        assert one != other


@posix
@story
async def test_a_question_without_end_is_given_up_and_loses_no_other() -> None:
    endless: list[tuple[Callable[..., Any], *tuple[Any, ...]]] = [
        (time.sleep, LONG),
        (signal.raise_signal, signal.SIGSTOP),
        HOLDS_THE_INTERPRETER,
    ]
    async with thinking() as thinkers:
        for question in endless:
            before = await thinkers.ask(os.getpid)
            hanging = begun(thinkers, *question, seconds=0.1)
            others = [begun(thinkers, os.getpid) for _ in range(3)]
            with pytest.raises(GaveUp, match=r"longer than 0\.1 seconds"):
                await hanging
            (after,) = set(await asyncio.gather(*others))
            assert after != before
            with pytest.raises(ProcessLookupError):  # nor is it a zombie
                os.kill(before, 0)


@limited
@story
async def test_a_question_that_takes_too_much_memory_is_given_up() -> None:
    async with thinking(memory=256) as thinkers:
        assert await thinkers.ask(taking, 100) == 100 << 20
        before = await thinkers.ask(os.getpid)
        with pytest.raises(GaveUp, match="more than 256 MiB"):
            await thinkers.ask(taking, 300)
        assert await thinkers.ask(os.getpid) != before
        with pytest.raises(GaveUp, match="more than 256 MiB"):
            await thinkers.ask(growing, seconds=GENEROUS)
        assert await thinkers.ask(taking, 100) == 100 << 20


@limited
@story
async def test_what_was_prepared_is_there_and_takes_no_memory_from_the_questions() -> None:
    thinkers = Thinkers(memory=400, prepare=prepare)
    try:
        assert await thinkers.ask(prepared) == 300 << 20
        assert await thinkers.ask(taking, 300) == 300 << 20
    finally:
        await thinkers.close()


@story
async def test_whoever_asks_a_process_that_cannot_start_is_told() -> None:
    thinkers = Thinkers(prepare=stumble)
    try:
        await thinkers.warm()
        for _ in range(2):
            with pytest.raises(GaveUp, match="has ended"):
                await thinkers.ask(add, 2, 3)
    finally:
        await thinkers.close()


@story
async def test_a_question_is_given_up_where_the_system_has_no_room_for_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError("there are too many processes")

    async with thinking() as thinkers:
        with monkeypatch.context() as full:
            full.setattr(SpawnProcess, "start", refuse)
            with pytest.raises(GaveUp, match="no process could be started"):
                await thinkers.ask(add, 2, 3)
            await thinkers.warm()
        assert await thinkers.ask(add, 2, 3) == 5


@story
async def test_an_answer_that_would_fill_the_server_is_given_up() -> None:
    async with thinking() as thinkers:
        with pytest.raises(GaveUp):
            await thinkers.ask(bytes, 1 << 25)
        assert len(await thinkers.ask(bytes, 1 << 20)) == 1 << 20


@posix
@story
async def test_a_process_that_dies_gives_its_question_up_and_is_replaced() -> None:
    deaths: list[tuple[Callable[..., Any], int]] = [
        (signal.raise_signal, signal.SIGKILL),
        (signal.raise_signal, signal.SIGSEGV),
        (os._exit, 0),
        (sys.exit, 0),
    ]
    async with thinking() as thinkers:
        for death, argument in deaths:
            died, other = begun(thinkers, death, argument), begun(thinkers, add, 2, 3)
            with pytest.raises(GaveUp, match="has ended"):
                await died
            assert await other == 5


@posix
@story
async def test_a_process_that_died_while_it_was_idle_costs_no_question() -> None:
    async with thinking() as thinkers:
        before = await thinkers.ask(os.getpid)
        os.kill(before, signal.SIGKILL)
        os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
        assert await thinkers.ask(os.getpid) != before


@story
async def test_a_flood_is_refused_at_once_and_the_rest_is_answered_in_order() -> None:
    finished: list[int] = []
    async with thinking(waiting=3) as thinkers:
        questions = [begun(thinkers, pid_after, 0.05)]
        for number in range(1, 4):
            questions.append(begun(thinkers, add, number, 0))
            questions[-1].add_done_callback(lambda done: finished.append(done.result()))
        await asyncio.sleep(0)
        for _ in range(50):
            with pytest.raises(Busy, match="too many questions"):
                await asyncio.wait_for(thinkers.ask(add, 2, 3), GENEROUS)
        assert not any(question.done() for question in questions)
        await asyncio.gather(*questions)
        assert finished == [1, 2, 3]
        assert await thinkers.ask(add, 2, 3) == 5


@story
async def test_nobody_waits_where_no_question_may() -> None:
    async with thinking(waiting=0) as thinkers:
        first, second = begun(thinkers, pid_after, 0.05), begun(thinkers, os.getpid)
        with pytest.raises(Busy):
            await second
        assert await first


@story
async def test_a_question_whose_asker_leaves_is_never_begun(tmp_path: Path) -> None:
    async with thinking(waiting=2) as thinkers:
        first = begun(thinkers, pid_after, 0.1)
        leaving = begun(thinkers, os.mkdir, tmp_path / "left")
        staying = begun(thinkers, os.mkdir, tmp_path / "stayed")
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        late = begun(thinkers, os.getpid)  # there is room for it again
        await asyncio.gather(first, staying, late)
    assert [path.name for path in tmp_path.iterdir()] == ["stayed"]


@story
async def test_a_question_whose_asker_leaves_while_its_process_starts_is_not_begun(tmp_path: Path) -> None:
    async with thinking() as thinkers:
        leaving = begun(thinkers, os.mkdir, tmp_path / "left")
        await asyncio.sleep(0)
        leaving.cancel()
        await thinkers.ask(os.mkdir, tmp_path / "stayed")
    assert [path.name for path in tmp_path.iterdir()] == ["stayed"]


@story
async def test_a_process_goes_on_when_the_asker_leaves_after_the_beginning() -> None:
    async with thinking() as thinkers:
        before = await thinkers.ask(os.getpid)
        leaving = begun(thinkers, pid_after, 0.2)
        await asyncio.sleep(0.05)
        leaving.cancel()
        assert await thinkers.ask(os.getpid) == before


@story
async def test_what_a_task_raises_reaches_the_asker() -> None:
    async with thinking() as thinkers:
        with pytest.raises(NotSolved) as unknown:
            await thinkers.ask(unsolved)
        assert str(unknown.value) == "not solved within 3 seconds"
        assert "in unsolved" in unknown.value.__notes__[0]
        with pytest.raises(RuntimeError, match="Awkward: soso"):
            await thinkers.ask(awkward)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await thinkers.ask(exhausted)
        with pytest.raises((AttributeError, pickle.PicklingError), match="secret"):
            await thinkers.ask(secret)
        with pytest.raises(TypeError):
            await thinkers.ask(add, 1)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            await thinkers.ask(lambda: None)
        assert await thinkers.ask(add, 2, 3) == 5


@story
async def test_closing_tells_everybody_and_leaves_nothing_behind() -> None:
    thinkers = Thinkers()
    working = begun(thinkers, time.sleep, LONG)
    waiting = begun(thinkers, add, 2, 3)
    await thinkers.warm()
    await thinkers.close()
    with pytest.raises(GaveUp):
        await working
    with pytest.raises(Busy, match="stopped"):
        await waiting
    with pytest.raises(Busy, match="stopped"):
        await thinkers.ask(add, 2, 3)
    await thinkers.close()
    assert not active_children()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("thinker")]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system does not list open files")
@story
async def test_no_file_stays_open_however_processes_end() -> None:
    async def round_of_deaths() -> int:
        async with thinking(2) as thinkers:
            deaths = [thinkers.ask(os._exit, 1), thinkers.ask(time.sleep, LONG, seconds=0), thinkers.ask(add, 2, 3)]
            await asyncio.gather(*deaths, return_exceptions=True)
        return len(os.listdir("/dev/fd"))

    before = await round_of_deaths()  # what starts once, such as the tracker of resources, stays
    assert await round_of_deaths() == before


SERVER = """
import asyncio, os, signal, sys, time
from number_tower.web.thinking import Thinkers

async def serve(thinkers):
    {serve}

if __name__ == "__main__":
    asyncio.run(serve(Thinkers()))
"""


@asynccontextmanager
async def server(folder: Path, serve: str) -> AsyncIterator[subprocess.Popen[str]]:
    """Run a server in a session of its own, and end it."""
    script = folder / "server.py"
    script.write_text(SERVER.format(serve=serve.strip().replace("\n", "\n    ")))
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as popen:
        try:
            yield popen
        finally:
            with suppress(ProcessLookupError):
                os.killpg(popen.pid, signal.SIGKILL)


@posix
@pytest.mark.parametrize("work", ["time.sleep, 3600, seconds=3600", "pow, 3, 10**9, seconds=0.1", "nothing"])
@story
async def test_processes_end_when_the_server_is_killed_whatever_they_do(tmp_path: Path, work: str) -> None:
    idle = work == "nothing"
    serve = f"""
print(await thinkers.ask(os.getpid), flush=True)
await {"asyncio.sleep(3600)" if idle else f"thinkers.ask({work})"}
"""
    async with server(tmp_path, serve) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        await asyncio.sleep(0.1)
        running.kill()
        rest, _ = await asyncio.to_thread(running.communicate, timeout=GENEROUS)  # it ends with the last process
        assert rest == ""


@posix
@story
async def test_ctrl_c_is_left_to_the_server(tmp_path: Path) -> None:
    serve = """
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
asked = asyncio.ensure_future(thinkers.ask(os.getpid))
for _ in range(20):
    await asyncio.sleep(0.01)
    os.killpg(0, signal.SIGINT)
before = await asked
asked = asyncio.ensure_future(thinkers.ask(time.sleep, 0.2))
await asyncio.sleep(0.05)
os.killpg(0, signal.SIGINT)
await asked
print(before == await thinkers.ask(os.getpid), len(heard), flush=True)
await thinkers.close()
"""
    async with server(tmp_path, serve) as running:
        said, _ = await asyncio.to_thread(running.communicate, timeout=GENEROUS)
        assert said == "True 21\n"
        assert running.returncode == 0
