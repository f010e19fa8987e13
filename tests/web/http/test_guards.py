"""Limits on requests from other sites, bodies and streams, and the headers of every answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.testclient import TestClient
from starlette.types import Message
from syrupy.assertion import SnapshotAssertion

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web.http import streams as streams_module
from number_tower.web.http.middleware.security_headers import SECURITY_HEADERS
from number_tower.web.http.streams import EventStream, StreamRegistry
from number_tower.web.settings import Settings
from support.clocks import SLOW, wait_until_true

pytest_plugins = ["anyio.pytest_plugin"]

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


def test_every_answer_limits_its_page(client: TestClient, snapshot: SnapshotAssertion) -> None:
    headers = [client.get(path).headers for path in ("/", "/nothing", "/cached")]
    limits = [{name: header[name] for name in SECURITY_HEADERS} for header in headers]
    assert limits[0] == snapshot
    assert limits[1] == limits[0]
    assert limits[2] == limits[0] | {"cache-control": "max-age=60"}
    assert headers[2].get_list("cache-control") == ["max-age=60"]


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
def test_request_of_our_own_site_is_accepted(client: TestClient, headers: dict[str, str]) -> None:
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
def test_change_by_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "BREW"):
        refused = client.request(method, "/g/abc/move", headers=headers)
        assert refused.status_code == 403
        assert "another site" in refused.text
    assert client.get("/", headers=headers).status_code == 200, "looking is free"


def test_public_url_is_our_own_even_if_a_proxy_renames_the_host() -> None:
    own = "https://tower.example"
    origins = [own, f"{own}:443", "http://tower.example", "https://towers.example"]
    with TestClient(make_guarded_app(public_url=own)) as client:
        answers = [client.post("/g/abc/move", headers={"Origin": origin}) for origin in origins]
    assert [answer.status_code for answer in answers] == [200, 200, 403, 403]


# Bodies -------------------------------------------------------------------------------------------

MAX_BODY = 128 * 1024


def cut_into_pieces(size: int) -> Iterator[bytes]:
    """Yield a body whose length is not announced."""
    for start in range(0, size, 10_000):
        yield b"x" * min(10_000, size - start)


@pytest.mark.parametrize("write", [lambda size: b"x" * size, cut_into_pieces])
def test_body_is_read_up_to_the_limit(client: TestClient, write: Any) -> None:
    assert client.post("/g/abc/move", content=write(MAX_BODY)).json() == {"abc": MAX_BODY}
    for path in ("/g/abc/move", "/api/games"):
        refused = client.post(path, content=write(MAX_BODY + 1))
        assert refused.status_code == 413
        assert "at most 128 KiB" in refused.text
        assert refused.headers["connection"] == "close"
        assert "content-security-policy" in refused.headers


# Streams ------------------------------------------------------------------------------------------


async def open_stream(streams: StreamRegistry) -> tuple[asyncio.Task[None], list[Message]]:
    """Open a stream as a server would; return the task that serves it, and what it sends."""
    sent: list[Message] = []

    async def send_one_event() -> AsyncIterator[bytes]:
        yield b"data: first\n\n"
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "client": ("203.0.113.1", 1)}
    task = asyncio.ensure_future(EventStream(send_one_event(), streams)(scope, receive, send))
    await wait_until_true(lambda: len(sent) >= 2 or task.done())
    return task, sent


async def test_streams_end_properly_when_the_server_stops() -> None:
    streams = StreamRegistry()
    opened = [await open_stream(streams) for _ in range(3)]
    assert len(streams) == 3
    streams.end()
    await asyncio.wait_for(asyncio.gather(*(task for task, _ in opened)), SLOW)
    assert len(streams) == 0
    assert not any(task.cancelling() for task, _ in opened), "their server goes on"
    for _, (*messages, end) in opened:
        assert [message.get("body") for message in messages] == [None, b"data: first\n\n"]
        # The browser is told when to come back.
        assert re.fullmatch(rb"retry: [123]\d{3}\n\n", end["body"])
        assert not end["more_body"]
    _, late = await open_stream(streams)
    assert late[0]["status"] == 503


async def test_stream_that_is_cancelled_from_outside_ends_as_cancelled() -> None:
    streams = StreamRegistry()
    task, sent = await open_stream(streams)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (len(streams), len(sent)) == (0, 2)


@pytest.mark.parametrize("limited", [True, False])
def test_streams_have_two_limits(monkeypatch: pytest.MonkeyPatch, *, limited: bool) -> None:
    monkeypatch.setattr(streams_module, "MAX_STREAMS", 3)
    monkeypatch.setattr(streams_module, "MAX_STREAMS_PER_ADDRESS", 2)
    streams = StreamRegistry(limited=limited)
    for address, expected in (("a", 200), ("a", 200), ("a", 503), ("b", 200), ("b", 503)):
        refusal = streams.find_refusal(address)
        assert (refusal is not None) == (limited and expected == 503)
        if refusal is None:
            streams.add(Mock(), address)
        else:
            assert refusal.headers["retry-after"] == "10"
