"""Questions for tests of the workers, which worker processes have to find in a module, and a stand-in for a process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from number_tower import record
from number_tower.coach.analysis import PositionAnalysis
from number_tower.solve.limits import NotSolvedError
from number_tower.table import Table

FOLDER = "NUMBER_TOWER_TEST_FOLDER"
"""The variable that names the folder with the gate and the log of `gated_analysis`."""


class ThreadProcess:
    """Answers in a thread what a process would: the order of questions is the same, and nothing has to start."""

    def __init__(self, *_: object) -> None:
        self._thread = ThreadPoolExecutor(1)

    def submit(self, task: Callable[..., object], *args: object) -> Future[object]:
        return self._thread.submit(task, *args)

    def kill(self) -> None:
        self._thread.shutdown(wait=False)


class AwkwardError(Exception):
    """Can be pickled, and not put together again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def unsolved() -> None:
    raise NotSolvedError("not solved within 3 seconds")


def awkward() -> None:
    raise AwkwardError("so", "so")


def secret() -> Callable[[], None]:
    return lambda: None


def taking(mib: int) -> int:
    return len(bytearray(mib << 20))


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
