"""Hold every connection of a server from a few addresses, in every way.

It checks whether others get in and a stop ends.

`make soak` does it at full size: `python tests/soak/connections.py [CONNECTIONS]`. The limits are
those that the server promises, so the number should not be below its 6,000.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from support.clocks import SLOW, wait_until
from support.small_server import (
    NEIGHBOUR,
    connect,
    get,
    post,
    read_until,
    run_serve_command,
)

STOP = 15.0
"""Seconds within which a server is gone, whatever its clients do."""

JSON = "Content-Type: application/json"
HELD = {
    "silent": b"",
    "half a head": b"GET /health HTTP/1.1\r\nHost: loc",
    "half a body": post("/api/games", b'{"game":', 1000, JSON),
    "half a form": post(
        "/new", b"game=dra", 1000, "Content-Type: application/x-www-form-urlencoded"
    ),
    "an unread answer": get("/static/tower.js"),
}


def hold(port: int, held: bytes, number: int, opened: ExitStack) -> list[socket.socket]:
    """Open so many connections, from as few addresses as can have them."""
    lines = []
    for place in range(number):
        line = opened.enter_context(
            closing(connect(port, f"127.0.1.{1 + place * 4 // number}", buffer=4096))
        )
        try:
            line.sendall(held)
        except OSError:
            line.close()
        else:
            lines.append(line)
    return lines


def is_open(line: socket.socket) -> bool:
    """Return whether the server has left a connection open, whatever it has answered."""
    line.settimeout(0)
    try:
        while line.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def ask(port: int) -> float:
    """Ask for something from an address that holds nothing; return the seconds until the answer."""
    begun = time.perf_counter()
    with closing(connect(port, NEIGHBOUR, get("/health", "Connection: close"))) as line:
        answer = read_until(line, b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    return time.perf_counter() - begun


def memory(process: subprocess.Popen[str]) -> float:
    """Return how many MB a process uses."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def attack(process: subprocess.Popen[str], port: int, name: str, number: int) -> None:
    """Hold the connections of a server in one way, use it, and stop it."""
    with ExitStack() as opened:
        before = memory(process)
        wait_until(lambda: ask(port))
        lines = hold(port, HELD[name], number, opened)
        waits = [ask(port) for _ in range(50)]
        more = memory(process) - before
        kept = sum(map(is_open, lines))
        begun = time.perf_counter()
        process.terminate()
        code = process.wait(SLOW)
        stop = time.perf_counter() - begun
    print(
        f"{name:17} {kept:5} held; others wait {median(waits) * 1000:.0f} ms, "
        f"at most {max(waits) * 1000:.0f}; "
        f"{more:.0f} MB more; stopped in {stop:.1f} s with code {code}",
        flush=True,
    )
    assert stop <= STOP
    assert code == 0


def main(number: int) -> None:
    """Hold so many connections in every way."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name in HELD:
        with (
            TemporaryDirectory() as folder,
            run_serve_command(Path(folder)) as (process, port),
        ):
            attack(process, port, name, number)
            log = Path(folder, "log").read_text()
            assert "Traceback" not in log, log[:3000]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7000)
