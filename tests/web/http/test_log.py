"""The log has enough to find a fault, and nothing that opens a seat."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from number_tower.web.http import health, log
from number_tower.web.http.log import LogMiddleware, configure_logging, mask_path, shorten_address
from number_tower.web.http.static_files import HashedStaticFiles

HANDOVER_CODE = "WS-7kLwxGU5g4XbehRPTrGc-mG7pSmLiTDhyOkRcH-I"


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before
    logging.captureWarnings(capture=False)


def log_request(path: str, status: int = 200, **routed: object) -> None:
    """Log a request, with what its route has added to the scope."""
    scope = {"client": ("203.0.113.7", 5000), "method": "GET", "path": path, "http_version": "1.1"}
    log.log_request({**scope, **routed}, status)


def test_request_is_logged_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()
    secrets = {"address": "room-of-ann", "code": HANDOVER_CODE}
    log_request(f"/g/room-of-ann/take/{HANDOVER_CODE}", endpoint=log_request, path_params=secrets)
    logged = capsys.readouterr().err
    assert logged.endswith('INFO 203.0.113.0/24 - "GET /g/.../take/... HTTP/1.1" 200\n')


@pytest.mark.parametrize(
    ("path", "parameters", "masked"),
    [
        ("/", {}, "/"),
        ("/new", {}, "/new"),
        ("/api/games/aBc-9/actions", {"address": "aBc-9"}, "/api/games/.../actions"),
        ("/w/abc/events", {"watch": "abc"}, "/w/.../events"),
        ("/class/cdfgh/join", {"code": "cdfgh", "action": "join"}, "/class/.../join"),
        ("/class/CDFGH/teach/abc", {"code": "CDFGH", "token": "abc"}, "/class/.../teach/..."),
        ("/wall/wabc/board/3", {"code": "wabc", "number": "3"}, "/wall/.../board/..."),
        ("/class/cdfgh/teach/abc/now", None, "/class/.../.../.../..."),
        (f"/{HANDOVER_CODE}", None, "/..."),
        ("//ABC//", None, "//...//"),
    ],
)
def test_address_is_masked(path: str, parameters: dict[str, str] | None, masked: str) -> None:
    assert mask_path(path, parameters) == masked


def test_static_files_and_health_are_logged_on_failure(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()
    app = FastAPI(middleware=[Middleware(LogMiddleware)])
    app.mount("/static", HashedStaticFiles())
    app.include_router(health.router)
    client = TestClient(app)
    client.get("/static/tower.css")
    client.get("/health/live")
    assert capsys.readouterr().err == ""
    client.get("/static/nothing.css")
    client.get("/health/nothing")
    logged = re.sub(r"^.* INFO ", "", capsys.readouterr().err, flags=re.MULTILINE)
    assert logged == (
        'unknown - "GET /static/nothing.css HTTP/1.1" 404\n'
        'unknown - "GET /health/... HTTP/1.1" 404\n'
    )


def test_logged_error_has_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(quiet=True)
    log_request("/")
    error = LookupError(f"no seat for {HANDOVER_CODE}\n[SQL: SELECT 1]\n[parameters: ('Ann', 'x')]")
    logging.getLogger("uvicorn.error").error("failed", exc_info=error)
    logged = capsys.readouterr().err
    assert "no seat for [...]\n[SQL: SELECT 1]\n[parameters: ...]" in logged
    assert "GET" not in logged, "quiet logs problems only"


def test_only_the_network_of_an_address_is_logged() -> None:
    hosts = "203.0.113.77", "2001:db8:1:2:3::4", "::ffff:203.0.113.77", "testclient"
    networks = ["203.0.113.0/24", "2001:db8:1::/48", "203.0.113.0/24", "unknown"]
    assert [*map(shorten_address, hosts)] == networks
