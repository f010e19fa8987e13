"""`tower match`: play one game after another at this keyboard, until the match is decided or left."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower.catalogue import GameChoice
from number_tower.cli.app import load_screens, open_app, opens_app
from number_tower.cli.config import load_config
from number_tower.cli.database import choose_store
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import NOTHING_TO_SAVE, CommandError, report_stop
from number_tower.cli.menu import ask_for_game
from number_tower.cli.options import CommandParser
from number_tower.cli.play import choose_game, choose_opponent, create_opponents, read_names
from number_tower.cli.terminal import Terminal
from number_tower.match import Match, Series
from number_tower.session.match import MatchCourse, is_game_saved
from number_tower.voice import MatchMoment, Reader, get_plain_players, get_voice

if TYPE_CHECKING:
    from number_tower.session.opponents import Opponents
    from number_tower.store.matches import StoredMatch

DEFAULT_GAMES = 3
"""How many games a match of one rulebook has at most, unless the call says otherwise."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower match`."""
    parser.add_example("tower match summit --best-of 5 --vs fair", "up to five games of summit")
    parser.add_example("tower match race,draft --names Ann,Ben", "two games that take turns")
    parser.add_game_options(
        "GAME", "a game's name or a rule file; or several that take turns, as in race,draft,factor"
    )
    parser.add_count("--best-of", "how many games at most (3, or one of each)")
    parser.add_match_options("who starts the first game: 1, 2, or random")


def run(args: Namespace, terminal: Terminal) -> None:
    """Play a match from its start."""
    if not ask_for_game(args, terminal):
        return
    choose_opponent(args)
    games = tuple(choose_game(args, name) for name in _split_games(args.game))
    names, person = read_names(args)
    default = DEFAULT_GAMES if len(games) == 1 else len(games)
    match = Match(args.best_of or default, games[0].first)
    opponents = _create_opponents(args)
    names = names or _choose_names(games, opponents, person or load_config().name)
    series = Series(games, match, names, hidden=args.hidden)
    session = _MatchSession(args, series, terminal)
    if opens_app(args):
        open_app(args, load_screens().create_match(session.course))
    else:
        session.play(coin_tossed=args.first == "random")


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
    session = _MatchSession(args, _update_names(saved, _create_opponents(args)), terminal, saved)
    if not session.course.series.match.over and opens_app(args):
        open_app(args, load_screens().create_match(session.course))
    else:
        session.play()


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

    match: _MatchSession = field(kw_only=True)

    def format_resume_hint(self, otherwise: str) -> str:
        """Say how to resume the match, or at least its game; `otherwise` is the text for a match without a move."""
        if (
            is_game_saved(self.table, self.session.autosave)
            and (ref := self.match.format_ref(self)) is not None
        ):
            return f"Match saved. Resume it with: {self.format_command('resume', ref)}"
        if self.table.version and self.table.outcome is None:
            alone = f"{self.format_command('resume')}{self._format_seat_options()}"
            return f"The match is not saved, so you can resume only this game of it: {alone}"
        return (
            otherwise
            if self.match.course.fresh
            else "The match is not saved, so it cannot be resumed."
        )


class _MatchSession:
    """A match while it is played at this keyboard."""

    def __init__(
        self, args: Namespace, series: Series, terminal: Terminal, saved: StoredMatch | None = None
    ) -> None:
        self._args = args
        self._terminal = terminal
        self._automatic = (False, False) if saved is None else saved.seats.automatic
        self.course = MatchCourse(
            series, choose_store(args), partial(create_opponents, args), saved
        )

    def play(self, *, coin_tossed: bool = False) -> None:
        """Play one game after another, until the match is decided or left."""
        game = self._create_game(coin_tossed=coin_tossed)
        if self.course.series.match.over:
            game.set_reader(Reader.at_keyboard(replace(game.table, automatic=self._automatic)))
        self._announce("start" if self.course.fresh else "score", game)
        while not self.course.series.match.over:
            with report_stop(NOTHING_TO_SAVE, game.format_resume_hint):
                self._announce("game", game)
                self._terminal.show("\n")
                game.play()
                if game.table.outcome is None:
                    return
                self.course.finish_game(
                    game.table, game.session.autosave, game.table.outcome.winner
                )
                self._announce("score", game)
                if not self.course.series.match.over:
                    game = self._create_game(introduced=True)
        self._announce("drawn" if self.course.series.match.leader is None else "won", game)

    def _create_game(
        self, *, coin_tossed: bool = False, introduced: bool = False
    ) -> _MatchDialogue:
        """Return the next game, as it stands if it was started already."""
        session = self.course.open_session()
        return _MatchDialogue(session, self._terminal, coin_tossed, introduced, match=self)

    def format_ref(self, game: _MatchDialogue) -> str | None:
        """Return the REF of the match with the options to resume it; None if it is not saved."""
        self.course.update_id(game.session.autosave)
        if not self.course.is_saved or self.course.database is None:
            return None
        opponents = game.session.opponents
        named = opponents is not None and opponents.has_program
        seats = opponents._replace(seed=self._args.seed).options if opponents and named else ""
        return f"m{self.course.id}{self.course.database.db_option}{seats}"

    def _announce(self, moment: MatchMoment, game: _MatchDialogue) -> None:
        standing, plain = self.course.describe(moment)
        self._terminal.show_heading(
            game.voice.tell_match(moment, game.table, standing, plain=plain).text
        )
