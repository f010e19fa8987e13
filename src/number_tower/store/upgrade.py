"""Versions of a database: create its tables, check their version, and upgrade them by Alembic's migrations."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from logging import NullHandler, getLogger
from pathlib import Path
from threading import Lock
from typing import Literal

from sqlalchemy import Connection, Engine, inspect

from number_tower.store import Location, StoreError
from number_tower.store.engine import (
    UPGRADE_LOCK,
    begin_snapshot,
    create_private,
    make_private_folders,
    translate_errors,
)
from number_tower.store.schema import NEWEST
from number_tower.text import format_path, format_text

BackupChoice = Path | Literal[False] | None
"""Where the backup before an upgrade goes: to this file; beside a database file (None); nowhere (False)."""

_ALEMBIC_LOCK = Lock()
"""Alembic keeps its configuration in global variables."""

_VERSIONS = tuple(f"{number:04}" for number in range(1, int(NEWEST) + 1))

_LOG = getLogger(__name__)
_LOG.addHandler(NullHandler())  # a command that sets up no log prints none


def ensure_newest_version(engine: Engine, location: Location) -> None:
    """Make sure that a database has the newest version: a file is upgraded at once, a server only on request."""
    with translate_errors(location.name, OSError):
        if location.file is not None:
            _create_file(engine, location.file)
        with begin_snapshot(engine) as connection:
            version = check_version(read_version(connection), location)
    if version != NEWEST and location.file is None:
        problem = (
            "has no tables for games yet"
            if version is None
            else f"has an older version ({version})"
        )
        raise StoreError(f"the database {location.name} {problem}; to upgrade it: tower db upgrade")
    if version != NEWEST:
        upgrade(engine, location)
    if location.file is not None:
        with (
            translate_errors(location.name),
            closing(engine.raw_connection()) as raw,
            suppress(sqlite3.Error),
        ):
            raw.cursor().execute(
                "PRAGMA journal_mode = WAL"
            )  # readers and a writer do not wait for each other


def _create_file(engine: Engine, file: str) -> None:
    """Create a database file and its folder; say what is wrong where SQLite would only say that it cannot open it."""
    if os.path.isdir(file):
        raise IsADirectoryError("it is a folder; expected a file")
    folder = os.path.dirname(file)
    try:
        make_private_folders(folder)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{format_path(folder)} is not a folder") from None
    if engine.url.query.get("mode", "rwc") == "rwc":
        create_private(file)


def upgrade(
    engine: Engine, location: Location, backup: BackupChoice = None
) -> tuple[str | None, str]:
    """Bring a database to the newest version, once even if several try; return its version before and after."""
    with translate_errors(location.name, OSError):
        if location.file is not None:
            _create_file(engine, location.file)
    with translate_errors(location.name), engine.begin() as connection:
        if location.file is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
        version = check_version(read_version(connection), location)
        if version is None:
            migrate(connection, NEWEST)
        elif version != NEWEST:
            _migrate_with_backup(connection, location, version, backup)
    return version, NEWEST


def _migrate_with_backup(
    connection: Connection, location: Location, version: str, backup: BackupChoice
) -> None:
    """Make a backup, then migrate; if that fails, nothing was changed, and the backup is removed again."""
    from number_tower.store.backup import back_up_before_upgrade  # noqa: PLC0415 - only when a database is upgraded

    made = back_up_before_upgrade(connection, location, version, backup)
    try:
        migrate(connection, NEWEST)
    except BaseException:
        if made is not None:
            made.unlink(missing_ok=True)
        raise
    if made is not None:
        _LOG.info(
            "the database %s was upgraded to version %s; backup: %s",
            location.name,
            NEWEST,
            format_path(made),
        )


def migrate(connection: Connection, version: str) -> None:
    """Run the migrations up to a version, in the transaction of the connection."""
    from alembic import command, config  # noqa: PLC0415 - only when a database is upgraded

    settings = config.Config()
    folder = os.path.join(os.path.dirname(__file__), "migrations")
    settings.set_main_option("script_location", folder.replace("%", "%%"))
    settings.attributes["connection"] = connection
    with _ALEMBIC_LOCK:
        command.upgrade(settings, version)


def read_version(connection: Connection) -> str | None:
    """Return the version of a database; None if it has no tables yet, "" if it is not ours."""
    tables = inspect(connection).get_table_names()
    if not {"alembic_version", "games"} <= set(tables):
        return "" if tables else None
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return version if isinstance(version, str) else ""


def require_version(connection: Connection, location: Location) -> str:
    """Return the version of a database that holds games, and that this program knows."""
    version = check_version(read_version(connection), location)
    if version is None:
        raise StoreError(f"the database {location.name} has no tables for games yet")
    return version


def check_version(version: str | None, location: Location) -> str | None:
    """Return a version; refuse one of a database that is not ours, or one that is newer than this program."""
    unusable = f"the database {location.name} cannot be used"
    if version == "":
        raise StoreError(f"{unusable}: it is not a database of Number Tower")
    if version is not None and version not in _VERSIONS:
        newer = f"it has a newer version ({format_text(version, 40)}) than this Number Tower knows ({NEWEST})"
        raise StoreError(f"{unusable}: {newer}; update Number Tower")
    return version
