"""Backups of a database file: made while it is in use, checked, and restored in one step."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from number_tower.store import Location, StoreError, locate_file
from number_tower.store.connection import (
    create_private,
    describe_error,
    make_private_folders,
    translate_errors,
    use_once,
)
from number_tower.support.files import replace_file
from number_tower.support.text import format_path


def create_backup(location: Location, target: Path, *, overwrite: bool = False) -> None:
    """Write a consistent backup of a database, even while others use it."""
    file, name = _require_file(location), format_path(target)
    if target.resolve() == file:
        raise StoreError(f"{name} is the database itself; choose another file for the backup")
    if target.is_dir():
        raise StoreError(f"{name} is a folder; expected the name of a file")
    if not overwrite and os.path.lexists(target):
        advice = "choose another name, or add --force to replace it"
        raise StoreError(f"{name} exists already; {advice}")
    try:
        make_private_folders(str(target.absolute().parent))
        with replace_file(target) as part:
            _copy_checked(location, part)
    except OSError as error:
        raise StoreError(f"{name} cannot be written: {describe_error(error)}") from error


def restore_backup(location: Location, source: Path) -> Path | None:
    """Replace a database by a backup, in one step: a failure leaves the database as it was.

    Return the file beside it in which the replaced database is saved, if there was one.
    """
    target, kept, name = _require_file(location), None, format_path(source)
    if not source.is_file():
        raise StoreError(f"there is no backup {name}")
    if source.resolve() == target:
        raise StoreError(f"{name} is the database itself; there is nothing to restore")
    with translate_errors(location.name, OSError):
        make_private_folders(str(target.parent))
        with ExitStack() as lock, replace_file(target) as part:
            _copy_checked(locate_file(source), part)
            if target.exists():
                _lock_exclusively(lock, target, location.name)
                shutil.copymode(target, part)
                time = f"{datetime.now(UTC):%Y%m%d-%H%M%S.%f}"
                kept = target.with_name(f"{target.name}.before-restore-{time}")
                create_private(str(kept))
                shutil.copyfile(target, kept)
                # A log, which only a damaged file still has, must not be applied to the backup.
                with suppress(FileNotFoundError):
                    Path(f"{target}-wal").rename(f"{kept}-wal")
                Path(f"{target}-shm").unlink(missing_ok=True)
    return kept


def _require_file(location: Location) -> Path:
    if location.file is None:
        advice = "back it up and restore it with PostgreSQL's own pg_dump and pg_restore"
        raise StoreError(f"the database {location.name} is on a server; {advice}")
    return Path(location.file).resolve()


def _copy_checked(location: Location, part: Path) -> None:
    """Copy a database to a new file, and let SQLite check the copy."""
    create_private(str(part))
    with use_once(location) as engine, closing(engine.raw_connection()) as source:
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                cast("sqlite3.Connection", source.driver_connection).backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # everything in one file
                if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    damaged = f"the database {location.name} cannot be used: it is damaged"
                    raise StoreError(damaged)
        except sqlite3.OperationalError as error:  # such as that the disk is full
            raise OSError(describe_error(error)) from error


def _lock_exclusively(lock: ExitStack, file: Path, name: str) -> None:
    """Lock all others out of a database file; refuse if a program has it open, even an idle one.

    A connection in write-ahead mode holds a lock for as long as it is open. Leaving that mode needs
    the opposite lock. It also moves everything from the log into the file and removes the log.
    """
    connection = sqlite3.connect(file, timeout=0.5, isolation_level=None)
    lock.enter_context(closing(connection))
    try:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        connection.execute("BEGIN EXCLUSIVE")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            problem = "is in use; stop the server or the game that uses it, then try again"
            raise StoreError(f"the database {name} {problem}") from None
        # A damaged file cannot be locked.
        connection.close()
