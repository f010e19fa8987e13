"""A server stops within its time whatever its clients and requests do."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from support.clocks import SLOW
from support.command import TOWER
from support.small_server import (
    HOST,
    asked,
    connect,
    get,
    post,
    read_all,
    read_log,
    running,
    small,
)

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="servers are stopped as Linux and macOS do it"
)

SLOW_CLIENTS = [
    b"",
    b"GET /who HTTP/1.1\r\nHost: loc",
    post("/sent", b"x" * 10, 1000),
    get("/big?size=2000"),
    get("/g/abc/events?size=100"),
    get("/slow?seconds=1000"),
]
"""What clients have sent that neither go on nor read the answer."""


def test_slow_clients_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    with (
        running(small(patch={"server.WORK_TIME": 1}), tmp_path) as (process, port),
        ExitStack() as opened,
    ):
        for sent in SLOW_CLIENTS * 30:
            opened.enter_context(closing(connect(port, HOST, sent, buffer=4096)))
        assert asked(port, "/connections")[1] == 181
        process.terminate()
        assert process.wait(SLOW) == 0
        assert process.stdout
        assert process.stdout.read().endswith("letting go\nlet go\n"), "the app could close"


def test_a_request_in_progress_is_answered(tmp_path: Path) -> None:
    with (
        running(small(), tmp_path) as (process, port),
        closing(connect(port, HOST, get("/slow?seconds=1"))) as line,
    ):
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        process.terminate()
        answer = read_all(line)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b'"done"')
        assert process.wait(SLOW) == 0
    assert not [line for line in read_log(tmp_path) if not line.startswith("INFO")]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once(sent: signal.Signals, tmp_path: Path) -> None:
    with running(small(hangs=True), tmp_path) as (process, _):
        process.terminate()
        assert process.stdout
        assert process.stdout.readline() == "letting go\n"
        process.send_signal(sent)
        assert process.wait(SLOW) == -sent


def test_a_question_to_the_solver_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    """At the real server, with its worker processes and its database."""
    question = post(
        "/api/analyse",
        b'{"record": "draft(blocks=1-40,target=300):"}',
        None,
        "Content-Type: application/json",
    )
    with (
        running([TOWER, "serve", "--port", "0"], tmp_path) as (process, port),
        closing(connect(port, HOST, question)) as line,
    ):
        assert asked(port, "/health/live")[0] == 200
        process.terminate()
        assert read_all(line)[:13] in {b"HTTP/1.1 200 ", b""}
        assert process.wait(SLOW) == 0
