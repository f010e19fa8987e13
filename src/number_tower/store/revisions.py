"""Revisions of rooms and classes: each change raises one, and other servers are notified."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, update

from number_tower.store.schema import rooms

CHANNEL = "number_tower"
"""The PostgreSQL channel on which servers hear of changes."""


def raise_revisions(connection: Connection, table: Table, condition: ColumnElement[bool]) -> None:
    """Raise the revisions of the rooms or classes that fulfil a condition."""
    raised = update(table).where(condition).values(revision=table.c.revision + 1)
    rows = connection.execute(raised.returning(table.c.id, table.c.revision)).all()
    for identity, revision in sorted(rows):
        notify_servers(connection, "room" if table is rooms else "class", identity, revision)


def notify_servers(
    connection: Connection, kind: str, identity: int, revision: int | None = None
) -> None:
    """Notify other processes of a changed room or class, once the transaction is committed."""
    if connection.dialect.name == "postgresql":
        payload = f"{kind} {identity:d}" + ("" if revision is None else f" {revision:d}")
        connection.exec_driver_sql(f"SELECT pg_notify('{CHANNEL}', '{payload}')")
