"""Jobs for tests of batches, which worker processes have to find in a module; and a disk that becomes full."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from number_tower.batch import StoppedError


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
