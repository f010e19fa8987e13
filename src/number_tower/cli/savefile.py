"""A game kept in a file while it is played: after every change the whole record, or still the one before."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from number_tower import record
from number_tower.catalogue import CatalogueError
from number_tower.cli.errors import WRONG_CALL, CommandError
from number_tower.text import format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from number_tower.catalogue import Rulebook
    from number_tower.table import Table


class SaveFile:
    """Writes a table to a file so that a kill at any moment leaves a complete record."""

    def __init__(self, path: str, written: Callable[[Table, str | None], str] = record.to_json) -> None:
        self.path = path
        self.key: str | None = None
        """By what a database knows the game, if it is kept there as well."""
        self.name = format_path(path)
        self.up_to_date = True
        self._format = written
        self._file = Path(os.path.realpath(path))
        self._holds_earlier_game = False

    @classmethod
    def from_record(cls, path: str, book: Rulebook) -> SaveFile | None:
        """Go on in a file that a record was read from, in the form it has there; None if it is not a plain file."""
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8-sig") as stream:
            is_document = stream.read(1000).lstrip().startswith("{")
        return cls(path) if is_document else cls(path, lambda table, _: record.to_line(table, files=True) + "\n")

    @classmethod
    def start(cls, path: str, table: Table, key: str | None) -> tuple[SaveFile, str | None]:
        """Keep a game that is going on in a file from now on; return also what there is to tell, if anything."""
        keeper = cls(path)
        keeper.key = key
        keeper.begin(table)
        news = None if keeper.up_to_date else keeper.save(table)
        if not keeper.up_to_date:
            raise CommandError(WRONG_CALL, news or "the game cannot be kept")
        return keeper, news

    def begin(self, table: Table) -> None:
        """Write the first record, unless the file holds an earlier game: that stays as it is until a move is made."""
        try:
            self._holds_earlier_game = self._file.exists() and self._holds_game()
            self.up_to_date = not self._holds_earlier_game
            if self.up_to_date:
                self._write(table)
        except FileNotFoundError:
            folder = format_path(str(self._file.parent))
            raise CommandError(
                WRONG_CALL, f"the game cannot be kept in {self.name}: there is no folder {folder}"
            ) from None
        except OSError as trouble:
            raise CommandError(
                WRONG_CALL, f"the game cannot be kept in {self.name}: {_describe_error(trouble)}"
            ) from None

    def save(self, table: Table) -> str | None:
        """Write the record anew; return what there is to tell the players, if anything."""
        news = None
        self.up_to_date = False
        try:
            if self._holds_earlier_game and self._file.exists():
                news = f"{self.name} held an earlier game; it is kept as {self._set_aside_earlier_game()}"
            self._holds_earlier_game = False
            self._write(table)
        except OSError as trouble:
            return f"the game could not be kept in {self.name}: {_describe_error(trouble)}. It goes on all the same"
        self.up_to_date = True
        return news

    def _write(self, table: Table) -> None:
        write_atomic(self._file, self._format(table, self.key))

    def _holds_game(self) -> bool:
        """Say whether the file holds a game in which something happened; refuse it if it holds anything else."""
        if not self._file.is_file():
            raise CommandError(WRONG_CALL, f"{self.name} is not a file that a game can be kept in")
        if self._file.stat().st_size == 0:
            return False
        try:
            earlier = record.read(str(self._file))
            return bool(earlier.game.moves or earlier.declared)
        except record.NoRecordError as unreadable:
            raise CommandError(WRONG_CALL, f"the game cannot be kept in {unreadable}") from None
        except (record.RecordError, CatalogueError):
            problem = f"{self.name} holds something that is not a game; choose another file"
            raise CommandError(WRONG_CALL, problem) from None

    def _set_aside_earlier_game(self) -> str:
        """Give the earlier game a second name, one that is free, before the file is written over."""
        number = 1
        while (beside := self._file.with_name(f"{self._file.name}~{'' if number == 1 else number}")).exists():
            number += 1
        try:
            beside.hardlink_to(self._file)
        except OSError:
            self._file.rename(beside)
        return format_path(str(beside))


def write_atomic(file: Path, text: str) -> None:
    """Write a file so that it holds all of a text, or what it held before."""
    with open_atomic(file) as stream:
        stream.write(text)


@contextmanager
def open_atomic(file: Path) -> Iterator[TextIO]:
    """Write a file so that it holds all that is written here, or what it held before; a pipe or device as it comes."""
    if file.exists() and not file.is_file():
        with file.open("w", encoding="utf-8") as stream:
            yield stream
        return
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with part.open("x", encoding="utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _describe_error(trouble: OSError) -> str:
    return trouble.strerror or str(trouble)
