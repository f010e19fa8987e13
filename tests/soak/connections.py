"""Hold every connection of a server from a few addresses, in every way.

Others have to be served all the same, and the server has to stop when it is asked.

`make soak` does it at full size: `python tests/soak/connections.py [CONNECTIONS]`. The server
promises 6,000 connections, so the number should not be below.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from soak.shared import measure_memory
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


def hold(port: int, request: bytes, number: int, opened: ExitStack) -> list[socket.socket]:
    """Open connections from four addresses, and send the beginning of a request on each."""
    connections = []
    for index in range(number):
        address = f"127.0.1.{1 + index * 4 // number}"
        connection = opened.enter_context(closing(connect(port, address, buffer=4096)))
        with suppress(OSError):
            connection.sendall(request)
            connections.append(connection)
    return connections


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has left a connection open, whatever it has answered."""
    connection.settimeout(0)
    try:
        while connection.recv(65536):
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


def attack(process: subprocess.Popen[bytes], port: int, name: str, number: int) -> None:
    """Hold the connections of a server in one way, use it, and stop it."""
    with ExitStack() as opened:
        wait_until(lambda: ask(port))
        before = measure_memory(process.pid)
        connections = hold(port, HELD[name], number, opened)
        waits = [ask(port) for _ in range(50)]
        more = measure_memory(process.pid) - before
        held = sum(map(is_open, connections))
        begun = time.perf_counter()
        process.terminate()
        code = process.wait(SLOW)
        stop = time.perf_counter() - begun
    print(
        f"{name:17} {held:5} held; others wait {median(waits) * 1000:.0f} ms, "
        f"at most {max(waits) * 1000:.0f}; {more:.0f} MiB more; stopped in {stop:.1f} s"
    )
    assert (stop <= STOP, code) == (True, 0)


def main() -> None:
    """Hold 7,000 connections in every way."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 7000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name in HELD:
        with (
            TemporaryDirectory() as folder,
            run_serve_command(Path(folder)) as server,
        ):
            attack(server.process, server.port, name, number)
            assert "Traceback" not in server.log, server.log[:3000]


if __name__ == "__main__":
    main()
