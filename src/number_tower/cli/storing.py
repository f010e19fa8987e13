"""A game kept in the database while it is played, or in memory as long as the database cannot be used."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower.cli.failure import WRONG_CALL, Failure
from number_tower.store import places

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

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
            self._place()

    @property
    def options(self) -> str:
        """What has to be added to a command for it to find the same database."""
        return "" if self._given is None else f" --db {quote(self._given)}"

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self._place().name

    def open(self) -> Store:
        """Return the database, opened; whatever it complains of is a StoreError."""
        from number_tower.store.games import Store  # noqa: PLC0415 - not before the first prompt

        if self._store is None:
            self._store = Store(self._place(), patience=self._patience)
        return self._store

    def lose_patience(self) -> None:
        """Wait for the database no longer than a moment from now on: the game must go on."""
        self._patience = _SHORT
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _place(self) -> Place:
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
    dialogue: Dialogue, asked: Namespace, *, kept: Kept | None = None, part: Callable[[Store], Part] | None = None
) -> None:
    """Keep the game of a dialogue in the database from its first move on, unless that was not wanted."""
    place = shelf(asked)
    if place is not None:
        dialogue.storing = Storing(place, dialogue, kept, part)


class Storing:
    """One game in the database. What cannot be kept now is kept with a later change, if that can be."""

    def __init__(
        self, shelf: Shelf, dialogue: Dialogue, kept: Kept | None = None, part: Callable[[Store], Part] | None = None
    ) -> None:
        self._shelf = shelf
        self._book = dialogue.book
        self._seating = dialogue.seating
        self._found = dialogue.table
        self._kept = kept
        self._part = part
        self._failing = False
        self.up_to_date = kept is not None

    @property
    def ref(self) -> str | None:
        """The id by which the game, as it stands, is found again, and how to find the database; None if it is not."""
        return f"{self._kept.id}{self._shelf.options}" if self._kept and self.up_to_date else None

    def keep(self, table: Table) -> tuple[Table, str | None]:
        """Keep a change; return the table as it is kept, and what there is to tell the players, if anything.

        Somebody elsewhere may have changed the table meanwhile: then `Stale` has it as it is.
        """
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - not before the first prompt

        try:
            self._kept, news = self._written(table)
        except StoreError as trouble:
            return table, self._failed(str(trouble))
        if self._failing:
            news = "the database can be used again, and this game is kept there"
        self.up_to_date, self._failing = True, False
        return self._kept.table, news

    def _written(self, table: Table) -> tuple[Kept, str | None]:
        from number_tower.store.games import NoSuchGame  # noqa: PLC0415 - not before the first prompt
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
        return store.begin(table, self._book, seats, None if self._part is None else self._part(store)), None

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
