"""What can go wrong with a database, in words."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SQLITE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_BUSY": "another program keeps it locked",
    "SQLITE_LOCKED": "another program keeps it locked",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_NOTADB": "it is not a database",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_PERM": "permission denied",
    "SQLITE_IOERR": "reading or writing it failed",
}


class StoreError(Exception):
    """A database that cannot be used, and why, in one sentence without its full stop."""


@contextmanager
def told(name: str) -> Iterator[None]:
    """Turn whatever a database complains of into a sentence that names it."""
    try:
        yield
    except (SQLAlchemyError, OSError) as trouble:
        raise StoreError(f"the database {name} cannot be used: {_reason(trouble)}") from trouble


def _reason(trouble: SQLAlchemyError | OSError) -> str:
    if isinstance(trouble, OSError):
        return trouble.strerror or str(trouble)
    cause = trouble.orig if isinstance(trouble, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "")
        for prefix, words in _SQLITE.items():
            if name == prefix or name.startswith(f"{prefix}_"):
                return words
    if isinstance(trouble, DBAPIError) and trouble.connection_invalidated:
        return "the server has gone away"
    return _first_line(str(cause or trouble)) or "it says no more"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()
