"""Limits on requests from other sites, bodies and streams, and the headers of every answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.testclient import TestClient
from starlette.types import Message

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web.http import streams as streams_module
from number_tower.web.http.streams import EventStream, StreamRegistry
from number_tower.web.settings import Settings
from support.clocks import SLOW, wait_until_true

LOCATION = Location(None, "/nowhere/games.db", "/nowhere/games.db")
ORIGIN = "http://testserver"
EVIL = "https://evil.example"


def make_guarded_app(**settings: Any) -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def home() -> HTMLResponse:
        return HTMLResponse("<h1>home</h1>")

    @app.get("/cached")
    async def cached() -> Response:
        return PlainTextResponse("cached", headers={"Cache-Control": "max-age=60"})

    @app.post("/g/{address}/move")
    async def move(address: str, request: Request) -> dict[str, int]:
        return {address: len(await request.body())}

    @app.post("/api/games")
    async def create(request: Request) -> Any:
        return await request.json()

    app_module.install_error_handlers(app)
    app_module.install_middleware(
        app, Settings(LOCATION, **{"host_names": ("testserver", "tower.example"), **settings})
    )
    return app


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(make_guarded_app()) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "caching"), [("/", "no-store"), ("/nothing", "no-store"), ("/cached", "max-age=60")]
)
def test_every_answer_limits_its_page_and_is_cached_only_if_it_says_so(
    client: TestClient, path: str, caching: str
) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert policy.endswith("base-uri 'none'; frame-ancestors 'none'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers.get_list("cache-control") == [caching]


# Other sites --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": ORIGIN},
        {"Origin": f"{ORIGIN}:80"},
        {"Origin": "HTTP://TestServer"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://named.otherwise.by.a.proxy"},
        {"Host": "tower.example:8000", "Origin": "https://tower.example:8000"},
        {"Host": "[::1]:8000", "Origin": "http://[::1]:8000"},
    ],
)
def test_requests_of_our_own_pages_and_of_programs_are_accepted(
    client: TestClient, headers: dict[str, str]
) -> None:
    assert client.post("/g/abc/move", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN},
        {"Sec-Fetch-Site": "nonsense"},
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": f"{ORIGIN}.evil.example"},
        {"Origin": f"{ORIGIN}:8000"},
        {"Origin": f"http://user@{ORIGIN.removeprefix('http://')}"},
        {"Origin": f"{ORIGIN}/"},
        {"Origin": "file://testserver"},
    ],
)
def test_changes_that_another_site_asks_for_are_refused(
    client: TestClient, headers: dict[str, str]
) -> None:
    refused = client.post("/g/abc/move", headers=headers)
    assert refused.status_code == 403
    assert "another site" in refused.text
    assert client.get("/", headers=headers).status_code == 200, "looking is free"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "BREW"])
def test_other_methods_of_another_site_are_refused(client: TestClient, method: str) -> None:
    refused = client.request(method, "/g/abc/move", headers={"Origin": EVIL})
    assert refused.status_code == 403


def test_the_public_url_is_our_own_even_if_a_proxy_renames_the_host() -> None:
    statuses = {
        "https://tower.example": 200,
        "https://tower.example:443": 200,
        "http://tower.example": 403,
        "https://towers.example": 403,
    }
    with TestClient(make_guarded_app(public_url="https://tower.example")) as client:
        for origin, status in statuses.items():
            answer = client.post("/g/abc/move", headers={"Origin": origin})
            assert answer.status_code == status, origin


# Bodies -------------------------------------------------------------------------------------------

MAX_BODY = 128 * 1024


def cut_into_pieces(size: int) -> Iterator[bytes]:
    """Yield a body whose length is not announced."""
    for start in range(0, size, 10_000):
        yield b"x" * min(10_000, size - start)


def test_a_body_within_the_limit_is_read(client: TestClient) -> None:
    assert client.post("/g/abc/move", content=b"x" * MAX_BODY).json() == {"abc": MAX_BODY}
    assert client.post("/g/abc/move", content=cut_into_pieces(MAX_BODY)).json() == {"abc": MAX_BODY}


@pytest.mark.parametrize("path", ["/g/abc/move", "/api/games"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_larger_body_is_refused_with_the_limit(
    client: TestClient, path: str, *, chunked: bool
) -> None:
    refused = client.post(
        path, content=cut_into_pieces(MAX_BODY + 1) if chunked else b"x" * (MAX_BODY + 1)
    )
    assert refused.status_code == 413
    assert "at most 128 KiB" in refused.text
    assert refused.headers["connection"] == "close"
    assert "content-security-policy" in refused.headers


# Streams ------------------------------------------------------------------------------------------


async def send_one_event() -> AsyncIterator[bytes]:
    yield b"data: first\n\n"
    await asyncio.Event().wait()


class OpenStream:
    """A stream that is open as at a server, and the messages that it has sent."""

    def __init__(self, streams: StreamRegistry, host: str) -> None:
        self.sent: list[Message] = []
        scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "method": "GET",
                 "path": "/g/abc/events", "headers": [], "query_string": b"",
                 "client": (host, 1)}  # fmt: skip
        stream = EventStream(send_one_event(), streams)
        self.task = asyncio.ensure_future(stream(scope, self._receive, self._send))

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])


async def open_stream(streams: StreamRegistry, host: str = "203.0.113.1") -> OpenStream:
    stream = OpenStream(streams, host)
    while len(stream.sent) < 2 and not stream.task.done():
        await asyncio.sleep(0)
    return stream


def run_with_streams(
    test: Callable[[StreamRegistry], Awaitable[None]], *, limited: bool = True
) -> None:
    """Run a test, then end all streams."""

    async def run() -> None:
        streams = StreamRegistry(limited=limited)
        await test(streams)
        streams.end()
        await wait_until_true(lambda: not len(streams))

    asyncio.run(run())


def test_streams_end_properly_when_the_server_stops() -> None:
    async def test(streams: StreamRegistry) -> None:
        opened = [await open_stream(streams) for _ in range(3)]
        assert len(streams) == 3
        streams.end()
        await asyncio.wait_for(asyncio.gather(*(stream.task for stream in opened)), SLOW)
        assert len(streams) == 0
        assert not any(stream.task.cancelling() for stream in opened), "their server goes on"
        for stream in opened:
            *messages, end = stream.sent
            bodies = [message.get("body") for message in messages]
            assert bodies == [None, b"data: first\n\n"]
            # The browser is told when to come back.
            assert re.fullmatch(rb"retry: [123]\d{3}\n\n", end["body"])
            assert not end["more_body"]
        assert (await open_stream(streams)).status == 503

    run_with_streams(test)


def test_a_stream_that_is_cancelled_from_outside_ends_as_cancelled() -> None:
    async def test(streams: StreamRegistry) -> None:
        stream = await open_stream(streams)
        stream.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stream.task
        assert (len(streams), len(stream.sent)) == (0, 2)

    run_with_streams(test)


def test_streams_are_limited_for_one_address_and_for_all_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams_module, "MAX_STREAMS", 3)
    monkeypatch.setattr(streams_module, "MAX_STREAMS_PER_ADDRESS", 2)

    async def test(streams: StreamRegistry) -> None:
        first = [await open_stream(streams, "203.0.113.1") for _ in range(3)]
        second = [await open_stream(streams, "203.0.113.2") for _ in range(2)]
        assert [stream.status for stream in first + second] == [200, 200, 503, 200, 503]
        assert (b"retry-after", b"10") in second[1].sent[0]["headers"]
        first[0].task.cancel()
        await asyncio.wait([first[0].task])
        assert (await open_stream(streams, "203.0.113.2")).status == 200

    run_with_streams(test)


def test_without_limits_any_number_of_streams_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MAX_STREAMS", 1)

    async def test(streams: StreamRegistry) -> None:
        assert [(await open_stream(streams)).status for _ in range(3)] == [200, 200, 200]

    run_with_streams(test, limited=False)
