"""Questions for tests of the workers, which worker processes have to find in a module, and a stand-in for a process."""

from __future__ import annotations

import asyncio
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

from number_tower import record
from number_tower.coach.analysis import PositionAnalysis
from number_tower.solve.limits import NotSolvedError
from number_tower.table import Table
from number_tower.web.worker_process import TaskResult

FOLDER = "NUMBER_TOWER_TEST_FOLDER"
"""The variable that names the folder with the gate and the log of `gated_analysis`."""

PREPARED: list[bytearray] = []


class ThreadProcess:
    """Answers in a thread what a process would: the order of questions is the same, and nothing has to start."""

    ready = True

    def __init__(self, *_: object) -> None:
        pass

    async def start(self) -> None:
        pass

    async def run(self, pickled: bytes, _seconds: float) -> TaskResult:
        task, args = pickle.loads(pickled)  # noqa: S301 - our own
        return TaskResult(await asyncio.to_thread(task, *args))

    async def close(self) -> None:
        pass


class AwkwardError(Exception):
    """Can be pickled, and not put together again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def unsolved() -> None:
    raise NotSolvedError("not solved within 3 seconds")


def awkward() -> None:
    raise AwkwardError("so", "so")


def exhausted() -> None:
    next(iter(()))


def secret() -> Callable[[], None]:
    return lambda: None


def taking(mib: int) -> int:
    return len(bytearray(mib << 20))


def growing() -> None:
    kept: list[bytes] = []
    while True:
        kept.append(bytes(1 << 20))


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def released(gate: Path) -> int:
    """Work until a file is there."""
    while not gate.exists():
        time.sleep(0.01)
    return os.getpid()


def noted(log: Path, word: str) -> str:
    """Leave a trace of having been asked."""
    with log.open("a") as file:
        file.write(f"{word}\n")
    return word


def gated_analysis(table: Table) -> PositionAnalysis:
    """Note which game is analysed, and wait at the gate."""
    folder = Path(os.environ[FOLDER])
    noted(folder / "log", record.to_line(table))
    released(folder / "gate")
    return PositionAnalysis("win", 1, "", "", (), "")


def prepare() -> None:
    PREPARED.append(bytearray(300 << 20))


def prepared() -> int:
    return sum(map(len, PREPARED))


def stumble() -> None:
    raise ValueError("there is nothing to prepare")
