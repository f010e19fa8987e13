"""One address cannot take all connections, and no client can hold one by being slow."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from number_tower.web.http.connections import (
    MAX_PER_ADDRESS,
    READ_TIME,
    WAIT_TIME,
    Connection,
    ConnectionRegistry,
)
from number_tower.web.http.streams import MAX_STREAMS_PER_ADDRESS
from support.clocks import wait_until
from support.servers import run_servers
from support.small_server import (
    HOST,
    NEIGHBOUR,
    asked,
    connect,
    get,
    is_closed,
    post,
    read_all,
    read_log,
    read_until,
    running,
    said_raw,
    small,
    wait_until_reset,
)

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="servers are stopped as Linux and macOS do it"
)

CAPS: dict[str, float] = {
    "http.connections.MAX_CONNECTIONS": 12,
    "http.connections.MAX_PER_ADDRESS": 8,
}


def ask(line: socket.socket) -> bytes:
    """Ask for something over a connection that stays open.

    Return the answer, or nothing if it is closed.
    """
    try:
        line.sendall(get("/who"))
        return read_until(line, b'"http"]')
    except (OSError, AssertionError):
        return b""


@contextmanager
def crowd(port: int, number: int, source: str, *pieces: bytes) -> Iterator[list[socket.socket]]:
    """Have so many connections from an address, each of which has sent the same."""
    with ExitStack() as opened:
        yield [opened.enter_context(closing(connect(port, source, *pieces))) for _ in range(number)]


# How many -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", [b"", b"GET /who HTTP/1.1\r\nHost: loc", get("/who")], ids=["silent", "half", "served"]
)
def test_others_get_in_when_all_connections_are_idle(sent: bytes, tmp_path: Path) -> None:
    with (
        running(small(patch=CAPS), tmp_path) as (_, port),
        crowd(port, 8, HOST, sent) as most,
        crowd(port, 4, "127.0.0.3", sent) as few,
    ):
        for line in most + few if sent.endswith(b"\r\n\r\n") else ():
            read_until(line, b'"http"]')
        with closing(connect(port, NEIGHBOUR)) as newcomer:
            assert ask(newcomer).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: is_closed(most[0]))
            assert not any(map(is_closed, most[1:] + few)), (
                "one is closed for one: the idlest of the busiest address"
            )


def test_one_address_has_so_many_connections_and_no_more(tmp_path: Path) -> None:
    with running(small(patch=CAPS), tmp_path) as (_, port), crowd(port, 8, HOST) as first:
        with crowd(port, 3, HOST) as later:
            assert all(ask(line).startswith(b"HTTP/1.1 200 ") for line in later), (
                "the class still gets in"
            )
            wait_until(lambda: all(map(is_closed, first[:3])))
            assert not any(map(is_closed, first[3:]))
        with closing(connect(port, NEIGHBOUR)) as other:
            assert ask(other).startswith(b"HTTP/1.1 200 ")


def test_a_connection_in_use_is_never_closed_for_another(tmp_path: Path) -> None:
    with running(small(patch=CAPS), tmp_path) as (_, port), ExitStack() as opened:
        following = [
            opened.enter_context(closing(connect(port, source, get("/g/abc/events"))))
            for source in [HOST] * 8 + ["127.0.0.3"] * 4
        ]
        for line in following:
            read_until(line, b"data: first")
        with suppress(ConnectionResetError), closing(connect(port, NEIGHBOUR)) as refused:
            assert ask(refused) == b""  # unless it is closed even sooner
        assert not any(map(is_closed, following))


def test_a_trusted_proxy_has_as_many_connections_as_it_needs(tmp_path: Path) -> None:
    with (
        running(small(patch=CAPS, proxy=[HOST]), tmp_path) as (_, port),
        crowd(port, 9, HOST) as proxied,
        crowd(port, 3, NEIGHBOUR) as direct,
    ):
        assert all(ask(line).startswith(b"HTTP/1.1 200 ") for line in proxied + direct)
        with closing(connect(port, HOST)) as more:
            assert ask(more).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: is_closed(direct[0]))
            assert not any(map(is_closed, proxied + direct[1:])), (
                "it carries many people, and loses its own last"
            )


def test_a_school_behind_one_address_is_admitted() -> None:
    assert MAX_PER_ADDRESS >= MAX_STREAMS_PER_ADDRESS >= 1500


# How slow -----------------------------------------------------------------------------------------


class Transport(asyncio.Transport):
    """A connection that goes nowhere."""

    def __init__(self, host: str = "192.0.2.1", port: int = 1) -> None:
        super().__init__({"peername": (host, port)})
        self.unread = 0
        self.closed = False

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return self.unread


class Checked:
    """Connections without a network, whose clock the test sets."""

    def __init__(self, **caps: Any) -> None:
        self.now = 0.0
        self.registry = ConnectionRegistry(**caps, clock=lambda: self.now)

    def open(self, transport: Transport) -> Connection:
        made = Connection(self.registry, asyncio.Protocol())
        made.connection_made(transport)
        return made

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.registry.check()


def test_connections_are_counted_right_whatever_the_order() -> None:
    server = Checked(total=60, per_address=20)
    held: list[tuple[Connection, Transport]] = []
    for number in range(600):
        transport = Transport(f"2001:db8:0:{number * number % 7}::{number:x}", number)
        held.append((server.open(transport), transport))
        if number % 5 == 0:
            held.pop(0)[0].connection_lost(None)
        for connection, line in [pair for pair in held if pair[1].closed]:
            connection.connection_lost(None)
            held.remove((connection, line))
        assert len(server.registry) == len(held) <= 60
    addresses = [connection.address for connection, _ in held]
    assert max(map(addresses.count, addresses)) <= 20
    for connection, _ in held:
        connection.connection_lost(None)
    assert len(server.registry) == 0
    # That it does not grow is not to be seen elsewhere.
    assert not server.registry._counts  # noqa: SLF001


def test_a_request_that_does_not_arrive_is_not_waited_for() -> None:
    server, silent, half, served = Checked(), Transport(), Transport(port=2), Transport(port=3)
    server.open(silent)
    for transport in (half, served):
        connection = server.open(transport)
        connection.set_busy(busy=True)
        connection.data_received(b"a body")
        connection.set_busy(busy=False)
        if transport is half:
            connection.data_received(b"GET /")
    server.passes(WAIT_TIME - 1)
    assert not silent.closed
    server.passes(1)
    assert (silent.closed, half.closed, served.closed) == (True, True, False), (
        "uvicorn closes the last one when it has been idle for long"
    )


def test_an_answer_that_is_not_read_is_dropped_and_one_that_is_read_slowly_is_not() -> None:
    server, slow, stalled = Checked(), Transport(), Transport(port=2)
    slow.unread = stalled.unread = 1_000_000
    for transport in (slow, stalled):
        server.open(transport).set_busy(busy=True)
    server.passes(1)
    for second in range(int(READ_TIME) - 1):
        slow.unread -= 1
        stalled.unread += second % 2  # the app writes more
        server.passes(1)
    assert (stalled.closed, slow.closed) == (False, False)
    server.passes(1)
    assert (stalled.closed, slow.closed) == (True, False)


def test_slow_clients_are_not_waited_for(tmp_path: Path) -> None:
    quick = {
        "http.connections.SWEEP_INTERVAL": 0.05,
        "http.connections.READ_TIME": 0.2,
        "http.connections.WAIT_TIME": 0.2,
        "http.middleware.body_limit.BODY_TIME": 0.2,
    }
    with running(small(patch=quick), tmp_path) as (_, port):
        for path in ("/sent", "/json"):
            kind = "Content-Type: application/json"
            answer = said_raw(port, post(path, b'{"a":', 1000, kind))
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer
        assert said_raw(port, b"GET /who HTTP/1.1\r\nHost: loc") == b""
        for path in ("/big?size=20000", "/g/abc/events?size=100"):
            with closing(connect(port, HOST, get(path), buffer=4096)) as stalled:
                assert wait_until_reset(stalled)
        assert asked(port, "/who")[0] == 200
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_two_thousand_idle_connections_keep_nobody_from_being_served(tmp_path: Path) -> None:
    with (
        running(small(), tmp_path) as (_, port),
        crowd(port, 2000, HOST),
        closing(connect(port, NEIGHBOUR)) as other,
    ):
        assert ask(other).startswith(b"HTTP/1.1 200 ")


# What a client sends ------------------------------------------------------------------------------


def test_heads_of_requests_have_a_bound(tmp_path: Path) -> None:
    begin = b"GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    with running(small(), tmp_path) as (_, port):
        assert said_raw(port, begin, b"X-Long: ", b"x" * 60_000, b"\r\n\r\n").startswith(
            b"HTTP/1.1 200 "
        )
        for pieces in ([b"x" * 10_000] * 70, [b"\r\nX-Many: x" * 1000] * 70):
            with closing(connect(port, HOST, begin + b"X-Long: ")) as line:
                try:
                    line.sendall(b"".join(pieces))
                except OSError:
                    continue
                answer = read_all(line)
                assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
        assert asked(port, "/who")[0] == 200, "others are served"


def test_requests_that_are_sent_at_once_are_answered_one_after_the_other(tmp_path: Path) -> None:
    with (
        running(small(), tmp_path) as (_, port),
        closing(connect(port, NEIGHBOUR, get("/g/abc/events"), get("/who") * 1000)) as line,
    ):
        read_until(line, b"data: first")
        assert asked(port, "/streams")[1] == 1


def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_error(tmp_path: Path) -> None:
    """At the real server, with all that its app does with a body."""
    form, data = "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json"
    multipart = "Content-Type: multipart/form-data; boundary=b"
    left = [
        ("/new", form, b"game=dra"),
        ("/api/games", data, b'{"game":'),
        ("/api/analyse", data, b'{"game":'),
        ("/new", multipart, b"--b\r\nContent-Disposition: "),
    ]
    with run_servers(tmp_path / "games.db") as [server]:
        for path, kind, begun in left:
            connect(server.port, HOST, post(path, begun, 1000, kind)).close()
        assert asked(server.port, "/api/levels")[0] == 200
        said = server.log
    assert "Traceback" not in said
    assert "ERROR" not in said


def test_a_client_that_leaves_while_the_answer_is_written_is_no_error(tmp_path: Path) -> None:
    with running(small(), tmp_path) as (_, port):
        for path in ("/big?size=20000", "/g/abc/events?size=100", "/slow?seconds=0.1"):
            with closing(connect(port, HOST, get(path), buffer=4096)) as line:
                if "slow" not in path:
                    line.recv(100)
        wait_until(lambda: len(read_log(tmp_path)) >= 3)
    assert not [line for line in read_log(tmp_path) if not line.startswith("INFO")]
