"""How many rooms an address may open a day, and what happens when the database is full."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from starlette.testclient import TestClient

from number_tower.terminal.cli.main import main
from number_tower.web.app import make_app
from number_tower.web.live.quota import DAY, MAX_ROOMS_PER_DAY, MEASURE_INTERVAL, StorageQuota
from number_tower.web.settings import (
    DEFAULT_MAX_DB,
    SettingError,
    Settings,
    format_size,
    parse_days,
    parse_size,
)
from support import apps
from support.clocks import Clock
from support.cookies import Browser

NEW = [
    ("/new", {"data": {"game": "draft", "opponent": "link"}}),
    ("/class/new", {"data": {"games": "draft"}}),
    ("/analysis/play", {"data": {"game": "draft:9,8", "level": "easy"}}),
    ("/api/games", {"json": {"game": "draft", "opponent": "table"}}),
]
"""Every way to a new room."""


def test_an_address_opens_a_thousand_rooms_a_day() -> None:
    clock = Clock()

    async def play() -> None:
        quota = StorageQuota(lambda: 0, clock=clock)
        await quota.admit("here", MAX_ROOMS_PER_DAY)
        with pytest.raises(HTTPException, match="at most 1,000 new games a day") as refused:
            await quota.admit("here")
        assert refused.value.headers == {"Retry-After": "87"}
        await quota.admit("elsewhere")
        clock.now += DAY
        await quota.admit("here", MAX_ROOMS_PER_DAY)

    asyncio.run(play())


def test_a_database_is_full_from_its_size_on_and_that_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    sizes = [500, 900, 999, 1000, 950, 899]

    async def admit_all() -> list[bool]:
        quota = StorageQuota(lambda: sizes.pop(0), 1000, None, clock)
        full = []
        while sizes:
            try:
                await quota.admit("here")
                await quota.admit("here")  # the size is not measured again
                full.append(False)
            except HTTPException as error:
                full.append(error.status_code == 507)
            clock.now += MEASURE_INTERVAL
        return full

    caplog.set_level(logging.INFO)
    assert asyncio.run(admit_all()) == [False, False, False, True, False, False]
    assert [each.message for each in caplog.records if "the database" in each.message] == [
        "the database is nearly full: 900 B of 1000 B used",
        "the database is full: 1000 B of 1000 B used",
        "the database is nearly full: 950 B of 1000 B used",
        "the database has space again: 899 B of 1000 B used",
    ]


def open_app(folder: Path, **settings: Any) -> TestClient:
    app = make_app(replace(apps.make_settings(folder), **settings))
    return TestClient(app, follow_redirects=False)


def test_a_full_database_takes_no_new_rooms_and_games_that_have_begun_go_on(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        player, _ = apps.start_game(client)
    with open_app(tmp_path, max_db=1) as client:
        for path, sent in NEW:
            refused = client.post(path, **sent)  # type: ignore[arg-type]  # the arguments of `post`
            assert refused.status_code == 507, path
            assert refused.headers["retry-after"] == "3600"
            assert "This server has no space for new games right now." in refused.text
        player.client = client
        assert player.place(9, 8).json()["moves"] == [9, 8]


def test_the_quota_of_an_address_holds_on_every_way_to_a_new_room(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        apps.replace_parts(client, quota=StorageQuota(lambda: 0, None, len(NEW)))
        for path, sent in NEW:
            answer = client.post(path, **sent)  # type: ignore[arg-type]
            assert answer.status_code in {201, 303}, path
        for path, sent in NEW:
            refused = client.post(path, **sent)  # type: ignore[arg-type]  # as above
            assert refused.status_code == 429, path
            assert "One address can start at most 4 new games a day." in refused.text


def test_a_round_of_a_class_counts_its_games(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        teacher, *pupils = (Browser(client.app) for _ in range(5))
        page = teacher.ask("POST", "/class/new", data={"games": "draft"}).headers["location"]
        for number, pupil in enumerate(pupils):
            pupil.ask("POST", f"{page}/join", data={"name": f"Pupil {number}"})
        start: dict[str, Any] = {"data": {"round": "1"}}
        apps.replace_parts(client, quota=StorageQuota(lambda: 0, None, 1))
        assert teacher.ask("POST", f"{page}/start", **start).status_code == 429
        apps.replace_parts(client, quota=StorageQuota(lambda: 0, None, 2))
        assert teacher.ask("POST", f"{page}/start", **start).status_code == 303


# Settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("500M", 500 * 1024**2), ("2G", 2 * 1024**3), ("1.5g", 3 * 1024**3 // 2),
        ("4 GiB", DEFAULT_MAX_DB),
        ("10MB", 10 * 1024**2), ("2048K", 2 * 1024**2), ("1T", 1024**4), ("none", None),
        ("None", None),
    ],
)  # fmt: skip
def test_a_size_is_read(given: str, size: int | None) -> None:
    assert parse_size(given) == size


@pytest.mark.parametrize(
    "given",
    ["", "0", "0M", "-1G", "500", "1K", "G", "4X", "4G4", "1e9G", "nan G", "9" * 99 + "G", "４G"],
)
def test_what_is_no_size_is_refused(given: str) -> None:
    with pytest.raises(
        SettingError, match=r"expected a size of 1M or more, such as 500M or 4G, or none; got "
    ):
        parse_size(given)


def test_days_are_read() -> None:
    assert [parse_days(given) for given in ("1", "90", "36500")] == [1, 90, 36_500]
    for given in ("0", "-1", "1.5", "", "ten", "36501", "9" * 50):
        with pytest.raises(
            SettingError, match=r"expected a number of days from 1 to 36,500, such as 90; got "
        ):
            parse_days(given)


@pytest.mark.parametrize(
    ("option", "given", "told"),
    [
        ("--max-db", "500", "expected a size of 1M or more"),
        ("--keep-days", "0", "expected a number of days from 1"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(
    option: str, given: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--db", "games.db", option, given]) == 2
    assert f"{option}: {told}" in capsys.readouterr().err


def test_the_options_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Settings] = []

    def serve(settings: Settings, _: object) -> int:
        served.append(settings)
        return 0

    monkeypatch.setattr("number_tower.web.server.run", serve)
    assert main(["serve", "--db", "games.db"]) == 0
    assert main(["serve", "--db", "games.db", "--keep-days", "90", "--max-db", "2G"]) == 0
    assert main(["serve", "--db", "games.db", "--max-db", "none"]) == 0
    assert [(each.keep_days, each.max_db) for each in served] == [
        (None, DEFAULT_MAX_DB),
        (90, 2 * 1024**3),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 KiB"),
        (DEFAULT_MAX_DB, "4 GiB"),
        (5000 * 1024**4, "5000 TiB"),
    ],
)
def test_a_size_is_written(size: int, text: str) -> None:
    assert format_size(size) == text
