"""A game for a new room, and its opponent."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from number_tower.engine.table import Table, check_player_names
from number_tower.players import LEVELS
from number_tower.rooms.room import Room, Seat
from number_tower.store.rows import Seats
from number_tower.words.voice import get_voice


class NewRoom(NamedTuple):
    """A game to be played, and with whom: at one table, over a link, or against a computer."""

    table: Table
    opponent: str = "table"
    """`table`, `link`, or the level of a computer."""
    names: tuple[str | None, str | None] = (None, None)
    best_of: int | None = None
    hints: bool = True

    @property
    def players(self) -> Seats:
        """Who chooses the moves in each seat."""
        return Seats((None, self.opponent)) if self.opponent in LEVELS else Seats()

    def make_room(self) -> Room:
        """Return the room, with its creator in the first seat."""
        book = self.table.book
        usual = get_voice(book).players
        computer = self.opponent.capitalize() if self.opponent in LEVELS else None
        names = self.names[0] or usual[0], self.names[1] or computer or usual[1]
        chosen = self.table.names or (check_player_names(names) if names != usual else None)
        automatic = self.players.automatic
        table = replace(
            self.table, book=book, rulebook=book.name, names=chosen, automatic=automatic
        )
        first, second = chosen or usual
        kind: Literal["person", "computer", "free"] = "computer" if computer else "person"
        seats = Seat("person", first), Seat("free" if self.opponent == "link" else kind, second)
        return Room(table, seats, best_of=self.best_of, hints=self.hints)
