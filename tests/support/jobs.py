"""What worker processes of tests do: jobs, players, rules and questions; some behave badly.

Worker processes have to find these in a module.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from random import Random
from typing import IO, Any, NoReturn

from number_tower import Game
from number_tower.coach.analysis import PositionAnalysis
from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.players import ForfeitError, Player
from number_tower.solve.limits import NotSolvedError
from number_tower.studies.batch import StoppedError
from number_tower.studies.lab.space import Setting, Space, make_space


def square(index: int) -> tuple[int, int]:
    return index, index * index


def die_at(index: int, culprits: frozenset[int]) -> tuple[int, int]:
    """End the worker at some jobs, always."""
    if index in culprits:
        os._exit(5)
    return square(index)


def kill_once(index: int, culprit: int, folder: Path) -> tuple[int, int]:
    """Kill the worker at one job, the first time."""
    if index == culprit:
        with suppress(FileExistsError):
            folder.mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
    return square(index)


def get_pid(_: int) -> int:
    return os.getpid()


def answer_lowest(question: dict[str, Any]) -> int:
    """Answer the question of an evaluation."""
    lowest: int = min(question["legal"])
    return lowest


@dataclass(frozen=True)
class Entry:
    """An entry of a journal, with the process that made it."""

    index: int
    pid: int

    def to_json(self) -> str:
        return json.dumps({"index": self.index, "pid": self.pid})


def note_pid(index: int) -> Entry:
    return Entry(index, os.getpid())


def refuse(index: int) -> NoReturn:
    raise StoppedError(f"not {index}")


def return_function(_: int) -> Callable[[], None]:
    """Return what cannot be pickled."""
    return lambda: None


class Counted:
    """A job whose pickle counts, in a folder, how often it was read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, index: int) -> tuple[int, int]:
        return square(index)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"{os.getpid()}-{len(list(self.folder.iterdir()))}").touch()


class FullDisk:
    """A file on a disk with little room: a write that is too long is cut off."""

    def __init__(self, path: str, mode: str, room: int) -> None:
        self._stream: IO[Any] = open(path, mode)  # noqa: SIM115 - closed by its user
        self._room = room

    def write(self, data: bytes) -> int:
        written = self._stream.write(data[: self._room])
        self._room -= written
        if written < len(data):
            self._stream.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Stub(Player):
    """Plays a legal move by its seed, or does what its name says; counts how often it is closed."""

    def __init__(self, spec: str, *, seed: int = 0, patience: float = 0.0) -> None:
        self.name = spec
        self.patience = patience
        self.closed = 0
        self._seed = seed

    def choose(self, game: Game) -> int:
        match self.name:
            case "cheat":
                return 10**9
            case "repeat" if game.moves:
                return game.moves[-1]
            case "quitter":
                raise ForfeitError("it has gone home")
            case "broken":
                raise ZeroDivisionError("it cannot count")
            case _:
                # Chance is for play here, not for secrets.
                return Random(  # noqa: S311
                    f"{self._seed} {self.name} {game.moves}"
                ).choice(game.legal)

    def close(self) -> None:
        self.closed += 1


AXES = {"blocks": "1-4..1-6", "target": "8..12", "opening": "none;1-5"}


@dataclass(frozen=True)
class DeadlySpace(Space):
    """Ends every worker process that takes the setting with the index `deadly`."""

    deadly: int = 7

    def __getitem__(self, index: int) -> Setting:
        if index == self.deadly and parent_process() is not None:
            os._exit(13)
        return super().__getitem__(index)


def make_deadly_space() -> DeadlySpace:
    """Return a space of 25 settings, one of which ends its worker."""
    space = make_space("draft", AXES)
    return DeadlySpace(space.game, space.base, space.axes)


FOLDER = "NUMBER_TOWER_TEST_FOLDER"
"""The variable that names the folder with the gate and the log of `gated_analysis`."""


class ThreadProcess:
    """Answers in a thread, not in a process: same order of questions, nothing has to start."""

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
