"""Opening a database: one engine, set up for many players at once, in the form that this program knows."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, event, inspect
from sqlalchemy.exc import SQLAlchemyError

from number_tower.store.schema import NEWEST
from number_tower.store.trouble import StoreError, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from number_tower.store.places import Place

PATIENCE = 10.0
"""Seconds that a file which others are writing to is waited for, or a server that does not answer."""

_LOCK = 7_263_514
"""The advisory lock under which a server's tables change their form."""

_KNOWN = ("0001", "0002", NEWEST)


def engine_at(place: Place, *, patience: float = PATIENCE) -> Engine:
    """Return an engine for a place; nothing is opened yet."""
    if place.file is None:
        try:
            return create_engine(
                place.url,
                pool_pre_ping=True,
                connect_args={"connect_timeout": max(2, round(patience)), "application_name": "number-tower"},
            )
        except ModuleNotFoundError:
            needed = "pip install 'number-tower[postgres]'"
            raise StoreError(f"the database {place.name} cannot be used without psycopg: {needed}") from None
        except (SQLAlchemyError, ValueError) as wrong:
            raise StoreError(f"{place.name} names no database: {wrong}") from None
    engine = create_engine(place.url, connect_args={"timeout": patience})
    event.listen(engine, "connect", _prepare_file)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_file(connection: DBAPIConnection, _: object) -> None:
    """Let SQLite keep its own transactions, which Python's driver would begin late and end early.

    A log that is written ahead lets readers and a writer not wait for each other; where it cannot be had, they wait.
    """
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    with suppress(sqlite3.OperationalError):
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Begin as a writer at once: a reader that turns writer may find that it was overtaken."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Look at a database as it is at one moment."""
    with engine.connect().execution_options(reading=True) as connection, connection.begin():
        yield connection


def prepare(engine: Engine, place: Place) -> None:
    """See to it that the database has the newest form: a file takes it on by itself, a server when told to."""
    with told(place.name):
        if place.file is not None:
            os.makedirs(os.path.dirname(os.path.abspath(place.file)), exist_ok=True)
        with reading(engine) as connection:
            form = form_of(connection)
    if form == NEWEST:
        return
    _check_known(form, place)
    if place.file is None:
        problem = "has no tables for games yet" if form is None else f"is of an earlier form ({form})"
        raise StoreError(f"the database {place.name} {problem}; to bring it up to date: tower db upgrade")
    upgrade(engine, place)


def upgrade(engine: Engine, place: Place) -> tuple[str | None, str]:
    """Bring a database to the newest form, once however many try; return the form it had and the one it has."""
    with told(place.name), engine.begin() as connection:
        if place.file is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        form = form_of(connection)
        _check_known(form, place)
        if form != NEWEST:
            migrate(connection, NEWEST)
    return form, NEWEST


def form_of(connection: Connection) -> str | None:
    """Return the form of a database; None if it has no tables yet, "" if what it holds is something else."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        return "" if tables else None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or ""


def migrate(connection: Connection, form: str) -> None:
    """Run the migrations up to a form, in the transaction of the connection."""
    from alembic import command  # noqa: PLC0415 - only when a database takes on a new form
    from alembic.config import Config  # noqa: PLC0415 - likewise

    config = Config()
    config.set_main_option("script_location", os.path.join(os.path.dirname(__file__), "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, form)


def _check_known(form: str | None, place: Place) -> None:
    if form == "":
        raise StoreError(f"the database {place.name} cannot be used: it holds something else than games")
    if form is not None and form not in _KNOWN:
        newer = f"it has a newer form ({form}) than this Number Tower knows ({NEWEST})"
        raise StoreError(f"the database {place.name} cannot be used: {newer}; update Number Tower")
