"""How many and how large rooms an address may open a day, and what happens when the database is full."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower import Game, Table, catalogue
from number_tower.cli.main import main
from number_tower.rules import Rules
from number_tower.store import StoreError, rooms
from number_tower.store.database import Store
from number_tower.web.app import make_app
from number_tower.web.limits import DAY, RETRY_FULL, DailyQuota, Quota, QuotaError
from number_tower.web.room_cache import NewRoom
from number_tower.web.settings import (
    DEFAULT_MAX_DB,
    SettingError,
    Settings,
    format_size,
    parse_days,
    parse_size,
)
from support import apps, sizes
from support.clocks import SLOW
from support.stores import own_book, store_in

DRAFT = catalogue.load_named("draft")


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


RULES: dict[str, object] = {
    "blocks": "5-1000",
    "supply": "endless",
    "towers": "own",
    "fit": "any",
    "target": 5000,
}


def fat_book(size: int = catalogue.LARGEST_FILE) -> catalogue.Rulebook:
    """Return a rulebook whose file is as large as it may be."""
    book = own_book(DRAFT.rules)
    return catalogue.parse_rulebook(
        book.content + b"\n#" + b"x" * (size - len(book.content) - 2), "fat", "fat.toml"
    )


def wish(book: catalogue.Rulebook = DRAFT, moves: tuple[int, ...] = ()) -> NewRoom:
    return NewRoom(Table(Game(book.rules, 0, moves), book=book), "link")


def admit(quota: DailyQuota | Quota, who: str = "here", size: int = 1) -> None:
    with quota.admit(who, size):
        pass


def refusal(quota: DailyQuota | Quota, who: str = "here", size: int = 1) -> QuotaError:
    with pytest.raises(QuotaError) as refused:
        admit(quota, who, size)
    return refused.value


# By address and day ---------------------------------------------------------------------------------------------------


def test_an_address_opens_a_thousand_rooms_a_day_and_hears_when_there_can_be_more() -> None:
    clock = Clock()
    daily = DailyQuota(clock=clock)
    for _ in range(1_000):
        admit(daily)
    clock.now += 3 * 3600
    refused = refusal(daily)
    assert (refused.status, refused.reason) == (429, "quota")
    assert refused.headers == {"Retry-After": str(21 * 3600)}
    assert str(refused) == (
        "One address can start at most 1,000 new games a day. Please try again in 21 hours."
    )
    admit(daily, "elsewhere")
    clock.now += float(refused.headers["Retry-After"])
    for _ in range(1_000):
        admit(daily)
    refusal(daily)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (DAY - 1, "24 hours"), (3601, "2 hours"), (3600, "60 minutes"),
        (61, "2 minutes"), (60, "60 seconds"), (0.5, "1 second"),
    ],
)  # fmt: skip
def test_the_wait_is_told_in_words(left: float, words: str) -> None:
    clock = Clock()
    daily = DailyQuota(1, clock=clock)
    admit(daily)
    clock.now += DAY - left
    assert str(refusal(daily)).endswith(f"Please try again in {words}.")


def test_what_is_refused_or_fails_does_not_count() -> None:
    daily = DailyQuota(2, 100)
    for _ in range(5):
        with pytest.raises(StoreError), daily.admit("here", 60):
            raise StoreError("the disk is full")
    admit(daily, size=60)
    for _ in range(5):
        refusal(daily, size=60)
    admit(daily, size=40)
    refusal(daily, size=0)


def test_a_room_that_fails_after_a_day_has_passed_takes_nothing_from_the_next() -> None:
    clock = Clock()
    daily = DailyQuota(1, clock=clock)
    failing = daily.admit("here", 1)
    failing.__enter__()
    clock.now += DAY
    admit(daily)
    wrong = StoreError("the disk is full")
    assert not failing.__exit__(StoreError, wrong, None)
    refusal(daily)


def test_a_room_counts_when_its_asker_has_left() -> None:
    """It may have been opened all the same, so leaving early must not be a way around the quota."""
    daily = DailyQuota(1)
    with pytest.raises(asyncio.CancelledError), daily.admit("here", 1):
        raise asyncio.CancelledError
    refusal(daily)


def test_many_requests_at_once_do_not_exceed_the_quota() -> None:
    daily = DailyQuota(2)
    with daily.admit("here", 1), daily.admit("here", 1):
        refusal(daily)


def test_rooms_are_also_counted_by_their_bytes() -> None:
    daily = DailyQuota(size=3 * 1024**2)
    for _ in range(3):
        admit(daily, size=1024**2)
    told = str(refusal(daily, size=1))
    assert told.startswith(
        "The new games of one address can take at most 3 MiB a day. Please try again"
    )


def test_no_more_addresses_are_counted_than_there_is_room_for() -> None:
    daily = DailyQuota(1, max_clients=100)
    for number in range(1_000):
        admit(daily, str(number))
    assert len(daily._used) == 100  # noqa: SLF001 - that it does not grow is not to be seen elsewhere
    refusal(daily, "999")
    admit(daily, "0")


def test_a_school_opens_500_rooms_a_day_with_the_largest_rule_file_there_can_be() -> None:
    daily = DailyQuota()
    cost = wish(fat_book()).cost
    assert cost > catalogue.LARGEST_FILE
    for _ in range(500):
        admit(daily, size=cost)


def test_a_room_costs_what_it_takes_on_the_disk(tmp_path: Path) -> None:
    endless = catalogue.find_rulebook("rules", Rules.read(RULES))
    kinds: dict[str, Callable[[int], NewRoom]] = {
        "small": lambda _: wish(),
        "match": lambda _: wish()._replace(best_of=3),
        "rule file": lambda number: wish(fat_book(20_000 + number)),
        "record": lambda _: wish(endless, (5,) * 500),
    }
    for kind, make in kinds.items():
        store = store_in(tmp_path / f"{kind}.db")
        most = sizes.size(100, 200) if kind in {"small", "match"} else sizes.size(15, 40)
        wished = [make(number) for number in range(most)]
        before = count_bytes(store)
        with store.write() as connection:
            for each in wished:
                rooms.insert_room(connection, each.make_room(), each.table.book, each.players)
        taken = count_bytes(store) - before
        assert taken <= sum(each.cost for each in wished) <= 3 * taken, kind
        store.close()


def count_bytes(store: Store) -> int:
    with store.read() as connection:
        pages, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("page_count", "page_size")
        )
    return int(pages) * int(size)


# The size of the database ---------------------------------------------------------------------------------------------


class Sizes:
    """Sizes that a database is said to have, one after the other; None: it cannot be measured."""

    def __init__(self, *sizes: int | None) -> None:
        self._sizes = list(sizes)

    def __call__(self) -> int:
        size = self._sizes.pop(0)
        if size is None:
            raise StoreError("the database cannot be reached")
        return size


def measured(*sizes: int | None, most: int | None = 1000) -> tuple[Quota, Iterator[bool]]:
    """Return a limit, and whether it is full after each measurement."""
    limit = Quota(Sizes(*sizes), most)

    def full() -> Iterator[bool]:
        for _ in sizes:
            asyncio.run(limit.measure())
            yield limit.full

    return limit, full()


def test_a_database_is_full_from_its_size_on_until_it_has_clearly_shrunk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    _, full = measured(500, 899, 900, 950, 999, 1000, 1200, 990, 980, 979, 950, 1000, 500, 899, 900)
    assert list(full) == [False] * 5 + [True] * 4 + [False] * 2 + [True] + [False] * 3
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("WARNING", "the database is nearly full (900 B of 1000 B)"),
        (
            "ERROR",
            "the database is full (1000 B of 1000 B): new games are refused, games that have started can continue",
        ),
        ("WARNING", "the database has space again (979 B of 1000 B): new games can be started"),
        (
            "ERROR",
            "the database is full (1000 B of 1000 B): new games are refused, games that have started can continue",
        ),
        ("WARNING", "the database has space again (500 B of 1000 B): new games can be started"),
        ("WARNING", "the database is nearly full (900 B of 1000 B)"),
    ]


def test_a_database_that_cannot_be_measured_is_as_full_as_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, full = measured(1000, None, None, 500, None)
    assert list(full) == [True, True, True, False, False]
    assert sum("could not be measured" in each.message for each in caplog.records) == 2


def test_without_a_limit_nothing_is_measured() -> None:
    limit, _ = measured(most=None)
    asyncio.run(asyncio.wait_for(limit.watch(0), SLOW))
    admit(limit, size=10**15)
    assert not limit.full


def test_rooms_that_were_opened_since_the_last_measurement_count() -> None:
    quota, full = measured(900, 950)
    assert not next(full)
    admit(quota, size=99)
    with pytest.raises(StoreError), quota.admit("here", 50):
        raise StoreError("the disk is full")
    assert not quota.full
    admit(quota, size=1)
    refused = refusal(quota)
    assert (refused.status, refused.reason) == (507, "full")
    assert not next(full)
    admit(quota)


def test_a_database_is_measured_again_and_again() -> None:
    async def until_full() -> None:
        limit = Quota(Sizes(0, 0, 0, 1000, *[1000] * 10_000), 1000)
        watching = asyncio.create_task(limit.watch(0.001))
        while not limit.full:
            await asyncio.sleep(0.001)
        watching.cancel()

    asyncio.run(asyncio.wait_for(until_full(), SLOW))


# In the server --------------------------------------------------------------------------------------------------------


@contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[TestClient]:
    app = make_app(replace(apps.settings(folder), **settings))
    with TestClient(app, follow_redirects=False, headers={"Origin": "http://testserver"}) as client:
        yield client


NEW = [
    ("/new", {"data": {"game": "draft", "opponent": "link"}}),
    ("/analysis/play", {"data": {"game": "draft:9,8", "level": "easy"}}),
    ("/api/games", {"json": {"game": "draft", "opponent": {"kind": "table"}}}),
]


def test_a_full_database_takes_no_new_rooms_and_games_that_have_begun_go_on(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
        player, _ = apps.begun(client)
        assert not client.app.state.lobby.quota.full  # type: ignore[attr-defined]  # it is a Starlette app
    with opened(tmp_path, max_db=1) as client:
        assert client.app.state.lobby.quota.full  # type: ignore[attr-defined]  # likewise
        for path, sent in NEW:
            refused = client.post(path, **sent)  # type: ignore[arg-type]  # the arguments of `post`
            assert refused.status_code == 507, path
            assert refused.headers["retry-after"] == str(RETRY_FULL)
            assert (
                "This server has no space for new games right now. Games that have started can continue."
                in refused.text
            )
        problem = client.post("/api/games", json={"game": "draft"}).json()
        assert (problem["reason"], problem["title"]) == ("full", "No space for new games")
        player.client = client
        assert player.place(9, 8).json()["moves"] == [9, 8]
        assert player.post("resign").status_code == 200
        assert player.post("rematch").json()["game"] == 2
        assert client.get("/new").status_code == 200


def test_the_quota_of_a_day_holds_on_every_way_to_a_new_room(tmp_path: Path) -> None:
    with opened(tmp_path, limits=True) as client:
        state: Any = client.app.state  # type: ignore[attr-defined]  # it is a Starlette app
        state.lobby.quota = Quota(lambda: 0, None, DailyQuota(len(NEW)))
        for path, sent in NEW:
            assert client.post(path, **sent).status_code in {201, 303}, path  # type: ignore[arg-type]  # as above
        wrong = client.post("/api/games", json={"game": "nothing"})
        assert wrong.status_code == 422, "what is wrong in itself is told before any quota"
        for path, sent in NEW:
            refused = client.post(path, **sent)  # type: ignore[arg-type]  # as above
            assert refused.status_code == 429, path
            assert 0 < int(refused.headers["retry-after"]) <= DAY
            assert "One address can start at most 3 new games a day" in refused.text


def test_what_fails_in_the_server_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, limits=True) as client:
        state: Any = client.app.state  # type: ignore[attr-defined]  # it is a Starlette app
        state.lobby.quota = Quota(lambda: 0, None, DailyQuota(1))

        async def failing(*_: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(state.lobby, "_write", failing)
            for path, sent in NEW:
                assert client.post(path, **sent).status_code == 503, path  # type: ignore[arg-type]  # as above
        same = {"game": "draft", "opponent": {"kind": "table"}, "names": ["Ann", "ann"]}
        assert client.post("/api/games", json=same).status_code == 422
        assert client.post("/api/games", json={"game": "draft"}).status_code == 201
        assert client.post("/api/games", json={"game": "draft"}).status_code == 429


def test_without_limits_there_is_no_quota_by_address(tmp_path: Path) -> None:
    with opened(tmp_path, limits=False) as client:
        state: Any = client.app.state  # type: ignore[attr-defined]  # it is a Starlette app
        assert state.lobby.quota._daily is None  # noqa: SLF001 - a thousand rooms would take long


# Settings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("500M", 500 * 1024**2), ("2G", 2 * 1024**3), ("1.5g", 3 * 1024**3 // 2),
        ("4 GiB", DEFAULT_MAX_DB),
        ("10MB", 10 * 1024**2), ("2048K", 2 * 1024**2), ("1T", 1024**4), ("none", None), ("None", None),
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
