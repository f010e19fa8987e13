"""A match at this machine: which game is next, who plays it, and how it is saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Series
from number_tower.engine.table import StaleError, Table
from number_tower.terminal.session.database import Autosave, make_key, make_seats
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.session.opponents import Opponents, choose_seed, seat_players
from number_tower.words.voice import MatchMoment, MatchStanding, get_plain_players, get_voice

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import MatchSlot
    from number_tower.terminal.session.request import PlayRequest


class MatchCourse:
    """The course of a match while it is played.

    Each game has its own seed; the match is saved with the seed of the first game.
    """

    def __init__(
        self, series: Series, request: PlayRequest, saved: StoredMatch | None = None
    ) -> None:
        self.series = series
        self.seed = choose_seed() if request.seed is None else request.seed
        self._request = replace(request, seed=self.seed)
        self.database = request.database
        self.id = None if saved is None else saved.id
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
        saved, self._current = self._current, None
        series = self.series
        if saved is None and self.id is not None and self.database is not None:
            # The game may have been started meanwhile elsewhere.
            slot = store.rows.MatchSlot(self.id, series.match.number)
            saved = self.database.find(lambda opened: store.matches.find_game(opened, slot))
        table = series.table if saved is None else replace(saved.table, names=series.names)
        opponents = self._request.create_opponents(series.match.number)
        table = seat_players(table, opponents)
        autosave = None
        if self.database is not None:
            autosave = Autosave(
                self.database, opponents, saved, partial(self._claim_slot, opponents, series)
            )
        return GameSession(table, opponents, autosave, course=self)

    def _claim_slot(
        self, opponents: Opponents | None, series: Series, connection: Connection
    ) -> MatchSlot:
        """Find the place of a game in the match; the match is saved with its first game."""
        first = opponents and opponents._replace(seed=self.seed)
        match = store.matches.StoredMatch(self.id, self._key, series, make_seats(first))
        return store.matches.claim_slot(connection, match)

    def finish_game(self, table: Table, autosave: Autosave | None, winner: int | None) -> None:
        """Count a game that is over."""
        self.series = self.series.after(winner)
        self.update_id(autosave)
        if autosave is not None and not is_game_saved(table, autosave):
            self._unsaved.append((table, autosave))

    def save_earlier_games(self) -> Iterator[Table]:
        """Try again to save earlier games; yield those that were continued elsewhere instead."""
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
        """Return how the match stands at a moment, and whether the plain voice tells it."""
        match = self.series.match
        number = match.number if moment in {"start", "game"} else len(match.winners)
        plain = len(self.series.games) > 1 and moment != "game"
        return MatchStanding(number, match.best_of, match.score), plain


def choose_names(
    games: tuple[GameChoice, ...], opponents: Opponents | None, person: str | None = None
) -> tuple[str, str] | None:
    """Return default names for a whole match; None where every rulebook has the same ones."""
    people = _get_default_names(games)
    if opponents is not None:
        return opponents.choose_names(people if person is None else (person, person))
    return None if all(get_voice(game.book).players == people for game in games) else people


def update_names(saved: StoredMatch, opponents: Opponents | None) -> Series:
    """Return the series with names that fit these opponents, where nobody chose the names."""
    series = saved.series
    if opponents is None or series.names is None:
        return series
    people = _get_default_names(series.games)
    if opponents.clear_default_names(series.table, saved.seats.players, people).names is not None:
        return series
    return replace(series, names=choose_names(series.games, opponents))


def _get_default_names(games: tuple[GameChoice, ...]) -> tuple[str, str]:
    names = {get_voice(game.book).players for game in games}
    return names.pop() if len(names) == 1 else get_plain_players()


def is_game_saved(table: Table, autosave: Autosave | None) -> bool:
    """Say whether all that happened in a game is in the database, as part of the match."""
    if autosave is None or not table.version:
        return autosave is not None
    return autosave.up_to_date and autosave.slot is not None
