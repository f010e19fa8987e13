"""`tower match`: play one game after another at this keyboard, until the match is decided or left."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.catalogue import GameChoice
from number_tower.cli.database import Autosave, choose_store, make_key, make_seats
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import NOTHING_TO_SAVE, CommandError, print_error, report_as, report_stop
from number_tower.cli.options import CommandParser, parse_count
from number_tower.cli.play import choose_game, create_opponents, read_names, seat_players
from number_tower.cli.terminal import Terminal
from number_tower.match import Match, MatchError, Series
from number_tower.table import StaleError, Table
from number_tower.voice import MatchMoment, MatchStanding, Reader, get_plain_players, get_voice

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from number_tower.cli.computer import Opponents
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import MatchSlot, StoredGame

DEFAULT_GAMES = 3
"""How many games a match of one rulebook has at most, unless the call says otherwise."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower match`."""
    parser.add_game_options("GAME", "a game's name or a rule file; or several that take turns, as in race,draft,factor")
    parser.add_value("--best-of", "N", "how many games at most (3, or one of each)", type=parse_count)
    parser.add_player_options("who starts the first game: 1, 2, or random")
    parser.add_hidden_option()
    parser.add_db_option()
    parser.add_no_save_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Play a match from its start."""
    games = tuple(choose_game(args, name) for name in _split_games(args.game))
    names, person = read_names(args)
    default = DEFAULT_GAMES if len(games) == 1 else len(games)
    with report_as("--best-of: ", MatchError):
        match = Match(default if args.best_of is None else args.best_of, games[0].first)
    opponents = _create_opponents(args)
    names = names or _choose_names(games, opponents, person)
    series = Series(games, match, names, hidden=args.hidden)
    _MatchSession(args, series, terminal).play(coin_tossed=args.first == "random")


def _split_games(games: str | None) -> list[str | None]:
    """Return the games of a list such as race,draft; a rule file may have commas in its name."""
    if games is None or "," not in games or os.path.isfile(games):
        return [games]
    return [name.strip() for name in games.split(",")]


def resume_match(args: Namespace, saved: StoredMatch, terminal: Terminal) -> None:
    """Resume a match."""
    if args.record is not None:
        problem = "--record is for one game, and this is a match; to save the current game, type: save FILE"
        raise CommandError(problem)
    _MatchSession(args, _update_names(saved, _create_opponents(args)), terminal, saved).play()


def _create_opponents(args: Namespace) -> Opponents | None:
    """Return the computer players of the first game; the others derive their seeds from its seed."""
    opponents = create_opponents(args)
    if opponents is not None:
        args.seed = opponents.seed
    return opponents


def _choose_names(
    games: tuple[GameChoice, ...], opponents: Opponents | None, person: str | None = None
) -> tuple[str, str] | None:
    """Return default names for the whole match; None where every rulebook has the same ones."""
    people = _get_default_names(games)
    if opponents is not None:
        return opponents.choose_names(people if person is None else (person, person))
    return None if all(get_voice(game.book).players == people for game in games) else people


def _get_default_names(games: tuple[GameChoice, ...]) -> tuple[str, str]:
    names = {get_voice(game.book).players for game in games}
    return names.pop() if len(names) == 1 else get_plain_players()


def _update_names(saved: StoredMatch, opponents: Opponents | None) -> Series:
    """Return the series with names that fit these opponents, where nobody chose the names."""
    series = saved.series
    if opponents is None or series.names is None:
        return series
    people = _get_default_names(series.games)
    if opponents.clear_default_names(series.table, saved.seats.players, people).names is not None:
        return series
    return replace(series, names=_choose_names(series.games, opponents))


@dataclass
class _MatchDialogue(Dialogue):
    """A game of a match: leaving it leaves the match, and it is saved after the games before it."""

    session: _MatchSession = field(kw_only=True)

    def _save(self, table: Table) -> bool:
        self.session.save_earlier_games()
        saved = super()._save(table)
        self.session.update_id(self)
        return saved

    @property
    def saved(self) -> bool:
        """Whether all that happened in this game is in the database, as part of the match."""
        if self.autosave is None or not self.table.version:
            return self.autosave is not None
        return self.autosave.up_to_date and self.autosave.slot is not None

    def format_resume_hint(self, otherwise: str) -> str:
        """Say how to resume the match, or at least its game; `otherwise` is the text for a match without a move."""
        if self.saved and (ref := self.session.format_ref(self)) is not None:
            return f"Match saved. Resume it with: {self.format_command('resume', ref)}"
        if self.table.version and self.table.outcome is None:
            alone = f"{self.format_command('resume')}{self._format_seat_options()}"
            return f"The match is not saved, so you can resume only this game of it: {alone}"
        return otherwise if self.session.fresh else "The match is not saved, so it cannot be resumed."


class _MatchSession:
    """A match while it is played."""

    def __init__(self, args: Namespace, series: Series, terminal: Terminal, saved: StoredMatch | None = None) -> None:
        self._args = args
        self._series = series
        self._terminal = terminal
        self._database = choose_store(args)
        self._id = None if saved is None else saved.id
        self._key = make_key() if saved is None else saved.key
        self._current = None if saved is None else saved.current
        self._automatic = (False, False) if saved is None else saved.seats.automatic
        self._unsaved: list[_MatchDialogue] = []
        self._diverged = False
        """Whether a saved game of the match differs from the one that was played here."""

    @property
    def fresh(self) -> bool:
        """Whether no game is over yet."""
        return not self._series.match.winners

    def play(self, *, coin_tossed: bool = False) -> None:
        """Play one game after another, until the match is decided or left."""
        game = self._create_game(coin_tossed=coin_tossed)
        if self._series.match.over:
            game.set_reader(Reader.at_keyboard(replace(game.table, automatic=self._automatic)))
        self._announce("start" if self.fresh else "score", game)
        while not self._series.match.over:
            with report_stop(NOTHING_TO_SAVE, game.format_resume_hint):
                self._announce("game", game)
                self._terminal.show("\n")
                game.play()
                if game.table.outcome is None:
                    return
                self._finish_game(game, game.table.outcome.winner)
                if not self._series.match.over:
                    game = self._create_game(introduced=True)
        self._announce("drawn" if self._series.match.leader is None else "won", game)

    def _create_game(self, *, coin_tossed: bool = False, introduced: bool = False) -> _MatchDialogue:
        """Return the next game, as it stands if it was started already."""
        saved, series = self._load_started_game(), self._series
        table = series.table if saved is None else replace(saved.table, names=series.names)
        opponents = create_opponents(self._args, series.match.number)
        database, claim_slot = self._database, partial(self._claim_slot, opponents, series)
        return _MatchDialogue(
            seat_players(table, opponents),
            self._terminal,
            autosave=None if database is None else Autosave(database, opponents, saved, claim_slot),
            opponents=opponents,
            coin_tossed=coin_tossed,
            introduced=introduced,
            session=self,
        )

    def _load_started_game(self) -> StoredGame | None:
        """Return the next game if it was started, before the match was left or meanwhile elsewhere."""
        current, self._current = self._current, None
        if current is not None or self._id is None or self._database is None:
            return current
        match, number = self._id, self._series.match.number
        return self._database.find(lambda opened: store.matches.find_game(opened, store.rows.MatchSlot(match, number)))

    def _claim_slot(self, opponents: Opponents | None, series: Series, connection: Connection) -> MatchSlot:
        """Find the place of a game in the match; the match is saved with its first game."""
        seats = make_seats(opponents and opponents._replace(seed=self._args.seed))
        return store.matches.claim_slot(connection, store.matches.StoredMatch(self._id, self._key, series, seats))

    def _finish_game(self, game: _MatchDialogue, winner: int | None) -> None:
        """Count a game that is over, and tell the score."""
        self._series = self._series.after(winner)
        self.update_id(game)
        if game.autosave is not None and not game.saved:
            self._unsaved.append(game)
        self._announce("score", game)

    def save_earlier_games(self) -> None:
        """Try again to save the games that could not be saved when they were played."""
        for game in self._unsaved:
            if game.autosave is None:
                continue
            try:
                saved, _ = game.autosave.save(game.table)
            except StaleError as error:
                saved = error.table
            game.autosave.close()
            self.update_id(game)
            if game.saved and (saved.game, saved.declared) != (game.table.game, game.table.declared):
                print_error(f"an earlier game of this match was continued elsewhere. Played here: {game.format_line()}")
                self._diverged = True
        self._unsaved = [game for game in self._unsaved if not game.saved]

    def format_ref(self, game: _MatchDialogue) -> str | None:
        """Return the REF of the match with the options to resume it; None if it is not saved."""
        self.update_id(game)
        if self._id is None or self._unsaved or self._diverged or self._database is None:
            return None
        opponents = game.opponents
        named = opponents is not None and opponents.has_program
        seats = opponents._replace(seed=self._args.seed).options if opponents and named else ""
        return f"m{self._id}{self._database.db_option}{seats}"

    def update_id(self, game: _MatchDialogue) -> None:
        """Remember the id of the match, once it is saved."""
        if game.autosave is not None and game.autosave.slot is not None:
            self._id = game.autosave.slot.match

    def _announce(self, moment: MatchMoment, game: _MatchDialogue) -> None:
        match = self._series.match
        number = match.number if moment in {"start", "game"} else len(match.winners)
        plain = len(self._series.games) > 1 and moment != "game"
        standing = MatchStanding(number, match.best_of, match.score)
        self._terminal.show_heading(game.voice.tell_match(moment, game.table, standing, plain=plain).text)
