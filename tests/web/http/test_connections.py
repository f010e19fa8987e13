"""One address cannot take all connections, and no client can hold one by being slow."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

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
from support.small_server import (
    HOST,
    NEIGHBOUR,
    SmallServer,
    connect,
    exchange,
    fetch_json,
    get,
    is_closed,
    post,
    read_all,
    read_until,
    run_small_server,
    wait_until_reset,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sockets are those of Linux and macOS")

LIMITS = {"http.connections.MAX_CONNECTIONS": 12, "http.connections.MAX_PER_ADDRESS": 8}


@pytest.fixture(scope="module")
def usual_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallServer]:
    """A server with its usual limits."""
    with run_small_server(tmp_path_factory.mktemp("usual")) as server:
        yield server


@pytest.fixture(scope="module")
def started_limited_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallServer]:
    with run_small_server(tmp_path_factory.mktemp("limited"), limits=LIMITS) as server:
        yield server


@pytest.fixture
def limited_server(started_limited_server: SmallServer) -> SmallServer:
    """A server with few connections, all of which are free."""
    port = started_limited_server.port
    wait_until(lambda: fetch_json(port, "/connections", Connection="close")[1] == 1)
    return started_limited_server


def ask(connection: socket.socket) -> bytes:
    """Send a request over a connection that stays open; return b"" if it is closed."""
    try:
        connection.sendall(get("/who"))
        return read_until(connection, b'"http"]')
    except (OSError, AssertionError):
        return b""


def is_served(connection: socket.socket) -> bool:
    return ask(connection).startswith(b"HTTP/1.1 200 ")


@contextmanager
def open_connections(
    port: int, number: int, source: str, *pieces: bytes
) -> Iterator[list[socket.socket]]:
    """Open connections from an address, all of which send the same."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(connect(port, source, *pieces))) for _ in range(number)]


# How many -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", [b"", b"GET /who HTTP/1.1\r\nHost: loc", get("/who")], ids=["silent", "half", "served"]
)
def test_newcomer_replaces_the_idlest_connection(sent: bytes, limited_server: SmallServer) -> None:
    port = limited_server.port
    with (
        open_connections(port, 8, HOST, sent) as most,
        open_connections(port, 4, "127.0.0.3", sent) as few,
    ):
        for connection in most + few if sent.endswith(b"\r\n\r\n") else ():
            read_until(connection, b'"http"]')
        with closing(connect(port, NEIGHBOUR)) as newcomer:
            assert is_served(newcomer)
            wait_until(lambda: is_closed(most[0]))
            assert not any(map(is_closed, most[1:] + few))


def test_connection_in_use_is_never_closed_for_another(limited_server: SmallServer) -> None:
    port, request = limited_server.port, get("/g/abc/events")
    with (
        open_connections(port, 8, HOST, request) as most,
        open_connections(port, 4, "127.0.0.3", request) as few,
    ):
        for connection in most + few:
            read_until(connection, b"data: first")
        with suppress(ConnectionResetError), closing(connect(port, NEIGHBOUR)) as refused:
            assert ask(refused) == b""  # unless it is closed even sooner
        assert not any(map(is_closed, most + few))


def test_trusted_proxy_has_as_many_connections_as_it_needs(tmp_path: Path) -> None:
    """It carries many people, and loses its own connections last."""
    forwarded = {"X-Forwarded-For": "198.51.100.9, 203.0.113.7", "X-Forwarded-Proto": "https"}
    with run_small_server(tmp_path, limits=LIMITS, proxy=(HOST,)) as server:
        port = server.port
        address = fetch_json(port, "/who", **forwarded, Connection="close")[1]
        assert address == ["203.0.113.7", "https"], "the last that the proxy itself saw"
        with (
            open_connections(port, 9, HOST) as proxied,
            open_connections(port, 3, NEIGHBOUR) as direct,
        ):
            assert all(map(is_served, proxied + direct))
            with closing(connect(port, HOST)) as newcomer:
                assert is_served(newcomer)
                wait_until(lambda: is_closed(direct[0]))
                assert not any(map(is_closed, proxied + direct[1:]))


def test_proxy_that_is_not_trusted_is_not_believed(usual_server: SmallServer) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
    assert fetch_json(usual_server.port, "/who", **forwarded)[1] == ["127.0.0.1", "http"]


def test_school_behind_one_address_is_admitted() -> None:
    assert MAX_PER_ADDRESS >= MAX_STREAMS_PER_ADDRESS >= 1500


# How slow -----------------------------------------------------------------------------------------


def make_transport(host: str = "192.0.2.1", port: int = 1) -> Mock:
    """Return a connection that goes nowhere."""
    transport = Mock(spec=asyncio.Transport)
    transport.get_extra_info = {"peername": (host, port)}.get
    transport.is_closing = lambda: transport.abort.called
    transport.get_write_buffer_size = lambda: transport.unread
    transport.unread = 0
    return transport


class OfflineServer:
    """Connections without a network, whose clock the test moves."""

    def __init__(self, **limits: Any) -> None:
        self.now = 0.0
        self.registry = ConnectionRegistry(**limits, clock=lambda: self.now)

    def open(self, transport: Mock) -> Connection:
        connection = Connection(self.registry, asyncio.Protocol())
        connection.connection_made(transport)
        return connection

    def let_pass(self, seconds: float) -> None:
        self.now += seconds
        self.registry.check()


def test_connections_are_counted_right_whatever_the_order() -> None:
    server = OfflineServer(total=60, per_address=20)
    held: list[tuple[Connection, Mock]] = []
    for number in range(600):
        transport = make_transport(f"2001:db8:0:{number * number % 7}::{number:x}", number)
        held.append((server.open(transport), transport))
        if number % 5 == 0:
            held.pop(0)[0].connection_lost(None)
        for connection, line in [pair for pair in held if pair[1].is_closing()]:
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


def test_request_that_does_not_arrive_is_not_waited_for() -> None:
    server = OfflineServer()
    silent, half, served = (make_transport(port=port) for port in (1, 2, 3))
    server.open(silent)
    for transport in (half, served):
        connection = server.open(transport)
        connection.set_busy(busy=True)
        connection.data_received(b"a body")
        connection.set_busy(busy=False)
        if transport is half:
            connection.data_received(b"GET /")
    server.let_pass(WAIT_TIME - 1)
    assert not silent.is_closing()
    server.let_pass(1)
    assert (silent.is_closing(), half.is_closing(), served.is_closing()) == (True, True, False), (
        "uvicorn closes the last one when it has been idle for long"
    )


def test_answer_that_is_not_read_is_dropped_and_one_that_is_read_slowly_is_not() -> None:
    server, slow, stalled = OfflineServer(), make_transport(), make_transport(port=2)
    slow.unread = stalled.unread = 1_000_000
    for transport in (slow, stalled):
        server.open(transport).set_busy(busy=True)
    server.let_pass(1)
    for second in range(int(READ_TIME) - 1):
        slow.unread -= 1
        stalled.unread += second % 2  # the app writes more
        server.let_pass(1)
    assert (stalled.is_closing(), slow.is_closing()) == (False, False)
    server.let_pass(1)
    assert (stalled.is_closing(), slow.is_closing()) == (True, False)


def test_slow_clients_are_not_waited_for(tmp_path: Path) -> None:
    short_times = {
        "http.connections.SWEEP_INTERVAL": 0.05,
        "http.connections.READ_TIME": 0.2,
        "http.connections.WAIT_TIME": 0.2,
        "http.middleware.body_limit.BODY_TIME": 0.2,
    }
    with run_small_server(tmp_path, limits=short_times) as server:
        for path in ("/sent", "/json"):
            kind = "Content-Type: application/json"
            answer = exchange(server.port, post(path, b'{"a":', 1000, kind))
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer
        assert exchange(server.port, b"GET /who HTTP/1.1\r\nHost: loc") == b""
        for path in ("/big?size=20000", "/g/abc/events?size=100"):
            with closing(connect(server.port, HOST, get(path), buffer=4096)) as stalled:
                assert wait_until_reset(stalled)
        assert fetch_json(server.port, "/who")[0] == 200
        assert "Traceback" not in "".join(server.log)


@pytest.mark.slow
def test_two_thousand_idle_connections_keep_no_client_out(usual_server: SmallServer) -> None:
    with (
        open_connections(usual_server.port, 2000, HOST),
        closing(connect(usual_server.port, NEIGHBOUR)) as other,
    ):
        assert is_served(other)


# What a client sends ------------------------------------------------------------------------------


def test_head_of_a_request_has_a_limit(usual_server: SmallServer) -> None:
    port, start = usual_server.port, get("/who", "Connection: close").removesuffix(b"\r\n")
    answer = exchange(port, start, b"X-Long: ", b"x" * 10_000, b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    for pieces in ([b"x" * 10_000] * 70, [b"\r\nX-Many: x" * 1000] * 70):
        with closing(connect(port, HOST, start + b"X-Long: ")) as connection:
            try:
                connection.sendall(b"".join(pieces))
            except OSError:
                continue
            answer = read_all(connection)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert fetch_json(port, "/who")[0] == 200, "others are served"


def test_requests_that_are_sent_at_once_are_answered_one_by_one(usual_server: SmallServer) -> None:
    requests = get("/g/abc/events"), get("/who") * 1000
    with closing(connect(usual_server.port, NEIGHBOUR, *requests)) as connection:
        read_until(connection, b"data: first")
        assert fetch_json(usual_server.port, "/streams")[1] == 1


def test_client_that_leaves_during_an_answer_is_no_error(usual_server: SmallServer) -> None:
    before = len(usual_server.log)
    for path in ("/big?size=20000", "/g/abc/events?size=100", "/slow?seconds=0.1"):
        with closing(connect(usual_server.port, HOST, get(path), buffer=4096)) as connection:
            if "slow" not in path:
                connection.recv(100)
    wait_until(lambda: len(usual_server.log) >= before + 3)
    assert all(line.startswith("INFO") for line in usual_server.log[before:])
