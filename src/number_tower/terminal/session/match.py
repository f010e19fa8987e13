"""A match at this machine: which game is next and who plays it, and its games saved as parts of the match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.match import Series
from number_tower.session import seat_players
from number_tower.session.database import Autosave, GameDatabase, make_key, make_seats
from number_tower.session.game import GameSession
from number_tower.table import StaleError, Table
from number_tower.voice import MatchMoment, MatchStanding

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from number_tower.session.opponents import Opponents
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import MatchSlot, StoredGame


class MatchCourse:
    """The course of a match while it is played.

    `create_opponents` returns the computer players of a game by its number; the match is saved with the seed of the
    first game.
    """

    def __init__(
        self,
        series: Series,
        database: GameDatabase | None,
        create_opponents: Callable[[int], Opponents | None],
        saved: StoredMatch | None = None,
    ) -> None:
        self.series = series
        self.database = database
        self.id = None if saved is None else saved.id
        self._create_opponents = create_opponents
        self._key = make_key() if saved is None else saved.key
        self._current = None if saved is None else saved.current
        self._unsaved: list[tuple[Table, Autosave]] = []
        self._diverged = False
        """Whether a saved game of the match differs from the one that was played here."""

    @property
    def fresh(self) -> bool:
        """Whether no game is over yet."""
        return not self.series.match.winners

    @property
    def is_saved(self) -> bool:
        """Whether every game that is over is saved as part of the match."""
        return self.id is not None and not self._unsaved and not self._diverged

    def open_session(self) -> GameSession:
        """Return the next game, as it stands if it was started already."""
        saved, series = self._load_started_game(), self.series
        table = series.table if saved is None else replace(saved.table, names=series.names)
        opponents = self._create_opponents(series.match.number)
        table = seat_players(table, opponents)
        autosave = None
        if self.database is not None:
            autosave = Autosave(
                self.database, opponents, saved, partial(self._claim_slot, opponents, series)
            )
        return GameSession(table, opponents, autosave, course=self)

    def _load_started_game(self) -> StoredGame | None:
        """Return the next game if it was started, before the match was left or meanwhile elsewhere."""
        current, self._current = self._current, None
        if current is not None or self.id is None or self.database is None:
            return current
        match, number = self.id, self.series.match.number
        return self.database.find(
            lambda opened: store.matches.find_game(opened, store.rows.MatchSlot(match, number))
        )

    def _claim_slot(
        self, opponents: Opponents | None, series: Series, connection: Connection
    ) -> MatchSlot:
        """Find the place of a game in the match; the match is saved with its first game."""
        first = (
            None
            if opponents is None
            else opponents._replace(seed=opponents.seed - series.match.number + 1)
        )
        match = store.matches.StoredMatch(self.id, self._key, series, make_seats(first))
        return store.matches.claim_slot(connection, match)

    def finish_game(self, table: Table, autosave: Autosave | None, winner: int | None) -> None:
        """Count a game that is over."""
        self.series = self.series.after(winner)
        self.update_id(autosave)
        if autosave is not None and not is_game_saved(table, autosave):
            self._unsaved.append((table, autosave))

    def save_earlier_games(self) -> Iterator[Table]:
        """Try again to save the games that could not be saved; yield those that were continued elsewhere instead."""
        waiting, self._unsaved = self._unsaved, []
        for table, autosave in waiting:
            try:
                autosave.save(table)
            except StaleError:
                self._diverged = True
                yield table
            autosave.close()
            self.update_id(autosave)
            if not is_game_saved(table, autosave):
                self._unsaved.append((table, autosave))

    def update_id(self, autosave: Autosave | None) -> None:
        """Remember the id of the match, once one of its games is saved."""
        if autosave is not None and autosave.slot is not None:
            self.id = autosave.slot.match

    def describe(self, moment: MatchMoment) -> tuple[MatchStanding, bool]:
        """Return how the match stands for a moment of it, and whether that is told in the plain voice."""
        match = self.series.match
        number = match.number if moment in {"start", "game"} else len(match.winners)
        plain = len(self.series.games) > 1 and moment != "game"
        return MatchStanding(number, match.best_of, match.score), plain


def is_game_saved(table: Table, autosave: Autosave | None) -> bool:
    """Say whether all that happened in a game is in the database, as part of the match."""
    if autosave is None or not table.version:
        return autosave is not None
    return autosave.up_to_date and autosave.slot is not None
