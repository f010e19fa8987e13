"""Answers to puzzles, saved in the database of the player."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import record, store
from number_tower.session.database import SHORT_TIMEOUT, GameDatabase
from number_tower.table import Table

if TYPE_CHECKING:
    from number_tower.store.puzzles import PuzzleAttempt, PuzzleResult


class AttemptLog:
    """Saves the results of puzzles, if there is a database. What cannot be saved is saved with a later result."""

    def __init__(self, database: GameDatabase | None, name: str | None = None) -> None:
        self._database = database
        self._name = name
        self._waiting: list[PuzzleAttempt] = []
        self._failed = False

    def add(self, table: Table, grade: int, result: PuzzleResult) -> str | None:
        """Save a result; return a message for the player at the first failure."""
        if self._database is None:
            return None
        line = record.to_line(table, files=True)
        self._waiting.append(store.puzzles.make_attempt(self._name, table.rulebook, line, grade, result))
        try:
            with self._database.open().write() as connection:
                for attempt in self._waiting:
                    store.puzzles.insert_attempt(connection, attempt)
        except store.StoreError as error:
            self._database.set_timeout(SHORT_TIMEOUT)
            known, self._failed = self._failed, True
            return None if known else f"{error}. You can continue, but your answers are not saved until this is fixed"
        self._database.set_timeout(None)
        self._waiting.clear()
        return None

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()
