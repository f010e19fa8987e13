"""Every answer of the API is as its description says, for right and wrong requests.

schemathesis makes requests from its description; they are answered in this process.

`NUMBER_TOWER_THOROUGH=1` tries more of everything, with new data every time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.python import asgi

from number_tower.web.app import make_app
from support.apps import make_auth_header, make_settings
from support.clocks import SLOW
from support.lobbies import InstantWorkers
from support.sizes import THOROUGH, size

GAMES: list[dict[str, Any]] = [
    {"game": "draft", "opponent": "table"},
    {"game": "draft", "opponent": "link"},
    {"game": "summit", "hidden": True, "opponent": "table", "best_of": 3},
    {"record": "draft(names=Ann,Ben):9,8", "opponent": "table"},
    {"game": "climb", "opponent": "gentle"},
]
"""Requests that are right for any game go to one of these, with its token."""

PUZZLE: dict[str, Any] = {"seed": "1", "number": 1, "grade": 1, "game": "draft"}
"""The puzzle that every valid request gets: others take longer to make."""

pytest_plugins = ["schemathesis.pytest.plugin"]

CONFIG = schemathesis.Config.from_dict(
    {
        "seed": 20270131,
        "max-stream-events": 1,
        # More than a thousand requests, made while tests are collected.
        "phases": {"coverage": {"enabled": THOROUGH}},
        # A request can be well-formed and make no game: rules that cannot be, or a record with a
        # false move.
        "checks": {"positive_data_acceptance": {"enabled": False}},
    }
)


def open_rooms(client: asgi.ASGIClient) -> Iterator[tuple[str, str]]:
    """Yield the address of a game, and its first player's token, four times for every game."""
    for game in cycle(GAMES):
        made = client.post("/api/games", json=game)
        assert made.status_code == 201, made.text
        yield from [(made.json()["address"], made.json()["token"])] * 4


FOLDER = Path(gettempdir()) / f"number-tower-fuzz-{os.getpid()}"
APP: Any = make_app(make_settings(FOLDER), workers=InstantWorkers())
"""Put together to be described; it opens its database with the first request."""

schema = schemathesis.openapi.from_dict(APP.openapi(), config=CONFIG)
schema.app = APP


@pytest.fixture(scope="module")
def rooms() -> Iterator[Iterator[tuple[str, str]]]:
    FOLDER.mkdir()
    with asgi.get_client(APP) as client:
        yield open_rooms(client)
    asgi.shutdown_lifespans()
    rmtree(FOLDER)


@schema.parametrize()
@settings(
    max_examples=size(3, 40),
    derandomize=not THOROUGH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
def test_answer_is_described_and_no_server_error(
    case: schemathesis.Case[Any], rooms: Iterator[tuple[str, str]]
) -> None:
    wrong = {""}
    if case.meta:
        parts = case.meta.components.items()
        wrong = {part.value for part, data in parts if data.mode.is_negative}
    headers = None
    if "{address}" in case.operation.path and not wrong & {"path", "header"}:
        address, token = next(rooms)
        case.path_parameters = {"address": address}
        headers = make_auth_header(token)
    is_puzzle = "puzzles" in case.operation.path and not wrong
    for fields in (case.query, case.body):
        if is_puzzle and isinstance(fields, dict) and "seed" in fields:
            fields.pop("day", None)
            fields.update(PUZZLE)
    case.call_and_validate(headers=headers, timeout=SLOW)
