"""A real PostgreSQL server for the tests.

The variable NUMBER_TOWER_TEST_POSTGRES names it, or the tests start and stop one themselves.

A keeper process (`postgres_keeper.py`) starts that server, and stops it when its own input ends:
when the tests are done, and also when they are killed.

Tests get its fixtures with `pytest_plugins = ["support.postgres"]`. (PYTEST_DONT_REWRITE: it may be
imported already.)
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from number_tower import store
from number_tower.store.connection import use_once
from number_tower.store.upgrade import upgrade
from support.stores import create_database

VARIABLE = "NUMBER_TOWER_TEST_POSTGRES"
KINDS = ("sqlite", "postgresql")
KEEPER = str(Path(__file__).with_name("postgres_keeper.py"))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server, one for each process that runs tests."""
    with run_postgres() as url:
        yield url


@pytest.fixture(params=KINDS)
def blank_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables: a file that does not exist yet, or one on a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "games.db")
        return
    with fresh(request.getfixturevalue("server")) as url:
        yield url


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """A database with all tables for each process that runs tests: a copy needs no migration."""
    with fresh(server) as url:
        upgrade_database(url)
        yield str(make_url(url).database)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database for games that no other test uses: a file, or one on a server."""
    if request.param == "sqlite":
        yield str(create_database(tmp_path / "games.db"))
        return
    with fresh(request.getfixturevalue("server"), request.getfixturevalue("template")) as url:
        yield url


def on_server(database: str) -> bool:
    """Say whether a database is on a server."""
    return database.startswith("postgresql:")


def make_location(database: str) -> store.Location:
    """Return where a database is."""
    location = store.find_location(database)
    assert location is not None
    return location


def upgrade_database(database: str) -> str | None:
    """Give a database its tables; return the version that it had."""
    location = make_location(database)
    with use_once(location) as engine:
        return upgrade(engine, location)


@contextmanager
def run_postgres() -> Iterator[str]:
    """Have a server; if none can be started, raise an error that says what was tried."""
    if named := os.environ.get(VARIABLE):
        yield f"postgresql://{named.partition('://')[2]}"
        return
    with TemporaryFile("w+") as complaints:
        keeper = subprocess.Popen(
            [sys.executable, KEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=complaints, text=True, start_new_session=True,
        )  # fmt: skip
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with keeper.stdout, keeper, keeper.stdin:
            url = keeper.stdout.readline().strip()
            if not url:
                keeper.wait()
                complaints.seek(0)
                advice = f"- {VARIABLE} can name one: postgresql://USER@HOST/NAME"
                raise RuntimeError(
                    f"these tests need a PostgreSQL server.\n{complaints.read()}{advice}"
                )
            yield url


@contextmanager
def fresh(server: str, template: str = "template0") -> Iterator[str]:
    """Have a new database on a server, which is deleted afterwards."""
    name = f"tower_{token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )
