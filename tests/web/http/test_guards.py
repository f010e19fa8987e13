"""What no request may do, wherever it comes from, and what every answer says about itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.testclient import TestClient
from starlette.types import Message

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web.http import streams as streams_limit
from number_tower.web.http.streams import EventStream, StreamRegistry
from number_tower.web.settings import Settings
from support.clocks import SLOW

PLACE = Location(None, "/nowhere/games.db", "/nowhere/games.db")
SENT = "http://testserver"


def guarded(**settings: Any) -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def home() -> HTMLResponse:
        return HTMLResponse("<h1>home</h1>")

    @app.get("/kept")
    async def kept() -> Response:
        return PlainTextResponse("kept", headers={"Cache-Control": "max-age=60"})

    @app.get("/static/tower.css")
    async def static() -> Response:
        return PlainTextResponse("")

    @app.post("/g/{address}/move")
    async def move(address: str, request: Request) -> dict[str, int]:
        return {address: len(await request.body())}

    @app.post("/api/games")
    async def create(request: Request) -> Any:
        return await request.json()

    app_module.install_error_handlers(app)
    app_module.install_middleware(
        app, Settings(PLACE, **{"host_names": ("testserver", "tower.example"), **settings})
    )
    return app


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(guarded()) as ready:
        yield ready


@pytest.mark.parametrize("path", ["/", "/nothing", "/kept", "/static/tower.css"])
def test_every_answer_says_what_a_page_may_do(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert policy.endswith("base-uri 'none'; frame-ancestors 'none'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]


@pytest.mark.parametrize(
    ("path", "caching"),
    [
        ("/", "no-store"),
        ("/nothing", "no-store"),
        ("/kept", "max-age=60"),
        ("/static/tower.css", "no-store"),
    ],
)
def test_only_what_shows_no_seats_is_cached(client: TestClient, path: str, caching: str) -> None:
    assert client.get(path).headers.get_list("cache-control") == [caching]


# Other sites --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": SENT},
        {"Origin": f"{SENT}:80"},
        {"Origin": "HTTP://TestServer"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://named.otherwise.by.a.proxy"},
        {"Host": "tower.example:8000", "Origin": "https://tower.example:8000"},
        {"Host": "[::1]:8000", "Origin": "http://[::1]:8000"},
    ],
)
def test_our_own_pages_and_programs_may_act(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/g/abc/move", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": SENT},
        {"Sec-Fetch-Site": "nonsense"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": f"{SENT}.evil.example"},
        {"Origin": f"{SENT}:8000"},
        {"Origin": f"http://user@{SENT.removeprefix('http://')}"},
        {"Origin": f"{SENT}/"},
        {"Origin": "file://testserver"},
    ],
)
def test_another_site_may_not_act(client: TestClient, headers: dict[str, str]) -> None:
    refused = client.post("/g/abc/move", headers=headers)
    assert refused.status_code == 403
    assert "another site" in refused.text
    assert client.get("/", headers=headers).status_code == 200, "looking is free"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "BREW"])
def test_no_other_method_gets_around_it(client: TestClient, method: str) -> None:
    assert (
        client.request(
            method, "/g/abc/move", headers={"Origin": "https://evil.example"}
        ).status_code
        == 403
    )


def test_the_public_url_is_our_own_though_a_proxy_names_the_host_otherwise() -> None:
    with TestClient(guarded(public_url="https://tower.example")) as client:
        assert (
            client.post("/g/abc/move", headers={"Origin": "https://tower.example"}).status_code
            == 200
        )
        assert (
            client.post("/g/abc/move", headers={"Origin": "https://tower.example:443"}).status_code
            == 200
        )
        assert (
            client.post("/g/abc/move", headers={"Origin": "http://tower.example"}).status_code
            == 403
        )
        assert (
            client.post("/g/abc/move", headers={"Origin": "https://towers.example"}).status_code
            == 403
        )


# Bodies -------------------------------------------------------------------------------------------

MOST = 128 * 1024


def pieces(size: int) -> Iterator[bytes]:
    """Send a body without saying how long it is."""
    for start in range(0, size, 10_000):
        yield b"x" * min(10_000, size - start)


def test_a_body_up_to_the_bound_is_taken(client: TestClient) -> None:
    assert client.post("/g/abc/move", content=b"x" * MOST).json() == {"abc": MOST}
    assert client.post("/g/abc/move", content=pieces(MOST)).json() == {"abc": MOST}


@pytest.mark.parametrize("path", ["/g/abc/move", "/api/games"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_larger_body_is_refused_in_words(client: TestClient, path: str, *, chunked: bool) -> None:
    refused = client.post(path, content=pieces(MOST + 1) if chunked else b"x" * (MOST + 1))
    assert refused.status_code == 413
    assert "at most 128 KiB" in refused.text
    assert refused.headers["connection"] == "close"
    assert "content-security-policy" in refused.headers


# Streams ------------------------------------------------------------------------------------------


async def endless() -> AsyncIterator[bytes]:
    yield b"data: first\n\n"
    await asyncio.Event().wait()


async def followed(
    streams: StreamRegistry, host: str = "203.0.113.1"
) -> tuple[asyncio.Task[None], list[Message]]:
    """Open a stream as a server would; return the task that serves it and what it sent."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "method": "GET",
        "path": "/g/abc/events",
             "headers": [], "query_string": b"", "client": (host, 1)}  # fmt: skip
    task = asyncio.ensure_future(EventStream(endless(), streams)(scope, receive, send))
    while len(sent) < 2 and not task.done():
        await asyncio.sleep(0)
    return task, sent


def test_streams_end_properly_when_the_server_stops() -> None:
    async def play() -> None:
        streams = StreamRegistry()
        opened = [await followed(streams) for _ in range(3)]
        assert len(streams) == 3
        streams.end()
        await asyncio.wait_for(asyncio.gather(*(task for task, _ in opened)), SLOW)
        assert len(streams) == 0
        assert not any(task.cancelling() for task, _ in opened), "whoever serves goes on"
        for _, sent in opened:
            assert [message.get("body") for message in sent[:-1]] == [None, b"data: first\n\n"]
            assert re.fullmatch(rb"retry: [123]\d{3}\n\n", sent[-1]["body"]), (
                "it says when to come back"
            )
            assert not sent[-1]["more_body"]
        _, late = await followed(streams)
        assert late[0]["status"] == 503

    asyncio.run(play())


def test_a_stream_that_somebody_else_cancels_is_cancelled() -> None:
    async def play() -> None:
        streams = StreamRegistry()
        task, sent = await followed(streams)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(streams) == 0
        assert len(sent) == 2

    asyncio.run(play())


def test_one_address_and_all_together_have_so_many_streams_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams_limit, "MAX_STREAMS", 3)
    monkeypatch.setattr(streams_limit, "MAX_STREAMS_PER_ADDRESS", 2)

    async def play() -> None:
        streams = StreamRegistry()
        one = [await followed(streams, "203.0.113.1") for _ in range(3)]
        assert [sent[0]["status"] for _, sent in one] == [200, 200, 503]
        other = [await followed(streams, "203.0.113.2") for _ in range(2)]
        assert [sent[0]["status"] for _, sent in other] == [200, 503]
        assert (b"retry-after", b"10") in other[1][1][0]["headers"]
        one[0][0].cancel()
        await asyncio.wait([one[0][0]])
        _, sent = await followed(streams, "203.0.113.2")
        assert sent[0]["status"] == 200, "room was made"
        streams.end()
        await asyncio.sleep(0)

    asyncio.run(play())


def test_without_limits_streams_are_not_counted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_limit, "MAX_STREAMS", 1)

    async def play() -> None:
        streams = StreamRegistry(limited=False)
        opened = [await followed(streams) for _ in range(3)]
        assert [sent[0]["status"] for _, sent in opened] == [200, 200, 200]
        streams.end()
        await asyncio.gather(*(task for task, _ in opened))

    asyncio.run(play())
