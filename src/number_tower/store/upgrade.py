"""Versions of a database: create tables, run migrations, refuse unreadable versions."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, inspect, select

from number_tower.store import Location, StoreError
from number_tower.store.connection import (
    begin_snapshot,
    create_private,
    make_private_folders,
    translate_errors,
)
from number_tower.store.schema import FIRST, NEWEST, alembic_version, metadata
from number_tower.support.text import format_path, format_text

MIGRATIONS = Path(__file__).parent / "migrations"

_UPGRADE_LOCK = 7_263_514
"""The advisory lock for upgrading a server's tables."""


def ensure_newest_version(engine: Engine, location: Location) -> None:
    """Ensure that a database has the newest version.

    A file is upgraded at once, a server's database only on request.
    """
    with translate_errors(location.name, OSError):
        if location.file is not None:
            _create_file(engine, location.file)
        with begin_snapshot(engine) as connection:
            version = read_version(connection, location)
    if version != NEWEST:
        if location.file is None:
            problem = "no tables for games yet" if version is None else f"version {version}"
            advice = "to upgrade it: tower db upgrade"
            raise StoreError(f"the database {location.name} has {problem}; {advice}")
        upgrade(engine, location)
    if location.file is not None:
        with (
            translate_errors(location.name),
            closing(engine.raw_connection()) as raw,
            suppress(sqlite3.Error),  # a file that is read-only stays as it is
        ):
            # Readers and a writer do not wait for each other.
            raw.cursor().execute("PRAGMA journal_mode = WAL")


def _create_file(engine: Engine, file: str) -> None:
    """Create a database file and its folder.

    The errors say what is wrong; SQLite only says that it cannot open the file.
    """
    if os.path.isdir(file):
        raise IsADirectoryError("it is a folder; expected a file")
    folder = os.path.dirname(file)
    try:
        make_private_folders(folder)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{format_path(folder)} is not a folder") from None
    if engine.url.query.get("mode", "rwc") == "rwc":
        create_private(file)


def upgrade(engine: Engine, location: Location) -> str | None:
    """Bring a database to the newest version, once even if several processes try.

    Return the version that it had.
    """
    with translate_errors(location.name, OSError):
        if location.file is not None:
            _create_file(engine, location.file)
        with engine.begin() as connection:
            if location.file is None:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})")
            version = read_version(connection, location)
            if version is None:
                metadata.create_all(connection)
                connection.execute(insert(alembic_version).values(version_num=NEWEST))
            elif version != NEWEST:
                from alembic import command, config  # noqa: PLC0415 - only for old databases

                # The migrations run in the transaction of this connection.
                settings = config.Config()
                settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
                settings.attributes["connection"] = connection
                command.upgrade(settings, "head")
    return version


def read_version(connection: Connection, location: Location) -> str | None:
    """Return the version of a database, or None if it has no tables yet.

    Refuse a database that cannot be read or upgraded.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    refused = f"the database {location.name} cannot be used"
    if not {"alembic_version", "games"} <= set(tables):
        raise StoreError(f"{refused}: it is not a database of Number Tower")
    version = str(connection.execute(select(alembic_version.c.version_num)).scalar())
    shown = format_text(version, 40)
    if version > NEWEST:
        problem = f"it has a newer version ({shown}) than this Number Tower knows ({NEWEST})"
        raise StoreError(f"{refused}: {problem}; update Number Tower")
    if version < FIRST:
        problem = f"it has an older version ({shown}) than this Number Tower reads"
        advice = (
            "export its games with the Number Tower that made it, and import them into a new one"
        )
        raise StoreError(f"{refused}: {problem}; {advice}")
    return version


def require_newest_version(connection: Connection, location: Location) -> None:
    """Refuse a database without tables, or with those of an earlier version."""
    if read_version(connection, location) != NEWEST:
        problem = f"has no tables of version {NEWEST} yet; open it once before"
        raise StoreError(f"the database {location.name} {problem}")
