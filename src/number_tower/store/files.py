"""The files of a SQLite database: created for their owner alone, and watched while they are in use."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from sqlalchemy import Engine

_FileId = tuple[int, int]

_CREATED = 0o600
_FOLDER = 0o700


def create_private(file: str) -> None:
    """Create a missing database file that only its owner can read and write; an existing file is left alone.

    SQLite gives the files that it keeps beside it (`-wal`, `-shm`, `-journal`) the same permissions.
    """
    target = os.path.realpath(file)
    try:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, _CREATED)
    except OSError:
        return  # it exists, or SQLite says what is wrong when it opens it
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, _CREATED)  # whatever the umask is
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
        os.mkdir(folder, _FOLDER)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    else:
        with suppress(OSError):
            os.chmod(folder, _FOLDER)  # whatever the umask is


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
