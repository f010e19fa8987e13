"""Stores for the tests: a new one in a file, or one of each kind of database; and the command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from number_tower.store.database import Store
from number_tower.store.schema import metadata
from support.command import Tower, plain_environment, run_tower
from support.postgres import KINDS, fresh
from support.stores import create_database, open_store

TABLES = [table for table in metadata.sorted_tables if table.name != "alembic_version"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database file without games."""
    return create_database(tmp_path / "games.db")


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    """A store without games, in a file."""
    with closing(open_store(file)) as opened:
        yield opened


@pytest.fixture(scope="module")
def server_store(server: str, template: str) -> Iterator[Store]:
    """The store on a server that the tests of a module share."""
    with fresh(server, template) as database, closing(open_store(database)) as opened:
        yield opened


@pytest.fixture(params=KINDS)
def any_store(request: pytest.FixtureRequest) -> Store:
    """A store without games: in a file, and on a server."""
    if request.param == "sqlite":
        opened: Store = request.getfixturevalue("store")
        return opened
    opened = request.getfixturevalue("server_store")
    delete_all(opened)
    return opened


def delete_all(opened: Store) -> None:
    """Delete all rows of a database on a server; ids begin at 1 again."""
    with opened.write() as connection:
        for table in reversed(TABLES):
            connection.execute(table.delete())
            if "id" in table.c:
                sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
                connection.execute(text(f"SELECT setval({sequence}, 1, false)"))


@pytest.fixture
def call_tower(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tower:
    """The command in an empty folder, with the environment of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", plain_environment()["PATH"])
    return lambda *call, **options: run_tower(*call, cwd=Path.cwd(), **os.environ, **options)
