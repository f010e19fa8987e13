"""What somebody wants to play, and the room in which it can be played."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.room import Room, Seat
from number_tower.store.kept import Seats
from number_tower.table import player_names
from number_tower.voice import Voice
from number_tower.web.computer import WITHOUT_THINKING

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.table import Table


class Wish(NamedTuple):
    """What somebody wants to play, and with whom: somebody at the same table, the computer, or whoever has the link."""

    book: Rulebook
    table: Table
    opponent: Literal["table", "computer", "link"] = "table"
    level: str | None = None
    names: tuple[str | None, str | None] = (None, None)
    best_of: int | None = None
    hints: bool = True

    @property
    def players(self) -> Seats:
        """Who chooses the moves in each seat."""
        return Seats((None, self.level or WITHOUT_THINKING)) if self.opponent == "computer" else Seats()

    def room(self) -> Room:
        """Return the room in which that can be played; whoever wishes it sits in its first seat."""
        usual = Voice(self.book).players
        level = self.players.players[1]
        names = self.names[0] or usual[0], self.names[1] or (usual[1] if level is None else level.capitalize())
        chosen = self.table.names or (player_names(names) if names != usual else None)
        table = replace(self.table, names=chosen, automatic=self.players.automatic)
        kinds: dict[str, Literal["person", "computer", "free"]]
        kinds = {"table": "person", "computer": "computer", "link": "free"}
        first, second = chosen or usual
        seats = Seat("person", first), Seat(kinds[self.opponent], second)
        return Room(table, seats, best_of=self.best_of, hints=self.hints)
