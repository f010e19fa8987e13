"""How long the command takes to answer, against the interpreter's own start.

The goals are part of the design: the first prompt within 8 times `python -c pass`, the version within 6 times, and
a rulebook's game solved within 10 times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

TOWER = str(Path(sys.executable).with_name("tower"))


class Work(NamedTuple):
    """Something to start, what to wait for (its end, if nothing), and how many times `python -c pass` it may take."""

    name: str
    command: list[str]
    awaited: bytes
    goal: float


class StartError(Exception):
    """The command did not do what was to be measured."""


NOTHING = Work("python -c pass", [sys.executable, "-c", "pass"], b"", 1)
STARTS = [
    Work("tower --version", [TOWER, "--version"], b"", 6),
    Work("tower play draft, first prompt", [TOWER, "play", "draft"], b"wish to place: ", 8),
    Work("tower play climb, first prompt", [TOWER, "play", "climb"], b"on the tower: ", 8),
    Work("tower, first prompt", [TOWER], b"Which game? ", 8),
]


def solving(name: str) -> Work:
    """Return the work of solving a game from the command line."""
    return Work(f"tower solve {name}", [TOWER, "solve", name], b"", 10)


def seconds(work: Work) -> float:
    """Start it once and wait for its answer, or for its end."""
    start = time.perf_counter()
    with subprocess.Popen(
        work.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        seen = b""
        while not (work.awaited and seen.endswith(work.awaited)):
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                break
            seen += more
        if not work.awaited:
            process.wait()
        took = time.perf_counter() - start
        process.kill()
    if process.returncode > 0 or not seen.endswith(work.awaited):
        raise StartError(work.name)
    return took
