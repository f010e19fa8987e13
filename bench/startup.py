"""How long the command takes to answer, as ratios to the interpreter's own start, measured side by side in one run.

The goals are part of the design: the first prompt within 8 times `python -c pass`, the version within 6 times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROUNDS = 30
TOWER = str(Path(sys.executable).with_name("tower"))


class Work(NamedTuple):
    """Something to start, what to wait for, and how many times the interpreter's own start it may take."""

    name: str
    command: list[str]
    awaited: bytes
    goal: float | None


WORKS = [
    Work("python -c pass", [sys.executable, "-c", "pass"], b"", None),
    Work("tower --version", [TOWER, "--version"], b"", 6),
    Work("tower play draft, first prompt", [TOWER, "play", "draft"], b"wish to place: ", 8),
    Work("tower play climb, first prompt", [TOWER, "play", "climb"], b"on the tower: ", 8),
    Work("tower, first prompt", [TOWER], b"Which game? ", 8),
]


def seconds(work: Work) -> float:
    """Start it once and wait for its answer, or for its end."""
    start = time.perf_counter()
    with subprocess.Popen(work.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
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
    return took


def main() -> int:
    """Print one table; fail if a goal is missed."""
    taken: dict[str, list[float]] = {work.name: [] for work in WORKS}
    for _ in range(ROUNDS):
        for work in WORKS:
            taken[work.name].append(seconds(work))
    own = median(taken[WORKS[0].name])
    missed = False
    print(f"{'start-up':<34}{'median':>9}{'ratio':>8}{'goal':>8}")
    for work in WORKS:
        ratio = median(taken[work.name]) / own
        met = work.goal is None or ratio <= work.goal
        missed = missed or not met
        goal = "" if work.goal is None else f"<= {work.goal:g}"
        verdict = "" if met else "  MISSED"
        print(f"{work.name:<34}{median(taken[work.name]) * 1000:>6.1f} ms{ratio:>8.2f}{goal:>8}{verdict}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
