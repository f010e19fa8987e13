"""How soon a move reaches the opponent, and how many moves a server takes, beside one that does as little as possible.

`make bench-web` starts servers, each with a file of its own, and lets two hundred games be played at each: server and
players share this machine. It prints the table, saves it in bench/RESULTS.md, and fails if a goal is missed.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.request import urlopen

import web_class
import web_load
from rows import Row, duration, measure, number
from timing import alone

if TYPE_CHECKING:
    from collections.abc import Iterator

TOWER = str(Path(sys.executable).with_name("tower"))
OURS, BARE = "tower serve", "one insert and one notify"
"""The servers that can be measured."""

CALLS = {
    OURS: (TOWER, "serve", "--no-limits", "--port", "{port}", "--db", "{file}"),
    BARE: (sys.executable, str(Path(__file__).with_name("web_bare.py")), "{port}", "{file}"),
}
"""How they are started."""

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
def running(server: str) -> Iterator[int]:
    """Run a server with an empty file; its port is given."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with TemporaryDirectory() as folder, Path(folder, "log").open("w+") as log:
        call = [part.format(port=port, file=f"{folder}/games.db") for part in CALLS[server]]
        process = subprocess.Popen(call, stdout=log, stderr=log)
        try:
            _wait(process, port)
            yield port
        except BaseException:
            log.seek(0)
            print(log.read(), file=sys.stderr)
            raise
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=60):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server does not answer")


def play(server: str, moves: int, movers: int = 0) -> web_load.Played:
    """Let games be played at a server by a process of its own."""
    with running(server) as port:
        return alone(web_load.play_games, web_load.Task(port, server == BARE, GAMES, moves, movers))


def find_p99(times: list[float]) -> float:
    """Return the time that 99 of 100 moves take at most."""
    return quantiles(times, n=100, method="inclusive")[98]


def measure_games() -> Iterator[Row]:
    """Measure how long moves take to reach the opponent while every game has one each second."""
    ours, bare = (find_p99(play(server, SECONDS).taken) for server in (OURS, BARE))
    yield Row(
        f"{GAMES} games, one move a second each: a move reaches the opponent, p99",
        duration(ours),
        f"{BARE}: {duration(bare)}",
        f"{number(ours / bare)} x the time",
        "50 ms",
        ours <= 0.05,
    )


def measure_class() -> Iterator[Row]:
    """Measure how long moves take to reach the opponent and the wall in a class whose pupils move every 5 seconds."""
    with running(OURS) as port:
        reached = alone(web_class.play_in_class, web_class.Task(port, PUPILS, CLASS_MOVES))
    work = f"a class of {PUPILS}, a move every 5 s each: a move reaches the"
    for whom, times in reached.items():
        p99 = find_p99(times)
        yield Row(f"{work} {whom}, p99", duration(p99), goal="150 ms", met=p99 <= 0.15)


def measure_rates() -> Iterator[Row]:
    """Measure how many moves a second are made if each mover moves as soon as the last move is answered."""
    rates: dict[str, list[float]] = {OURS: [], BARE: []}
    for _ in range(ROUNDS):
        for server, rounds in rates.items():
            rounds.append(GAMES * MOVES / play(server, MOVES, MOVERS).seconds)
    ours, bare = median(rates[OURS]), median(rates[BARE])
    yield Row(
        f"{GAMES} games, {MOVERS} movers who never wait: moves a second",
        number(ours),
        f"{BARE}: {number(bare)}",
        f"{number(ours / bare)} x as many",
        "0.5 x as many",
        ours >= bare / 2,
    )


SECTIONS = {
    "games": ("moves that arrive", measure_games),
    "class": ("a class", measure_class),
    "rates": ("moves that are made", measure_rates),
}


if __name__ == "__main__":
    sys.exit(measure("bench-web", SECTIONS))
