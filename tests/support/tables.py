"""New database files get their tables by the statements that the migrations led to, once these ran in this process.

Hundreds of tests begin with a new file, and running all migrations takes most of the time until it can be used. Tests
of the migrations themselves use `run_migrations`; servers and other programs that tests start always do.
"""

from __future__ import annotations

from functools import cache

from sqlalchemy import Connection, create_engine

from number_tower.store import upgrade
from number_tower.store.schema import NEWEST

run_migrations = upgrade.migrate

_OBJECTS = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"


def create_tables(connection: Connection, version: str) -> None:
    """Stand in for `upgrade.migrate`: give a new file its tables at once, and leave all others to the migrations."""
    is_file = connection.dialect.name == "sqlite"
    if not is_file or version != NEWEST or connection.exec_driver_sql(_OBJECTS).first():
        run_migrations(connection, version)
        return
    for statement in _list_statements():
        connection.exec_driver_sql(statement)


@cache
def _list_statements() -> list[str]:
    """List what makes a new database: its tables, which are empty, and the version that it has."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        run_migrations(connection, NEWEST)
        statements = [str(statement) for (statement,) in connection.exec_driver_sql(_OBJECTS)]
    engine.dispose()
    return [*statements, f"INSERT INTO alembic_version VALUES ('{NEWEST}')"]  # noqa: S608 - our own
