"""Backups of a database: made while it is in use, checked before they are trusted, and put back in one piece.

A backup is a SQLite file, also of a database on a PostgreSQL server: one format, one check, no other program needed.
It has the version that the database had, so restoring the backup made before an upgrade undoes the upgrade.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from sqlalchemy import URL, MetaData, create_engine, func, insert, select

from number_tower.store import Location, StoreError
from number_tower.store.engine import (
    UPGRADE_LOCK,
    begin_snapshot,
    check_version,
    create_private,
    describe_error,
    is_damage,
    is_locked,
    make_engine,
    make_private_folders,
    migrate,
    read_version,
    require_version,
    translate_errors,
)
from number_tower.store.schema import NEWEST, metadata
from number_tower.text import format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection, Table

    from number_tower.store.engine import Backup

    Progress = Callable[[int, int], object]
    """Called with how much is done, and how much there is in all."""

_PAGES_PER_STEP = 512
"""Pages that are copied in one step: between two steps, progress is shown and Ctrl-C works."""

_ROWS_PER_STEP = 500
"""Rows that are copied from or to a server in one step."""

_READ_ONLY = {"mode": "ro", "uri": "true"}

_VERSION_TABLE = "alembic_version"


class BackupSummary(NamedTuple):
    """What a backup holds: the version of its tables, and how many rows are in each."""

    version: str
    rows: Mapping[str, int]


class RestoreResult(NamedTuple):
    """What a database holds after a restore, and where the database that it replaced is kept."""

    summary: BackupSummary
    replaced: Path | None


def create_backup(
    place: Location, target: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> BackupSummary:
    """Write a backup of a database to a file, while others may use the database; check it before it gets its name."""
    if place.file is not None and os.path.realpath(target) == os.path.realpath(place.file):
        raise StoreError(f"{_format_path(target)} is the database itself; choose another file for the backup")
    with _write_atomically(target, overwrite=overwrite) as part:
        summary = copy_database(place, part, progress)
        if read_summary(part) != summary:
            raise StoreError(
                f"the backup {_format_path(target)} does not hold what the database holds; nothing was saved"
            )
    return summary


def copy_database(place: Location, file: Path, progress: Progress | None = None) -> BackupSummary:
    """Copy a database as it is at one moment to a new SQLite file."""
    if place.file is not None:
        return _copy_file(Path(place.file), file, place.name, progress)
    return _copy_server(place, file, progress)


def back_up_before_upgrade(connection: Connection, place: Location, version: str, backup: Backup) -> Path | None:
    """Write the backup that an upgrade needs; the caller holds the lock under which the database is upgraded."""
    if backup is False or (backup is None and place.file is None):
        return None
    target = backup or name_backup(Path(place.file or ""))
    try:
        if place.file is not None:
            create_backup(place, target)
        else:
            with _write_atomically(target, overwrite=False) as part:
                _copy_tables(connection, part, version, None)
    except StoreError as trouble:
        advice = "make room for it, or go without one: tower db upgrade --no-backup"
        raise StoreError(f"{trouble}. Before an upgrade a backup is needed; {advice}") from None
    return target


def name_backup(file: Path) -> Path:
    """Return a free name beside a file for the backup that is made before an upgrade."""
    return _find_free_name(file, f"before-{NEWEST}-{_format_today()}")


def restore_backup(place: Location, source: Path, progress: Progress | None = None) -> RestoreResult:
    """Replace a database by a backup, in one step: a failure leaves the database as it was.

    The caller has checked the backup. The replaced database is kept: beside the file, or, if it is on a server, as a
    backup beside the one that is restored.
    """
    summary = read_summary(source)
    check_version(summary.version, locate_file(source))
    if place.file is not None:
        return RestoreResult(summary, _restore_file(place, source, summary, progress))
    return RestoreResult(summary, _restore_server(place, source, summary, progress))


def read_summary(file: Path) -> BackupSummary:
    """Return what a backup holds; a file that is no database of ours, or a damaged one, is a StoreError."""
    place = locate_file(file)
    with translate_errors(place.name, OSError), closing(open_read_only(file)) as connection:
        check_pages(connection, place)
        return _summarize(connection, place.name)


def check_pages(connection: sqlite3.Connection, place: Location) -> None:
    """Let SQLite check a whole file: its pages, its indexes, and that no row refers to one that is missing."""
    for (problem,) in connection.execute("PRAGMA integrity_check(1)"):
        if problem != "ok":
            raise StoreError(f"the database {place.name} cannot be used: it is damaged")
    for table, row, *_ in connection.execute("PRAGMA foreign_key_check"):
        raise StoreError(f"the database {place.name} is damaged: row {row} of {table} refers to a row that is missing")


def open_read_only(file: Path) -> sqlite3.Connection:
    """Open a file that nobody writes without leaving anything beside it."""
    if not file.is_file():
        raise StoreError(f"there is no backup {_format_path(file)}")
    alone = not os.path.exists(f"{file}-wal")
    options = "mode=ro&immutable=1" if alone else "mode=rw"
    return sqlite3.connect(f"file:{quote(os.fsencode(file))}?{options}", uri=True, isolation_level=None)


# Files ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _write_atomically(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a file to be written that gets its name once it is complete and on the disk; or nothing is left of it."""
    if not overwrite and os.path.lexists(target):
        raise StoreError(f"{_format_path(target)} exists already; choose another name, or add --force to replace it")
    if target.is_dir():
        raise StoreError(f"{_format_path(target)} is a folder; expected the name of a file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        make_private_folders(os.path.dirname(os.path.abspath(target)))
        _remove(part)
        create_private(str(part))
        yield part
        _sync(part)
        os.replace(part, target)
        _sync(target.absolute().parent)
    except (OSError, sqlite3.Error, UnicodeDecodeError) as trouble:
        raise StoreError(f"{_format_path(target)} cannot be written: {describe_error(trouble)}") from trouble
    finally:
        _remove(part)


def _copy_file(source: Path, part: Path, name: str, progress: Progress | None) -> BackupSummary:
    """Copy a database file as it is at one moment, however much is written to it meanwhile."""
    with translate_errors(name):
        connection = _open_source(source)
    with closing(connection):
        with translate_errors(name):
            connection.execute("BEGIN")  # a reader of the write-ahead log sees one moment, and keeps nobody waiting
            summary = _summarize(connection, name)
        try:
            _copy_pages(connection, part, progress)
        except (sqlite3.Error, UnicodeDecodeError) as trouble:
            if is_damage(trouble):
                raise StoreError(f"the database {name} cannot be used: {describe_error(trouble)}") from trouble
            raise
    return summary


def _open_source(file: Path) -> sqlite3.Connection:
    """Open a database that others may be writing; one that may not be written is only read."""
    if not os.access(file, os.W_OK) or not os.access(file.parent, os.W_OK):
        return open_read_only(file)
    return sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=rw", uri=True, isolation_level=None)


def _copy_pages(source: sqlite3.Connection, part: Path, progress: Progress | None) -> None:
    def step(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with closing(sqlite3.connect(part, isolation_level=None)) as target:
        source.backup(target, pages=_PAGES_PER_STEP, progress=step)
        target.execute("PRAGMA journal_mode = DELETE")  # everything in one file


def _restore_file(place: Location, source: Path, summary: BackupSummary, progress: Progress | None) -> Path | None:
    target = Path(os.path.realpath(place.file or ""))
    if target == Path(os.path.realpath(source)):
        raise StoreError(f"{_format_path(source)} is the database itself; there is nothing to restore")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    kept: Path | None = None
    with translate_errors(place.name, OSError):
        make_private_folders(str(target.parent))
        try:
            _remove(part)
            create_private(str(part))
            with closing(open_read_only(source)) as connection:
                _copy_pages(connection, part, progress)
            _check_copied(read_summary(part).rows, summary.rows, source, place)
            _sync(part)
            with _lock_exclusively(target, place.name):
                if target.exists():
                    shutil.copymode(target, part)
                    kept = _keep_replaced(target)
                os.replace(part, target)
                _sync(target.parent)
        finally:
            _remove(part)
    return kept


@contextmanager
def _lock_exclusively(file: Path, name: str) -> Iterator[None]:
    """Keep all others from a database file; refuse if a program has it open, even if it is doing nothing.

    A connection in write-ahead mode holds a lock for as long as it is open. Leaving that mode needs the opposite lock.
    It also moves everything from the log into the file and removes the log. A damaged file is only locked.
    """
    if not file.exists():
        yield
        return
    in_use = StoreError(f"the database {name} is in use; stop the server or the game that uses it, then try again")
    with closing(sqlite3.connect(file, timeout=0.5, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("BEGIN EXCLUSIVE")
        except (sqlite3.Error, UnicodeDecodeError) as trouble:
            if is_locked(trouble):
                raise in_use from None
            if not is_damage(trouble):
                raise
            locked = False
        else:
            locked = True
            yield
    if not locked:
        with _lock_bytes(file, in_use):
            yield


@contextmanager
def _lock_bytes(file: Path, in_use: StoreError) -> Iterator[None]:
    """Lock the bytes of a file that SQLite locks, without reading the file."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows, where a file that is open cannot be replaced
    except ImportError:
        yield
        return
    with file.open("r+b") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
        except OSError:
            raise in_use from None
        yield


def _keep_replaced(file: Path) -> Path:
    """Give a database file a second name, and take away the log that would be applied to the file put in its place."""
    kept = _find_free_name(file, f"before-restore-{_format_today()}")
    for suffix in ("-wal", "-journal"):  # only beside a damaged file; they stay together
        if (log := Path(f"{file}{suffix}")).exists():
            log.rename(f"{kept}{suffix}")
    _remove(Path(f"{file}-shm"))
    try:
        kept.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, kept)
        _sync(kept)
    kept.chmod(0o600)
    return kept


# Servers -------------------------------------------------------------------------------------------------------------


def _copy_server(place: Location, part: Path, progress: Progress | None) -> BackupSummary:
    engine = make_engine(place)
    try:
        with translate_errors(place.name), begin_snapshot(engine) as connection:
            return _copy_tables(connection, part, require_version(connection, place), progress)
    finally:
        engine.dispose()


def _copy_tables(source: Connection, part: Path, version: str, progress: Progress | None) -> BackupSummary:
    """Copy all tables of a server to a SQLite file whose tables have the same version."""
    engine = create_engine(URL.create("sqlite", database=str(part)))
    try:
        with engine.begin() as target:
            migrate(target, version)
            _copy_rows(source, target, progress)
            return BackupSummary(version, _count_rows(source))
    finally:
        engine.dispose()


def _restore_server(place: Location, source: Path, summary: BackupSummary, progress: Progress | None) -> Path | None:
    """Replace the tables of a server by those of a backup, in one transaction."""
    engine, backup = make_engine(place), create_engine(_make_read_only_url(source))
    kept: Path | None = None
    try:
        with translate_errors(place.name), engine.begin() as target:
            target.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
            _refuse_if_connected(target, place)
            before = read_version(target)
            check_version(before, place)
            if before is not None:
                kept = _find_free_name(source, f"before-restore-{_format_today()}")
                with _write_atomically(kept, overwrite=False) as part:
                    _copy_tables(target, part, before, None)
                for name in (*metadata.tables, _VERSION_TABLE):
                    target.exec_driver_sql(f'DROP TABLE IF EXISTS "{name}" CASCADE')
            migrate(target, summary.version)
            with backup.connect() as connection:
                _copy_rows(connection, target, progress)
            _check_copied(_count_rows(target), summary.rows, source, place)
    except BaseException:
        if kept is not None:
            _remove(kept)
        raise
    finally:
        engine.dispose()
        backup.dispose()
    return kept


def _refuse_if_connected(connection: Connection, place: Location) -> None:
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    if connection.exec_driver_sql(others).scalar_one():
        raise StoreError(f"the database {place.name} is in use; stop all servers and games that use it, then try again")


def _copy_rows(source: Connection, target: Connection, progress: Progress | None) -> None:
    """Copy the rows of all tables, and how far their ids have been used: no id is ever used twice."""
    there, here = MetaData(), MetaData()
    there.reflect(source)
    here.reflect(target)
    rows = _count_rows(source)
    done, total = 0, sum(rows.values())
    for table in here.sorted_tables:
        if table.name == _VERSION_TABLE:
            continue
        held = there.tables[table.name]
        found = source.execute(select(held), execution_options={"yield_per": _ROWS_PER_STEP})
        for some in found.mappings().partitions():
            target.execute(insert(table), [dict(row) for row in some])
            done += len(some)
            if progress is not None:
                progress(done, total)
        if "id" in table.columns:
            _write_sequence(target, table, _read_sequence(source, held))


def _read_sequence(connection: Connection, table: Table) -> int:
    """Return the highest id that was ever given to a row of a table."""
    highest: int = connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()
    if connection.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        return max(highest, connection.exec_driver_sql(query, (table.name,)).scalar() or 0)
    name = connection.exec_driver_sql(f"SELECT pg_get_serial_sequence('{table.name}', 'id')").scalar_one()
    last, called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {name}").one()  # noqa: S608 - its own name
    return max(highest, int(last) if called else int(last) - 1)


def _write_sequence(connection: Connection, table: Table, last: int) -> None:
    if not last:
        return
    if connection.dialect.name == "sqlite":  # only tables that never use an id again have a row there
        update = "UPDATE sqlite_sequence SET seq = ? WHERE name = ?"
        connection.exec_driver_sql(update, (last, table.name))
    else:
        connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})")


def _check_copied(copied: Mapping[str, int], rows: Mapping[str, int], source: Path, place: Location) -> None:
    if copied != rows:
        raise StoreError(f"{_format_path(source)} could not be copied; the database {place.name} is as it was")


# Shared --------------------------------------------------------------------------------------------------------------


def locate_file(file: Path) -> Location:
    """Return the place of a database file that was named, as it is, by a command."""
    return Location(None, str(file.absolute()), _format_path(file))


def _make_read_only_url(file: Path) -> URL:
    return URL.create("sqlite", database=f"file:{quote(os.fsencode(file.absolute()))}", query=_READ_ONLY)


def _format_path(file: Path) -> str:
    return format_path(str(file))


def _format_today() -> str:
    return f"{datetime.now(UTC):%Y%m%d}"


def _find_free_name(file: Path, suffix: str) -> Path:
    """Return a name beside a file that is not taken yet."""
    name, number = file.with_name(f"{file.name}.{suffix}"), 1
    while os.path.lexists(name):
        number += 1
        name = file.with_name(f"{file.name}.{suffix}-{number}")
    return name


def _summarize(connection: sqlite3.Connection, name: str) -> BackupSummary:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    tables = [table for (table,) in found]
    if not {_VERSION_TABLE, "games"} <= set(tables):
        raise StoreError(f"{name} holds other things than games of Number Tower")
    version = connection.execute(f"SELECT version_num FROM {_VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
    counts: dict[str, int] = {}
    for table in tables:
        if not table.startswith("sqlite_") and table != _VERSION_TABLE:
            quoted = table.replace('"', '""')
            counts[table] = connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]  # noqa: S608 - quoted
    return BackupSummary("" if version is None else str(version[0]), counts)


def _count_rows(connection: Connection) -> dict[str, int]:
    """Return how many rows each of our tables has."""
    tables = MetaData()
    tables.reflect(connection)
    ours = [table for name, table in tables.tables.items() if name in metadata.tables]
    return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in ours}


def _sync(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    with suppress(PermissionError, IsADirectoryError):  # Windows opens no folder
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()
