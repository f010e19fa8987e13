"""Save a game in a file after every change; a kill at any moment leaves a complete record."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.support.files import open_replacing
from number_tower.support.text import format_path
from number_tower.terminal.cli import CommandError
from number_tower.terminal.cli.errors import report_as


def report_writing(what: str, path: str) -> AbstractContextManager[None]:
    """Turn an OSError into a CommandError that says what cannot be kept in which file."""
    return report_as(f"the {what} cannot be saved to {format_path(path)}: ", OSError)


def find_output_file(path: str, what: str, advice: str = "", *, force: bool = False) -> Path:
    """Return the file to save something to; report a missing folder, and a file that exists.

    With `force`, a file that exists may be replaced.
    """
    with report_writing(what, path):
        # A link stays a link: the file that it leads to is replaced.
        file = Path(os.path.realpath(path))
        if not file.parent.is_dir():
            # `report_writing` reports the text alone, so the number does not matter.
            raise FileNotFoundError(0, f"there is no folder {format_path(str(file.parent))}")
        if file.exists() and not file.is_file():
            problem = f"is not a file that a {what} can be saved to{advice}"
            raise CommandError(f"{format_path(path)} {problem}")
    # A link to itself does not exist for `exists`, but would be replaced.
    if not force and os.path.lexists(file):
        problem = "exists already; choose another file, or add --force to replace it"
        raise CommandError(f"{format_path(path)} {problem}")
    return file


class SaveFile:
    """A file that holds the record of one game."""

    def __init__(
        self, path: str, format_record: Callable[[Table, str | None], str] = record.to_json
    ) -> None:
        self.path = path
        self.key: str | None = None
        """The game's key in a database, if it is saved there as well."""
        self.name = format_path(path)
        self.up_to_date = True
        self._format = format_record
        self.file = find_output_file(path, "game", force=True)

    @classmethod
    def from_record(cls, path: str) -> SaveFile | None:
        """Go on in a record's file, in the same format; None if it is not a plain file."""
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8-sig") as stream:
            is_json = stream.read(1000).lstrip().startswith("{")
        if is_json:
            return cls(path)
        return cls(path, lambda table, _: record.to_line(table, files=True) + "\n")

    @classmethod
    def create(
        cls, path: str, table: Table, key: str | None = None, *, force: bool = False
    ) -> SaveFile:
        """Write the first record of a game; with `force`, in place of a file that exists."""
        find_output_file(path, "game", force=force)
        savefile = cls(path)
        savefile.key = key
        with report_writing("game", path):
            savefile._write(table)
        return savefile

    def save(self, table: Table) -> str | None:
        """Write the record; return a message for the players, if there is one."""
        self.up_to_date = False
        try:
            self._write(table)
        except OSError as error:
            problem = error.strerror or str(error)
            line = record.to_line(table, files=True)
            failure = f"the game could not be saved to {self.name}: {problem}"
            return f"{failure}. You can continue; the game so far: {line}"
        self.up_to_date = True
        return None

    def _write(self, table: Table) -> None:
        with open_replacing(self.file) as stream:
            stream.write(self._format(table, self.key))
