"""Backups of a database: made while it is in use, checked before they get their name, and restored in one step.

A backup is a SQLite file, also of a database on a PostgreSQL server: one format, one check, no other program needed.
It has the version that the database had, so restoring the backup made before an upgrade undoes the upgrade.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple, cast

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    NullPool,
    Table,
    create_engine,
    func,
    insert,
    inspect,
    select,
)

from number_tower.files import replace_file, sync
from number_tower.store import Location, StoreError, locate_file
from number_tower.store.engine import (
    UPGRADE_LOCK,
    begin_snapshot,
    count_rows,
    create_private,
    describe_error,
    is_damage,
    is_locked,
    make_private_folders,
    translate_errors,
    use_once,
)
from number_tower.store.schema import NEWEST, metadata
from number_tower.store.upgrade import (
    BackupChoice,
    check_version,
    migrate,
    read_version,
    require_version,
)
from number_tower.text import format_path

if sys.platform != "win32":
    import fcntl

Progress = Callable[[int, int], object]
"""Called with how much is done, and how much there is in all."""

_PAGES_PER_STEP = 512
"""Pages that are copied in one step: between two steps, progress is shown and Ctrl-C works."""

_ROWS_PER_STEP = 500
_VERSION_TABLE = "alembic_version"


class DatabaseSummary(NamedTuple):
    """What a database or a backup holds: the version of its tables, and how many rows are in each.

    After a check, also everything that is wrong.
    """

    version: str
    rows: Mapping[str, int]
    problems: tuple[str, ...] = ()


def create_backup(
    location: Location, target: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> DatabaseSummary:
    """Write a backup of a database to a file, while others may use the database; check it before it gets its name."""
    if location.file is not None and os.path.realpath(target) == os.path.realpath(location.file):
        raise StoreError(
            f"{format_path(target)} is the database itself; choose another file for the backup"
        )
    with _write_backup(target, overwrite=overwrite) as part:
        summary = copy_database(location, part, progress)
        if read_summary(part) != summary:
            problem = "does not hold what the database holds; nothing was saved"
            raise StoreError(f"the backup {format_path(target)} {problem}")
    return summary


def copy_database(
    location: Location, file: Path, progress: Progress | None = None
) -> DatabaseSummary:
    """Copy a database as it is at one moment to a new SQLite file, however much is written to it meanwhile."""
    with use_once(location) as engine, begin_snapshot(engine) as connection:
        if location.file is None:
            return _copy_tables(connection, file, require_version(connection, location), progress)
        summary = _summarize(connection, location.name)
        _copy_pages(connection, file, progress)
        return summary


def back_up_before_upgrade(
    connection: Connection, location: Location, version: str, backup: BackupChoice
) -> Path | None:
    """Write the backup that an upgrade needs; the caller holds the lock under which the database is upgraded."""
    if backup is False or (backup is None and location.file is None):
        return None
    target = backup or name_backup(Path(location.file or ""))
    try:
        if location.file is not None:
            create_backup(location, target)
        else:
            with _write_backup(target) as part:
                _copy_tables(connection, part, version)
    except StoreError as error:
        advice = "make room for it, or skip the backup: tower db upgrade --no-backup"
        raise StoreError(f"{error}. Before an upgrade a backup is needed; {advice}") from None
    return target


def name_backup(file: Path) -> Path:
    """Return a free name beside a file for the backup that is made before an upgrade."""
    return _find_free_name(file, f"before-{NEWEST}")


def restore_backup(
    location: Location, source: Path, progress: Progress | None = None
) -> Path | None:
    """Replace a database by a backup, in one step: a failure leaves the database as it was.

    The caller has checked the backup. The replaced database is saved: beside the file, or, if it is on a server, as a
    backup beside the one that is restored; return where, if there was one.
    """
    summary = read_summary(source)
    check_version(summary.version, locate_file(source))
    restore = _restore_server if location.file is None else _restore_file
    return restore(location, source, summary, progress)


def read_summary(file: Path) -> DatabaseSummary:
    """Return what a backup holds; a damaged file, or one that is no database of ours, is a StoreError."""
    name = format_path(file)
    if not file.is_file():
        raise StoreError(f"there is no backup {name}")
    with use_once(locate_file(file)) as engine, begin_snapshot(engine) as connection:
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise StoreError(f"the database {name} cannot be used: it is damaged")
        for table, row, *_ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            raise StoreError(
                f"the database {name} is damaged: row {row} of {table} refers to a row that is missing"
            )
        return _summarize(connection, name)


def _summarize(connection: Connection, name: str) -> DatabaseSummary:
    version = read_version(connection)
    if not version:
        raise StoreError(f"{name} is not a database of Number Tower")
    return DatabaseSummary(version, _count_rows(connection))


@contextmanager
def _write_backup(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a file to write, which gets its name once it is complete; errors name the target."""
    if not overwrite and os.path.lexists(target):
        raise StoreError(
            f"{format_path(target)} exists already; choose another name, or add --force to replace it"
        )
    if target.is_dir():
        raise StoreError(f"{format_path(target)} is a folder; expected the name of a file")
    try:
        make_private_folders(os.path.dirname(os.path.abspath(target)))
        with replace_file(target) as part:
            create_private(str(part))
            yield part
    except OSError as error:
        raise StoreError(
            f"{format_path(target)} cannot be written: {describe_error(error)}"
        ) from error


def _copy_pages(source: Connection, part: Path, progress: Progress | None) -> None:
    """Copy a database file; unless it is damaged, errors are those of writing the copy."""

    def step(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    opened = cast("sqlite3.Connection", source.connection.driver_connection)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            opened.backup(target, pages=_PAGES_PER_STEP, progress=step)
            target.execute("PRAGMA journal_mode = DELETE")  # everything in one file
    except sqlite3.Error as error:
        if is_damage(error):
            raise
        raise OSError(describe_error(error)) from error


def _restore_file(
    location: Location, source: Path, summary: DatabaseSummary, progress: Progress | None
) -> Path | None:
    target = Path(os.path.realpath(location.file or ""))
    if target == Path(os.path.realpath(source)):
        raise StoreError(
            f"{format_path(source)} is the database itself; there is nothing to restore"
        )
    replaced: Path | None = None
    with translate_errors(location.name, OSError):
        make_private_folders(str(target.parent))
        with (
            ExitStack() as lock,
            replace_file(target) as part,
        ):  # the lock is held until the file is replaced
            create_private(str(part))
            copy_database(locate_file(source), part, progress)
            _check_copied(read_summary(part).rows, summary.rows, source, location)
            if target.exists():
                _lock_exclusively(lock, target, location.name)
                shutil.copymode(target, part)
                replaced = _keep_replaced(target)
    return replaced


def _lock_exclusively(lock: ExitStack, file: Path, name: str) -> None:
    """Keep all others from a database file; refuse if a program has it open, even if it is doing nothing.

    A connection in write-ahead mode holds a lock for as long as it is open. Leaving that mode needs the opposite lock.
    It also moves everything from the log into the file and removes the log. Of a damaged file, only the bytes that
    SQLite locks are locked.
    """
    in_use = StoreError(
        f"the database {name} is in use; stop the server or the game that uses it, then try again"
    )
    connection = lock.enter_context(
        closing(sqlite3.connect(file, timeout=0.5, isolation_level=None))
    )
    try:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        connection.execute("BEGIN EXCLUSIVE")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if is_locked(error):
            raise in_use from None
        if not is_damage(error):
            raise
        connection.close()
        if sys.platform != "win32":  # a file that is open cannot be replaced there
            stream = lock.enter_context(file.open("r+b"))
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
            except OSError:
                raise in_use from None


def _keep_replaced(file: Path) -> Path:
    """Give a database file a second name, and move the log that would be applied to the file put in its place."""
    kept = _find_free_name(file, "before-restore")
    for suffix in ("-wal", "-journal"):  # only beside a damaged file; they stay together
        if (log := Path(f"{file}{suffix}")).exists():
            log.rename(f"{kept}{suffix}")
    with suppress(OSError):
        Path(f"{file}-shm").unlink()
    try:
        kept.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, kept)
        sync(kept)
    kept.chmod(0o600)
    return kept


def _copy_tables(
    source: Connection, part: Path, version: str, progress: Progress | None = None
) -> DatabaseSummary:
    """Copy all tables of a server to a SQLite file whose tables have the same version."""
    with _make_copy_engine(part).begin() as target:
        migrate(target, version)
        _copy_rows(source, target, progress)
    return DatabaseSummary(version, _count_rows(source))


def _make_copy_engine(file: Path) -> Engine:
    return create_engine(URL.create("sqlite", database=str(file)), poolclass=NullPool)


def _restore_server(
    location: Location, source: Path, summary: DatabaseSummary, progress: Progress | None
) -> Path | None:
    """Replace the tables of a server by those of a backup, in one transaction."""
    replaced: Path | None = None
    try:
        with use_once(location) as engine, engine.begin() as target:
            target.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
            _refuse_if_connected(target, location)
            before = check_version(read_version(target), location)
            if before is not None:
                replaced = _find_free_name(source, "before-restore")
                with _write_backup(replaced) as part:
                    _copy_tables(target, part, before)
                for name in (*metadata.tables, _VERSION_TABLE):
                    target.exec_driver_sql(f'DROP TABLE IF EXISTS "{name}" CASCADE')
            migrate(target, summary.version)
            with _make_copy_engine(source).connect() as connection:
                _copy_rows(connection, target, progress)
            _check_copied(_count_rows(target), summary.rows, source, location)
    except BaseException:
        if replaced is not None:
            with suppress(OSError):
                replaced.unlink()
        raise
    return replaced


def _refuse_if_connected(connection: Connection, location: Location) -> None:
    ours = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    if connection.exec_driver_sql(
        f"SELECT count(*) FROM pg_stat_activity WHERE {ours}"  # noqa: S608 - constant
    ).scalar_one():
        problem = "is in use; stop all servers and games that use it, then try again"
        raise StoreError(f"the database {location.name} {problem}")


def _copy_rows(source: Connection, target: Connection, progress: Progress | None) -> None:
    """Copy the rows of all tables, and the highest ids ever used: no id is used twice."""
    tables = MetaData()
    tables.reflect(target)
    done, total = 0, sum(_count_rows(source).values())
    for table in tables.sorted_tables:
        if table.name == _VERSION_TABLE:
            continue
        found = source.execute(select(table), execution_options={"yield_per": _ROWS_PER_STEP})
        for rows in found.mappings().partitions():
            target.execute(insert(table), [dict(row) for row in rows])
            done += len(rows)
            if progress is not None:
                progress(done, total)
        if "id" in table.columns:
            _write_sequence(target, table, _read_sequence(source, table))


def _read_sequence(connection: Connection, table: Table) -> int:
    """Return the highest id that was ever given to a row of a table."""
    highest: int = connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()
    if connection.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        return max(highest, connection.exec_driver_sql(query, (table.name,)).scalar() or 0)
    name = connection.exec_driver_sql(
        f"SELECT pg_get_serial_sequence('{table.name}', 'id')"
    ).scalar_one()
    last, called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {name}").one()  # noqa: S608 - its own name
    return max(highest, int(last) if called else int(last) - 1)


def _write_sequence(connection: Connection, table: Table, last: int) -> None:
    if (
        last and connection.dialect.name == "sqlite"
    ):  # only tables that never use an id again have a row there
        connection.exec_driver_sql(
            "UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (last, table.name)
        )
    elif last:
        connection.exec_driver_sql(
            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})"
        )


def _count_rows(connection: Connection) -> dict[str, int]:
    """Return how many rows each of our tables has."""
    stored = inspect(connection).get_table_names()
    return {
        name: count_rows(connection, table)
        for name, table in metadata.tables.items()
        if name in stored
    }


def _check_copied(
    copied: Mapping[str, int], rows: Mapping[str, int], source: Path, location: Location
) -> None:
    if copied != rows:
        raise StoreError(
            f"{format_path(source)} could not be copied; the database {location.name} is as it was"
        )


def _find_free_name(file: Path, suffix: str) -> Path:
    """Return a free name beside a file, with a suffix and the day."""
    first = f"{file.name}.{suffix}-{datetime.now(UTC):%Y%m%d}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(path for path in map(file.with_name, names) if not os.path.lexists(path))
