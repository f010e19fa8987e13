"""A server stops within its time whatever its clients and requests do."""

from __future__ import annotations

import os
import re
import signal
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from support import small_server
from support.small_server import HOST, connect, fetch_json, get, post, read_all, read_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of Linux and macOS")

SLOW_CLIENTS = [
    b"",
    b"GET /who HTTP/1.1\r\nHost: loc",
    post("/sent", b"x" * 10, 1000),
    get("/big?size=2000"),
    get("/g/abc/events?size=100"),
    get("/slow?seconds=1000"),
]
"""What clients have sent that neither go on nor read the answer."""


def test_slow_clients_do_not_delay_a_stop(tmp_path: Path) -> None:
    with (
        small_server.run_small_server(tmp_path, limits={"server.WORK_TIME": 1}) as server,
        ExitStack() as connections,
    ):
        for sent in SLOW_CLIENTS * 30:
            connections.enter_context(closing(connect(server.port, HOST, sent, buffer=4096)))
        assert fetch_json(server.port, "/connections")[1] == 181
        assert server.stop() == 0
        server.wait_for("closing")
        server.wait_for("closed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_ends_streams_and_answers_requests(number: signal.Signals, tmp_path: Path) -> None:
    with (
        small_server.run_small_server(tmp_path) as server,
        closing(connect(server.port, HOST, get("/g/abc/events"))) as stream,
        closing(connect(server.port, HOST, get("/slow?seconds=0.5"))) as request,
    ):
        events = read_until(stream, b"data: first")
        server.wait_for("begun")
        server.send_signal(number)
        # The browser is told when to come back.
        end = rb"data: first\n\n\r\nd\r\nretry: \d{4}\n\n\r\n0\r\n\r\n"
        assert re.search(end, events + read_all(stream))
        answer = read_all(request)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b'"done"')
        server.wait_for("closed")
        assert server.wait() == (130 if number == signal.SIGINT else 0)
        assert any('/g/.../events HTTP/1.1" 200' in line for line in server.log)
        assert all(line.startswith("INFO") for line in server.log)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_a_hanging_server(number: signal.Signals, tmp_path: Path) -> None:
    with small_server.run_small_server(tmp_path, hangs=True) as server:
        server.send_signal(signal.SIGTERM)
        server.wait_for("closing")
        server.send_signal(number)
        assert server.wait() == -number
