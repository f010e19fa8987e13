"""Save a game in a file after every change; a kill at any moment leaves a complete record."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from number_tower import record
from number_tower.catalogue import CatalogueError
from number_tower.cli.errors import CommandError, report_as
from number_tower.files import open_replacing
from number_tower.table import Table
from number_tower.text import format_path


def report_writing(what: str, path: str) -> AbstractContextManager[None]:
    """Turn an OSError into a CommandError that says what cannot be kept in which file."""
    return report_as(f"the {what} cannot be saved to {format_path(path)}: ", OSError)


def find_output_file(path: str, what: str, advice: str = "") -> Path:
    """Return the file that something is to be kept in; report a folder that is missing, and what is no file."""
    with report_writing(what, path):
        file = Path(os.path.realpath(path))
        if not file.parent.is_dir():
            raise FileNotFoundError(0, f"there is no folder {format_path(str(file.parent))}")
        if file.exists() and not file.is_file():
            raise CommandError(f"{format_path(path)} is not a file that a {what} can be saved to{advice}")
    return file


class SaveFile:
    """A file that holds the record of one game."""

    def __init__(self, path: str, format_record: Callable[[Table, str | None], str] = record.to_json) -> None:
        self.path = path
        self.key: str | None = None
        """The game's key in a database, if it is saved there as well."""
        self.name = format_path(path)
        self.up_to_date = True
        self._format = format_record
        self._file = find_output_file(path, "game")
        self._holds_earlier_game = False

    @classmethod
    def from_record(cls, path: str) -> SaveFile | None:
        """Go on in the file that a record was read from, in the same format; None if it is not a plain file."""
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8-sig") as stream:
            is_json = stream.read(1000).lstrip().startswith("{")
        return cls(path) if is_json else cls(path, lambda table, _: record.to_line(table, files=True) + "\n")

    @classmethod
    def create(cls, path: str, table: Table, key: str | None = None) -> SaveFile:
        """Write the first record; a file with an earlier game stays as it is until the game is saved again."""
        savefile = cls(path)
        savefile.key = key
        with report_writing("game", path):
            savefile._holds_earlier_game = savefile._file.exists() and savefile._holds_game()
            savefile.up_to_date = not savefile._holds_earlier_game
            if savefile.up_to_date:
                savefile._write(table)
        return savefile

    @classmethod
    def start(cls, path: str, table: Table, key: str | None) -> tuple[SaveFile, str | None]:
        """Save a game that is being played from now on; return also a message for the players, if there is one."""
        savefile = cls.create(path, table, key)
        news = None if savefile.up_to_date else savefile.save(table)
        if not savefile.up_to_date:
            raise CommandError(news or "the game cannot be saved")
        return savefile, news

    def save(self, table: Table) -> str | None:
        """Write the record; return a message for the players, if there is one."""
        news = None
        self.up_to_date = False
        try:
            if self._holds_earlier_game and self._file.exists():
                news = f"{self.name} held an earlier game, which is now in {self._set_aside_earlier_game()}"
            self._holds_earlier_game = False
            self._write(table)
        except OSError as error:
            problem = error.strerror or str(error)
            return f"the game could not be saved to {self.name}: {problem}. You can continue"
        self.up_to_date = True
        return news

    def _write(self, table: Table) -> None:
        with open_replacing(self._file) as stream:
            stream.write(self._format(table, self.key))

    def _holds_game(self) -> bool:
        """Say whether the file holds a game with at least one move or result; refuse a file with anything else."""
        if self._file.stat().st_size == 0:
            return False
        try:
            earlier = record.read(str(self._file))
            return bool(earlier.game.moves or earlier.declared)
        except record.NoRecordError as error:
            raise CommandError(f"the game cannot be saved to {error}") from None
        except (record.RecordError, CatalogueError):
            raise CommandError(f"{self.name} holds something that is not a game; choose another file") from None

    def _set_aside_earlier_game(self) -> str:
        """Give the earlier game a second, free name, before the file is written."""
        number = 1
        while (beside := self._file.with_name(f"{self._file.name}~{'' if number == 1 else number}")).exists():
            number += 1
        try:
            beside.hardlink_to(self._file)
        except OSError:
            self._file.rename(beside)
        return format_path(beside)
