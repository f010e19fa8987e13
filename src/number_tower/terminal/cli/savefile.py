"""Save a game in a file after every change; a kill at any moment leaves a complete record."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from number_tower import record
from number_tower.cli.errors import CommandError, report_as
from number_tower.files import open_replacing
from number_tower.table import Table
from number_tower.text import format_path


def report_writing(what: str, path: str) -> AbstractContextManager[None]:
    """Turn an OSError into a CommandError that says what cannot be kept in which file."""
    return report_as(f"the {what} cannot be saved to {format_path(path)}: ", OSError)


def find_output_file(path: str, what: str, advice: str = "", *, force: bool = False) -> Path:
    """Return the file that something is to be saved to; report a missing folder, what is no file, and one that exists.

    With `force`, a file that exists may be replaced.
    """
    with report_writing(what, path):
        file = Path(os.path.realpath(path))
        if not file.parent.is_dir():
            raise FileNotFoundError(0, f"there is no folder {format_path(str(file.parent))}")
        if file.exists() and not file.is_file():
            raise CommandError(
                f"{format_path(path)} is not a file that a {what} can be saved to{advice}"
            )
    if not force and os.path.lexists(file):
        advice = "choose another file, or add --force to replace it"
        raise CommandError(f"{format_path(path)} exists already; {advice}")
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
        """Go on in the file that a record was read from, in the same format; None if it is not a plain file."""
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8-sig") as stream:
            is_json = stream.read(1000).lstrip().startswith("{")
        return (
            cls(path)
            if is_json
            else cls(path, lambda table, _: record.to_line(table, files=True) + "\n")
        )

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
            return f"the game could not be saved to {self.name}: {problem}. You can continue; the game so far: {line}"
        self.up_to_date = True
        return None

    def _write(self, table: Table) -> None:
        with open_replacing(self.file) as stream:
            stream.write(self._format(table, self.key))
