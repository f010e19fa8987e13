"""What was asked for at this machine. Games, saved games and rematches start here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from number_tower.engine.catalogue import GameChoice
from number_tower.engine.table import Table
from number_tower.players import DEFAULT_PATIENCE
from number_tower.terminal.session.database import Autosave, GameDatabase
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.session.opponents import (
    TWO_PEOPLE,
    Opponents,
    ProgressDisplay,
    Specs,
    seat_players,
)
from number_tower.terminal.session.search import StoppableSearch
from number_tower.words.voice import get_voice

if TYPE_CHECKING:
    from number_tower.store.rows import StoredGame


@dataclass(frozen=True)
class PlayRequest:
    """Who is to play, and where games are saved."""

    specs: Specs = TWO_PEOPLE
    seed: int | None = None
    """The seed of the computers' moves; None for a random one in every game."""
    patience: float = DEFAULT_PATIENCE
    names: tuple[str, str] | None = None
    person: str | None = None
    """The name of the one person who plays a computer."""
    database: GameDatabase | None = None
    create_display: Callable[[], ProgressDisplay] = StoppableSearch

    def create_opponents(self, number: int = 1) -> Opponents | None:
        """Return the computer players of game `number` of a match: each game has its own seed."""
        if self.specs == TWO_PEOPLE:
            return None
        seed = None if self.seed is None else self.seed + number - 1
        return Opponents.create(self.specs, self.create_display(), seed, self.patience)

    def open_session(self, table: Table, saved: StoredGame | None = None) -> GameSession:
        """Return a game that is played as requested; `saved` is its copy in the database."""
        opponents = self.create_opponents()
        if saved is not None and opponents is not None:
            people = get_voice(table.book).players
            table = Opponents.clear_default_names(table, saved.seats.players, people)
        autosave = None if self.database is None else Autosave(self.database, opponents, saved)
        return GameSession(seat_players(table, opponents, self.person), opponents, autosave)

    def open_rematch(self, before: GameSession, specs: Specs | None = None) -> GameSession:
        """Return the same game again: the other player begins, and computers play with a new seed.

        Other players (`specs`) get other names, but a person who plays on is called as before.
        """
        table, names, person = before.table, before.table.names, self.person
        if specs is not None:
            # A person who sat there keeps the name.
            if names is not None and False in table.automatic:
                person = names[table.automatic.index(False)]
            names = None
        request = replace(self, specs=specs or before.specs, seed=None, person=person)
        choice = GameChoice(table.book, table.game.rules, table.hidden, 1 - table.game.first)
        return request.open_session(Table.start(choice, names))
