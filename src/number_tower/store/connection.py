"""The SQLAlchemy engine of a database, the database's files, and its errors in plain words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    func,
    make_url,
    select,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from number_tower.store import EXPECTED, DamagedError, Location, StoreError
from number_tower.support.text import format_text

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

TIMEOUT = 10.0
"""Seconds to wait for a file that others are writing, or for a server that does not answer.

A database's URL can set another value: `?timeout=2`, on a server `?connect_timeout=2`.
"""

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700

_ERRORS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR_SHMSIZE": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_BUSY": "another program is using it",
    "SQLITE_LOCKED": "another program is using it",
    "SQLITE_CANTOPEN": "it cannot be opened; perhaps you may not write there",
    "SQLITE_NOTADB": "it is not a database file",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_PERM": "permission denied",
    "SQLITE_IOERR": "reading or writing it failed",
    "55P03": "another program is using it",
    "40P01": "another program changed it at the same time",
    "53100": "the disk of its server is full",
    "25006": "it is read-only",
}

WRONG_VALUES = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors raised when a value is built from a row or import line that this program never writes."""

# Errors -------------------------------------------------------------------------------------------


@contextmanager
def translate_errors(name: str, *others: type[OSError]) -> Iterator[None]:
    """Turn errors of a database, and `others`, into a StoreError that names the database."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, others):
            raise
        raise StoreError(f"the database {name} cannot be used: {describe_error(error)}") from error


@contextmanager
def detect_damage(what: str) -> Iterator[None]:
    """Turn errors of building a value from wrong rows into a DamagedError."""
    try:
        yield
    except WRONG_VALUES as error:
        is_text = isinstance(error, ValueError)
        problem = format_text(str(error)) if is_text else "one of its values is wrong"
        raise DamagedError(f"{what} is damaged in the database: {problem}") from error


def describe_error(error: SQLAlchemyError | sqlite3.Error | UnicodeDecodeError | OSError) -> str:
    """Describe an error in a few words."""
    if isinstance(error, OSError):
        return format_text(error.strerror or str(error))
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    if isinstance(cause, UnicodeDecodeError):
        # SQLite's message quotes the damaged schema, which is not text.
        code = "SQLITE_CORRUPT"
    for prefix, words in _ERRORS.items():
        if f"{code}_".startswith(f"{prefix}_"):
            return words
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return "its server has gone away"
    message = format_text(str(cause or error).strip().partition("\n")[0])
    _, failed, why = message.partition(" failed: ")[2].partition(" failed: ")
    if why.startswith("FATAL:"):
        return f"its server says: {why.removeprefix('FATAL:').strip()}"
    if failed:
        return f"its server cannot be reached ({why.lower()})"
    return message or "it gives no reason"


# Engines ------------------------------------------------------------------------------------------


def make_engine(location: Location, *, timeout: float | None = None) -> Engine:
    """Return an engine for a location, without opening it."""
    timeout = TIMEOUT if timeout is None else timeout
    try:
        if location.file is None:
            return _make_server_engine(make_url(location.url or ""), timeout)
        url = make_url(location.url) if location.url else _make_file_url(location.file)
        engine = create_engine(url.set(query={"timeout": str(timeout), **url.query}))
    except ImportError:
        from number_tower.support import installation  # noqa: PLC0415 - only where it is missing

        needed = installation.format_install_command("postgres")
        problem = f"cannot be used without psycopg: {needed}"
        raise StoreError(f"the database {location.name} {problem}") from None
    except (SQLAlchemyError, ValueError):
        raise StoreError(f"{location.name} names no database; {EXPECTED}") from None
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _make_file_url(file: str) -> URL:
    """Return the URL of a file.

    It is read-only if the file cannot be written and has no log (a log shows that it is in use).
    """
    # Ask first whether it is new: another process may create the file at any moment.
    is_new = not os.path.isfile(file)
    writable = os.access(file, os.W_OK) and os.access(os.path.dirname(file), os.W_OK)
    if is_new or writable or os.path.exists(f"{file}-wal"):
        return URL.create("sqlite", database=file)
    read_only = {"mode": "ro", "immutable": "1", "uri": "true"}
    return URL.create("sqlite", database=f"file:{quote(os.fsencode(file))}", query=read_only)


def _make_server_engine(url: URL, timeout: float) -> Engine:
    """Return an engine for a server, with time limits for connections, answers and others' locks.

    No limit covers a server that stops in the middle of an answer and keeps its connections.
    """
    defaults = {
        "application_name": "number-tower",
        "connect_timeout": str(max(2, round(timeout))),
        "keepalives_idle": "10",
        "tcp_user_timeout": str(round(timeout * 1000)),
    }
    engine = create_engine(url.set(query={**defaults, **url.query}), pool_pre_ping=True)

    @event.listens_for(engine, "begin")
    def limit_locks(connection: Connection) -> None:
        milliseconds = max(1, round(timeout * 1000))
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")

    return engine


def _configure_sqlite(connection: DBAPIConnection, _: object) -> None:
    """Leave transactions to SQLite: Python's driver would begin them late and end them early."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_transaction(connection: Connection) -> None:
    """Begin every transaction as a writer, except a snapshot.

    A transaction that reads first and writes later fails if the file changed in between.
    """
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


@contextmanager
def begin_snapshot(engine: Engine) -> Iterator[Connection]:
    """Read one state of a database with any number of statements."""
    options: dict[str, Any] = {"reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def use_once(location: Location) -> Iterator[Engine]:
    """Yield an engine for one task; errors of the database become StoreErrors."""
    engine = make_engine(location)
    try:
        with translate_errors(location.name):
            yield engine
    finally:
        engine.dispose()


def count_rows(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    """Return how many rows of a table fulfil some conditions."""
    query = select(func.count()).select_from(table).where(*conditions)
    return connection.execute(query).scalar_one()


# Files --------------------------------------------------------------------------------------------


def create_private(file: str) -> None:
    """Create a missing database file that only its owner can read and write.

    An existing file does not change. SQLite gives the files beside it (`-wal`, `-shm`,
    `-journal`) the same permissions.
    """
    target = os.path.realpath(file)
    with suppress(OSError):  # it exists, or SQLite says what is wrong when it opens it
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE))
        os.chmod(target, _FILE_MODE)  # regardless of the umask


def make_private_folders(folder: str) -> None:
    """Create the missing folders of a path, accessible to their owner only."""
    for path in reversed((Path(folder), *Path(folder).parents)):
        if not path.is_dir():
            path.mkdir(_FOLDER_MODE, exist_ok=True)
            path.chmod(_FOLDER_MODE)  # regardless of the umask
