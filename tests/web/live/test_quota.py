"""Limits on the rooms that an address opens in a day, and on the size of the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from starlette.testclient import TestClient

from number_tower.web.live.quota import DAY, MAX_ROOMS_PER_DAY, MEASURE_INTERVAL, StorageQuota
from support import apps
from support.clocks import Clock
from support.cookies import Browser

pytest_plugins = ["anyio.pytest_plugin"]

NEW_ROOMS: list[tuple[str, dict[str, Any]]] = [
    ("/new", {"data": {"game": "draft", "opponent": "link"}}),
    ("/class/new", {"data": {"games": "draft"}}),
    ("/analysis/play", {"data": {"game": "draft:9,8", "level": "easy"}}),
    ("/api/games", {"json": {"game": "draft", "opponent": "table"}}),
]
"""Every way to a new room."""


async def test_address_opens_a_thousand_rooms_a_day() -> None:
    clock = Clock()
    quota = StorageQuota(lambda: 0, clock=clock)
    await quota.admit("here", MAX_ROOMS_PER_DAY)
    with pytest.raises(HTTPException, match="at most 1,000 new games a day") as refused:
        await quota.admit("here")
    assert refused.value.headers == {"Retry-After": "87"}
    await quota.admit("elsewhere")
    clock.now += DAY
    await quota.admit("here", MAX_ROOMS_PER_DAY)


async def test_database_is_full_from_its_maximum_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    sizes = [500, 900, 999, 1000, 950, 899]
    quota = StorageQuota(lambda: sizes.pop(0), 1000, None, clock)
    is_full = []
    while sizes:
        try:
            await quota.admit("here")
            await quota.admit("here")  # the size is not measured again
            is_full.append(False)
        except HTTPException as error:
            is_full.append(error.status_code == 507)
        clock.now += MEASURE_INTERVAL
    assert is_full == [False, False, False, True, False, False]
    assert [record.message for record in caplog.records if "the database" in record.message] == [
        "the database is nearly full: 900 B of 1000 B used",
        "the database is full: 1000 B of 1000 B used",
        "the database is nearly full: 950 B of 1000 B used",
        "the database has space again: 899 B of 1000 B used",
    ]


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    """A visitor of a server of its own, whose quota a test replaces."""
    with apps.open_app(tmp_path) as client:
        yield client


def check_refusals(visitor: TestClient, status: int, wait: str, words: str) -> None:
    """Check that no way leads to a new room."""
    for path, sent in NEW_ROOMS:
        refused = visitor.post(path, **sent)
        assert refused.status_code == status, path
        assert refused.headers["retry-after"] == wait
        assert words in refused.text


def test_full_database_refuses_new_rooms_and_stores_moves(visitor: TestClient) -> None:
    player, _ = apps.start_game(visitor)
    apps.replace_parts(visitor, quota=StorageQuota(lambda: 1, 1))
    check_refusals(visitor, 507, "3600", "This server has no space for new games right now.")
    assert player.place(9, 8).json()["moves"] == [9, 8]


def test_quota_of_an_address_holds_on_every_way_to_a_new_room(visitor: TestClient) -> None:
    apps.replace_parts(visitor, quota=StorageQuota(lambda: 0, None, len(NEW_ROOMS)))
    for path, sent in NEW_ROOMS:
        assert visitor.post(path, **sent).status_code in {201, 303}, path
    check_refusals(visitor, 429, "21600", "One address can start at most 4 new games a day.")


def test_round_of_a_class_counts_its_games(visitor: TestClient) -> None:
    teacher, *pupils = (Browser(visitor.app, portal=visitor.portal) for _ in range(5))
    page = teacher.ask("POST", "/class/new", data={"games": "draft"}).headers["location"]
    for number, pupil in enumerate(pupils):
        pupil.ask("POST", f"{page}/join", data={"name": f"Pupil {number}"})
    for max_rooms, status in ((1, 429), (2, 303)):
        apps.replace_parts(visitor, quota=StorageQuota(lambda: 0, None, max_rooms))
        assert teacher.ask("POST", f"{page}/start", data={"round": "1"}).status_code == status
