"""The watchdog sees an event loop that stands still, logs where, and tells systemd only while it turns."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from number_tower.web import health
from number_tower.web.health import Notifier, Watchdog
from support.apps import opened
from support.clocks import SLOW, Clock, wait_until
from support.command import TOWER, plain_environment

HELD = "WS-7kLwxGU5g4XbehRPTrGc-mG7pSmLiTDhyOkRcH-I"


def hold_up(entered: threading.Event, released: threading.Event, token: str) -> str:
    """Block the event loop on purpose until told."""
    entered.set()
    assert released.wait(SLOW)
    return token


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    records = [record for record in caplog.records if record.name == health.__name__]
    return [(record.getMessage(), getattr(record, "fields", {})) for record in records]


# The lag --------------------------------------------------------------------------------------------------------------


def test_the_lag_is_measured_now_and_at_its_worst_for_a_minute() -> None:
    async def measure() -> None:
        clock = Clock()
        dog = Watchdog(clock=clock)
        assert (dog.lag, dog.worst_lag()) == (0, 0)
        clock.now += 2.5
        assert (dog.lag, dog.worst_lag()) == (2, 2), "it counts while it lasts"
        dog.beat()
        assert (dog.lag, dog.worst_lag()) == (0, 2)
        for _ in range(100):
            clock.now += 0.5
            dog.beat()
        assert (dog.worst_lag(10), dog.worst_lag()) == (0, 2)
        for _ in range(30):
            clock.now += 0.5
            dog.beat()
        assert dog.worst_lag() == 0
        dog.close()

    asyncio.run(measure())


def test_a_loop_that_is_stuck_is_logged_once_with_where_and_again_when_it_turns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    entered, released = threading.Event(), threading.Event()

    async def serve() -> None:
        dog = Watchdog(clock=clock)

        def watch() -> None:
            assert entered.wait(SLOW)
            clock.now += 1.4
            dog.check()
            assert said(caplog) == [], "it is late, but not stuck"
            clock.now += 5
            for _ in range(5):
                dog.check()
            clock.now += 4
            released.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        hold_up(entered, released, HELD)
        dog.beat()
        watcher.join()
        for _ in range(5):
            dog.check()
        dog.close()

    with caplog.at_level(logging.INFO):
        asyncio.run(serve())
    [(stuck, where), (over, after)] = said(caplog)
    assert (stuck, where["seconds"]) == ("the event loop is stuck", 5.9)
    assert (over, after) == ("the event loop turns again", {"seconds": 9.9})
    assert re.search(
        r"tests/web/test_watchdog.py:\d+ hold_up < \S*test_watchdog.py:\d+ ", where["stack"]
    )
    assert HELD not in caplog.text
    assert "\n" not in where["stack"]


def test_two_stalls_are_two_stalls(caplog: pytest.LogCaptureFixture) -> None:
    async def stall_twice() -> None:
        clock = Clock()
        dog = Watchdog(clock=clock)
        for seconds in (3.0, 7.0):
            clock.now += seconds + 0.5
            dog.check()
            dog.beat()
        dog.check()
        dog.close()

    asyncio.run(stall_twice())
    assert [(text, fields["seconds"]) for text, fields in said(caplog)] == [
        ("the event loop is stuck", 3),
        ("the event loop turns again", 3),
        ("the event loop is stuck", 7),
        ("the event loop turns again", 7),
    ]


def test_a_stall_that_ends_before_the_thread_looks_is_logged_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stall() -> None:
        clock = Clock()
        dog = Watchdog(clock=clock)
        clock.now += 4.5
        dog.beat()
        dog.check()
        dog.close()

    asyncio.run(stall())
    assert said(caplog) == [("the event loop turns again", {"seconds": 4})]


def test_a_running_server_is_watched(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entered, released = threading.Event(), threading.Event()
    with opened(tmp_path) as client:

        async def block() -> str:
            return hold_up(entered, released, "")

        client.app.add_api_route("/block", block)  # type: ignore[attr-defined]  # it is a FastAPI app
        dog: Watchdog = client.app.state.watchdog  # type: ignore[attr-defined]  # likewise
        asking = threading.Thread(target=client.get, args=("/block",))
        asking.start()
        assert entered.wait(SLOW)
        wait_until(lambda: any(text == "the event loop is stuck" for text, _ in said(caplog)))
        assert dog.lag > health.STUCK_AFTER
        released.set()
        asking.join(SLOW)
        wait_until(lambda: said(caplog)[-1][0] == "the event loop turns again")
        assert dog.worst_lag() > health.STUCK_AFTER
    wait_until(lambda: all(thread.name != "watchdog" for thread in threading.enumerate()))


# systemd --------------------------------------------------------------------------------------------------------------


class Systemd:
    """The socket of a service manager, and what was sent to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)

    @property
    def absolute(self) -> str:
        """Its address for a process that runs in another folder."""
        return self.address if self.address.startswith("@") else str(Path(self.address).absolute())

    def received(self) -> list[str]:
        """Return what has come since."""
        found = []
        self._socket.settimeout(0)
        while True:
            try:
                found.append(self._socket.recv(4096).decode())
            except BlockingIOError:
                return found

    def until(self, state: str) -> list[str]:
        """Wait for a state; return all that came up to it."""
        found: list[str] = []
        self._socket.settimeout(SLOW)
        while state not in found:
            found.append(self._socket.recv(4096).decode())
        return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["abstract", "path"])
def systemd(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Systemd]:
    if request.param == "abstract" and sys.platform != "linux":
        pytest.skip("only Linux has abstract sockets, and systemd")
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    found = Systemd(f"@tower-{token_hex(8)}" if request.param == "abstract" else "notify")
    yield found
    found.close()


def test_systemd_is_told_while_the_loop_turns_and_not_while_it_is_stuck(systemd: Systemd) -> None:
    async def serve() -> None:
        clock = Clock()
        dog = Watchdog(Notifier(systemd.address, 4.0), clock=clock)
        turns = 0
        for _ in range(16):
            clock.now += 0.5
            dog.beat()
            dog.check()
            turns += len(systemd.received())
        assert turns == 8, "once a second, four times as often as it is expected"
        clock.now += 2.0
        for _ in range(20):
            clock.now += 0.5
            dog.check()
        assert systemd.received() == []
        dog.beat()
        dog.check()
        assert systemd.received() == ["WATCHDOG=1"]
        dog.close()

    asyncio.run(serve())


def test_what_systemd_says_is_read_once_and_not_passed_on(
    monkeypatch: pytest.MonkeyPatch, systemd: Systemd
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.address)
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    notifier = Notifier.from_environment()
    assert notifier.watchdog_seconds == 30
    notifier.send("READY=1")
    assert systemd.received() == ["READY=1"]
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & os.environ.keys()
    Notifier.from_environment().send("READY=1")
    assert systemd.received() == []


@pytest.mark.parametrize(
    ("usec", "pid"),
    [("", None), ("0", None), ("soon", None), ("-5", None), ("30000000", "1"), ("30000000", "")],
)
def test_a_watchdog_that_is_not_asked_for_is_not_served(
    usec: str, pid: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    if pid is not None:
        monkeypatch.setenv("WATCHDOG_PID", pid)
    assert Notifier.from_environment().watchdog_seconds is None


@pytest.mark.parametrize("address", [None, "/nowhere/at/all", "@nobody-listens-here", "x" * 300])
def test_without_systemd_nothing_happens(address: str | None) -> None:
    Notifier(address, 1.0).send("READY=1")


def test_a_socket_that_nobody_reads_holds_up_nothing(systemd: Systemd) -> None:
    notifier = Notifier(systemd.address)
    for _ in range(2000):
        notifier.send("WATCHDOG=1")


@pytest.mark.parametrize("systemd", ["abstract"], indirect=True)
def test_a_server_tells_systemd_of_its_life(systemd: Systemd, tmp_path: Path) -> None:
    environment = plain_environment(NOTIFY_SOCKET=systemd.absolute, WATCHDOG_USEC="200000")
    with subprocess.Popen(
        [TOWER, "serve", "--port", "0", "--db", str(tmp_path / "games.db"), "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            assert systemd.until("READY=1")[-1] == "READY=1"
            assert set(systemd.until("WATCHDOG=1")) == {"WATCHDOG=1"}
            process.send_signal(signal.SIGTERM)
            assert set(systemd.until("STOPPING=1")) <= {"WATCHDOG=1", "STOPPING=1"}
            assert process.wait(SLOW) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("systemd", ["path"], indirect=True)
def test_a_server_that_systemd_ends_shows_where_it_was(systemd: Systemd, tmp_path: Path) -> None:
    """Systemd ends a server that stands still with SIGABRT; the stack comes even if the interpreter is held."""
    environment = plain_environment(
        NOTIFY_SOCKET=systemd.absolute,
        WATCHDOG_USEC="30000000",
        NUMBER_TOWER_DB=str(tmp_path / "games.db"),
    )
    with subprocess.Popen(
        ["bash", "-c", 'ulimit -c 0; exec "$@"', "bash", TOWER, "serve", "--port", "0", "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            systemd.until("READY=1")
            process.send_signal(signal.SIGABRT)
            _, errors = process.communicate(timeout=SLOW)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in errors
    assert "number_tower/web/server.py" in errors
