"""What can go wrong with a database, in words."""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_GONE = "its server has gone away"
_UNREACHABLE = "its server cannot be reached"

PUBLIC_REASONS = (*dict.fromkeys((*_SQLITE.values(), *_POSTGRESQL.values(), _GONE, _UNREACHABLE)),)
"""Reasons that name nothing of the machine: no path, address, user or database. Others are only for the log."""

_REFUSED = re.compile(r"connection failed: .*?FATAL: +")
_UNREACHED = re.compile(r"connection failed: connection to server .* failed: (?P<why>(?!FATAL).*)")


class StoreError(Exception):
    """A database that cannot be used, and why, in one sentence without its full stop."""


@contextmanager
def told(name: str, *others: type[OSError]) -> Iterator[None]:
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
        return shown_text(trouble.strerror or str(trouble))
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
        return _GONE
    said = shown_text(str(cause or trouble).strip().partition("\n")[0])
    if unreached := _UNREACHED.fullmatch(said):
        return f"{_UNREACHABLE} ({unreached['why'].lower()})"
    return _REFUSED.sub("its server says: ", said) or "it says no more"
