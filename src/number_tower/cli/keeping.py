"""A game kept in a file while it is played: after every change the whole record, or still the one before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from number_tower import record
from number_tower.cli.failure import WRONG_CALL, Failure

if TYPE_CHECKING:
    from number_tower.table import Table


class Keeper:
    """Writes a table to a file so that a kill at any moment leaves a complete record."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.up_to_date = True
        self._file = Path(os.path.realpath(path))

    def begin(self, table: Table) -> str | None:
        """Write the first record; an earlier game in the file is kept beside it, and its new name returned."""
        moved = None
        try:
            if self._file.exists():
                moved = self._move_away()
            self._write(table)
        except OSError as trouble:
            raise Failure(WRONG_CALL, f"the game cannot be kept in {self.path}: {trouble.strerror}") from None
        return moved

    def keep(self, table: Table) -> str | None:
        """Write the record anew; return what went wrong, if anything did."""
        try:
            self._write(table)
        except OSError as trouble:
            self.up_to_date = False
            return trouble.strerror
        self.up_to_date = True
        return None

    def _write(self, table: Table) -> None:
        part = self._file.with_name(f".{self._file.name}.part")
        with part.open("w", encoding="utf-8") as stream:
            stream.write(record.to_json(table))
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self._file)

    def _move_away(self) -> str | None:
        if not self._file.is_file():
            raise Failure(WRONG_CALL, f"{self.path} is not a file that a game can be kept in")
        if self._file.stat().st_size == 0:
            return None
        try:
            record.read(str(self._file))
        except record.RecordError:
            raise Failure(WRONG_CALL, f"{self.path} holds something that is not a game; choose another file") from None
        earlier = self._file.with_name(f"{self._file.name}~")
        self._file.replace(earlier)
        return f"{self.path}~"


def holds_document(ref: str) -> bool:
    """Say whether a reference is a file with a JSON record in it, which can be kept up to date as the game goes on."""
    path = Path(os.path.realpath(ref))
    try:
        with path.open("rb") as stream:
            return path.is_file() and stream.read(1) == b"{"
    except (OSError, ValueError):
        return False
