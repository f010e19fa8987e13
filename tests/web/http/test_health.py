"""Health is honest: a server that cannot save a game does not start, or says so."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
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
from support.apps import get_parts, replace_parts
from support.clocks import SLOW, wait_until_true
from support.command import run_tower, run_tower_with_small_files
from support.lobbies import InstantWorkers
from support.postgres import make_location, on_server
from support.servers import Client, run_servers
from support.stores import open_store, run_sql

pytest_plugins = ["support.postgres"]

FAILING = "the database does not take writes; the log of the server says why"

# The check of writes ------------------------------------------------------------------------------


def test_many_questions_at_once_share_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_TIMEOUT", SLOW)
    write = Mock(return_value=Future())

    async def ask() -> list[str | None]:
        check = WriteCheck(write)
        asking = asyncio.gather(*(check.find_problem() for _ in range(20)))
        await wait_until_true(lambda: write.called)
        write.return_value.set_exception(StoreError("/srv/games.db cannot be used: it is full"))
        return await asking

    assert asyncio.run(ask()) == [FAILING] * 20
    assert write.call_count == 1


def test_database_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_TIMEOUT", 0.01)
    write = Mock(return_value=Future())

    async def ask() -> list[str | None]:
        check = WriteCheck(write)
        return [await check.find_problem() for _ in range(3)]

    assert asyncio.run(ask()) == ["the database does not answer"] * 3
    assert write.call_count == 1


# The write that is made for it --------------------------------------------------------------------


def probe(database: str | Path) -> None:
    with closing(open_store(database, patience=0.05)) as store, store.write() as connection:
        probe_write(connection)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a database that has its tables."""
    open_store(tmp_path / "games.db").close()
    return tmp_path / "games.db"


def test_probe_leaves_nothing_behind(database: str) -> None:
    with closing(open_store(database)) as store:
        for _ in range(3):
            with store.write() as connection:
                probe_write(connection)
        with store.read() as connection:
            assert connection.execute(select(rulebooks)).all() == []


def test_probe_fails_while_another_program_locks_the_file(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is using it"):
            probe(file)
    probe(file)


def test_probe_fails_where_a_database_cannot_grow(file: Path) -> None:
    """Updating a row in place would still succeed here, and a new game would not."""
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


# Starting -----------------------------------------------------------------------------------------


def test_no_server_starts_on_a_read_only_file(file: Path) -> None:
    database = f"sqlite:///file:{file}?mode=ro&uri=true"
    with pytest.raises(StoreError, match="it is read-only"):
        probe(database)
    done = run_tower("serve", "--port", "0", "--db", database)
    refusal = f"tower: the database {file} cannot be used: it is read-only\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", refusal)


def test_no_server_starts_on_a_full_disk(file: Path) -> None:
    """The file can be read, but the log that SQLite writes ahead may not become any longer."""
    with closing(open_store(file)) as store:
        for _ in range(4):
            with store.write() as connection:
                probe_write(connection)
        kib = Path(f"{file}-wal").stat().st_size // 1024
        done = run_tower_with_small_files(kib, "serve", "--port", "0", "--db", str(file))
    refusal = f"tower: the database {file} cannot be used: reading or writing it failed\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", refusal)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_no_server_starts_on_a_read_only_postgresql(database: str) -> None:
    read_only = "options=-cdefault_transaction_read_only%3Don"
    url = f"{database}{'&' if '?' in database else '?'}{read_only}"
    done = run_tower("serve", "--port", "0", "--db", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(" cannot be used: it is read-only\n")


# While it runs ------------------------------------------------------------------------------------


async def wait_for_status(client: Client, path: str, status: int) -> Any:
    """Ask until an answer has a status; return its content."""
    async with asyncio.timeout(SLOW):
        while (answer := await client.ask("GET", path)).status != status:
            await asyncio.sleep(0.1)
    return answer.content


def test_full_disk_is_reported_until_there_is_space_again(tmp_path: Path) -> None:
    """Set and lift a limit on the size of files in the running server: a full disk to it."""
    start = {"game": "draft", "opponent": "table"}

    async def play(client: Client, pid: int) -> None:
        healthy = {"status": "ok", "version": __version__, "database": "ok", "news": "ok"}
        assert await wait_for_status(client, "/health", 200) == healthy
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
        try:
            assert (await client.post("/api/games", content=start)).status == 503
            failing = await wait_for_status(client, "/health", 503)
            assert (failing["status"], failing["database"]) == ("failing", FAILING)
            assert (await client.ask("GET", "/health/live")).status == 200, "the process is alive"
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        await wait_for_status(client, "/health", 200)
        client.close()

    with run_servers(tmp_path / "games.db") as (server,):
        asyncio.run(play(Client(server.port), server.process.pid))


# Through the app ----------------------------------------------------------------------------------


def test_database_is_healthy_while_moves_of_other_servers_arrive(database: str) -> None:
    settings = Settings(make_location(database), quiet=True, host_names=("testserver",))
    with TestClient(make_app(settings, workers=InstantWorkers())) as client:
        assert client.get("/health").status_code == 200, on_server(database)
        replace_parts(client, listener=SimpleNamespace(is_connected=False))
        answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["news"] == "the server does not receive moves from other servers"


def test_liveness_asks_no_database(client: TestClient) -> None:
    writes = get_parts(client).writes
    replace_parts(client, writes=None)
    answer = client.get("/health/live")
    replace_parts(client, writes=writes)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"
