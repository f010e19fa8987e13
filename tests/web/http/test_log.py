"""The log tells an operator enough to find a fault, and nothing that opens a seat."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from number_tower.web.log import configure_logging, mask_path, shorten_address

HELD = "WS-7kLwxGU5g4XbehRPTrGc-mG7pSmLiTDhyOkRcH-I"


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before
    logging.captureWarnings(capture=False)


def log_request(path: str, status: int = 200) -> None:
    """Log a request as uvicorn does."""
    access = logging.getLogger("uvicorn.access")
    access.info('%s - "%s %s HTTP/%s" %d', "203.0.113.7:5000", "GET", path, "1.1", status)


def test_a_request_is_one_line_without_what_opens_a_seat(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging()
    log_request(f"/g/room-of-ann/take/{HELD}?secret=yes")
    said = capsys.readouterr().err
    assert said.endswith('INFO 203.0.113.0/24 - "GET /g/.../take/... HTTP/1.1" 200\n')


@pytest.mark.parametrize(
    ("path", "masked"),
    [
        ("/", "/"),
        ("/new", "/new"),
        ("/api/games/aBc-9/actions", "/api/games/.../actions"),
        ("/w/abc/events", "/w/.../events"),
        ("/class/cdfgh/join", "/class/.../join"),
        ("/class/CDFGH/teach/abc", "/class/.../teach/..."),
        ("/wall/wabc/board/3/events", "/wall/.../board/.../events"),
        (f"/{HELD}", "/..."),
        ("//ABC//", "//...//"),
    ],
)
def test_addresses_and_codes_are_masked(path: str, masked: str) -> None:
    assert mask_path(path) == masked


def test_static_files_and_health_are_logged_only_when_they_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging()
    log_request("/static/tower.css")
    log_request("/health")
    assert capsys.readouterr().err == ""
    log_request("/static/nothing.css", 404)
    assert "404" in capsys.readouterr().err


def test_a_traceback_has_no_token_and_nothing_that_was_written_to_a_database(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(quiet=True)
    log_request("/")
    error = LookupError(f"no seat for {HELD}\n[SQL: SELECT 1]\n[parameters: ('Ann', 'x')]")
    logging.getLogger("uvicorn.error").error("failed", exc_info=error)
    said = capsys.readouterr().err
    assert "no seat for [...]\n[SQL: SELECT 1]\n[parameters: ...]" in said
    assert "GET" not in said, "quiet logs problems only"


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("testclient", "unknown"),
    ],
)
def test_only_the_network_of_an_address_is_logged(host: str, network: str) -> None:
    assert shorten_address(host) == network
