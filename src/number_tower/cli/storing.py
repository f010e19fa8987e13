"""A game kept in the database while it is played, or in memory as long as the database cannot be used."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from number_tower.cli.failure import WRONG_CALL, Failure
from number_tower.showing import shown_argument
from number_tower.store import places
from number_tower.table import Stale

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from number_tower.cli.dialogue import Dialogue
    from number_tower.store.games import Store
    from number_tower.store.kept import Kept, Part
    from number_tower.store.places import Place
    from number_tower.table import Table

_SHORT = 0.2
"""Seconds that a database is waited for which could not be used before."""


class Shelf:
    """The database that was asked for; it is opened, and its library loaded, when something is first kept or sought."""

    def __init__(self, given: str | None) -> None:
        self._given = given
        self._store: Store | None = None
        self._patience: float | None = None
        if places.chosen(given):
            _ = self.place

    @property
    def options(self) -> str:
        """What has to be added to a command for it to find the same database; but for a password."""
        if self._given is None:
            return ""
        return f" --db {shown_argument(self.name if self.place.file is None else self._given)}"

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self.place.name

    @property
    def absent(self) -> bool:
        """Whether it is a file that has not been made yet: nothing was ever kept there."""
        file = self.place.file
        return file is not None and not os.path.exists(file)

    def open(self) -> Store:
        """Return the database, opened; whatever it complains of is a StoreError."""
        from number_tower.store.games import Store  # noqa: PLC0415 - not before the first prompt

        if self._store is None:
            self._store = Store(self.place, patience=self._patience)
        return self._store

    def lose_patience(self) -> None:
        """Wait for the database no longer than a moment from now on: the game must go on."""
        self._patience = _SHORT
        self.close()

    def regain_patience(self) -> None:
        """Wait for the database as long as before: it can be used again."""
        if self._patience is not None:
            self._patience = None
            self.close()

    def close(self) -> None:
        """Let go of the database."""
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def place(self) -> Place:
        """Where the database is."""
        try:
            place = places.find(self._given)
        except places.WrongPlace as wrong:
            source = places.VARIABLE if self._given is None else "--db"
            raise Failure(WRONG_CALL, f"{source}: {wrong}") from None
        if place is None:
            raise Failure(WRONG_CALL, f"games are not kept: {places.VARIABLE} or --db says none")
        return place


def shelf(asked: Namespace) -> Shelf | None:
    """Return the database that games are kept in; None if they are not to be kept."""
    if asked.no_save or places.is_none(asked.db):
        return None
    return Shelf(asked.db)


def store(
    dialogue: Dialogue,
    asked: Namespace,
    *,
    kept: Kept | None = None,
    part: Callable[[Connection], Part] | None = None,
) -> None:
    """Keep the game of a dialogue in the database from its first move on, unless that was not wanted."""
    place = shelf(asked)
    if place is not None:
        dialogue.storing = Storing(place, dialogue, kept, part)


@contextmanager
def _told_to_wait() -> Iterator[None]:
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


class Storing:
    """One game in the database. What cannot be kept now is kept with a later change, if that can be."""

    def __init__(
        self,
        shelf: Shelf,
        dialogue: Dialogue,
        kept: Kept | None = None,
        part: Callable[[Connection], Part] | None = None,
    ) -> None:
        self._shelf = shelf
        self._book = dialogue.book
        self._seating = dialogue.seating
        self._kept = kept
        self._part = part
        self._failing = False
        self.up_to_date = kept is not None
        self.key = None if kept is None else kept.key
        """By what the game is known on every machine, now or once it is kept."""

    @property
    def ref(self) -> str | None:
        """The id by which the game, as it stands, is found again, and how to find the database; None if it is not."""
        return f"{self._kept.id}{self._shelf.options}" if self._kept and self.up_to_date else None

    @property
    def part(self) -> Part | None:
        """Which game of which match it is in the database, if it is one there."""
        return None if self._kept is None else self._kept.part

    def keep(self, table: Table) -> tuple[Table, str | None]:
        """Keep a change; return the table as it is kept, and what there is to tell the players, if anything.

        Somebody elsewhere may have changed the table meanwhile: then `Stale` has it as it is.
        """
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - not before the first prompt

        try:
            self._kept, news = self._written_or_not(table)
        except StoreError as trouble:
            return table, self._failed(str(trouble))
        except Stale:
            self._works()
            raise
        if self._failing:
            news = "the database can be used again, and this game is kept there"
        self._works()
        return self._kept.table, news

    def elsewhere(self) -> Table | None:
        """Return the table as it is, if somebody elsewhere has changed it."""
        if self._kept is None or not self.up_to_date:
            return None
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - not before the first prompt

        try:
            news = self._shelf.open().news_of(self._kept)
        except StoreError:
            return None
        self._kept = news or self._kept
        return None if news is None else news.table

    def _written_or_not(self, table: Table) -> tuple[Kept, str | None]:
        """Try twice, with the database opened anew: that alone can help, where a connection broke or a disk is full."""
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - not before the first prompt

        with _told_to_wait():
            try:
                return self._written(table)
            except StoreError:
                if self._failing:
                    raise
                self._shelf.lose_patience()
                return self._written(table)

    def _written(self, table: Table) -> tuple[Kept, str | None]:
        from secrets import token_hex  # noqa: PLC0415 - not before the first prompt

        from number_tower.store.games import Begun, NoSuchGame  # noqa: PLC0415 - likewise
        from number_tower.store.kept import Seats  # noqa: PLC0415 - likewise

        store = self._shelf.open()
        seats = Seats() if self._seating is None else Seats(self._seating.specs, self._seating.seed)
        if self._kept is not None:
            try:
                return store.put(self._kept, table, seats), None
            except NoSuchGame:
                self._kept, self.key = None, token_hex(16)
                news = "this game was forgotten elsewhere; it is kept anew"
                return store.begin(table, self._book, seats, key=self.key), news
        self.key = self.key or token_hex(16)
        try:
            return store.begin(table, self._book, seats, self._part, self.key), None
        except Begun as elsewhere:
            self._kept = elsewhere.kept
            return store.put(self._kept, table, seats), None
        except NoSuchGame:
            news = "this match was forgotten elsewhere; its game is kept by itself"
            return store.begin(table, self._book, seats, key=self.key), news

    def _works(self) -> None:
        self._shelf.regain_patience()
        self.up_to_date, self._failing = True, False

    def _failed(self, trouble: str) -> str | None:
        self._shelf.lose_patience()
        self.up_to_date = False
        if self._failing:
            return None
        self._failing = True
        return f"{trouble}. The game goes on in memory; `save game.json` writes it to a file"

    def close(self) -> None:
        """Let go of the database."""
        self._shelf.close()
