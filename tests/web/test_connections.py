"""One address cannot take all connections, and no client can hold one by being slow."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from number_tower.web import connections
from number_tower.web.connections import (
    BODY_GRACE,
    BODY_RATE,
    BODY_TIME,
    CLOSE_TIME,
    HEAD_TIME,
    MAX_PIPELINED,
    READ_TIME,
    HttpConnection,
)
from number_tower.web.middleware import rate_limit, streams
from support.servers import serving
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
    wait_for,
    wait_until_reset,
)

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="servers are stopped as Linux and macOS do it"
)

CAPS: dict[str, float] = {"connections.MAX_CONNECTIONS": 12, "connections.MAX_PER_ADDRESS": 8}


def ask(line: socket.socket) -> bytes:
    """Ask for something over a connection that stays open; return the answer, or nothing if it is closed."""
    try:
        line.sendall(get("/who"))
        return read_until(line, b'"http"]')
    except (OSError, AssertionError):
        return b""


def is_served(port: int, source: str) -> bool:
    with closing(connect(port, source)) as line:
        return ask(line).startswith(b"HTTP/1.1 200 ")


@contextmanager
def crowd(port: int, number: int, source: str, *pieces: bytes) -> Iterator[list[socket.socket]]:
    """Have so many connections from an address, each of which has sent the same."""
    with ExitStack() as opened:
        yield [opened.enter_context(closing(connect(port, source, *pieces))) for _ in range(number)]


HELD = {
    "silent": b"",
    "half a head": b"GET /who HTTP/1.1\r\nHost: loc",
    "half a body": post("/sent", b"x" * 10, 1000),
    "answered": get("/who"),
}
"""What a client sends that only wants to hold a connection."""


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(small(patch=CAPS), tmp_path_factory.mktemp("capped")) as (_, port):
        yield port


@pytest.fixture
def port(capped: int) -> int:
    """The port of a server with few connections, none of which is open."""
    wait_for(lambda: asked(capped, "/connections", Connection="close")[1] == 1)
    return capped


# How many -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", HELD)
def test_others_get_in_when_all_connections_are_held(held: str, port: int) -> None:
    with (
        crowd(port, 8, HOST, HELD[held]) as most,
        crowd(port, 4, "127.0.0.3", HELD[held]) as few,
    ):
        for line in most + few if held == "answered" else ():
            read_until(line, b'"http"]')
        with closing(connect(port, NEIGHBOUR)) as newcomer:
            assert ask(newcomer).startswith(b"HTTP/1.1 200 ")
            wait_for(lambda: is_closed(most[0]))
            assert not any(map(is_closed, most[1:] + few)), (
                "one is closed for one: the idlest of the busiest address"
            )
            assert ask(newcomer).startswith(b"HTTP/1.1 200 ")


def test_one_address_has_so_many_connections_and_no_more(tmp_path: Path) -> None:
    with running(small(patch=CAPS), tmp_path) as (_, port), crowd(port, 8, HOST) as first:
        with crowd(port, 3, HOST) as later:
            assert all(ask(line).startswith(b"HTTP/1.1 200 ") for line in later), (
                "the class still gets in"
            )
            wait_for(lambda: all(map(is_closed, first[:3])))
            assert not any(map(is_closed, first[3:]))
        assert is_served(port, NEIGHBOUR)
    warnings = [line["event"] for line in read_log(tmp_path) if line["level"] == "warning"]
    assert warnings == ["one address has 8 connections: idle ones are closed for new ones"], (
        "once a minute"
    )


def test_a_connection_in_use_is_never_closed_for_another(port: int) -> None:
    with ExitStack() as opened:
        following = [
            opened.enter_context(closing(connect(port, source, get("/g/abc/events"))))
            for source in [HOST] * 8 + ["127.0.0.3"] * 4
        ]
        for line in following:
            read_until(line, b"data: first")
        with closing(connect(port, NEIGHBOUR, get("/who"))) as refused:
            answer = read_all(refused)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 5\r\n" in answer
        assert answer.endswith(
            b"\r\n\r\nThis server has no free connection. Try again in a few seconds."
        )
        assert not any(map(is_closed, following))
        following.pop().close()
        wait_for(lambda: is_served(port, NEIGHBOUR))
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
            wait_for(lambda: is_closed(direct[0]))
            assert not any(map(is_closed, proxied + direct[1:])), (
                "it carries many people, and loses its own last"
            )


def test_without_limits_there_are_no_caps(tmp_path: Path) -> None:
    with (
        running(small(patch=CAPS, limits=False), tmp_path) as (_, port),
        crowd(port, 30, HOST) as lines,
    ):
        assert all(ask(line).startswith(b"HTTP/1.1 200 ") for line in lines)


def test_a_school_behind_one_address_is_admitted() -> None:
    assert connections.MAX_PER_ADDRESS >= 1500
    assert streams.MAX_STREAMS_PER_CLIENT >= 400
    clock = [0.0]
    buckets = rate_limit.RateLimiter(clock=lambda: clock[0])
    for _ in range(500):  # rooms, in one lesson
        clock[0] += 2700 / 500
        assert buckets.take("192.0.2.1", rate_limit.CREATE_LIMIT) == 0


# Many, counted without a network --------------------------------------------------------------------------------------


class Line(asyncio.Transport):
    """A connection that goes nowhere: it notes what was written and whether it is closed."""

    def __init__(self, host: str = "192.0.2.1") -> None:
        super().__init__({"peername": (host, 1)})
        self.sent = b""
        self.unread = 0
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.sent += data

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def read_and_answer(_scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body"})


class Checked:
    """A server without a network, whose clock the test sets."""

    def __init__(self, app: Any = read_and_answer, **caps: Any) -> None:
        self.now = 0.0
        self.registry = connections.ConnectionRegistry(**caps, clock=lambda: self.now)
        self._config = uvicorn.Config(app, log_config=None, ws="none", timeout_keep_alive=1000)
        self._config.load()

    def open(self, line: Line, *sent: bytes) -> HttpConnection:
        made = HttpConnection(
            self._config, ServerState(), {}, asyncio.get_running_loop(), registry=self.registry
        )
        made.connection_made(line)
        for data in sent:
            made.data_received(data)
        return made

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.registry.check()


def test_ipv6_addresses_are_counted_by_network() -> None:
    async def play() -> None:
        server = Checked(total=100, per_address=3)
        lines = [Line(f"2001:db8::{number:x}") for number in range(1, 6)]
        other = Line("2001:db8:0:1::1")
        for line in [*lines, other]:
            server.open(line)
        assert [line.closed for line in lines] == [True, True, False, False, False]
        assert not other.closed
        assert len(server.registry) == 4

    asyncio.run(play())


def test_of_many_addresses_the_one_with_the_most_gives_way() -> None:
    """Every connection that is made and lost is counted right, whatever the order."""

    async def play() -> None:
        server = Checked(total=60, per_address=20)
        held: dict[str, list[tuple[HttpConnection, Line]]] = {}
        for number in range(600):
            host = f"192.0.2.{1 + (number * number) % 7}"
            line = Line(host)
            held.setdefault(host, []).append((server.open(line), line))
            for host_, opened in held.items():
                for made, each in [pair for pair in opened if pair[1].closed]:
                    made.connection_lost(None)
                    opened.remove((made, each))
                assert len(opened) <= 20, host_
            if number % 5 == 0:
                made, _ = held[host].pop(0)
                made.connection_lost(None)
            assert len(server.registry) == sum(map(len, held.values())) <= 60
        for opened in held.values():
            for made, _ in opened:
                made.connection_lost(None)
        assert len(server.registry) == 0
        assert not server.registry._addresses  # noqa: SLF001 - that it does not grow is not to be seen elsewhere
        assert not server.registry._ranks  # noqa: SLF001 - likewise
        assert not server.registry._open  # noqa: SLF001 - likewise

    asyncio.run(play())


def test_no_more_refused_connections_stay_open_than_can_be_afforded() -> None:
    async def play() -> None:
        server = Checked(total=1)
        busy = server.open(Line(), b"GET / HTTP/1.1\r\n\r\n")
        assert busy.is_busy
        refused = [Line() for _ in range(300)]
        for line in refused:
            server.open(line)
        told = [line for line in refused if line.sent.startswith(b"HTTP/1.1 503 ")]
        assert 0 < len(told) <= 101
        assert all(line.closed for line in refused if line not in told)
        server.passes(CLOSE_TIME)
        assert all(line.closed for line in refused)

    asyncio.run(play())


# How slow -------------------------------------------------------------------------------------------------------------

HEAD = b"POST / HTTP/1.1\r\ncontent-length: 100000\r\n"


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n\r\nGET", b"GET / HTTP/1.1\r\n\r\n|\r\n"],
)
def test_a_head_that_does_not_arrive_is_not_waited_for(sent: bytes) -> None:
    async def play() -> None:
        server, line = Checked(), Line()
        made = server.open(line)
        for data in sent.split(b"|"):
            if data:
                made.data_received(data)
                await settle()
        server.passes(HEAD_TIME - 1)
        assert not line.closed
        server.passes(1)
        assert line.closed

    asyncio.run(play())


@pytest.mark.parametrize("rate", [0, BODY_RATE // 2, BODY_RATE - 50])
def test_a_body_slower_than_it_may_be_is_cut_off(rate: int) -> None:
    async def play() -> int:
        server, line = Checked(), Line()
        made = server.open(line, HEAD, b"\r\n")
        seconds = 0
        while not line.closed:
            seconds += 1
            if rate:
                made.data_received(b"x" * rate)
                await settle()
            server.passes(1)
        return seconds

    assert BODY_GRACE < asyncio.run(play()) <= BODY_TIME


def test_a_body_that_is_quick_enough_is_read_but_not_for_ever() -> None:
    async def play() -> None:
        server, line = Checked(), Line()
        made = server.open(line, HEAD, b"\r\n")
        for _ in range(int(BODY_TIME) - 1):
            made.data_received(b"x" * BODY_RATE)
            await settle()
            server.passes(1)
            assert not line.closed
        server.passes(1)
        assert line.closed

    asyncio.run(play())


def test_a_body_that_nobody_reads_any_more_has_a_deadline_as_well() -> None:
    """An app that answers before it has read the body, and a client that goes on sending it."""

    async def refuse(_scope: Any, _receive: Any, send: Any) -> None:
        await send(
            {"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]}
        )
        await send({"type": "http.response.body"})

    async def play(rate: int) -> int:
        server, line = Checked(refuse), Line()
        made = server.open(line, b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
        await settle()
        assert line.sent.startswith(b"HTTP/1.1 403 ")
        seconds = 0
        while not line.closed:
            made.data_received(b"%x\r\n%s\r\n" % (rate, b"x" * rate))
            seconds += 1
            server.passes(1)
        return seconds

    assert asyncio.run(play(1)) <= BODY_GRACE + 1
    assert asyncio.run(play(BODY_RATE)) == BODY_TIME
    assert asyncio.run(play(50_000)) == 3, "nor is more than the bound read"


def test_a_client_that_was_not_told_to_go_on_is_not_blamed() -> None:
    begun = asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await begun.wait()
        await read_and_answer(scope, receive, send)

    async def play() -> None:
        server, line = Checked(late), Line()
        made = server.open(line, HEAD, b"Expect: 100-continue\r\n\r\n")
        await settle()
        server.passes(2 * BODY_TIME)
        assert not line.closed
        begun.set()
        await settle()
        assert line.sent.startswith(b"HTTP/1.1 100 ")
        made.data_received(b"x" * 100_000)
        await settle()
        assert b"HTTP/1.1 200 " in line.sent
        server.passes(HEAD_TIME)
        assert not line.closed

    asyncio.run(play())


def test_an_answer_that_is_not_read_is_dropped_and_one_that_is_read_slowly_is_not() -> None:
    async def play() -> None:
        server, slow, stalled = Checked(), Line(), Line()
        slow.unread = stalled.unread = 1_000_000
        writing = server.open(slow, b"GET / HTTP/1.1\r\n\r\n")
        server.open(stalled, b"GET / HTTP/1.1\r\n\r\n")
        server.passes(1)
        for second in range(int(READ_TIME) - 1):
            slow.unread -= 1
            stalled.unread += second % 2  # the app writes more
            server.passes(1)
        assert (stalled.closed, slow.closed) == (False, False)
        server.passes(1)
        assert (stalled.closed, slow.closed) == (True, False)
        for _ in range(3):
            server.passes(READ_TIME - 2)
            writing.resume_writing()  # the client has read it, and the app has written as much again
            assert not slow.closed

    asyncio.run(play())


def test_slow_clients_are_not_waited_for(tmp_path: Path) -> None:
    quick = {
        "connections.SWEEP_INTERVAL": 0.05,
        "connections.BODY_GRACE": 0.2,
        "connections.READ_TIME": 0.2,
    }
    with running(small(patch=quick), tmp_path) as (_, port):
        assert said_raw(port, post("/sent", b"x" * 10, 1000)) == b""
        assert (
            said_raw(port, post("/json", b'{"a":', 1000, "Content-Type: application/json")) == b""
        )
        assert said_raw(port, post("/sent", b"x" * 1000, None, "Connection: close")).endswith(
            b"1000"
        )
        for path in ("/big?size=20000", "/g/abc/events?size=100"):
            with closing(connect(port, HOST, get(path), buffer=4096)) as stalled:
                assert wait_until_reset(stalled)
        assert asked(port, "/who")[0] == 200
    assert not [line for line in read_log(tmp_path) if line["level"] != "info"]


# Several requests at once ---------------------------------------------------------------------------------------------


def test_only_so_many_requests_wait_on_one_connection() -> None:
    begun: list[str] = []

    async def hang(scope: Any, _receive: Any, _send: Any) -> None:
        begun.append(scope["path"])
        await asyncio.Event().wait()

    async def play() -> None:
        server, line = Checked(hang), Line()
        made = server.open(line, b"GET / HTTP/1.1\r\n\r\n" * (MAX_PIPELINED + 1))
        await settle()
        assert not line.closed
        assert made.is_busy
        flood = Line()
        made = server.open(flood, b"GET / HTTP/1.1\r\n\r\n" * 10_000)
        assert flood.closed
        assert flood.sent.startswith(b"HTTP/1.1 400 ")
        assert len(made.pipeline) <= MAX_PIPELINED
        await settle()
        assert begun == ["/", "/"], "one after the other"

    asyncio.run(play())


def test_a_stream_ends_with_its_connection_though_another_request_waits(port: int) -> None:
    with closing(connect(port, NEIGHBOUR, get("/g/abc/events"), get("/who"))) as line:
        read_until(line, b"data: first")
        assert asked(port, "/streams")[1] == 1
    wait_for(lambda: asked(port, "/streams")[1] == 0)


# Clients that leave ---------------------------------------------------------------------------------------------------


def test_a_client_that_leaves_in_the_middle_of_its_request_is_one_line_in_the_log(
    tmp_path: Path,
) -> None:
    """At the real server, with all that its app does with a body."""
    form, data = "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json"
    with serving(tmp_path / "games.db") as [server]:
        left = [
            ("/new", form, b"game=dra"),
            ("/api/games", data, b'{"game":'),
            ("/api/analyse", data, b'{"game":'),
        ]
        left.append(
            (
                "/new",
                "Content-Type: multipart/form-data; boundary=b",
                b"--b\r\nContent-Disposition: ",
            )
        )
        for path, kind, begun in left:
            connect(server.port, HOST, post(path, begun, 1000, kind)).close()
        wait_for(lambda: server.said().count('"event": "request"') >= len(left))
        said = server.said()
    lines = [
        line for line in said.splitlines() if line.startswith("{") and "the event loop" not in line
    ]
    assert [line for line in lines if '"level": "info"' not in line] == []
    assert [
        line for line in lines if '"event": "request"' in line and '"status": 499' not in line
    ] == []
    assert "Traceback" not in said


def test_a_client_that_leaves_while_the_answer_is_written_is_one_line_in_the_log(
    tmp_path: Path,
) -> None:
    with running(small(), tmp_path) as (_, port):
        for path in ("/big?size=20000", "/g/abc/events?size=100", "/slow?seconds=0.1"):
            with closing(connect(port, HOST, get(path), buffer=4096)) as line:
                if "slow" not in path:
                    line.recv(100)
        wait_for(lambda: len(read_log(tmp_path)) >= 4)
    assert {(line["event"], line["level"]) for line in read_log(tmp_path)} == {
        ("started", "info"),
        ("request", "info"),
    }
