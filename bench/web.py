"""How soon a move reaches the opponent, and how many moves a server takes, beside a bare one.

`make bench-web` starts servers, each with a file of its own, and lets two hundred games be played
at each: server and players share this machine. It prints the table, saves it in bench/RESULTS.md,
and fails if a goal is missed.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import web_class
from rows import Row, duration, measure, number
from serving import Server
from timing import alone
from web_load import Task, measure_rate, measure_steady_games

if TYPE_CHECKING:
    from collections.abc import Iterator

BARE = "one insert and one notify"
"""The other server."""

GAMES = 200
SECONDS = 20
MOVES = 40
"""Moves of each game, where as many as possible are made."""

MOVERS = 32
ROUNDS = 3
PUPILS = 200
CLASS_MOVES = 12
"""Moves of each game in a class."""


@contextmanager
def running(*, bare: bool = False) -> Iterator[int]:
    """Run a server with an empty file; its port is given."""
    with TemporaryDirectory() as folder:
        server = Server(Path(folder, "games.db"))
        if bare:
            server.program = (str(Path(__file__).with_name("web_bare.py")),)
            server.options = ()
        try:
            server.start()
            yield server.port
        except BaseException:
            print(server.log, file=sys.stderr)
            raise
        finally:
            server.stop()


def find_p99(times: list[float]) -> float:
    """Return the time that 99 of 100 moves take at most."""
    return quantiles(times, n=100, method="inclusive")[98]


def measure_games() -> Iterator[Row]:
    """Measure how long moves take to reach the opponent while every game has one each second."""
    times = []
    for bare in (False, True):
        with running(bare=bare) as port:
            times.append(alone(measure_steady_games, Task(port, bare, GAMES, SECONDS)))
    ours, theirs = map(find_p99, times)
    yield Row(
        f"{GAMES} games, one move a second each: a move reaches the opponent, p99",
        duration(ours),
        f"{BARE}: {duration(theirs)}",
        f"{number(ours / theirs)} x the time",
        "50 ms",
        ours <= 0.05,
    )


def measure_class() -> Iterator[Row]:
    """Measure how long moves of a class, one every 5 seconds, take to reach opponent and wall."""
    with running() as port:
        reached = alone(web_class.play_in_class, web_class.ClassTask(port, PUPILS, CLASS_MOVES))
    work = f"a class of {PUPILS}, a move every 5 s each: a move reaches the"
    for whom, times in reached.items():
        p99 = find_p99(times)
        yield Row(f"{work} {whom}, p99", duration(p99), goal="150 ms", met=p99 <= 0.15)


def measure_rates() -> Iterator[Row]:
    """Measure the moves a second of movers who move as soon as the last move is answered."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for bare, found in rates.items():
            with running(bare=bare) as port:
                found.append(alone(measure_rate, Task(port, bare, GAMES, MOVES), MOVERS))
    ours, theirs = median(rates[False]), median(rates[True])
    yield Row(
        f"{GAMES} games, {MOVERS} movers who never wait: moves a second",
        number(ours),
        f"{BARE}: {number(theirs)}",
        f"{number(ours / theirs)} x as many",
        "0.5 x as many",
        ours >= theirs / 2,
    )


SECTIONS = {
    "games": ("moves that arrive", measure_games),
    "class": ("a class", measure_class),
    "rates": ("moves that are made", measure_rates),
}


if __name__ == "__main__":
    sys.exit(measure("bench-web", SECTIONS, ("number-tower", "fastapi", "uvicorn", "sqlalchemy")))
