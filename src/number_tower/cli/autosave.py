"""A game kept in the database while it is played, or in memory as long as the database cannot be used."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from number_tower import store as places
from number_tower.cli.errors import WRONG_CALL, CommandError
from number_tower.table import StaleError
from number_tower.text import format_argument

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from number_tower.cli.dialogue import Dialogue
    from number_tower.store import Location
    from number_tower.store.database import Store
    from number_tower.store.rows import MatchSlot, StoredGame
    from number_tower.table import Table

_SHORT_TIMEOUT = 0.2
"""Seconds that a database is waited for which could not be used before."""


class LazyStore:
    """The database that was asked for; it is opened, and its library loaded, when something is first kept or sought."""

    def __init__(self, given: str | None) -> None:
        self._choice = given
        self._store: Store | None = None
        self._timeout: float | None = None
        if places.get_choice(given):
            _ = self.place

    @property
    def db_option(self) -> str:
        """What has to be added to a command for it to find the same database; but for a password."""
        if self._choice is None:
            return ""
        return f" --db {format_argument(self.name if self.place.file is None else self._choice)}"

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self.place.name

    @property
    def missing(self) -> bool:
        """Whether it is a file that has not been made yet: nothing was ever kept there."""
        file = self.place.file
        return file is not None and not os.path.exists(file)

    def open(self) -> Store:
        """Return the database, opened; whatever it complains of is a StoreError."""
        from number_tower.store.database import Store  # noqa: PLC0415 - not before the first prompt

        if self._store is None:
            self._store = Store(self.place, timeout=self._timeout)
        return self._store

    def shorten_timeout(self) -> None:
        """Wait for the database no longer than a moment from now on: the game must go on."""
        self._timeout = _SHORT_TIMEOUT
        self.close()

    def restore_timeout(self) -> None:
        """Wait for the database as long as before: it can be used again."""
        if self._timeout is not None:
            self._timeout = None
            self.close()

    def close(self) -> None:
        """Let go of the database."""
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def place(self) -> Location:
        """Where the database is."""
        try:
            place = places.find_location(self._choice)
        except places.LocationError as wrong:
            source = places.ENVIRONMENT_VARIABLE if self._choice is None else "--db"
            raise CommandError(WRONG_CALL, f"{source}: {wrong}") from None
        if place is None:
            raise CommandError(WRONG_CALL, f"games are not kept: {places.ENVIRONMENT_VARIABLE} or --db says none")
        return place


def choose_store(asked: Namespace) -> LazyStore | None:
    """Return the database that games are kept in; None if they are not to be kept."""
    if asked.no_save or places.is_disabled(asked.db):
        return None
    return LazyStore(asked.db)


def enable_autosave(
    dialogue: Dialogue,
    asked: Namespace,
    *,
    kept: StoredGame | None = None,
    part: Callable[[Connection], MatchSlot] | None = None,
) -> None:
    """Keep the game of a dialogue in the database from its first move on, unless that was not wanted."""
    place = choose_store(asked)
    if place is not None:
        dialogue.autosave = Autosave(place, dialogue, kept, part)


@contextmanager
def _announce_wait() -> Iterator[None]:
    """Say on a terminal, if the database takes its time, what is being waited for."""
    from threading import Timer  # noqa: PLC0415 - not before the first prompt

    waiting = Timer(1.0, lambda: print("(Waiting for the database ...)", file=sys.stderr, flush=True))
    if sys.stderr is not None and sys.stderr.isatty():
        waiting.daemon = True
        waiting.start()
    try:
        yield
    finally:
        waiting.cancel()


class Autosave:
    """One game in the database. What cannot be kept now is kept with a later change, if that can be."""

    def __init__(
        self,
        shelf: LazyStore,
        dialogue: Dialogue,
        kept: StoredGame | None = None,
        part: Callable[[Connection], MatchSlot] | None = None,
    ) -> None:
        self._store = shelf
        self._book = dialogue.book
        self._opponents = dialogue.opponents
        self._saved = kept
        self._part = part
        self._failing = False
        self.up_to_date = kept is not None
        self.key = None if kept is None else kept.key
        """By what the game is known on every machine, now or once it is kept."""

    @property
    def ref(self) -> str | None:
        """The id by which the game, as it stands, is found again, and how to find the database; None if it is not."""
        return f"{self._saved.id}{self._store.db_option}" if self._saved and self.up_to_date else None

    @property
    def part(self) -> MatchSlot | None:
        """Which game of which match it is in the database, if it is one there."""
        return None if self._saved is None else self._saved.slot

    def save(self, table: Table) -> tuple[Table, str | None]:
        """Keep a change; return the table as it is kept, and what there is to tell the players, if anything.

        Somebody elsewhere may have changed the table meanwhile: then `Stale` has it as it is.
        """
        from number_tower.store import StoreError  # noqa: PLC0415 - not before the first prompt

        try:
            self._saved, news = self._save_with_retry(table)
        except StoreError as trouble:
            return table, self._note_failure(str(trouble))
        except StaleError:
            self._note_success()
            raise
        if self._failing:
            news = "the database can be used again, and this game is kept there"
        self._note_success()
        return self._saved.table, news

    def fetch_change(self) -> Table | None:
        """Return the table as it is, if somebody elsewhere has changed it."""
        if self._saved is None or not self.up_to_date:
            return None
        from number_tower.store import StoreError  # noqa: PLC0415 - not before the first prompt

        try:
            news = self._store.open().reload_if_changed(self._saved)
        except StoreError:
            return None
        self._saved = news or self._saved
        return None if news is None else news.table

    def _save_with_retry(self, table: Table) -> tuple[StoredGame, str | None]:
        """Try twice, with the database opened anew: that alone can help, where a connection broke or a disk is full."""
        from number_tower.store import StoreError  # noqa: PLC0415 - not before the first prompt

        with _announce_wait():
            try:
                return self._save_once(table)
            except StoreError:
                if self._failing:
                    raise
                self._store.shorten_timeout()
                return self._save_once(table)

    def _save_once(self, table: Table) -> tuple[StoredGame, str | None]:
        from secrets import token_hex  # noqa: PLC0415 - not before the first prompt

        from number_tower.store import GameNotFoundError, GameStartedError  # noqa: PLC0415 - likewise
        from number_tower.store.rows import Seats  # noqa: PLC0415 - likewise

        store = self._store.open()
        seats = Seats() if self._opponents is None else Seats(self._opponents.specs, self._opponents.seed)
        if self._saved is not None:
            try:
                return store.save(self._saved, table, seats), None
            except GameNotFoundError:
                self._saved, self.key = None, token_hex(16)
                news = "this game was forgotten elsewhere; it is kept anew"
                return store.begin(table, self._book, seats, key=self.key), news
        self.key = self.key or token_hex(16)
        try:
            return store.begin(table, self._book, seats, self._part, self.key), None
        except GameStartedError as elsewhere:
            self._saved = elsewhere.game
            return store.save(self._saved, table, seats), None
        except GameNotFoundError:
            news = "this match was forgotten elsewhere; its game is kept by itself"
            return store.begin(table, self._book, seats, key=self.key), news

    def _note_success(self) -> None:
        self._store.restore_timeout()
        self.up_to_date, self._failing = True, False

    def _note_failure(self, trouble: str) -> str | None:
        self._store.shorten_timeout()
        self.up_to_date = False
        if self._failing:
            return None
        self._failing = True
        return f"{trouble}. The game goes on in memory; `save game.json` writes it to a file"

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()
