"""Health is honest: a server that cannot save a game does not start, or says so."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event, select
from starlette.testclient import TestClient

from number_tower import __version__
from number_tower.store import StoreError
from number_tower.store.database import probe_write
from number_tower.store.schema import rulebooks
from number_tower.web.app import make_app
from number_tower.web.http import health
from number_tower.web.http.health import WriteCheck
from number_tower.web.settings import Settings
from serving import Server
from support.apps import open_app, replace_parts
from support.clocks import SLOW, wait_until_true
from support.command import TOWER, plain_environment, run_tower
from support.postgres import make_location, on_server
from support.servers import Client, make_server
from support.stores import open_store, run_sql

pytest_plugins = ["support.postgres"]


# The check of writes ------------------------------------------------------------------------------


class SlowWriter:
    """A writer whose writes end when the test says so."""

    def __init__(self) -> None:
        self.writes: list[Future[None]] = []

    def write(self) -> Future[None]:
        self.writes.append(Future())
        return self.writes[-1]


def test_one_write_is_made_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_TIMEOUT", SLOW)
    writer = SlowWriter()

    async def ask() -> list[str | None]:
        check = WriteCheck(writer.write)
        asking = asyncio.gather(*(check.find_problem() for _ in range(20)))
        await wait_until_true(lambda: writer.writes)
        writer.writes[0].set_exception(StoreError("/srv/games.db cannot be used: it is full"))
        return await asking

    assert (
        asyncio.run(ask())
        == ["the database does not take writes; the log of the server says why"] * 20
    )
    assert len(writer.writes) == 1


def test_a_database_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_TIMEOUT", 0.01)
    writer = SlowWriter()

    async def ask() -> list[str | None]:
        check = WriteCheck(writer.write)
        return [await check.find_problem() for _ in range(3)]

    assert asyncio.run(ask()) == ["the database does not answer"] * 3
    assert len(writer.writes) == 1


# The write that is made for it --------------------------------------------------------------------


def test_a_probe_leaves_nothing_behind(database: str) -> None:
    store = open_store(database)
    for _ in range(3):
        with store.write() as connection:
            probe_write(connection)
    with store.read() as connection:
        assert connection.execute(select(rulebooks)).all() == []
    store.close()


def probe(database: str) -> None:
    with closing(open_store(database, patience=0.05)) as store, store.write() as connection:
        probe_write(connection)


def test_a_probe_fails_on_a_file_that_can_only_be_read(tmp_path: Path) -> None:
    open_store(tmp_path / "games.db").close()
    with pytest.raises(StoreError, match="it is read-only"):
        probe(f"sqlite:///file:{tmp_path}/games.db?mode=ro&uri=true")


def test_a_probe_fails_while_another_program_keeps_the_file_locked(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    open_store(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is using it"):
            probe(str(file))
    probe(str(file))


def test_a_probe_fails_where_a_database_cannot_grow(tmp_path: Path) -> None:
    """Updating a row in place would still succeed here, and a new game would not."""
    file = tmp_path / "games.db"
    open_store(file).close()
    run_sql(file, "VACUUM")
    store = open_store(file)
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


# Starting -----------------------------------------------------------------------------------------


def refused(*options: str) -> str:
    """Start a server that must not start; return what it says."""
    done = run_tower("serve", "--port", "0", *options)
    assert (done.returncode, done.stdout) == (1, ""), "nothing is announced"
    return done.stderr


def test_no_server_starts_on_a_file_that_can_only_be_read(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    open_store(file).close()
    said = refused("--db", f"sqlite:///file:{file}?mode=ro&uri=true")
    assert said == f"tower: the database {file} cannot be used: it is read-only\n"


def test_no_server_starts_on_a_full_disk(tmp_path: Path) -> None:
    """The file can be read, but the log that SQLite writes ahead may not become any longer."""
    file = tmp_path / "games.db"
    with closing(open_store(file)) as store:
        for _ in range(4):
            with store.write() as connection:
                probe_write(connection)
        kib = (tmp_path / "games.db-wal").stat().st_size // 1024
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f "$0" && exec "$@"', str(kib), TOWER, "serve", "--port", "0",
                "--db", str(file)],
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


# In the middle of a run ---------------------------------------------------------------------------


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
    """Set and lift a limit on the size of files in the running server: a full disk to it."""
    file = tmp_path / "games.db"
    server = make_server(file)
    start = {"game": "draft", "opponent": "table"}

    async def play() -> None:
        found = await until_status(server, "/health", 200)
        assert found == {
            "status": "ok",
            "version": __version__,
            "database": "ok",
            "news": "ok",
        }
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, hard))
        try:
            client = Client(server.port)
            assert (await client.post("/api/games", content=start)).status == 503, (
                "a game cannot be saved"
            )
            client.close()
            failing = await until_status(server, "/health", 503)
            assert (failing["status"], failing["database"]) == (
                "failing",
                "the database does not take writes; the log of the server says why",
            )
            assert (await asked(server, "/health/live"))[0] == 200, "the process is alive"
        finally:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
        await until_status(server, "/health", 200)

    server.launch()
    try:
        server.wait()
        asyncio.run(play())
    finally:
        server.stop()


# Through the app ----------------------------------------------------------------------------------


def test_a_database_is_healthy_unless_moves_of_other_servers_are_not_heard(database: str) -> None:
    settings = Settings(make_location(database), quiet=True, host_names=("testserver",))
    with TestClient(make_app(settings)) as client:
        assert client.get("/health").status_code == 200, on_server(database)
        replace_parts(client, listener=SimpleNamespace(is_connected=False))
        answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["news"] == "the server does not receive moves from other servers"


class NoWrites:
    """A check that nobody may ask."""

    async def find_problem(self) -> str | None:
        raise AssertionError("no write is wanted here")


def test_liveness_asks_no_database(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        replace_parts(client, writes=NoWrites())
        answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"
