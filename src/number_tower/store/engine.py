"""Opening a database: one engine, set up for many players at once, in the form that this program knows."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, contextmanager, suppress
from logging import NullHandler, getLogger
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import quote

from sqlalchemy import URL, create_engine, event, inspect, make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from number_tower.store import EXPECTED, StoreError
from number_tower.store.schema import NEWEST
from number_tower.text import format_path, format_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from number_tower.store import Location

    Backup = Path | Literal[False] | None
    """Where the backup before an upgrade goes: to this file; beside a database file (None); nowhere (False)."""


TIMEOUT = 10.0


"""Seconds that a file which others are writing to is waited for, or a server that does not answer.

Whoever chooses a database by its URL can choose this as well: `?timeout=2`, on a server `?connect_timeout=2`.
"""


_RETRY_MILLISECONDS = 15


"""Milliseconds after which whoever waits for a file asks anew."""


UPGRADE_LOCK = 7_263_514


"""The advisory lock under which a server's tables change their form."""


_ALEMBIC_LOCK = Lock()


"""Alembic keeps what it works on where all threads see it."""


_VERSIONS = ("0001", "0002", "0003", "0004", NEWEST)


_OPENING_ATTEMPTS = 5


"""How often a file is opened again that is replaced at the moment when it is opened."""


_LOG = getLogger(__name__)


_LOG.addHandler(NullHandler())  # a command that sets up no log prints none


def make_engine(place: Location, *, patience: float = TIMEOUT) -> Engine:
    """Return an engine for a place; nothing is opened yet."""
    try:
        url = _make_file_url(place.file or "") if place.url is None else make_url(place.url)
        if place.file is None:
            return _make_server_engine(url, patience)
        engine = create_engine(url.set(query={"timeout": str(patience), **url.query}))
    except ImportError:
        needed = "pip install 'number-tower[postgres]'"
        raise StoreError(f"the database {place.name} cannot be used without psycopg: {needed}") from None
    except (SQLAlchemyError, ValueError):
        raise StoreError(f"{place.name} names no database; {EXPECTED}") from None
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _make_file_url(file: str) -> URL:
    """Return the URL of a file; if it cannot be written, and nobody else is writing it, one by which it can be read."""
    writable = os.access(file, os.W_OK) and os.access(os.path.dirname(file), os.W_OK)
    if writable or not os.path.isfile(file) or os.path.exists(f"{file}-wal"):
        return URL.create("sqlite", database=file)
    only_read = {"mode": "ro", "immutable": "1", "uri": "true"}
    return URL.create("sqlite", database=f"file:{quote(os.fsencode(file))}", query=only_read)


def _make_server_engine(url: URL, patience: float) -> Engine:
    """Return an engine for a server that is waited for no longer than it deserves: to connect, or to let others finish.

    Only a server that was halted in the middle of an answer, with its connections intact, is waited for.
    """
    usual = {
        "application_name": "number-tower",
        "connect_timeout": str(max(2, round(patience))),
        "keepalives_idle": "10",
        "tcp_user_timeout": str(round(patience * 1000)),
    }
    engine = create_engine(url.set(query={**usual, **url.query}), pool_pre_ping=True)
    waiting = f"SET LOCAL lock_timeout = {max(1, round(patience * 1000))}"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(waiting) and None)
    return engine


def _configure_sqlite(connection: DBAPIConnection, _: object) -> None:
    """Let SQLite keep its own transactions, which Python's driver would begin late and end early."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _enable_wal(engine: Engine) -> None:
    """Let readers and a writer not wait for each other; where that cannot be had, they wait.

    A file remembers it, so this is done only once it is known to hold games: others' files are left as they are.
    """
    with closing(engine.raw_connection()) as connection, suppress(sqlite3.Error):
        connection.cursor().execute("PRAGMA journal_mode = WAL")


def _begin_transaction(connection: Connection) -> None:
    """Begin as a writer at once: a reader that turns writer may find that it was overtaken.

    Left to itself, SQLite asks for its turn ever more rarely, so whoever has waited longest is the least likely to get
    it. Asked again and again, all who wait are equally likely.
    """
    if connection.get_execution_options().get("reading", False):
        connection.exec_driver_sql("BEGIN")
        return
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    deadline = monotonic() + patience / 1000
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {min(patience, _RETRY_MILLISECONDS)}")
    try:
        while not _try_begin_write(connection, last=monotonic() > deadline):
            pass
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")


def _try_begin_write(connection: Connection, *, last: bool) -> bool:
    """Try to begin as a writer; say whether it is our turn, or complain if it was the last try."""
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as busy:
        if last or getattr(busy.orig, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


@contextmanager
def begin_snapshot(engine: Engine) -> Iterator[Connection]:
    """Look at a database as it is at one moment, however many statements that takes."""
    options: dict[str, Any] = {"reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def lock_bulk_writes(connection: Connection) -> None:
    """Let whoever writes many games in one piece wait for others who do, and not each for a game that the other has."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK + 1})")


def ensure_newest_version(engine: Engine, place: Location) -> None:
    """See to it that the database has the newest form: a file takes it on by itself, a server when told to."""
    with translate_errors(place.name, OSError):
        if place.file is not None:
            _create_file(engine, place.file)
        with begin_snapshot(engine) as connection:
            form = read_version(connection)
    check_version(form, place)
    if form != NEWEST and place.file is None:
        problem = "has no tables for games yet" if form is None else f"is of an earlier form ({form})"
        raise StoreError(f"the database {place.name} {problem}; to bring it up to date: tower db upgrade")
    if form != NEWEST:
        upgrade(engine, place)
    if place.file is not None:
        with translate_errors(place.name):
            _enable_wal(engine)


def open_guarded(engine: Engine, place: Location) -> FileGuard | None:
    """Open a database in its newest form; return what watches over its files, if it is a file.

    A file that is replaced while it is opened is opened again, so that all connections are to the same one.
    """
    for _ in range(_OPENING_ATTEMPTS):
        before = None if place.file is None else read_state(place.file).database
        ensure_newest_version(engine, place)
        if place.file is None:
            return None
        with translate_errors(place.name):
            guard = FileGuard(engine, place.file)
        if before in {None, guard.state.database}:
            return guard
        guard.close()
        engine.dispose()
    raise StoreError(f"the database {place.name} cannot be used: another program replaces it again and again")


def save_log(guard: FileGuard, place: Location) -> None:
    """Save what the write-ahead log holds, after a file of the database was deleted or replaced, and log what happened.

    As long as it cannot be saved the database cannot be used: the connections that hold it stay open, and the next use
    tries again.
    """
    moved = read_state(place.file or "").database != guard.state.database
    with translate_errors(place.name):
        try:
            saved = guard.save_log()
        except LogBusyError:
            busy = "a file beside it was deleted or replaced, and another program keeps it locked"
            raise StoreError(f"the database {place.name} cannot be used: {busy}") from None
    if moved:
        _LOG.warning("the database %s was deleted or replaced; the file that is there now is used", place.name)
    elif saved:
        _LOG.warning("a file beside the database %s was deleted while in use; nothing is lost", place.name)
    else:
        _LOG.error("a file beside the database %s was replaced; what was saved last may be missing", place.name)


def _create_file(engine: Engine, file: str) -> None:
    """Make a database file and its folder; say what is wrong where SQLite would only say that it cannot open it."""
    if os.path.isdir(file):
        raise IsADirectoryError("it is a folder, and should be a file")
    folder = os.path.dirname(file)
    try:
        make_private_folders(folder)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{format_path(folder)} is not a folder") from None
    if engine.url.query.get("mode", "rwc") == "rwc":
        create_private(file)


def upgrade(engine: Engine, place: Location, backup: Backup = None) -> tuple[str | None, str]:
    """Bring a database to the newest form, once however many try; return the form it had and the one it has."""
    with translate_errors(place.name, OSError):
        if place.file is not None:
            _create_file(engine, place.file)
    with translate_errors(place.name), engine.begin() as connection:
        if place.file is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
        form = read_version(connection)
        check_version(form, place)
        if form is None:
            migrate(connection, NEWEST)
        elif form != NEWEST:
            _migrate_with_backup(connection, place, form, backup)
    return form, NEWEST


def _migrate_with_backup(connection: Connection, place: Location, form: str, backup: Backup) -> None:
    """Make a backup, then migrate; if that fails, nothing was changed, and the backup is removed again."""
    from number_tower.store.backup import back_up_before_upgrade  # noqa: PLC0415 - only when a database is upgraded

    made = back_up_before_upgrade(connection, place, form, backup)
    try:
        migrate(connection, NEWEST)
    except BaseException:
        if made is not None:
            made.unlink(missing_ok=True)
        raise
    if made is not None:
        _LOG.info("the database %s was upgraded to version %s; backup: %s", place.name, NEWEST, format_path(str(made)))


def read_version(connection: Connection) -> str | None:
    """Return the form of a database; None if it has no tables yet, "" if what it holds is something else."""
    tables = inspect(connection).get_table_names()
    if not {"alembic_version", "games"} <= set(tables):
        return "" if tables else None
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return version if isinstance(version, str) else ""


def require_version(connection: Connection, place: Location) -> str:
    """Return the version of a database that holds games, and that this program knows."""
    version = read_version(connection)
    check_version(version, place)
    if version is None:
        raise StoreError(f"the database {place.name} has no tables for games yet")
    return version


def migrate(connection: Connection, form: str) -> None:
    """Run the migrations up to a form, in the transaction of the connection."""
    from alembic import command  # noqa: PLC0415 - only when a database takes on a new form
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", os.path.join(os.path.dirname(__file__), "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ALEMBIC_LOCK:
        command.upgrade(config, form)


def check_version(form: str | None, place: Location) -> None:
    """Refuse a database that holds something else, or is of a version that is newer than this program."""
    if form == "":
        raise StoreError(f"the database {place.name} cannot be used: it holds other things than games of Number Tower")
    if form is not None and form not in _VERSIONS:
        newer = f"it has a newer form ({format_text(form, 40)}) than this Number Tower knows ({NEWEST})"
        raise StoreError(f"the database {place.name} cannot be used: {newer}; update Number Tower")


_FileId = tuple[int, int]


_FILE_MODE = 0o600


_FOLDER_MODE = 0o700


def create_private(file: str) -> None:
    """Create a missing database file that only its owner can read and write; an existing file is left alone.

    SQLite gives the files that it keeps beside it (`-wal`, `-shm`, `-journal`) the same permissions.
    """
    target = os.path.realpath(file)
    try:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE)
    except OSError:
        return  # it exists, or SQLite says what is wrong when it opens it
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, _FILE_MODE)  # whatever the umask is
    finally:
        os.close(descriptor)


def make_private_folders(folder: str) -> None:
    """Create the missing folders of a path, for their owner alone."""
    if not folder or os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent != folder:
        make_private_folders(parent)
    try:
        os.mkdir(folder, _FOLDER_MODE)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    else:
        with suppress(OSError):
            os.chmod(folder, _FOLDER_MODE)  # whatever the umask is


class FileState(NamedTuple):
    """Which files a database consists of, each by device and inode; None for one that is missing."""

    database: _FileId | None
    log: _FileId | None
    """The write-ahead log (`-wal`)."""

    log_index: _FileId | None
    """The shared index of the log (`-shm`)."""


def read_state(file: str) -> FileState:
    """Return which files a database consists of now."""
    return FileState(_identify(file), _identify(f"{file}-wal"), _identify(f"{file}-shm"))


def _identify(file: str) -> _FileId | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_empty_or_missing(file: str) -> bool:
    try:
        return os.stat(file).st_size == 0
    except OSError:
        return True


class LogBusyError(Exception):
    """The write-ahead log cannot be emptied because another connection is using it."""


class FileGuard:
    """One idle connection to a database file, which notices that a file was deleted or replaced, and saves the log.

    SQLite keeps the newest commits in the write-ahead log until it copies them into the database file. If the log is
    deleted while connections are open, these go on writing to the deleted file, while every new connection creates
    another log and fails, or mixes the two. The connection that is held here still has the deleted log open, so its
    content can be copied into the database file. It is also emptied: a connection of another process that has not
    noticed yet then gets an error instead of old content.

    A log that stays behind when the database file is replaced is emptied too: SQLite would apply it to the new file.
    """

    def __init__(self, engine: Engine, file: str) -> None:
        self._file = file
        self._lock = Lock()
        taken = engine.raw_connection()
        self._connection = cast("sqlite3.Connection", taken.driver_connection)
        taken.detach()
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
        self.state = read_state(file)

    def is_intact(self) -> bool:
        """Say whether the files are still those that were opened."""
        return read_state(self._file) == self.state

    def is_missing(self) -> bool:
        """Say whether the database file itself is not there."""
        return _identify(self._file) is None

    def read_version(self) -> int:
        """Return a number that changes whenever another connection commits to the file."""
        with self._lock:
            version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
            return version

    def save_log(self) -> bool:
        """Copy the log into the database file and empty it; return False if another log has taken its place.

        A log with content in its place belongs to a connection that was opened later. The index describes that one, so
        ours cannot be read any more. Another Number Tower creates it only after it has saved and emptied ours.
        """
        log = f"{self._file}-wal"
        if self.state.log is None or (_identify(log) != self.state.log and not _is_empty_or_missing(log)):
            return self.state.log is None
        with self._lock:
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise LogBusyError
        return True

    def close(self) -> None:
        """Close the connection; if a file was deleted or replaced, save the log first as far as that is possible."""
        if not self.is_intact():
            with suppress(sqlite3.Error, LogBusyError):
                self.save_log()
        with self._lock:
            self._connection.close()


_SQLITE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR_SHMSIZE": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_BUSY": "another program keeps it locked",
    "SQLITE_LOCKED": "another program keeps it locked",
    "SQLITE_CANTOPEN": "it cannot be opened; perhaps you may not write there",
    "SQLITE_NOTADB": "it is a file of another kind",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_PERM": "permission denied",
    "SQLITE_IOERR": "reading or writing it failed",
}


_POSTGRESQL = {
    "55P03": "another program keeps it locked",
    "40P01": "others changed it at the same moment",
    "53100": "the disk of its server is full",
    "25006": "it is read-only",
}


_SERVER_GONE = "its server has gone away"


_SERVER_UNREACHABLE = "its server cannot be reached"


PUBLIC_REASONS = (*dict.fromkeys((*_SQLITE.values(), *_POSTGRESQL.values(), _SERVER_GONE, _SERVER_UNREACHABLE)),)


"""Reasons that name nothing of the machine: no path, address, user or database. Others are only for the log."""


_FATAL_MESSAGE = re.compile(r"connection failed: .*?FATAL: +")


_CONNECT_MESSAGE = re.compile(r"connection failed: connection to server .* failed: (?P<why>(?!FATAL).*)")


@contextmanager
def translate_errors(name: str, *others: type[OSError]) -> Iterator[None]:
    """Turn whatever a database complains of, or the system on its behalf, into a sentence that names it."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError, OSError) as trouble:
        if isinstance(trouble, OSError) and not isinstance(trouble, others):
            raise
        raise StoreError(f"the database {name} cannot be used: {describe_error(trouble)}") from trouble


@contextmanager
def detect_damage(what: str) -> Iterator[None]:
    """Turn what Python raises for values that nothing here has written into a StoreError that says what is damaged."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError) as wrong:
        if type(wrong).__module__ != "builtins":
            raise
        raise StoreError(f"{what} is damaged in the database; to see all that is: tower db check") from wrong


def is_damage(trouble: BaseException) -> bool:
    """Say whether an error of SQLite means that a file is damaged, or is no database at all."""
    name = getattr(trouble, "sqlite_errorname", "")
    return isinstance(trouble, UnicodeDecodeError) or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_locked(trouble: BaseException) -> bool:
    """Say whether an error of SQLite means that another connection keeps a file locked."""
    return getattr(trouble, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def describe_error(trouble: SQLAlchemyError | sqlite3.Error | UnicodeDecodeError | OSError) -> str:
    """Say in a few words what an error means."""
    if isinstance(trouble, OSError):
        return format_text(trouble.strerror or str(trouble))
    if isinstance(trouble, UnicodeDecodeError):  # SQLite quotes the damaged schema in a message that is no text
        return _SQLITE["SQLITE_CORRUPT"]
    return _describe_database_error(trouble)


def _describe_database_error(trouble: SQLAlchemyError | sqlite3.Error) -> str:
    cause = trouble.orig if isinstance(trouble, DBAPIError) else trouble if isinstance(trouble, sqlite3.Error) else None
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "")
        for prefix, words in _SQLITE.items():
            if name == prefix or name.startswith(f"{prefix}_"):
                return words
    if (state := getattr(cause, "sqlstate", None)) in _POSTGRESQL:
        return _POSTGRESQL[state]
    if isinstance(trouble, DBAPIError) and trouble.connection_invalidated:
        return _SERVER_GONE
    said = format_text(str(cause or trouble).strip().partition("\n")[0])
    if unreached := _CONNECT_MESSAGE.fullmatch(said):
        return f"{_SERVER_UNREACHABLE} ({unreached['why'].lower()})"
    return _FATAL_MESSAGE.sub("its server says: ", said) or "it says no more"
