"""Opening a database: one engine, set up for many players at once, in the form that this program knows."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from logging import NullHandler, getLogger
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from sqlalchemy import URL, create_engine, event, inspect, make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from number_tower.showing import shown_path, shown_text
from number_tower.store.files import FileGuard, LogBusyError, create_private, make_private_folders, read_state
from number_tower.store.places import EXPECTED
from number_tower.store.schema import NEWEST
from number_tower.store.trouble import StoreError, told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from number_tower.store.places import Place

    Backup = Path | Literal[False] | None
    """Where the backup before an upgrade goes: to this file; beside a database file (None); nowhere (False)."""

PATIENCE = 10.0
"""Seconds that a file which others are writing to is waited for, or a server that does not answer.

Whoever chooses a database by its URL can choose this as well: `?timeout=2`, on a server `?connect_timeout=2`.
"""

_TURN = 15
"""Milliseconds after which whoever waits for a file asks anew."""

UPGRADE_LOCK = 7_263_514
"""The advisory lock under which a server's tables change their form."""

_ONE_AT_A_TIME = Lock()
"""Alembic keeps what it works on where all threads see it."""

_KNOWN = ("0001", "0002", "0003", "0004", NEWEST)

_REOPENED = 5
"""How often a file is opened again that is replaced at the moment when it is opened."""

_LOG = getLogger(__name__)
_LOG.addHandler(NullHandler())  # a command that sets up no log prints none


def engine_at(place: Place, *, patience: float = PATIENCE) -> Engine:
    """Return an engine for a place; nothing is opened yet."""
    try:
        url = _file_url(place.file or "") if place.url is None else make_url(place.url)
        if place.file is None:
            return _server_at(url, patience)
        engine = create_engine(url.set(query={"timeout": str(patience), **url.query}))
    except ImportError:
        needed = "pip install 'number-tower[postgres]'"
        raise StoreError(f"the database {place.name} cannot be used without psycopg: {needed}") from None
    except (SQLAlchemyError, ValueError):
        raise StoreError(f"{place.name} names no database; {EXPECTED}") from None
    event.listen(engine, "connect", _prepare_file)
    event.listen(engine, "begin", _begin)
    return engine


def _file_url(file: str) -> URL:
    """Return the URL of a file; if it cannot be written, and nobody else is writing it, one by which it can be read."""
    writable = os.access(file, os.W_OK) and os.access(os.path.dirname(file), os.W_OK)
    if writable or not os.path.isfile(file) or os.path.exists(f"{file}-wal"):
        return URL.create("sqlite", database=file)
    only_read = {"mode": "ro", "immutable": "1", "uri": "true"}
    return URL.create("sqlite", database=f"file:{quote(os.fsencode(file))}", query=only_read)


def _server_at(url: URL, patience: float) -> Engine:
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


def _prepare_file(connection: DBAPIConnection, _: object) -> None:
    """Let SQLite keep its own transactions, which Python's driver would begin late and end early."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _write_ahead(engine: Engine) -> None:
    """Let readers and a writer not wait for each other; where that cannot be had, they wait.

    A file remembers it, so this is done only once it is known to hold games: others' files are left as they are.
    """
    with closing(engine.raw_connection()) as connection, suppress(sqlite3.Error):
        connection.cursor().execute("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    """Begin as a writer at once: a reader that turns writer may find that it was overtaken.

    Left to itself, SQLite asks for its turn ever more rarely, so whoever has waited longest is the least likely to get
    it. Asked again and again, all who wait are equally likely.
    """
    if connection.get_execution_options().get("reading", False):
        connection.exec_driver_sql("BEGIN")
        return
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    deadline = monotonic() + patience / 1000
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {min(patience, _TURN)}")
    try:
        while not _begun(connection, last=monotonic() > deadline):
            pass
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")


def _begun(connection: Connection, *, last: bool) -> bool:
    """Try to begin as a writer; say whether it is our turn, or complain if it was the last try."""
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as busy:
        if last or getattr(busy.orig, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Look at a database as it is at one moment, however many statements that takes."""
    options: dict[str, Any] = {"reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


def one_at_a_time(connection: Connection) -> None:
    """Let whoever writes many games in one piece wait for others who do, and not each for a game that the other has."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK + 1})")


def prepare(engine: Engine, place: Place) -> None:
    """See to it that the database has the newest form: a file takes it on by itself, a server when told to."""
    with told(place.name, OSError):
        if place.file is not None:
            _make_file(engine, place.file)
        with reading(engine) as connection:
            form = form_of(connection)
    check_known(form, place)
    if form != NEWEST and place.file is None:
        problem = "has no tables for games yet" if form is None else f"is of an earlier form ({form})"
        raise StoreError(f"the database {place.name} {problem}; to bring it up to date: tower db upgrade")
    if form != NEWEST:
        upgrade(engine, place)
    if place.file is not None:
        with told(place.name):
            _write_ahead(engine)


def open_guarded(engine: Engine, place: Place) -> FileGuard | None:
    """Open a database in its newest form; return what watches over its files, if it is a file.

    A file that is replaced while it is opened is opened again, so that all connections are to the same one.
    """
    for _ in range(_REOPENED):
        before = None if place.file is None else read_state(place.file).database
        prepare(engine, place)
        if place.file is None:
            return None
        with told(place.name):
            guard = FileGuard(engine, place.file)
        if before in {None, guard.state.database}:
            return guard
        guard.close()
        engine.dispose()
    raise StoreError(f"the database {place.name} cannot be used: another program replaces it again and again")


def save_log(guard: FileGuard, place: Place) -> None:
    """Save what the write-ahead log holds, after a file of the database was deleted or replaced, and log what happened.

    As long as it cannot be saved the database cannot be used: the connections that hold it stay open, and the next use
    tries again.
    """
    moved = read_state(place.file or "").database != guard.state.database
    with told(place.name):
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


def _make_file(engine: Engine, file: str) -> None:
    """Make a database file and its folder; say what is wrong where SQLite would only say that it cannot open it."""
    if os.path.isdir(file):
        raise IsADirectoryError("it is a folder, and should be a file")
    folder = os.path.dirname(file)
    try:
        make_private_folders(folder)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{shown_path(folder)} is not a folder") from None
    if engine.url.query.get("mode", "rwc") == "rwc":
        create_private(file)


def upgrade(engine: Engine, place: Place, backup: Backup = None) -> tuple[str | None, str]:
    """Bring a database to the newest form, once however many try; return the form it had and the one it has."""
    with told(place.name, OSError):
        if place.file is not None:
            _make_file(engine, place.file)
    with told(place.name), engine.begin() as connection:
        if place.file is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
        form = form_of(connection)
        check_known(form, place)
        if form is None:
            migrate(connection, NEWEST)
        elif form != NEWEST:
            _migrate_with_backup(connection, place, form, backup)
    return form, NEWEST


def _migrate_with_backup(connection: Connection, place: Place, form: str, backup: Backup) -> None:
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
        _LOG.info("the database %s was upgraded to version %s; backup: %s", place.name, NEWEST, shown_path(str(made)))


def form_of(connection: Connection) -> str | None:
    """Return the form of a database; None if it has no tables yet, "" if what it holds is something else."""
    tables = inspect(connection).get_table_names()
    if not {"alembic_version", "games"} <= set(tables):
        return "" if tables else None
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return version if isinstance(version, str) else ""


def require_version(connection: Connection, place: Place) -> str:
    """Return the version of a database that holds games, and that this program knows."""
    version = form_of(connection)
    check_known(version, place)
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
    with _ONE_AT_A_TIME:
        command.upgrade(config, form)


def check_known(form: str | None, place: Place) -> None:
    """Refuse a database that holds something else, or is of a version that is newer than this program."""
    if form == "":
        raise StoreError(f"the database {place.name} cannot be used: it holds other things than games of Number Tower")
    if form is not None and form not in _KNOWN:
        newer = f"it has a newer form ({shown_text(form, 40)}) than this Number Tower knows ({NEWEST})"
        raise StoreError(f"the database {place.name} cannot be used: {newer}; update Number Tower")
