"""Health is honest: a server that cannot save a game does not start, or says so until it can again."""

from __future__ import annotations

import asyncio
import logging
import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event, select
from starlette.testclient import TestClient

from number_tower import __version__
from number_tower.store import StoreError
from number_tower.store.database import Writer, probe_write
from number_tower.store.schema import rulebooks
from number_tower.web import health
from number_tower.web.app import make_app
from number_tower.web.health import Watchdog, WriteCheck, describe_publicly
from number_tower.web.settings import Settings
from support.apps import begun, opened
from support.clocks import SLOW, Clock, until
from support.command import TOWER, plain_environment, tower
from support.postgres import on_server, place_of
from support.servers import Client, Server
from support.stores import by_hand, store_in

pytest_plugins = ["support.postgres"]


class FakeScribe:
    """A writer whose writes end when the test says so."""

    def __init__(self) -> None:
        self.succeeded_at = self.failed_at = float("-inf")
        self.writes: list[Future[None]] = []

    def submit(self, _: object) -> Future[None]:
        self.writes.append(Future())
        return self.writes[-1]


def check_of(scribe: FakeScribe, clock: Clock, patience: float = SLOW) -> WriteCheck:
    return WriteCheck(cast(Writer, scribe), patience, clock)


# The check of writes --------------------------------------------------------------------------------------------------


def test_a_recent_move_shows_that_writes_succeed() -> None:
    scribe, clock = FakeScribe(), Clock()
    scribe.succeeded_at = clock.now - health.WRITE_MAX_AGE + 1
    assert asyncio.run(check_of(scribe, clock).find_problem()) is None
    assert not scribe.writes, "the server's own writes are enough"


@pytest.mark.parametrize("age", [health.WRITE_MAX_AGE + 1, 1.0])
def test_without_a_recent_success_one_write_is_made_however_many_ask(age: float) -> None:
    """The last success is too old, or a failure came after it."""
    scribe, clock = FakeScribe(), Clock()
    scribe.succeeded_at = clock.now - age
    scribe.failed_at = clock.now - 0.5 if age == 1.0 else float("-inf")

    async def ask() -> list[str | None]:
        check = check_of(scribe, clock)
        asking = asyncio.gather(*(check.find_problem() for _ in range(20)))
        await until(lambda: scribe.writes)
        scribe.writes[0].set_result(None)
        return await asking

    assert asyncio.run(ask()) == [None] * 20
    assert len(scribe.writes) == 1


def test_a_database_that_does_not_answer_is_neither_waited_for_nor_asked_again() -> None:
    scribe, clock = FakeScribe(), Clock()

    async def ask() -> list[str | None]:
        check = check_of(scribe, clock, 0.01)
        found = [await check.find_problem()]
        clock.now += 7
        found += [await check.find_problem() for _ in range(3)]
        assert len(scribe.writes) == 1
        scribe.writes[0].set_result(None)
        scribe.succeeded_at = clock.now
        await until(lambda: check._probe is not None and check._probe.done())  # noqa: SLF001 - when it is seen is no matter
        return [*found, await check.find_problem()]

    first, *later, last = asyncio.run(ask())
    assert first == "the database has not answered for 0 seconds"
    assert later == ["the database has not answered for 7 seconds"] * 3
    assert last is None


def test_a_database_that_fails_is_tried_again_but_not_for_every_question() -> None:
    scribe, clock = FakeScribe(), Clock()

    async def ask() -> tuple[list[str | None], str | None]:
        check = check_of(scribe, clock)
        asking = asyncio.create_task(check.find_problem())
        await until(lambda: scribe.writes)
        scribe.writes[0].set_exception(
            StoreError("the database /a/games.db cannot be used: the disk is full")
        )
        found = [await asking, *[await check.find_problem() for _ in range(5)]]
        assert len(scribe.writes) == 1
        clock.now += health.WRITE_RETRY
        asking = asyncio.create_task(check.find_problem())
        await until(lambda: len(scribe.writes) == 2)
        scribe.writes[1].set_result(None)
        return found, await asking

    found, last = asyncio.run(ask())
    assert found == ["the database cannot be used: the disk is full"] * 6
    assert last is None


def test_a_problem_is_logged_once_with_all_that_is_known_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scribe, clock = FakeScribe(), Clock()

    async def fail(check: WriteCheck) -> None:
        clock.now += health.WRITE_RETRY
        asking = asyncio.create_task(check.find_problem())
        number = len(scribe.writes) + 1
        await until(lambda: len(scribe.writes) == number)
        scribe.writes[-1].set_exception(
            StoreError("the database /a/games.db cannot be used: it is read-only")
        )
        await asking

    async def ask() -> None:
        check = check_of(scribe, clock)
        await fail(check)
        await fail(check)
        scribe.succeeded_at = clock.now
        assert await check.find_problem() is None
        assert await check.find_problem() is None

    with caplog.at_level(logging.INFO):
        asyncio.run(ask())
    assert [record.getMessage() for record in caplog.records if record.name == health.__name__] == [
        "the database does not take writes: the database /a/games.db cannot be used: it is read-only",
        "the database takes writes again",
    ]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "the database /srv/games.db cannot be used: the disk is full",
            "the database cannot be used: the disk is full",
        ),
        (
            "the database postgresql://ann@db.example/x cannot be used: its server cannot be reached (no route)",
            "the database cannot be used: its server cannot be reached",
        ),
        (
            'the database x cannot be used: its server says: password authentication failed for user "tower"',
            "the database cannot be used; the log of the server says why",
        ),
        (
            "could not open /srv/games.db",
            "the database cannot be used; the log of the server says why",
        ),
        ("", "the database cannot be used; the log of the server says why"),
    ],
)
def test_what_is_told_names_no_path_no_address_and_no_user(error: str, told: str) -> None:
    assert describe_publicly(StoreError(error)) == told


# The write that is made for it ----------------------------------------------------------------------------------------


def test_a_probe_leaves_nothing_behind(database: str) -> None:
    store = store_in(database)
    for _ in range(3):
        with store.write() as connection:
            probe_write(connection)
    with store.read() as connection:
        assert connection.execute(select(rulebooks)).all() == []
    store.close()


def probe(database: str) -> None:
    with closing(store_in(database, patience=0.05)) as store, store.write() as connection:
        probe_write(connection)


def test_a_probe_fails_on_a_file_that_can_only_be_read(tmp_path: Path) -> None:
    store_in(tmp_path / "games.db").close()
    with pytest.raises(StoreError, match="it is read-only"):
        probe(f"sqlite:///file:{tmp_path}/games.db?mode=ro&uri=true")


def test_a_probe_fails_while_another_program_keeps_the_file_locked(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    store_in(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is using it"):
            probe(str(file))
    probe(str(file))


def test_a_probe_fails_where_a_database_cannot_grow(tmp_path: Path) -> None:
    """Updating a row in place would still succeed here, and a new game would not."""
    file = tmp_path / "games.db"
    store_in(file).close()
    by_hand(file, "VACUUM")
    store = store_in(file)
    store.close()

    @event.listens_for(store.engine, "connect")
    def allow_no_more_pages(connection: sqlite3.Connection, _: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StoreError, match="the disk is full"), store.write() as connection:
        probe_write(connection)
    store.close()


@contextmanager
def read_only(database: str) -> Iterator[None]:
    """Let a PostgreSQL database be read-only; connections that are open begin anew."""
    with psycopg.connect(database, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        change = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute(change.format(name, sql.SQL("on")))
        connection.execute(cut)
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(change.format(name, sql.SQL("off")))
            connection.execute(cut)


# Starting -------------------------------------------------------------------------------------------------------------


def refused(*options: str) -> str:
    """Start a server that must not start; return what it says."""
    done = tower("serve", "--port", "0", *options)
    assert (done.returncode, done.stdout) == (1, ""), "nothing is announced"
    return done.stderr


def test_no_server_starts_on_a_file_that_can_only_be_read(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    store_in(file).close()
    said = refused("--db", f"sqlite:///file:{file}?mode=ro&uri=true")
    assert said == f"tower: the database {file} cannot be used: it is read-only\n"


def test_no_server_starts_on_a_full_disk(tmp_path: Path) -> None:
    """The file can be read, but the log that SQLite writes ahead may not become any longer."""
    file = tmp_path / "games.db"
    with closing(store_in(file)) as store:
        for _ in range(4):
            with store.write() as connection:
                probe_write(connection)
        kib = (tmp_path / "games.db-wal").stat().st_size // 1024
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f "$0" && exec "$@"', str(kib), TOWER, "serve", "--port", "0", "--db", str(file)],
            capture_output=True, text=True, env=plain_environment(), timeout=SLOW, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == f"tower: the database {file} cannot be used: reading or writing it failed\n"
    )


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_no_server_starts_on_a_postgresql_that_can_only_be_read(database: str) -> None:
    with read_only(database):
        assert refused("--db", database).endswith(" cannot be used: it is read-only\n")


# In the middle of a run -----------------------------------------------------------------------------------------------


async def asked(server: Server, path: str) -> tuple[int, Any]:
    client = Client(server.port)
    try:
        return await client.ask("GET", path)
    finally:
        client.close()


async def until_status(server: Server, path: str, status: int) -> Any:
    """Ask until an answer has a status; return what it says."""
    deadline = time.monotonic() + SLOW
    while (answer := await asked(server, path))[0] != status:
        assert time.monotonic() < deadline, answer
        await asyncio.sleep(0.1)
    return answer[1]


def test_a_disk_that_becomes_full_is_told_until_there_is_room_again(tmp_path: Path) -> None:
    """A limit on the size of files is set and lifted in the running server: to it, that is a full disk."""
    file = tmp_path / "games.db"
    server = Server(file)
    start = {"game": "draft", "opponent": {"kind": "table"}}

    async def play() -> None:
        found = await until_status(server, "/health", 200)
        assert found.keys() == {"status", "version", "database", "thinkers"}
        assert (found["status"], found["database"], found["version"]) == ("ok", "ok", __version__)
        assert (await until_status(server, "/health/ready", 200))["status"] == "ready"
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, hard))
        try:
            client = Client(server.port)
            assert (await client.post("/api/games", content=start)).status == 503, (
                "a game cannot be saved"
            )
            client.close()
            problem = "the database cannot be used: reading or writing it failed"
            not_ready = await until_status(server, "/health/ready", 503)
            assert (not_ready["status"], not_ready["checks"]["write"]) == ("not ready", problem)
            failing = await until_status(server, "/health", 503)
            assert (failing["status"], failing["database"]) == ("failing", problem)
            assert str(file) not in str(not_ready) + str(failing)
            assert (await asked(server, "/health/live"))[0] == 200, "the process is alive"
        finally:
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)
        await until_status(server, "/health/ready", 200)
        assert (await until_status(server, "/health", 200))["status"] == "ok"

    try:
        server.ready()
        asyncio.run(play())
    finally:
        server.stop()


def set_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every question make a write."""
    monkeypatch.setattr(health, "WRITE_MAX_AGE", 0.0)
    monkeypatch.setattr(health, "WRITE_RETRY", 0.0)


def wait_for(client: TestClient, status: int) -> Any:
    deadline = time.monotonic() + SLOW
    while (answer := client.get("/health/ready")).status_code != status:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.02)
    return answer.json()["checks"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_postgresql_that_becomes_read_only_is_told_until_it_is_not(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_impatient(monkeypatch)
    with TestClient(
        make_app(Settings(place_of(database), quiet=True, host_names=("testserver",)))
    ) as client:
        wait_for(client, 200)
        with read_only(database):
            deadline = time.monotonic() + SLOW
            while (
                said := wait_for(client, 503)["write"]
            ) != "the database cannot be used: it is read-only":
                assert time.monotonic() < deadline, said
        assert set(wait_for(client, 200).values()) == {"ok"}


def test_a_file_that_another_program_locks_is_told_within_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_impatient(monkeypatch)
    with opened(tmp_path) as client:
        wait_for(client, 200)
        writes: WriteCheck = client.app.state.writes  # type: ignore[attr-defined]  # it is a Starlette app
        monkeypatch.setattr(writes, "_timeout", 0.05)
        with closing(
            sqlite3.connect(tmp_path / "games.db", isolation_level=None, timeout=SLOW)
        ) as other:
            other.execute("BEGIN IMMEDIATE")
            assert wait_for(client, 503)["write"].startswith("the database has not answered for ")
        monkeypatch.setattr(writes, "_timeout", SLOW)
        wait_for(client, 200)


# Readiness and liveness -----------------------------------------------------------------------------------------------


def test_a_server_that_is_fine_is_ready_and_its_own_moves_count(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
        player, _ = begun(client)
        player.place(9)
        checks = wait_for(client, 200)
    assert checks == dict.fromkeys(
        ["draining", "write", "event_loop", "news", "rooms", "quota"], "ok"
    )


class NoWrites:
    """A check that nobody may ask."""

    async def find_problem(self) -> str | None:
        raise AssertionError("no write is wanted here")


def test_liveness_asks_no_database(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
        client.app.state.writes = NoWrites()  # type: ignore[attr-defined]  # it is a Starlette app
        client.app.state.draining = True  # type: ignore[attr-defined]  # likewise
        answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"
    assert "x-request-id" in answer.headers, "it passes the middlewares"


def test_a_server_that_stops_is_not_ready_and_writes_nothing_for_it(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
        client.app.state.writes = NoWrites()  # type: ignore[attr-defined]  # it is a Starlette app
        client.app.state.draining = True  # type: ignore[attr-defined]  # likewise
        checks = wait_for(client, 503)
    assert checks["draining"] == "the server is stopping"


@pytest.mark.parametrize(
    ("part", "attribute", "value", "name"),
    [("listener", "is_connected", False, "news"), ("lobby", "unsynced_for", 12.5, "rooms")],
)
def test_a_server_that_may_show_old_games_is_not_ready(
    part: str, attribute: str, value: object, name: str, tmp_path: Path
) -> None:
    with opened(tmp_path) as client:
        wait_for(client, 200)
        setattr(
            client.app.state,  # type: ignore[attr-defined]  # it is one
            part,
            SimpleNamespace(quota=SimpleNamespace(full=False), **{attribute: value}),
        )
        checks = wait_for(client, 503)
    assert [key for key, said in checks.items() if said != "ok"] == [name]


def test_a_full_quota_is_told_and_the_games_go_on(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
        client.app.state.lobby.quota = SimpleNamespace(full=True)  # type: ignore[attr-defined]  # it is a Starlette app
        assert "no new games" in wait_for(client, 200)["quota"]


@pytest.mark.parametrize(("lag", "status"), [(health.MAX_LAG - 1, 200), (health.MAX_LAG + 1, 503)])
def test_a_server_whose_event_loop_was_stuck_is_not_ready_for_a_while(
    lag: float, status: int, tmp_path: Path
) -> None:
    clock = Clock()

    async def delay() -> Watchdog:
        watchdog = Watchdog(clock=clock)
        clock.now += 0.5 + lag
        watchdog.beat()
        watchdog.close()
        return watchdog

    with opened(tmp_path) as client:
        client.app.state.watchdog = asyncio.run(delay())  # type: ignore[attr-defined]  # it is a Starlette app
        checks = wait_for(client, status)
        assert (checks["event_loop"] == "ok") == (status == 200)
        asyncio.run(beat(client.app.state.watchdog, clock, health.LAG_WINDOW + 1))  # type: ignore[attr-defined]  # likewise
        assert wait_for(client, 200)["event_loop"] == "ok"


async def beat(watchdog: Watchdog, clock: Clock, seconds: float) -> None:
    """Let an event loop turn for some time without any lag."""
    for _ in range(int(seconds / 0.5)):
        clock.now += 0.5
        watchdog.beat()


def test_both_kinds_of_databases_are_ready(database: str) -> None:
    with TestClient(
        make_app(Settings(place_of(database), quiet=True, host_names=("testserver",)))
    ) as client:
        wait_for(client, 200)
        assert client.get("/health").json()["database"] == "ok", on_server(database)
