"""The database of a player at this machine: opened on first use.

A game in it is saved after every change, and so is every answer to a puzzle.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.engine.table import StaleError
from number_tower.support.text import format_argument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sqlalchemy import Connection

    from number_tower.engine.table import Table
    from number_tower.store.database import Store
    from number_tower.store.puzzles import PuzzleAttempt, PuzzleResult
    from number_tower.store.rows import MatchSlot, Seats, StoredGame
    from number_tower.terminal.session.opponents import Opponents

    Found = TypeVar("Found")

NOT_SAVED = f"--db, {store.ENVIRONMENT_VARIABLE} or the settings file says none"
"""Why games are not saved."""

SHORT_TIMEOUT = 0.2
"""Seconds to wait for a database that could not be used before."""


WAIT_ADVICE = "the game is saved as soon as the database works again"
"""What is said where there is no command to save a game to a file."""


class GameDatabase:
    """The chosen database. The first use opens it, and loads SQLAlchemy."""

    def __init__(self, choice: str | None) -> None:
        self.choice = choice
        """What the call says; None for the database of the environment or the usual one."""
        self._store: Store | None = None
        self._timeout: float | None = None
        if store.get_choice(choice):
            _ = self.location

    @cached_property
    def location(self) -> store.Location:
        """Where the database is; a LocationError if the choice names none."""
        location = store.find_location(self.choice)
        if location is None:
            raise store.LocationError(f"games are not saved: {NOT_SAVED}")
        return location

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self.location.name

    @property
    def db_option(self) -> str:
        """The option that makes another command use the same database, without a password."""
        if self.choice is None:
            return ""
        return f" --db {format_argument(self.name if self.location.file is None else self.choice)}"

    @property
    def missing(self) -> bool:
        """Whether it is a file that does not exist yet."""
        file = self.location.file
        return file is not None and not os.path.exists(file)

    def open(self) -> Store:
        """Return the database, opened; its errors are StoreErrors."""
        if self._store is None:
            self._store = store.database.Store(self.location, timeout=self._timeout)
        return self._store

    def find(self, look_up: Callable[[Store], Found | None]) -> Found | None:
        """Look something up, and close the database; return None where it cannot be used."""
        try:
            return None if self.missing else look_up(self.open())
        except store.StoreError:
            return None
        finally:
            self.close()

    def set_timeout(self, seconds: float | None) -> None:
        """Wait for the database only so long from now on; None: as long as usual."""
        # A connection keeps its timeout, so another one needs a new connection.
        if seconds is not None or self._timeout is not None:
            self._timeout = seconds
            self.close()

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()
            self._store = None


@dataclass(eq=False)
class Autosave:
    """Saves one game. While the database fails, the game goes on, and a later change saves it.

    `claim_slot` finds the place of the game in a match, inside the transaction that first saves it.
    """

    database: GameDatabase
    opponents: Opponents | None = None
    saved: StoredGame | None = None
    claim_slot: Callable[[Connection], MatchSlot] | None = None
    advice: str = "`save game.json` saves the game to a file"
    """What to do while the database cannot be used."""

    def __post_init__(self) -> None:
        self._failing = False
        self.up_to_date = self.saved is not None
        self.key = None if self.saved is None else self.saved.key
        """The key of the game on every machine, once it is saved."""
        self._with_values = False

    @property
    def ref(self) -> str | None:
        """The game's id, and the option for its database; None if it is not saved as it stands."""
        if self.saved is None or not self.up_to_date:
            return None
        return f"{self.saved.id}{self.database.db_option}"

    @property
    def slot(self) -> MatchSlot | None:
        """The place of the saved game in a match."""
        return None if self.saved is None else self.saved.slot

    def save(self, table: Table) -> tuple[Table, str | None]:
        """Save a change; return the table as saved, and a message for the players, if any.

        Raise StaleError with the current table if the game was changed elsewhere.
        """
        try:
            try:
                self.saved, news = self._save_once(table)
            except store.StoreError:
                if self._failing:
                    raise
                # A second try opens the database again: a connection broke, or a disk was full.
                self.database.set_timeout(SHORT_TIMEOUT)
                self.saved, news = self._save_once(table)
        except store.StoreError as error:
            self.database.set_timeout(SHORT_TIMEOUT)
            self.up_to_date = False
            # The players are told once.
            news = None if self._failing else f"{error}. You can continue; {self.advice}"
            self._failing = True
            return table, news
        except StaleError:
            self._note_success()
            raise
        if self._failing:
            news = "the database works again, and this game is saved there"
        self._note_success()
        current = replace(self.saved.table, automatic=table.automatic)
        # What is saved differs where another process made the change first.
        if (current.game, current.declared) != (table.game, table.declared):
            raise StaleError(current)
        return current, news

    def fetch_change(self) -> Table | None:
        """Return the current table if the game was changed elsewhere."""
        if self.saved is None or not self.up_to_date:
            return None
        try:
            changed = self.database.open().reload_if_changed(self.saved)
        except store.StoreError:
            return None
        self.saved = changed or self.saved
        return None if changed is None else changed.table

    @property
    def is_marked(self) -> bool:
        """Whether the game is saved, or will be, as one that showed the values of moves."""
        return self._with_values and (self.saved is None or self.saved.with_values)

    def mark_with_values(self) -> None:
        """Save that this game shows the values of moves, now or with the first change."""
        self._with_values = True
        if self.saved is not None:
            with suppress(store.StoreError):
                with self.database.open().write() as connection:
                    marked = store.games.mark_with_values(connection, self.saved)
                self.saved = marked

    def _save_once(self, table: Table) -> tuple[StoredGame, str | None]:
        opened = self.database.open()
        seats, marked = make_seats(self.opponents), self._with_values
        if self.saved is not None:
            try:
                return opened.save(self.saved, table, seats, with_values=marked), None
            except store.GameNotFoundError:
                self.saved, self.key = None, make_key()
                news = "this game was deleted elsewhere; it is saved again"
                game = opened.begin(table, table.book, seats, key=self.key, with_values=marked)
                return game, news
        self.key = self.key or make_key()
        try:
            game = opened.begin(
                table, table.book, seats, self.claim_slot, self.key, with_values=marked
            )
        except store.GameStartedError as error:
            self.saved = error.game
            return opened.save(self.saved, table, seats, with_values=marked), None
        except store.GameNotFoundError:
            news = "this match was deleted elsewhere; its game is saved on its own"
            game = opened.begin(table, table.book, seats, key=self.key, with_values=marked)
            return game, news
        return game, None

    def _note_success(self) -> None:
        self.database.set_timeout(None)
        self.up_to_date, self._failing = True, False

    def close(self) -> None:
        """Close the database."""
        self.database.close()


class AttemptLog:
    """Saves the results of puzzles. What cannot be saved now is saved with a later result."""

    def __init__(self, database: GameDatabase | None, name: str | None = None) -> None:
        self._database = database
        self._name = name
        self._waiting: list[PuzzleAttempt] = []
        self._failed = False

    def add(self, rulebook: str, line: str, grade: int, result: PuzzleResult) -> str | None:
        """Save the result of a puzzle; return a message at the first failure."""
        if self._database is None:
            return None
        self._waiting.append(store.puzzles.make_attempt(self._name, rulebook, line, grade, result))
        try:
            with self._database.open().write() as connection:
                for attempt in self._waiting:
                    store.puzzles.insert_attempt(connection, attempt)
        except store.StoreError as error:
            self._database.set_timeout(SHORT_TIMEOUT)
            if self._failed:
                return None
            self._failed = True
            advice = "You can continue, but your answers are not saved until this is fixed"
            return f"{error}. {advice}"
        self._database.set_timeout(None)
        self._waiting.clear()
        return None

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()


def make_seats(opponents: Opponents | None) -> Seats:
    """Return who plays a game, as it is saved."""
    if opponents is None:
        return store.rows.Seats()
    return store.rows.Seats(opponents.specs, opponents.seed)


def make_key() -> str:
    """Return a new key for a game or a match, different from all others."""
    return os.urandom(16).hex()
