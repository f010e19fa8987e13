"""A game kept in the database while it is played, or in memory as long as the database cannot be used."""

from __future__ import annotations

import os
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower.cli.failure import WRONG_CALL, Failure
from number_tower.store import places
from number_tower.table import Stale

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

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
        return f" --db {quote(self.name if self.place.file is None else self._given)}"

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
            raise Failure(WRONG_CALL, f"nothing is kept ({places.VARIABLE} or --db says none), so nothing can be found")
        return place


def shelf(asked: Namespace) -> Shelf | None:
    """Return the database that games are kept in; None if they are not to be kept."""
    if asked.no_save or places.chosen(asked.db) == places.NONE:
        return None
    return Shelf(asked.db)


def store(
    dialogue: Dialogue, asked: Namespace, *, kept: Kept | None = None, part: Callable[[Connection], Part] | None = None
) -> None:
    """Keep the game of a dialogue in the database from its first move on, unless that was not wanted."""
    place = shelf(asked)
    if place is not None:
        dialogue.storing = Storing(place, dialogue, kept, part)


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
        self._found = dialogue.table
        self._kept = kept
        self._part = part
        self._key: str | None = None
        self._failing = False
        self.up_to_date = kept is not None

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

    def _written_or_not(self, table: Table) -> tuple[Kept, str | None]:
        """Try twice, with the database opened anew: that alone can help, where a connection broke or a disk is full."""
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - not before the first prompt

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
        if self._kept is None and self._found.game.moves and (same := store.standing_as(self._found)) is not None:
            table = replace(table, log=(*same.table.log, *table.log[self._found.version :]))
            return store.put(same, table, seats), None
        if self._kept is not None:
            try:
                return store.put(self._kept, table, seats), None
            except NoSuchGame:
                return store.begin(table, self._book, seats), "this game was forgotten elsewhere; it is kept anew"
        self._key = self._key or token_hex(16)
        try:
            return store.begin(table, self._book, seats, self._part, self._key), None
        except Begun as elsewhere:
            self._kept = elsewhere.kept
            return store.put(self._kept, table, seats), None
        except NoSuchGame:
            news = "this match was forgotten elsewhere; its game is kept by itself"
            return store.begin(table, self._book, seats, key=self._key), news

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
