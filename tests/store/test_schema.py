"""Versions of a database: a new one gets tables, and migrations lead to later versions.

A database that is older than the first of these versions is refused.
"""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from number_tower.store import StoreError, schema, upgrade
from support.postgres import on_server, upgrade_database
from support.stores import open_store, run_sql

pytest_plugins = ["support.postgres"]

LATER = """
import sqlalchemy as sa
from alembic import op

revision = "9000"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("games", sa.Column("colour", sa.Text))
"""


def test_file_gets_its_tables_when_opened_and_server_only_by_upgrade(blank_database: str) -> None:
    if on_server(blank_database):
        with pytest.raises(StoreError, match="to upgrade it: tower db upgrade"):
            open_store(blank_database)
        assert upgrade_database(blank_database) is None
    else:
        open_store(blank_database).close()
        assert run_sql(blank_database, "SELECT * FROM alembic_version") == [(schema.NEWEST,)]
    assert upgrade_database(blank_database) == schema.NEWEST, "once more changes nothing"
    open_store(blank_database).close()


@pytest.mark.parametrize("version", ["0008", "0001", ""])
def test_database_of_an_older_version_is_refused_and_left_unchanged(
    tmp_path: Path, version: str
) -> None:
    file = tmp_path / "games.db"
    run_sql(file, "CREATE TABLE games (id INTEGER)")
    run_sql(file, "CREATE TABLE alembic_version (version_num TEXT)")
    run_sql(file, f"INSERT INTO alembic_version VALUES ('{version}')")  # noqa: S608 - ours
    before = file.read_bytes()
    with pytest.raises(StoreError, match=re.escape(f"it has an older version ({version})")):
        open_store(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_migrations_lead_from_the_first_version_to_the_newest() -> None:
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert (scripts.get_heads(), scripts.get_bases()) == ([schema.NEWEST], [schema.FIRST])


def test_database_is_migrated_to_a_later_version_or_left_unchanged(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = file.with_name("100% later")
    shutil.copytree(upgrade.MIGRATIONS, folder)
    monkeypatch.setattr(upgrade, "MIGRATIONS", folder)
    monkeypatch.setattr(upgrade, "NEWEST", "9000")
    step = folder / "versions" / "9000_later.py"
    step.write_text(f"{LATER}    op.drop_index('absent')\n")
    with pytest.raises(StoreError, match="no such index: absent"):
        open_store(file)
    assert run_sql(file, "SELECT * FROM alembic_version") == [("0009",)]
    step.write_text(LATER)
    with closing(open_store(file)):
        assert run_sql(file, "SELECT colour FROM games") == []
    assert run_sql(file, "SELECT * FROM alembic_version") == [("9000",)]
