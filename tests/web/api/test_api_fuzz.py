"""Every answer of the API is as its description says, for right and wrong requests.

schemathesis makes requests from its description; they are answered in this process.

`NUMBER_TOWER_THOROUGH=1` tries more of everything, with new data every time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
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
        "phases": {
            "coverage": {"enabled": THOROUGH}
        },  # more than a thousand requests, made while tests are collected
        "checks": {
            # A request can be well-formed and make no game: rules that cannot be, or a record with
            # a false move.
            "positive_data_acceptance": {"enabled": False},
        },
    }
)


class Rooms:
    """Games to send requests to, a new one after a few requests."""

    def __init__(self, client: asgi.ASGIClient) -> None:
        self._client = client
        self._turn = count()
        self._made: dict[str, Any] = {}

    def get_room(self) -> tuple[str, str]:
        """Return the address of a game, and the token of its first player."""
        turn = next(self._turn)
        if turn % 4 == 0:
            made = self._client.post("/api/games", json=GAMES[turn // 4 % len(GAMES)])
            assert made.status_code == 201, made.text
            self._made = made.json()
        return self._made["address"], self._made["token"]


FOLDER = Path(gettempdir()) / f"number-tower-fuzz-{os.getpid()}"
APP: Any = make_app(make_settings(FOLDER), workers=InstantWorkers())
"""Put together to be described; it opens its database with the first request."""

schema = schemathesis.openapi.from_dict(APP.openapi(), config=CONFIG)
schema.app = APP


@pytest.fixture(scope="module")
def rooms() -> Iterator[Rooms]:
    FOLDER.mkdir()
    with asgi.get_client(APP) as client:
        yield Rooms(client)
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
    case: schemathesis.Case[Any], rooms: Rooms
) -> None:
    wrong = {""}
    if case.meta:
        parts = case.meta.components.items()
        wrong = {part.value for part, data in parts if data.mode.is_negative}
    headers = None
    if "{address}" in case.operation.path and not wrong & {"path", "header"}:
        address, token = rooms.get_room()
        case.path_parameters = {"address": address}
        headers = make_auth_header(token)
    is_puzzle = "puzzles" in case.operation.path and not wrong
    for fields in (case.query, case.body):
        if is_puzzle and isinstance(fields, dict) and "seed" in fields:
            fields.pop("day", None)
            fields.update(PUZZLE)
    case.call_and_validate(headers=headers, timeout=SLOW)
