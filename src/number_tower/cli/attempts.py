"""Puzzles kept in the database while they are answered, or in memory as long as it cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import record
from number_tower.cli.failure import complain

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.cli.storing import Shelf
    from number_tower.store.practice import Attempt, Result
    from number_tower.table import Table


class Log:
    """Keeps what came of each puzzle in the database; what cannot be kept now is kept later, if that can be."""

    def __init__(self, shelf: Shelf, name: str | None) -> None:
        self._shelf = shelf
        self._name = name
        self._waiting: list[Attempt] = []
        self._failed = False

    def note(self, table: Table, book: Rulebook, grade: int, result: Result) -> None:
        """Keep what came of a puzzle; the first time that it cannot be, say so."""
        from number_tower.store import practice  # noqa: PLC0415 - not before the first prompt
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - likewise

        line = record.to_line(table, book)
        self._waiting.append(practice.tried(self._name, book.name, line, grade, result))
        try:
            with self._shelf.open().writing() as connection:
                for attempt in self._waiting:
                    practice.add(connection, attempt)
        except StoreError as trouble:
            self._shelf.lose_patience()
            if not self._failed:
                complain(f"{trouble}. The puzzles go on, and are not kept as long as that is so")
            self._failed = True
        else:
            self._shelf.regain_patience()
            self._waiting.clear()

    def close(self) -> None:
        """Let go of the database."""
        self._shelf.close()
