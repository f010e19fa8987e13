"""Versions of a database: new ones get tables, and migrations lead to later ones.

A database of a version older than the first of these is left as it is.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from number_tower.store import StoreError, schema, upgrade
from support.postgres import brought_up_to_date, on_server
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


def test_a_file_gets_its_tables_when_it_is_opened_and_a_server_only_when_it_is_told(
    empty: str,
) -> None:
    if on_server(empty):
        advice = "has no tables for games yet; to upgrade it: tower db upgrade"
        with pytest.raises(StoreError, match=advice):
            open_store(empty)
    else:
        open_store(empty).close()
        assert run_sql(empty, "SELECT * FROM alembic_version") == [(schema.NEWEST,)]
    assert brought_up_to_date(empty) == (None if on_server(empty) else schema.NEWEST)
    assert brought_up_to_date(empty) == schema.NEWEST, "once more changes nothing"
    open_store(empty).close()


@pytest.mark.parametrize("version", ["0008", "0001", ""])
def test_a_database_of_an_older_version_is_refused_and_left_as_it_is(
    tmp_path: Path, version: str
) -> None:
    file = tmp_path / "games.db"
    run_sql(file, "CREATE TABLE games (id INTEGER)")
    run_sql(file, "CREATE TABLE alembic_version (version_num TEXT)")
    run_sql(file, f"INSERT INTO alembic_version VALUES ('{version}')")  # noqa: S608 - ours
    before = file.read_bytes()
    advice = "export its games with the Number Tower that made it, and import them into a new one"
    older = rf"it has an older version \({version}\) than this Number Tower reads; {advice}$"
    with pytest.raises(StoreError, match=older):
        open_store(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_the_newest_version_is_where_the_migrations_lead() -> None:
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert (scripts.get_heads(), scripts.get_bases()) == ([schema.NEWEST], [schema.FIRST])


def test_a_database_is_migrated_to_a_later_version_or_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "games.db", tmp_path / "100% later"
    open_store(file).close()
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
