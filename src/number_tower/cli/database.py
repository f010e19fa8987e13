"""The player's database: opened on first use, saves a game after every change, and finds the game of a REF."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple

from number_tower import store
from number_tower.cli.errors import FAILED, CommandError, report_as
from number_tower.table import StaleError
from number_tower.text import format_argument, format_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from sqlalchemy import Connection

    from number_tower.cli.computer import Opponents
    from number_tower.store.database import Store
    from number_tower.store.rows import MatchSlot, Seats, StoredGame
    from number_tower.table import Table

    Found = TypeVar("Found")

SHORT_TIMEOUT = 0.2
"""Seconds to wait for a database that could not be used before."""


class LazyStore:
    """The chosen database. It is opened, and SQLAlchemy loaded, when something is first saved or looked up."""

    def __init__(self, choice: str | None) -> None:
        self._choice = choice
        self._store: Store | None = None
        self._timeout: float | None = None
        if store.get_choice(choice):
            _ = self.location

    @cached_property
    def location(self) -> store.Location:
        """Where the database is."""
        source = store.ENVIRONMENT_VARIABLE if self._choice is None else "--db"
        with report_as(f"{source}: ", store.LocationError):
            location = store.find_location(self._choice)
        if location is None:
            raise CommandError(f"games are not saved: {store.ENVIRONMENT_VARIABLE} or --db says none")
        return location

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self.location.name

    @property
    def db_option(self) -> str:
        """The option that makes another command use the same database, without a password."""
        if self._choice is None:
            return ""
        return f" --db {format_argument(self.name if self.location.file is None else self._choice)}"

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

    def query(self, look_up: Callable[[Store], Found], what: str, *, create: bool = False) -> Found:
        """Look something up, and close the database; `what` names it where it cannot be found.

        A database that does not exist yet is not created, unless `create` says so.
        """
        if self.missing and not create:
            raise CommandError(f"there is no {format_text(what)}: nothing is saved in {self.name} yet")
        try:
            return look_up(self.open())
        except store.GameNotFoundError:
            listed = f"to list your games: tower history{self.db_option}"
            raise CommandError(f"there is no {format_text(what)} in {self.name}; {listed}") from None
        except store.StoreError as error:
            raise CommandError(str(error), code=FAILED) from None
        finally:
            self.close()

    def find(self, look_up: Callable[[Store], Found | None]) -> Found | None:
        """Look something up, and close the database; return None where it cannot be used."""
        try:
            return None if self.missing else look_up(self.open())
        except store.StoreError:
            return None
        finally:
            self.close()

    def set_timeout(self, seconds: float | None) -> None:
        """Wait for the database only so long from now on, since the game must go on; None: as long as usual."""
        if seconds is not None or self._timeout is not None:
            self._timeout = seconds
            self.close()

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()
            self._store = None


def choose_store(args: Namespace) -> LazyStore | None:
    """Return the database that games are saved in; None if they are not to be saved."""
    return None if args.no_save or store.is_disabled(args.db) else LazyStore(args.db)


# Saving a game -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Autosave:
    """Saves one game. While the database cannot be used, the game goes on in memory, and is saved with a later change.

    `claim_slot` finds the place of the game in a match, inside the transaction that first saves it.
    """

    database: LazyStore
    opponents: Opponents | None = None
    saved: StoredGame | None = None
    claim_slot: Callable[[Connection], MatchSlot] | None = None

    def __post_init__(self) -> None:
        self._failing = False
        self.up_to_date = self.saved is not None
        self.key = None if self.saved is None else self.saved.key
        """The key of the game on every machine, once it is saved."""

    @property
    def ref(self) -> str | None:
        """The game's id, and the option for its database; None if it is not saved as it stands."""
        return f"{self.saved.id}{self.database.db_option}" if self.saved and self.up_to_date else None

    @property
    def slot(self) -> MatchSlot | None:
        """The place of the saved game in a match."""
        return None if self.saved is None else self.saved.slot

    def save(self, table: Table) -> tuple[Table, str | None]:
        """Save a change; return the table as it is saved, and a message for the players, if there is one.

        Raise StaleError with the current table if the game was changed elsewhere.
        """
        try:
            self.saved, news = self._save_with_retry(table)
        except store.StoreError as error:
            return table, self._note_failure(str(error))
        except StaleError:
            self._note_success()
            raise
        if self._failing:
            news = "the database works again, and this game is saved there"
        self._note_success()
        return self.saved.table, news

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

    def _save_with_retry(self, table: Table) -> tuple[StoredGame, str | None]:
        """Try twice: opening the database again helps where a connection broke or a disk was full."""
        with _announce_wait():
            try:
                return self._save_once(table)
            except store.StoreError:
                if self._failing:
                    raise
                self.database.set_timeout(SHORT_TIMEOUT)
                return self._save_once(table)

    def _save_once(self, table: Table) -> tuple[StoredGame, str | None]:
        opened = self.database.open()
        seats = make_seats(self.opponents)
        if self.saved is not None:
            try:
                return opened.save(self.saved, table, seats), None
            except store.GameNotFoundError:
                self.saved, self.key = None, make_key()
                news = "this game was deleted elsewhere; it is saved again"
                return opened.begin(table, table.book, seats, key=self.key), news
        self.key = self.key or make_key()
        try:
            return opened.begin(table, table.book, seats, self.claim_slot, self.key), None
        except store.GameStartedError as error:
            self.saved = error.game
            return opened.save(self.saved, table, seats), None
        except store.GameNotFoundError:
            news = "this match was deleted elsewhere; its game is saved on its own"
            return opened.begin(table, table.book, seats, key=self.key), news

    def _note_success(self) -> None:
        self.database.set_timeout(None)
        self.up_to_date, self._failing = True, False

    def _note_failure(self, problem: str) -> str | None:
        """Return the message for the players, the first time."""
        self.database.set_timeout(SHORT_TIMEOUT)
        self.up_to_date = False
        if self._failing:
            return None
        self._failing = True
        return f"{problem}. You can continue; `save game.json` saves the game to a file"

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def make_seats(opponents: Opponents | None) -> Seats:
    """Return who plays a game, as it is saved."""
    return store.rows.Seats() if opponents is None else store.rows.Seats(opponents.specs, opponents.seed)


def make_key() -> str:
    """Return a new key for a game or a match, different from all others."""
    return os.urandom(16).hex()


@contextmanager
def _announce_wait() -> Iterator[None]:
    """Say on a terminal, after a second, that the database is being waited for."""
    timer = Timer(1.0, lambda: print("(Waiting for the database ...)", file=sys.stderr, flush=True))
    if sys.stderr is not None and sys.stderr.isatty():
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


# Finding a game ------------------------------------------------------------------------------------------------------


class FoundGame(NamedTuple):
    """A table, and its game in the database if it was found there."""

    table: Table
    saved: StoredGame | None = None


def is_game_id(ref: str) -> bool:
    """Say whether a REF is a game's id; a file with such a name can be written ./12."""
    return ref.isascii() and ref.isdigit() and len(ref) < 10


def is_match_id(ref: str) -> bool:
    """Say whether a REF is a match's id, such as m3."""
    return ref[:1] in {"m", "M"} and is_game_id(ref[1:])


def find_game(args: Namespace, ref: str, otherwise: str | None = None) -> FoundGame:
    """Find the game that a REF stands for: by its id, as one line, or in a file.

    `otherwise` is the error if it stands for nothing.
    """
    if is_game_id(ref):
        saved = LazyStore(args.db).query(lambda database: database.get(int(ref)), f"game {int(ref)}")
        return FoundGame(saved.table, saved)
    if is_match_id(ref) and not os.path.exists(ref):
        raise CommandError(f"{ref} is a match; expected one of its games (see: tower history), or resume {ref}")
    from number_tower import record  # noqa: PLC0415 - a game by its name needs no records

    try:
        return FoundGame(record.read(ref))
    except record.NoRecordError as error:
        problem = otherwise or str(error).replace("is neither a file nor", "is neither a game's id, a file, nor")
        raise CommandError(problem) from None
    except record.RecordError as error:
        raise CommandError(f"the record cannot be read: {error}", code=FAILED) from None
