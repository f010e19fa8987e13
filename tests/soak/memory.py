"""Let players and hostile clients use a server for minutes.

Its memory and descriptors have to stay flat.

`make soak` does it for ten minutes: `python tests/soak/memory.py [SECONDS]`. How soon a move
reaches the opponent is reported beside a server that does next to nothing (`bench/web_bare.py`),
both used in turn.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.parse import quote

from serving import Server
from soak.shared import measure_memory
from support.command import ROOT
from support.costs import FORM, TEXTS
from support.servers import HOST, make_server

sys.path.insert(0, str(ROOT / "bench"))

from support.clocks import SLOW
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


async def attack(port: int) -> None:
    """Send each expensive text, ask for pages, leave during requests, open and leave streams."""
    requests = [f"GET /analysis?game={quote(write(3_000))} HTTP/1.1" for write in TEXTS.values()]
    requests += [
        "GET / HTTP/1.1",
        "GET /new HTTP/1.1",
        "GET /openapi.json HTTP/1.1",
        "GET /health HTTP/1.1",
    ]
    for line in requests:
        await _send(
            port, f"{line}\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode(), read=True
        )
    half = (
        f"POST /new HTTP/1.1\r\nHost: {HOST}\r\n{FORM[0]}: {FORM[1]}\r\nContent-Length: "
        "1000\r\n\r\nblocks=1"
    )
    for _ in range(20):
        await _send(port, half.encode(), read=False)


async def _send(port: int, content: bytes, *, read: bool) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(content)
        await writer.drain()
        if read:
            await asyncio.wait_for(reader.read(), SLOW)
    finally:
        writer.close()


def settle(server: Server, files: int) -> int:
    """Wait until the server has let go of connections that are gone.

    Return how many descriptors it has then.
    """
    deadline = time.monotonic() + SLOW
    while (
        now := count_files(server.process.pid)
    ) > files + MORE_FILES and time.monotonic() < deadline:
        time.sleep(0.2)
    return now


def main(seconds: float) -> None:
    """Use both servers in turn, and compare ours after warming up with ours at the end."""
    times: dict[str, list[float]] = {"tower serve": [], BARE: []}
    seen: list[tuple[float, float, int]] = []
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
                asyncio.run(attack(server.port))
                seen.append((at, measure_memory(server.process.pid), settle(server, files)))
                print(
                    f"{at:6.0f} s  {seen[-1][1]:7.1f} MiB  {seen[-1][2]:4} descriptors", flush=True
                )
        finally:
            server.stop()
    report(times, seen, seconds)


def report(
    times: dict[str, list[float]], seen: list[tuple[float, float, int]], seconds: float
) -> None:
    """Print how soon moves arrived, and fail if memory or descriptors have grown."""
    for name, taken in times.items():
        hundredths = quantiles(taken, n=100, method="inclusive")
        print(
            f"{name}: {len(taken):,} moves, p50 {hundredths[49] * 1000:.1f} ms, "
            f"p99 {hundredths[98] * 1000:.1f} ms"
        )
    warm = [state for state in seen if state[0] <= WARM_UP * seconds] or seen[:1]
    memory, files = max(state[1] for state in warm), max(state[2] for state in warm)
    assert seen[-1][1] <= memory + MORE_MEMORY, (
        f"memory has grown from {memory:.0f} to {seen[-1][1]:.0f} MiB"
    )
    assert seen[-1][2] <= files + MORE_FILES, (
        f"descriptors have grown from {files} to {seen[-1][2]}"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 600)
