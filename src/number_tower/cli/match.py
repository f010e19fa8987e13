"""A match at this keyboard: one game after another, until it is decided or someone leaves."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower.catalogue import GameChoice
from number_tower.cli.autosave import choose_store, enable_autosave
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import FINISHED, INTERRUPTED, WRONG_CALL, CommandError, print_error
from number_tower.match import Match, MatchError, Series
from number_tower.table import StaleError
from number_tower.voice import MatchStanding, Voice, get_plain_players

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from number_tower.cli.opponents import Opponents
    from number_tower.cli.terminal import Terminal
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import MatchSlot, StoredGame
    from number_tower.table import Table
    from number_tower.voice import MatchMoment

DEFAULT_GAMES = 3
"""How many games a match of one game has at most, if nobody says otherwise."""


def play_match(
    asked: Namespace,
    entries: tuple[GameChoice, ...],
    names: tuple[str, str] | None,
    toss: tuple[int, bool],
    screen: Terminal,
    person: str | None = None,
) -> int:
    """Play a match from its start; return the exit code. The toss says who starts, and whether a coin was tossed."""
    first, tossed = toss
    usual = DEFAULT_GAMES if len(entries) == 1 else len(entries)
    try:
        match = Match(usual if asked.best_of is None else asked.best_of, first)
    except MatchError as wrong:
        raise CommandError(WRONG_CALL, f"--best-of: {wrong}") from None
    asked = _choose_seed(asked)
    series = Series(
        entries, match, names or _choose_names(entries, _create_opponents(asked, 1), person), hidden=asked.hidden
    )
    return _MatchSession(asked, series, screen).play(tossed=tossed)


def resume_match(asked: Namespace, kept: StoredMatch, screen: Terminal) -> int:
    """Go on with a match; return the exit code."""
    if asked.record is not None:
        problem = "--record keeps one game, and this is a match; to write the game at hand to a file, type: save FILE"
        raise CommandError(WRONG_CALL, problem)
    asked = _choose_seed(asked)
    return _MatchSession(asked, _update_names(kept.series, asked, kept), screen, kept).play()


def _choose_seed(asked: Namespace) -> Namespace:
    """Choose a seed where computers play and nobody has: every game of the match derives its own from it."""
    if asked.vs is None or asked.seed is not None:
        return asked
    from random import SystemRandom  # noqa: PLC0415 - two people need none of it

    return Namespace(**{**vars(asked), "seed": SystemRandom().randrange(1_000_000)})


def _create_opponents(asked: Namespace, number: int) -> Opponents | None:
    """Seat the computer where it was asked for; in each game it plays by another seed."""
    if asked.vs is None:
        if asked.seat is not None:
            raise CommandError(WRONG_CALL, "--seat goes with --vs: against whom? (see: tower levels)")
        return None
    from number_tower.cli.opponents import create_opponents  # noqa: PLC0415 - two people need none of it

    return create_opponents(Namespace(**{**vars(asked), "seed": asked.seed + number - 1}))


def _choose_names(
    entries: tuple[GameChoice, ...], seating: Opponents | None, person: str | None = None
) -> tuple[str, str] | None:
    """Return what players without names are called throughout: as all the rulebooks call them, or else plainly."""
    people = _get_default_names(entries)
    if seating is not None:
        return seating.choose_names(people if person is None else (person, person))
    alike = all(Voice(entry.book).players == people for entry in entries)
    return None if alike else people


def _get_default_names(entries: tuple[GameChoice, ...]) -> tuple[str, str]:
    called = {Voice(entry.book).players for entry in entries}
    return called.pop() if len(called) == 1 else get_plain_players()


def _update_names(series: Series, asked: Namespace, kept: StoredMatch) -> Series:
    """Let names that nobody chose follow whoever plays from now on."""
    if asked.vs is None or series.names is None:
        return series
    from number_tower.cli.opponents import clear_default_names  # noqa: PLC0415 - two people need none of it

    if clear_default_names(series.table, kept.seats.players, _get_default_names(series.games)).names is not None:
        return series
    return replace(series, names=_choose_names(series.games, _create_opponents(asked, 1)))


@dataclass
class _MatchGame(Dialogue):
    """A game of a match: whoever leaves it leaves the match, and nothing is kept of it before the games it follows."""

    session: _MatchSession = field(kw_only=True)

    def _apply_change(self, table: Table) -> bool:
        self.session.save_earlier_games()
        done = super()._apply_change(table)
        self.session.update_id(self)
        return done

    @property
    def saved(self) -> bool:
        """Whether all that happened in this game is in the database, as part of the match."""
        if self.autosave is None or not self.table.version:
            return self.autosave is not None
        return self.autosave.up_to_date and self.autosave.part is not None

    def format_resume_hint(self, what: str) -> str:
        """Say how to go on with the match, or at least with its game."""
        if self.saved and (ref := self.session.format_ref(self)) is not None:
            return f"{what} To go on with it: {self.format_command('resume', ref)}"
        if self.table.version and self.table.outcome is None:
            alone = f"{self.format_command('resume')}{self._format_seat_options()}"
            return f"{what} The match is not kept, so only this game of it can be resumed: {alone}"
        return what if self.session.fresh else f"{what} The match is not kept, so it cannot be resumed."


class _MatchSession:
    """A match while it is played."""

    def __init__(self, asked: Namespace, series: Series, screen: Terminal, kept: StoredMatch | None = None) -> None:
        self._asked = asked
        self._series = series
        self._screen = screen
        self._id = None if kept is None else kept.id
        self._key = "" if kept is None else kept.key
        self._current = None if kept is None else kept.current
        self._unsaved: list[_MatchGame] = []
        self._diverged = False
        """Whether the match here is no longer the one that is kept."""

    @property
    def fresh(self) -> bool:
        """Whether no game is over yet."""
        return not self._series.match.winners

    def play(self, *, tossed: bool = False) -> int:
        """Play one game after another; return the exit code."""
        game = self._create_game(tossed=tossed)
        self._announce("start" if self.fresh else "score", game)
        try:
            while not self._series.match.over:
                self._announce("game", game)
                self._screen.show("\n")
                code = game.play()
                if game.table.outcome is None:
                    return code
                self._finish_game(game)
                if not self._series.match.over:
                    game = self._create_game(introduced=True)
        except KeyboardInterrupt:
            print_error(game.format_resume_hint("stopped."))
            return INTERRUPTED
        self._announce("drawn" if self._series.match.leader is None else "won", game)
        return FINISHED

    def _create_game(self, *, tossed: bool = False, introduced: bool = False) -> _MatchGame:
        """Set up the next game, or, where it was begun already, as it stands."""
        kept, series = self._load_begun_game(), self._series
        table, book = (series.table, series.entry.book)
        if kept is not None:
            table, book = replace(kept.table, names=series.names), kept.book
        game = _MatchGame(table, book, self._screen, coin_tossed=tossed, introduced=introduced, session=self)
        if (seating := _create_opponents(self._asked, series.match.number)) is not None:
            from number_tower.cli.opponents import seat_opponents  # noqa: PLC0415 - two people need none of it

            seat_opponents(game, seating)
        enable_autosave(game, self._asked, kept=kept, part=partial(self._save_place, game, series))
        return game

    def _load_begun_game(self) -> StoredGame | None:
        """Return the next game if it was begun: before the match was left, or meanwhile by somebody else."""
        current, self._current = self._current, None
        if current is not None or self._id is None or (shelved := choose_store(self._asked)) is None:
            return current
        from number_tower.store import (
            StoreError,
            matches,
        )
        from number_tower.store.rows import MatchSlot  # noqa: PLC0415 - likewise

        try:
            return matches.find_game(shelved.open(), MatchSlot(self._id, self._series.match.number))
        except StoreError:
            return None
        finally:
            shelved.close()

    def _save_place(self, game: _MatchGame, series: Series, connection: Connection) -> MatchSlot:
        """Find the place of a game in the match, which is kept from its first game on."""
        from secrets import token_hex  # noqa: PLC0415 - not before the first prompt

        from number_tower.store.matches import StoredMatch, claim_slot  # noqa: PLC0415 - likewise
        from number_tower.store.rows import Seats  # noqa: PLC0415 - likewise

        self._key = self._key or token_hex(16)
        seats = Seats() if game.opponents is None else Seats(game.opponents.specs, self._asked.seed)
        return claim_slot(connection, StoredMatch(self._id, self._key, series, seats))

    def _finish_game(self, game: _MatchGame) -> None:
        """Count a game that is over, and tell the score."""
        if game.table.outcome is not None:
            self._series = self._series.after(game.table.outcome.winner)
        self.update_id(game)
        if game.autosave is not None and not game.saved:
            self._unsaved.append(game)
        self._announce("score", game)

    def save_earlier_games(self) -> None:
        """Try once more to keep the games that the database could not take when they were played."""
        for game in self._unsaved:
            if game.autosave is not None:
                try:
                    kept, _ = game.autosave.save(game.table)
                except StaleError as stale:
                    kept = stale.table
                game.autosave.close()
                self.update_id(game)
                if game.saved and (kept.game, kept.declared) != (game.table.game, game.table.declared):
                    print_error(f"an earlier game of this match went on elsewhere. Here it was {game.format_line()}")
                    self._diverged = True
        self._unsaved = [game for game in self._unsaved if not game.saved]

    def format_ref(self, game: _MatchGame) -> str | None:
        """Return by what a match that is left is found again, and what else has to be said; None if it is not kept."""
        self.update_id(game)
        shelved = choose_store(self._asked)
        if self._id is None or self._unsaved or self._diverged or shelved is None:
            return None
        programs = game.opponents is not None and game.opponents.has_program
        seats = game.opponents._replace(seed=self._asked.seed).options if game.opponents and programs else ""
        return f"m{self._id}{shelved.db_option}{seats}"

    def update_id(self, game: _MatchGame) -> None:
        """Remember by which id the match is kept."""
        if game.autosave is not None and game.autosave.part is not None:
            self._id = game.autosave.part.match

    def _announce(self, moment: MatchMoment, game: _MatchGame) -> None:
        match = self._series.match
        number = match.number if moment in {"start", "game"} else len(match.winners)
        plain = len(self._series.games) > 1 and moment != "game"
        said = game.voice.tell_match(moment, game.table, MatchStanding(number, match.best_of, match.score), plain=plain)
        self._screen.show_heading(said.text)
