"""What a server tells whoever runs it: enough to find a fault, and nothing that opens a seat."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web.middleware import access_log
from number_tower.web.settings import Settings

PLACE = Location(None, "/nowhere/games.db", "/nowhere/games.db")
HELD = "WS-7kLwxGU5g4XbehRPTrGc-mG7pSmLiTDhyOkRcH-I"


def make() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def home() -> PlainTextResponse:
        return PlainTextResponse("hello")

    @app.get("/health")
    @app.get("/static/tower.css")
    async def small() -> PlainTextResponse:
        return PlainTextResponse("")

    @app.post("/g/{address}/take/{code}")
    async def take(address: str, code: str) -> PlainTextResponse:
        return PlainTextResponse(f"taken: {address} {code}")

    @app.get("/fail")
    @app.get("/api/fail")
    async def fail() -> None:
        raise LookupError(f"no seat for {HELD}")

    part = APIRouter()

    @part.get("/games/{address}")
    async def game(address: str) -> str:
        return address

    whole = APIRouter(prefix="/api")
    whole.include_router(part)
    app.include_router(whole)
    app_module.install_middleware(app, Settings(PLACE, host_names=("testserver",)))
    return app


class Kept:
    """A log, and a browser that makes entries in it."""

    def __init__(self, **settings: Any) -> None:
        self.stream = io.StringIO()
        access_log.configure_logging(Settings(PLACE, **settings), self.stream)
        self.client = TestClient(make(), raise_server_exceptions=True)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:], root.level, logging.raiseExceptions = before
    logging.captureWarnings(capture=False)


def test_a_request_is_one_line_of_json() -> None:
    kept = Kept(log="json")
    answer = kept.client.get("/?secret=yes")
    [line] = kept.lines
    assert line["level"] == "info"
    assert line["event"] == "request"
    assert (line["method"], line["route"], line["status"], line["bytes"]) == ("GET", "/", 200, 5)
    assert line["ms"] >= 0
    assert line["id"] == answer.headers["x-request-id"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert "secret" not in kept.text


def test_each_request_has_an_id_of_its_own() -> None:
    kept = Kept()
    assert len({kept.client.get("/").headers["x-request-id"] for _ in range(5)}) == 5


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", f"/g/room-of-ann/take/{HELD}", "/g/{address}/take/{code}"),
        ("GET", "/api/games/room-of-ann", "/api/games/{address}"),
        ("GET", f"/g/room-of-ann/nothing/{HELD}", "/g/..."),
        ("GET", f"/{HELD}", "(nothing)"),
        ("GET", "/room-of-ann", "(nothing)"),
    ],
)
def test_a_route_is_named_and_never_the_path(method: str, path: str, route: str) -> None:
    kept = Kept()
    headers = {"Cookie": f"seat-room-of-ann={HELD}", "Authorization": f"Bearer {HELD}"}
    kept.client.request(method, path, headers=headers)
    [line] = kept.lines
    assert line["route"] == route
    assert HELD not in kept.text
    assert "room-of-ann" not in kept.text


@pytest.mark.parametrize(
    ("path", "route"),
    [(f"/g/room-of-ann/take/{HELD}", "/g/..."), ("/new", "/new"), ("/", "/"), ("//", "(nothing)")],
)
def test_what_a_guard_refuses_is_told_without_its_path(path: str, route: str) -> None:
    kept = Kept()
    kept.client.post(f"http://testserver{path}", headers={"Origin": "https://evil.example"})
    [line] = kept.lines
    assert (line["status"], line["route"]) == (403, route)


def test_an_unexpected_error_is_told_with_its_traceback_and_answered_in_words() -> None:
    kept = Kept()
    answer = kept.client.get("/fail")
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "content-security-policy" in answer.headers
    assert "Traceback" not in answer.text
    assert "LookupError" not in answer.text
    error, line = kept.lines
    assert (error["level"], error["event"], error["id"]) == (
        "error",
        "a request failed",
        line["id"],
    )
    assert "LookupError: no seat for [...]" in error["traceback"]
    assert "test_access_log.py" in error["traceback"]
    assert HELD not in kept.text
    assert (line["level"], line["status"]) == ("warning", 500)


def test_a_program_is_told_of_an_unexpected_error_in_problem_details() -> None:
    answer = Kept().client.get("/api/fail")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert answer.headers["x-request-id"] in answer.json()["detail"]


def test_an_error_in_the_middle_of_an_answer_is_told_and_nothing_is_added_to_it() -> None:
    kept = Kept()
    sent: list[Message] = []

    async def broken(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise LookupError("half-way")

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [],
        "client": None,
    }
    asyncio.run(access_log.AccessLogMiddleware(broken)(scope, None, send))  # type: ignore[arg-type]  # nothing is received
    assert [message["type"] for message in sent] == ["http.response.start"]
    assert [line["event"] for line in kept.lines] == ["a request failed", "request"]
    assert kept.lines[1]["client"] == "here"


def test_what_was_written_to_a_database_is_left_out() -> None:
    text = f"Traceback\nError: no\n[SQL: SELECT 1]\n[parameters: ('{HELD}', 'Ann')]\n(Background)"
    both = f"{text}\n\nThe above exception was the direct cause of the following exception:\n\nStoreError: the disk"
    cut = access_log.remove_secrets(both)
    assert "Ann" not in cut
    assert HELD not in cut
    assert "[SQL: SELECT 1]" in cut
    assert cut.endswith("StoreError: the disk")


def test_others_errors_go_the_same_way() -> None:
    kept = Kept()
    logging.getLogger("uvicorn.error").error("the loop is %s", "broken")
    logging.getLogger("uvicorn.error").info("Started server process")
    [line] = kept.lines
    assert (line["level"], line["event"], line["by"]) == (
        "error",
        "the loop is broken",
        "uvicorn.error",
    )


def test_a_person_reads_words() -> None:
    kept = Kept(log="text")
    kept.client.post("/g/abc/take/def")
    kept.client.get("/fail")
    first, second, *trouble = kept.text.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  POST /g/\{address\}/take/\{code\}  200  [\d.]+ ms", first)
    assert "error: a request failed" in second
    assert trouble[0] == "Traceback (most recent call last):"
    assert re.search(r"warning: GET  /fail  500", trouble[-1])


def test_text_is_for_terminals_and_json_for_everything_else() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    access_log.configure_logging(Settings(PLACE), stream)
    access_log.log_event("started", port=8000)
    assert stream.getvalue().endswith("started port=8000\n")
    assert not stream.getvalue().startswith("{")
    access_log.configure_logging(Settings(PLACE), plain := io.StringIO())
    access_log.log_event("started", port=8000)
    assert json.loads(plain.getvalue())["port"] == 8000


def test_quiet_tells_only_what_goes_wrong() -> None:
    kept = Kept(quiet=True)
    kept.client.get("/")
    assert kept.text == ""
    kept.client.get("/fail")
    assert [line["level"] for line in kept.lines] == ["error", "warning"]


def test_what_says_nothing_about_games_is_told_only_when_it_fails() -> None:
    kept = Kept()
    kept.client.get("/static/tower.css")
    kept.client.get("/health")
    assert kept.text == ""
    kept.client.get("/static/nothing.css")
    assert [line["status"] for line in kept.lines] == [404]


@pytest.mark.parametrize(
    ("host", "short"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("testclient", "unknown"),
    ],
)
def test_nobody_is_found_by_the_address_that_is_kept(host: str, short: str) -> None:
    assert access_log.shorten_address(host) == short
