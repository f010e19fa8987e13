"""Questions to worker processes: answered off the event loop, within limits, in turn, and nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
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

from number_tower.solve.limits import NotSolvedError
from number_tower.web import workers as workers_module
from number_tower.web.worker_process import GaveUpError
from number_tower.web.workers import AbandonedError, BusyError, Lane, LaneLimits, Workers
from support.clocks import SLOW
from support.forking import Forked
from support.worker_tasks import (
    ThreadProcess,
    awkward,
    exhausted,
    growing,
    noted,
    pid_after,
    prepare,
    prepared,
    released,
    secret,
    stumble,
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
            await asyncio.wait_for(test(*args, **kwargs), 3 * SLOW)

        asyncio.run(in_time())

    return told


def limits(waiting: int = 64, of_one: int = 64, seconds: float = LONG) -> dict[Lane, LaneLimits]:
    return dict.fromkeys(Lane, LaneLimits(waiting, of_one, seconds))


@asynccontextmanager
async def running(
    processes: int = 1, memory: int = 1024, **limited: float
) -> AsyncIterator[Workers]:
    workers = Workers(processes, memory, limits=limits(**limited))  # type: ignore[arg-type] # whole numbers
    try:
        yield workers
    finally:
        await workers.close()


def begun(
    workers: Workers, task: Callable[..., Any], *args: object, **terms: Any
) -> asyncio.Task[Any]:
    """Ask without waiting for the answer."""
    return asyncio.ensure_future(workers.ask(task, *args, **{"seconds": SLOW, **terms}))


async def until(condition: Callable[[], object]) -> None:
    """Wait for something to come about, however long it takes; a test as a whole has a limit."""
    while not condition():
        await asyncio.sleep(0.01)


@story
async def test_a_question_is_answered_in_another_process_while_the_loop_goes_on(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        assert await begun(workers, add, 2, 3) == 5
        asked = begun(workers, released, tmp_path / "gate")
        await until(lambda: workers.running)
        (tmp_path / "gate").touch()
        assert await asked != os.getpid()


def test_it_works_with_the_other_event_loop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def questions() -> None:
        async with running() as workers:
            with pytest.raises(GaveUpError):
                await begun(workers, time.sleep, LONG, seconds=0)
            assert await begun(workers, add, 2, 3) == 5

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(questions())


@story
async def test_processes_start_with_the_first_question_or_when_they_are_warmed() -> None:
    before = len(active_children())
    async with running(2) as workers:
        assert len(active_children()) == before
        await begun(workers, add, 2, 3)
        assert len(active_children()) == before + 1
        await workers.warm()
        assert len(active_children()) == before + 2
        await workers.warm()
        assert len(active_children()) == before + 2
    assert len(active_children()) == before


@story
async def test_two_processes_work_at_the_same_time() -> None:
    async with running(2) as workers:
        one, other = await asyncio.gather(*(begun(workers, pid_after, 0.2) for _ in range(2)))
        assert one != other


@posix
@story
async def test_a_question_without_end_is_given_up_and_loses_no_other() -> None:
    endless: list[tuple[Callable[..., Any], *tuple[Any, ...]]] = [
        (time.sleep, LONG),
        (signal.raise_signal, signal.SIGSTOP),
        HOLDS_THE_INTERPRETER,
    ]
    async with running() as workers:
        for question in endless:
            before = await begun(workers, os.getpid)
            hanging = begun(workers, *question, seconds=0.1)
            others = [begun(workers, os.getpid) for _ in range(3)]
            with pytest.raises(GaveUpError, match=r"longer than 0\.1 seconds"):
                await hanging
            (after,) = set(await asyncio.gather(*others))
            assert after != before
            with pytest.raises(ProcessLookupError):  # nor is it a zombie
                os.kill(before, 0)


@limited
@story
async def test_a_question_that_takes_too_much_memory_is_given_up() -> None:
    async with running(memory=256) as workers:
        assert await begun(workers, taking, 100) == 100 << 20
        before = await begun(workers, os.getpid)
        with pytest.raises(GaveUpError, match="more than 256 MiB"):
            await begun(workers, taking, 300)
        assert await begun(workers, os.getpid) != before
        with pytest.raises(GaveUpError, match="more than 256 MiB"):
            await begun(workers, growing, seconds=SLOW)
        assert await begun(workers, taking, 100) == 100 << 20


@limited
@story
async def test_what_was_prepared_is_there_and_takes_no_memory_from_the_questions() -> None:
    workers = Workers(memory=400, prepare=prepare, limits=limits())
    try:
        assert await begun(workers, prepared) == 300 << 20
        assert await begun(workers, taking, 300) == 300 << 20
    finally:
        await workers.close()


@story
async def test_a_question_to_a_process_that_cannot_start_is_given_up() -> None:
    workers = Workers(prepare=stumble, limits=limits())
    try:
        await workers.warm()
        for _ in range(2):
            with pytest.raises(GaveUpError, match="has ended"):
                await begun(workers, add, 2, 3)
    finally:
        await workers.close()


@story
async def test_a_question_is_given_up_where_the_system_has_no_room_for_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError("there are too many processes")

    async with running() as workers:
        with monkeypatch.context() as full:
            full.setattr(SpawnProcess, "start", refuse)
            with pytest.raises(GaveUpError, match="no process could be started"):
                await begun(workers, add, 2, 3)
            await workers.warm()
        assert await begun(workers, add, 2, 3) == 5


@story
async def test_an_answer_that_would_fill_the_server_is_given_up() -> None:
    async with running() as workers:
        with pytest.raises(GaveUpError):
            await begun(workers, bytes, 1 << 25)
        assert len(await begun(workers, bytes, 1 << 20)) == 1 << 20


@posix
@story
async def test_a_process_that_dies_gives_its_question_up_and_is_replaced() -> None:
    deaths: list[tuple[Callable[..., Any], int]] = [
        (signal.raise_signal, signal.SIGKILL),
        (signal.raise_signal, signal.SIGSEGV),
        (os._exit, 0),
        (sys.exit, 0),
    ]
    async with running() as workers:
        for death, argument in deaths:
            died, other = begun(workers, death, argument), begun(workers, add, 2, 3)
            with pytest.raises(GaveUpError, match="has ended"):
                await died
            assert await other == 5


@posix
@story
async def test_a_process_that_died_while_it_was_idle_costs_no_question() -> None:
    async with running() as workers:
        before = await begun(workers, os.getpid)
        os.kill(before, signal.SIGKILL)
        with suppress(ChildProcessError):  # its end was noticed already
            os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
        assert await begun(workers, os.getpid) != before


@story
async def test_a_flood_is_refused_at_once_and_the_rest_is_answered_in_order(tmp_path: Path) -> None:
    finished: list[int] = []
    async with running(waiting=3) as workers:
        questions = [begun(workers, released, tmp_path / "gate")]
        for number in range(1, 4):
            questions.append(begun(workers, add, number, 0))
            questions[-1].add_done_callback(lambda done: finished.append(done.result()))
        await asyncio.sleep(0)
        for _ in range(50):
            with pytest.raises(BusyError, match="The server is busy"):
                await asyncio.wait_for(begun(workers, add, 2, 3), SLOW)
        assert not any(question.done() for question in questions)
        (tmp_path / "gate").touch()
        await asyncio.gather(*questions)
        assert finished == [1, 2, 3]
        assert await begun(workers, add, 2, 3) == 5


@story
async def test_only_so_many_questions_wait() -> None:
    async with running(waiting=1) as workers:
        first, second, third = (
            begun(workers, pid_after, 0.05),
            begun(workers, os.getpid),
            begun(workers, os.getpid),
        )
        with pytest.raises(BusyError):
            await third
        assert await first
        assert await second


@story
async def test_a_question_whose_asker_leaves_is_never_begun(tmp_path: Path) -> None:
    async with running(waiting=2) as workers:
        first = begun(workers, pid_after, 0.1)
        leaving = begun(workers, os.mkdir, tmp_path / "left")
        staying = begun(workers, os.mkdir, tmp_path / "stayed")
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        late = begun(workers, os.getpid)  # there is room for it again
        await asyncio.gather(first, staying, late)
    assert [path.name for path in tmp_path.iterdir()] == ["stayed"]


@story
async def test_a_question_whose_asker_leaves_while_its_process_starts_is_not_begun(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        leaving = begun(workers, os.mkdir, tmp_path / "left")
        await asyncio.sleep(0)
        leaving.cancel()
        await begun(workers, os.mkdir, tmp_path / "stayed")
    assert [path.name for path in tmp_path.iterdir()] == ["stayed"]


@story
async def test_a_process_goes_on_when_the_asker_leaves_after_the_beginning() -> None:
    async with running() as workers:
        before = await begun(workers, os.getpid)
        leaving = begun(workers, pid_after, 0.2)
        await asyncio.sleep(0.05)
        leaving.cancel()
        assert await begun(workers, os.getpid) == before


@story
async def test_what_a_task_raises_reaches_the_asker() -> None:
    async with running() as workers:
        with pytest.raises(NotSolvedError) as unknown:
            await begun(workers, unsolved)
        assert str(unknown.value) == "not solved within 3 seconds"
        assert "in unsolved" in unknown.value.__notes__[0]
        with pytest.raises(RuntimeError, match="AwkwardError: soso"):
            await begun(workers, awkward)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await begun(workers, exhausted)
        with pytest.raises((AttributeError, pickle.PicklingError), match="secret"):
            await begun(workers, secret)
        with pytest.raises(TypeError):
            await begun(workers, add, 1)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            await begun(workers, lambda: None)
        assert await begun(workers, add, 2, 3) == 5


@posix
@pytest.mark.parametrize("work", [(signal.raise_signal, signal.SIGSTOP), HOLDS_THE_INTERPRETER])
@story
async def test_closing_ends_processes_whatever_they_do(
    work: tuple[Callable[..., Any], Any],
) -> None:
    workers = Workers()
    await workers.warm()
    hanging = begun(workers, *work, seconds=LONG)
    await asyncio.sleep(0.05)
    await workers.close()
    with pytest.raises(GaveUpError):
        await hanging
    assert not active_children()


@pytest.mark.skipif(
    not Path("/proc/self/oom_score_adj").exists(), reason="this system has no such priorities"
)
@story
async def test_processes_give_way_to_the_server() -> None:
    async with running() as workers:
        assert await begun(workers, os.nice, 0) == min(os.nice(0) + 5, 19)
        assert await begun(workers, Path("/proc/self/oom_score_adj").read_text) == "1000\n"


@story
async def test_closing_tells_everybody_and_leaves_nothing_behind() -> None:
    workers = Workers()
    working = begun(workers, time.sleep, LONG)
    waiting = begun(workers, add, 2, 3)
    await workers.warm()
    await workers.close()
    with pytest.raises(GaveUpError):
        await working
    with pytest.raises(BusyError, match="stopped"):
        await waiting
    with pytest.raises(BusyError, match="stopped"):
        await begun(workers, add, 2, 3)
    await workers.close()
    assert not active_children()
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("worker-starter")
    ]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system does not list open files")
@story
async def test_no_file_stays_open_however_processes_end() -> None:
    async def round_of_deaths() -> int:
        async with running(2) as workers:
            deaths = [
                begun(workers, os._exit, 1),
                begun(workers, time.sleep, LONG, seconds=0),
                begun(workers, add, 2, 3),
            ]
            await asyncio.gather(*deaths, return_exceptions=True)
        gc.collect()  # other tests leave open files in garbage
        return len(os.listdir("/dev/fd"))

    before = await round_of_deaths()  # what starts once, such as the tracker of resources, stays
    assert await round_of_deaths() == before


# Whose turn it is -----------------------------------------------------------------------------------------------------


@pytest.fixture
def _in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)


in_threads = pytest.mark.usefixtures("_in_threads")


class Log:
    """Asks questions that note when they are worked on; the blocks go on once their gate is open."""

    def __init__(self, workers: Workers, folder: Path, lane: Lane = Lane.EXPENSIVE) -> None:
        self.workers = workers
        self.lane = lane
        self._folder = folder

    def block(self, asker: str, gate: str = "gate", lane: Lane | None = None) -> asyncio.Task[Any]:
        lane = lane or self.lane
        return begun(
            self.workers, released, self._folder / gate, lane=lane, requester=(asker,), seconds=LONG
        )

    def ask(self, word: str, **terms: Any) -> asyncio.Task[Any]:
        """Ask a question; the asker is the first letter of its word."""
        terms = {"lane": self.lane, "requester": (word[0],), **terms}
        return begun(self.workers, noted, self._folder / "log", word, **terms)

    def open(self, gate: str = "gate") -> None:
        (self._folder / gate).touch()

    @property
    def words(self) -> list[str]:
        log = self._folder / "log"
        return log.read_text().split() if log.exists() else []


async def settled() -> None:
    """Let all that was asked so far begin, or wait."""
    await asyncio.sleep(0)


@story
async def test_a_single_question_waits_for_no_backlog_of_another_asker(tmp_path: Path) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        questions = [
            log.block("a"),
            *(log.ask(f"a{number}") for number in range(2, 9)),
            log.ask("b"),
        ]
        await settled()
        log.open()
        await asyncio.gather(*questions)
        assert log.words == ["b", "a2", "a3", "a4", "a5", "a6", "a7", "a8"]


@in_threads
@story
async def test_askers_have_their_turns_one_after_the_other(tmp_path: Path) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        words = ["a2", "a3", "a4", "b1", "b2", "b3", "c1", "c2", "c3"]
        questions = [log.block("a"), *map(log.ask, words)]
        await settled()
        log.open()
        await asyncio.gather(*questions)
        assert log.words == ["b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3", "a4"]


@in_threads
@story
async def test_in_a_full_queue_the_asker_with_the_most_questions_loses_the_newest(
    tmp_path: Path,
) -> None:
    async with running(waiting=4) as workers:
        log = Log(workers, tmp_path)
        first, kept = log.block("a"), [log.ask("a1"), log.ask("a2")]
        lost = [log.ask("a3"), log.ask("a4")]
        await settled()
        kept += [log.ask("b1"), log.ask("c1")]
        await settled()
        refused = log.ask("b2")  # then all would have as many as it
        for question in (*lost, refused):
            with pytest.raises(BusyError):
                await question
        assert workers.waiting == 4
        log.open()
        await asyncio.gather(first, *kept)
        assert log.words == ["b1", "c1", "a1", "a2"]


@in_threads
@story
async def test_one_asker_may_have_only_so_many_questions_waiting(tmp_path: Path) -> None:
    async with running(of_one=2) as workers:
        log = Log(workers, tmp_path)
        questions = [log.block("a"), log.ask("a1"), log.ask("a2"), log.ask("b1")]
        with pytest.raises(BusyError):
            await log.ask("a3")
        log.open()
        await asyncio.gather(*questions)
        assert log.words == ["b1", "a1", "a2"]


@in_threads
@story
async def test_a_question_that_has_not_begun_in_time_is_refused_and_never_begins(
    tmp_path: Path,
) -> None:
    async with running(seconds=0.05) as workers:
        log = Log(workers, tmp_path)
        first, late = log.block("a"), [log.ask("a1"), log.ask("b1")]
        for question in late:
            with pytest.raises(BusyError, match="busy"):
                await question
        assert not first.done()
        assert (workers.waiting, workers.running) == (0, 1)
        log.open()
        await first
        assert await log.ask("c1") == "c1"
        assert log.words == ["c1"]


@story
async def test_a_cheap_question_is_not_behind_dear_ones(tmp_path: Path) -> None:
    async with running(2) as workers:
        log = Log(workers, tmp_path)
        dear = [
            log.block("a"),
            *(log.ask(f"{asker}{number}") for asker in "abcd" for number in range(8)),
        ]
        for _ in range(3):
            assert await log.ask("c", lane=Lane.CHEAP) == "c"
        assert not any(question.done() for question in dear)
        log.open()
        await asyncio.gather(*dear)


@in_threads
@story
async def test_cheap_questions_leave_a_process_to_the_dear_ones(tmp_path: Path) -> None:
    async with running(2) as workers:
        log = Log(workers, tmp_path, Lane.CHEAP)
        blocks = [
            log.block("a", "one"),
            log.block("b", "two"),
        ]  # no dear question waits yet, so they take both
        cheap = [log.ask(f"c{number}") for number in range(3)]
        dear = log.block("d", "dear", Lane.EXPENSIVE)
        await settled()
        assert (workers.running, workers.waiting) == (2, 4)
        log.open("one")
        await blocks[0]
        await until(lambda: workers.waiting == 3)
        assert (
            log.words == []
        )  # the dear one has begun, and not one of the cheap ones that came before it
        log.open("dear")
        await asyncio.gather(dear, *cheap)
        assert log.words == ["c0", "c1", "c2"]
        assert not blocks[1].done()
        log.open("two")
        await blocks[1]


@in_threads
@story
async def test_dear_questions_never_take_all_processes(tmp_path: Path) -> None:
    async with running(3) as workers:
        log = Log(workers, tmp_path)
        dear = [log.block("a"), log.block("b"), log.block("c")]
        await settled()
        assert (workers.running, workers.waiting) == (2, 1)
        log.open()
        assert len(set(await asyncio.gather(*dear))) <= 2


# Questions that several ask -------------------------------------------------------------------------------------------


@in_threads
@story
async def test_a_question_that_several_ask_at_the_same_time_is_worked_on_once(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        first = log.block("x")
        waiting = [log.ask("a", key="q"), log.ask("b", key="q"), log.ask("c", key="other")]
        await settled()
        log.open()
        await asyncio.gather(first, *waiting)
        assert sorted(log.words) == ["a", "c"]
        assert waiting[1].result() == "a"
        assert await log.ask("d", key="q") == "d"  # the answer is not remembered here


@in_threads
@story
async def test_a_question_that_is_worked_on_is_joined(tmp_path: Path) -> None:
    async with running() as workers:
        gate = tmp_path / "gate"
        both = [begun(workers, released, gate, key="q", requester=(asker,)) for asker in "ab"]
        await settled()
        assert (workers.running, workers.waiting) == (1, 0)
        both[0].cancel()
        gate.touch()
        assert isinstance(await both[1], int)


@in_threads
@story
async def test_a_shared_question_goes_on_when_one_of_its_askers_leaves(tmp_path: Path) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        first, leaving, staying = log.block("x"), log.ask("a", key="q"), log.ask("b", key="q")
        await settled()
        leaving.cancel()
        log.open()
        assert await staying == "a"
        await first


@in_threads
@story
async def test_a_shared_question_that_all_have_left_is_dropped_and_can_be_asked_anew(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        first, *leaving = log.block("x"), log.ask("a", key="q"), log.ask("b", key="q")
        await settled()
        for question in leaving:
            question.cancel()
        await asyncio.wait(leaving)
        assert workers.waiting == 0
        anew = log.ask("c", key="q")
        log.open()
        assert await anew == "c"
        assert log.words == ["c"]
        await first


@in_threads
@story
async def test_a_shared_question_is_begun_when_the_first_of_its_askers_has_a_turn(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        shared = [
            log.block("a"),
            *(log.ask(f"a{number}") for number in range(5)),
            log.ask("a5", key="q"),
        ]
        shared.append(log.ask("b", key="q"))
        await settled()
        log.open()
        await asyncio.gather(*shared)
        assert log.words == ["a5", "a0", "a1", "a2", "a3", "a4"]


@in_threads
@story
async def test_an_asker_is_not_refused_for_what_another_has_asked(tmp_path: Path) -> None:
    async with running(waiting=3, of_one=3) as workers:
        log = Log(workers, tmp_path)
        first, kept, lost = log.block("x"), [log.ask("a1"), log.ask("a2")], log.ask("a3", key="q")
        await settled()
        other = log.ask(
            "b1", key="q"
        )  # of the full queue, the newest of the first asker makes room for it
        with pytest.raises(BusyError):
            await lost
        log.open()
        await asyncio.gather(first, *kept)
        assert await other == "a3"


@in_threads
@story
async def test_an_asker_who_comes_later_has_its_own_time_to_wait(tmp_path: Path) -> None:
    limited = limits(seconds=0.05)
    workers = Workers(limits=limited)
    log = Log(workers, tmp_path)
    first, early = log.block("x"), log.ask("a", key="q")
    await settled()
    limited[Lane.EXPENSIVE] = LaneLimits(64, 64, LONG)
    later = log.ask("b", key="q")
    with pytest.raises(BusyError):
        await early
    assert workers.waiting == 1
    log.open()
    assert await later == "a"
    await first
    await workers.close()


# Askers who leave, and figures ----------------------------------------------------------------------------------------


@in_threads
@story
async def test_a_waiting_question_is_dropped_when_its_asker_is_gone(tmp_path: Path) -> None:
    async with running() as workers:
        log = Log(workers, tmp_path)
        gone = asyncio.get_running_loop().create_future()
        first, waiting = log.block("x"), log.ask("a", requester=("a",), gone=gone)
        await settled()
        gone.set_result(None)
        with pytest.raises(AbandonedError):
            await waiting
        assert workers.waiting == 0
        log.open()
        await first
        assert log.words == []


@in_threads
@story
async def test_a_question_that_has_begun_is_answered_though_its_asker_is_gone(
    tmp_path: Path,
) -> None:
    async with running() as workers:
        gone = asyncio.get_running_loop().create_future()
        begun_already = begun(workers, released, tmp_path / "gate", requester=("a",), gone=gone)
        await settled()
        gone.set_result(None)
        await settled()
        (tmp_path / "gate").touch()
        assert isinstance(await begun_already, int)


@in_threads
@story
async def test_figures_tell_how_many_wait_and_for_how_long(tmp_path: Path) -> None:
    waits: list[tuple[float, Lane]] = []
    async with running(2) as workers:
        workers.on_wait = lambda seconds, lane: waits.append((seconds, lane))
        log = Log(workers, tmp_path)
        assert (workers.waiting, workers.running) == (0, 0)
        asked = time.monotonic()
        questions = [log.block("a"), log.ask("b")]
        await settled()
        at_once = time.monotonic() - asked
        assert (workers.waiting, workers.running) == (1, 1)
        await log.ask("c", lane=Lane.CHEAP)
        waited = time.monotonic() - asked - at_once
        log.open()
        await asyncio.gather(*questions)
        await until(lambda: workers.running == 0)
    assert [lane for _, lane in waits] == [Lane.EXPENSIVE, Lane.CHEAP, Lane.EXPENSIVE]
    assert 0 <= waits[0][0] <= at_once
    assert waits[2][0] >= waited


# The server and its processes -----------------------------------------------------------------------------------------


SERVER = """
import asyncio, os, signal, sys, time
from number_tower.web.workers import Workers

async def serve(workers):
    {serve}

if __name__ == "__main__":
    asyncio.run(serve(Workers()))
"""


@asynccontextmanager
async def server(folder: Path, serve: str) -> AsyncIterator[subprocess.Popen[str]]:
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
@pytest.mark.parametrize(
    "work", ["time.sleep, 3600, seconds=3600", "pow, 3, 10**9, seconds=0.1", "nothing"]
)
@story
async def test_processes_end_when_the_server_is_killed_whatever_they_do(
    tmp_path: Path, work: str
) -> None:
    idle = work == "nothing"
    serve = f"""
print(await workers.ask(os.getpid), flush=True)
await {"asyncio.sleep(3600)" if idle else f"workers.ask({work})"}
"""
    async with server(tmp_path, serve) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        await asyncio.sleep(0.1)
        running.kill()
        rest, _ = await asyncio.to_thread(
            running.communicate, timeout=SLOW
        )  # it ends with the last process
        assert rest == ""


@posix
@story
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
    async with server(tmp_path, serve) as running:
        said, _ = await asyncio.to_thread(running.communicate, timeout=SLOW)
        assert said == "True 21\n"
        assert running.returncode == 0
