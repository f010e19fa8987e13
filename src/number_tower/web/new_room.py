"""A game that is to be played in a room of its own, and with whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from number_tower.room import Room, Seat
from number_tower.store.rows import Seats
from number_tower.table import Table, check_player_names
from number_tower.voice import get_voice
from number_tower.web.tasks import FALLBACK_LEVEL


class NewRoom(NamedTuple):
    """A game to be played, and with whom: a person at the same table, the computer, or the first who has the link."""

    table: Table
    opponent: Literal["table", "computer", "link"] = "table"
    level: str | None = None
    names: tuple[str | None, str | None] = (None, None)
    best_of: int | None = None
    hints: bool = True

    @property
    def players(self) -> Seats:
        """Who chooses the moves in each seat."""
        return (
            Seats((None, self.level or FALLBACK_LEVEL)) if self.opponent == "computer" else Seats()
        )

    def make_room(self) -> Room:
        """Return the room, with its creator in the first seat."""
        book = self.table.book
        usual = get_voice(book).players
        level = self.players.players[1]
        names = (
            self.names[0] or usual[0],
            self.names[1] or (usual[1] if level is None else level.capitalize()),
        )
        chosen = self.table.names or (check_player_names(names) if names != usual else None)
        automatic = self.players.automatic
        table = replace(
            self.table, book=book, rulebook=book.name, names=chosen, automatic=automatic
        )
        kinds: dict[str, Literal["person", "computer", "free"]]
        kinds = {"table": "person", "computer": "computer", "link": "free"}
        first, second = chosen or usual
        seats = Seat("person", first), Seat(kinds[self.opponent], second)
        return Room(table, seats, best_of=self.best_of, hints=self.hints)
