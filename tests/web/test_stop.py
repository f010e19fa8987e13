"""A server stops within its time whatever its clients, its requests and its database do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from number_tower.cli import serve
from number_tower.web import server
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
    read_until,
    running,
    small,
    wait_for,
)

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="servers are stopped as Linux and macOS do it"
)

NEVER: dict[str, float] = {"server.STOP_LIMIT": 1000}


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.read()


def wait_until_said(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout
    assert process.stdout.readline() == f"{line}\n"


def problems(folder: Path) -> list[str]:
    """Return what a server has logged that is not merely information."""
    return [
        line["event"] for line in read_log(folder) if line["level"] != "info" or "traceback" in line
    ]


SLOW_CLIENTS = [
    b"",
    b"GET /who HTTP/1.1\r\nHost: loc",
    post("/sent", b"x" * 10, 1000),
    post("/json", b'{"a":', 1000, "Content-Type: application/json"),
    get("/big?size=2000"),
    get("/g/abc/events?size=100"),
]
"""What clients have sent that neither go on nor read the answer."""


def test_slow_clients_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    with (
        running(small(patch={"server.WORK_TIME": 1, **NEVER}), tmp_path) as (process, port),
        ExitStack() as opened,
    ):
        for sent in SLOW_CLIENTS * 30:
            opened.enter_context(closing(connect(port, HOST, sent, buffer=4096)))
        assert asked(port, "/connections")[1] == 181
        process.terminate()
        assert process.wait(SLOW) == 0
        assert said(process) == "letting go\nlet go\n", "the app could close"
    assert problems(tmp_path) == []


def test_a_request_in_progress_is_answered(tmp_path: Path) -> None:
    with (
        running(small(), tmp_path) as (process, port),
        closing(connect(port, HOST, get("/slow?seconds=1"))) as line,
    ):
        wait_until_said(process, "begun")
        process.terminate()
        answer = read_all(line)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b'"done"')
        assert process.wait(SLOW) == 0
    assert problems(tmp_path) == []


def test_a_request_that_takes_too_long_is_cut_off_without_a_traceback(tmp_path: Path) -> None:
    with (
        running(small(patch={"server.WORK_TIME": 1, **NEVER}), tmp_path) as (process, port),
        closing(connect(port, HOST, get("/slow?seconds=1000"))) as line,
    ):
        wait_until_said(process, "begun")
        process.terminate()
        assert read_all(line) == b""
        assert process.wait(SLOW) == 0
        assert said(process) == "letting go\nlet go\n"
    assert problems(tmp_path) == ["Cancel 1 running task(s), timeout graceful shutdown exceeded"]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_database_that_hangs_does_not_hold_up_a_stop(
    sent: signal.Signals, tmp_path: Path
) -> None:
    with running(small(hangs=True, patch={"server.STOP_LIMIT": 1}), tmp_path) as (process, _):
        process.send_signal(sent)
        assert process.wait(SLOW) == 1
    assert problems(tmp_path) == [
        "the stop took more than 1 seconds, so it was cut short; every move is saved"
    ]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once(sent: signal.Signals, tmp_path: Path) -> None:
    with running(small(hangs=True, patch=NEVER), tmp_path) as (process, _):
        process.terminate()
        wait_until_said(process, "letting go")
        process.send_signal(sent)
        assert process.wait(SLOW) == -sent


def test_while_it_drains_readiness_is_down_and_everything_else_goes_on(tmp_path: Path) -> None:
    with (
        running(small(drain=1000, patch=NEVER), tmp_path) as (process, port),
        closing(connect(port, HOST, get("/g/abc/events"))) as stream,
    ):
        read_until(stream, b"data: first")
        assert asked(port, "/draining")[1] is False
        process.terminate()
        wait_for(lambda: asked(port, "/draining")[1] is True)
        assert asked(port, "/who")[0] == 200
        stream.settimeout(0.1)
        with pytest.raises(TimeoutError):
            stream.recv(1)
        process.terminate()
        assert process.wait(SLOW) == -signal.SIGTERM


def test_after_the_drain_the_server_closes_as_ever(tmp_path: Path) -> None:
    with (
        running(small(drain=0.2), tmp_path) as (process, port),
        closing(connect(port, HOST, get("/g/abc/events"))) as stream,
    ):
        read_until(stream, b"data: first")
        process.terminate()
        assert b"\r\nretry: " in read_all(stream)
        assert process.wait(SLOW) == 0
        with pytest.raises(ConnectionRefusedError), closing(socket.create_connection((HOST, port))):
            pass
    assert problems(tmp_path) == []


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
        assert asked(port, "/health")[0] == 200
        process.terminate()
        assert read_all(line)[:13] in {b"HTTP/1.1 200 ", b""}
        assert process.wait(SLOW) == 0
    expected = ("Cancel ", "the event loop ")  # on a busy machine, the loop has to wait as well
    assert [event for event in problems(tmp_path) if not event.startswith(expected)] == []


def test_the_parts_of_a_stop_fit_into_the_whole() -> None:
    assert serve.LONGEST_DRAIN + server.WORK_TIME + server.CANCEL_TIME < server.STOP_LIMIT < 15
