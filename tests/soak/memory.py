"""Let players and hostile clients use a server for minutes.

Its memory and descriptors have to stay flat.

`make soak` does it for ten minutes: `python tests/soak/memory.py [SECONDS]`. How soon a move
reaches the opponent is reported beside a server that does next to nothing (`bench/web_bare.py`),
both used in turn.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.parse import quote

from soak.shared import measure_memory
from support.command import ROOT
from support.costs import FORM, TEXTS
from support.servers import HOST, make_server
from support.small_server import connect, get, post

sys.path.insert(0, str(ROOT / "bench"))

from support.clocks import wait_until
from timing import alone
from web import BARE, running
from web_load import Task, measure_steady_games

GAMES, MOVES = 40, 10
"""Games that are played in one round, and moves in each, one a second."""

WARM_UP = 0.3
"""The part of the time in which the server may grow: caches fill and workers start."""

MORE_MEMORY, MORE_FILES = 24, 8
"""MiB and descriptors that may be added after that: remembered games, database connections."""


def count_files(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def play(port: int, *, bare: bool) -> list[float]:
    """Play a round; return how many seconds each move took to reach the opponent."""
    return alone(measure_steady_games, Task(port, bare, GAMES, MOVES))


def attack(port: int) -> None:
    """Send each expensive text, ask for pages, and leave during requests."""
    games = [quote(write(3_000)) for write in TEXTS.values()]
    pages = ["/", "/new", "/openapi.json", "/health"]
    for path in [f"/analysis?game={game}" for game in games] + pages:
        with closing(connect(port, HOST, get(path, "Connection: close"))) as connection:
            while connection.recv(65536):
                pass
    for _ in range(20):
        connect(port, HOST, post("/new", b"blocks=1", 1000, ": ".join(FORM))).close()


def main(seconds: float) -> None:
    """Use both servers in turn, and compare ours after warming up with ours at the end."""
    times: dict[str, list[float]] = {"tower serve": [], BARE: []}
    seen: list[tuple[float, float]] = []
    with TemporaryDirectory() as folder:
        server = make_server(Path(folder, "games.db"))
        server.launch()
        try:
            server.wait()
            begun, files = time.monotonic(), count_files(server.process.pid)
            while (at := time.monotonic() - begun) < seconds:
                times["tower serve"] += play(server.port, bare=False)
                with running(bare=True) as bare:  # it numbers its games anew each time
                    times[BARE] += play(bare, bare=True)
                attack(server.port)
                pid = server.process.pid
                # The server lets go of connections that are gone.
                wait_until(lambda pid=pid: count_files(pid) <= files + MORE_FILES)  # type: ignore[misc]
                seen.append((at, measure_memory(pid)))
                print(
                    f"{at:6.0f} s  {seen[-1][1]:7.1f} MiB  {count_files(pid)} descriptors",
                    flush=True,
                )
        finally:
            server.stop()
    report(times, seen, seconds)


def report(times: dict[str, list[float]], seen: list[tuple[float, float]], seconds: float) -> None:
    """Print how soon moves arrived, and fail if memory has grown."""
    for name, taken in times.items():
        hundredths = quantiles(taken, n=100, method="inclusive")
        print(
            f"{name}: {len(taken):,} moves, p50 {hundredths[49] * 1000:.1f} ms, "
            f"p99 {hundredths[98] * 1000:.1f} ms"
        )
    warm = [memory for at, memory in seen if at <= WARM_UP * seconds] or [seen[0][1]]
    before, after = max(warm), seen[-1][1]
    assert after <= before + MORE_MEMORY, f"memory has grown from {before:.0f} to {after:.0f} MiB"


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 600)
