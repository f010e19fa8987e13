"""A match at this keyboard: one game after another, until it is decided or someone leaves."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from number_tower.cli.dialogue import Dialogue
from number_tower.cli.failure import FINISHED, INTERRUPTED, WRONG_CALL, Failure, complain
from number_tower.cli.storing import shelf, store
from number_tower.match import Entry, Match, MatchError, Series
from number_tower.table import Stale
from number_tower.voice import Standing, Voice, plain_players

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from number_tower.cli.screen import Screen
    from number_tower.cli.seating import Seating
    from number_tower.store.kept import Kept, Part
    from number_tower.store.matches import KeptMatch
    from number_tower.table import Table
    from number_tower.voice import MatchMoment

USUAL = 3
"""How many games a match of one game has at most, if nobody says otherwise."""


def begin(
    asked: Namespace,
    entries: tuple[Entry, ...],
    names: tuple[str, str] | None,
    toss: tuple[int, bool],
    screen: Screen,
    person: str | None = None,
) -> int:
    """Play a match from its start; return the exit code. The toss says who starts, and whether a coin was tossed."""
    first, tossed = toss
    usual = USUAL if len(entries) == 1 else len(entries)
    try:
        match = Match(usual if asked.best_of is None else asked.best_of, first)
    except MatchError as wrong:
        raise Failure(WRONG_CALL, f"--best-of: {wrong}") from None
    asked = _with_seed(asked)
    series = Series(entries, match, names or _names(entries, _seating(asked, 1), person), hidden=asked.hidden)
    return _Playing(asked, series, screen).play(tossed=tossed)


def go_on(asked: Namespace, kept: KeptMatch, screen: Screen) -> int:
    """Go on with a match; return the exit code."""
    if asked.record is not None:
        problem = "--record keeps one game, and this is a match; to write the game at hand to a file, type: save FILE"
        raise Failure(WRONG_CALL, problem)
    asked = _with_seed(asked)
    return _Playing(asked, _renamed(kept.series, asked, kept), screen, kept).play()


def _with_seed(asked: Namespace) -> Namespace:
    """Choose a seed where computers play and nobody has: every game of the match derives its own from it."""
    if asked.vs is None or asked.seed is not None:
        return asked
    from random import SystemRandom  # noqa: PLC0415 - two people need none of it

    return Namespace(**{**vars(asked), "seed": SystemRandom().randrange(1_000_000)})


def _seating(asked: Namespace, number: int) -> Seating | None:
    """Seat the computer where it was asked for; in each game it plays by another seed."""
    if asked.vs is None:
        if asked.seat is not None:
            raise Failure(WRONG_CALL, "--seat goes with --vs: against whom? (see: tower levels)")
        return None
    from number_tower.cli.seating import seat  # noqa: PLC0415 - two people need none of it

    return seat(Namespace(**{**vars(asked), "seed": asked.seed + number - 1}))


def _names(entries: tuple[Entry, ...], seating: Seating | None, person: str | None = None) -> tuple[str, str] | None:
    """Return what players without names are called throughout: as all the rulebooks call them, or else plainly."""
    people = _people(entries)
    if seating is not None:
        return seating.names(people if person is None else (person, person))
    alike = all(Voice(entry.book).players == people for entry in entries)
    return None if alike else people


def _people(entries: tuple[Entry, ...]) -> tuple[str, str]:
    called = {Voice(entry.book).players for entry in entries}
    return called.pop() if len(called) == 1 else plain_players()


def _renamed(series: Series, asked: Namespace, kept: KeptMatch) -> Series:
    """Let names that nobody chose follow whoever plays from now on."""
    if asked.vs is None or series.names is None:
        return series
    from number_tower.cli.seating import unnamed  # noqa: PLC0415 - two people need none of it

    if unnamed(series.table, kept.seats.players, _people(series.games)).names is not None:
        return series
    return replace(series, names=_names(series.games, _seating(asked, 1)))


@dataclass
class _Game(Dialogue):
    """A game of a match: whoever leaves it leaves the match, and nothing is kept of it before the games it follows."""

    within: _Playing = field(kw_only=True)

    def _change(self, table: Table) -> bool:
        self.within.keep_earlier()
        done = super()._change(table)
        self.within.learn_id(self)
        return done

    @property
    def kept(self) -> bool:
        """Whether all that happened in this game is in the database, as part of the match."""
        if self.storing is None or not self.table.version:
            return self.storing is not None
        return self.storing.up_to_date and self.storing.part is not None

    def left(self, what: str) -> str:
        """Say how to go on with the match, or at least with its game."""
        if self.kept and (ref := self.within.ref(self)) is not None:
            return f"{what} To go on with it: {self.call('resume', ref)}"
        if self.table.version and self.table.outcome is None:
            alone = f"{self.call('resume')}{self._seats()}"
            return f"{what} The match is not kept, so only this game of it can be resumed: {alone}"
        return what if self.within.fresh else f"{what} The match is not kept, so it cannot be resumed."


class _Playing:
    """A match while it is played."""

    def __init__(self, asked: Namespace, series: Series, screen: Screen, kept: KeptMatch | None = None) -> None:
        self._asked = asked
        self._series = series
        self._screen = screen
        self._id = None if kept is None else kept.id
        self._key = "" if kept is None else kept.key
        self._current = None if kept is None else kept.current
        self._behind: list[_Game] = []
        self._parted = False
        """Whether the match here is no longer the one that is kept."""

    @property
    def fresh(self) -> bool:
        """Whether no game is over yet."""
        return not self._series.match.winners

    def play(self, *, tossed: bool = False) -> int:
        """Play one game after another; return the exit code."""
        game = self._game(tossed=tossed)
        self._say("start" if self.fresh else "score", game)
        try:
            while not self._series.match.over:
                self._say("game", game)
                self._screen.show("\n")
                code = game.play()
                if game.table.outcome is None:
                    return code
                self._end(game)
                if not self._series.match.over:
                    game = self._game(introduced=True)
        except KeyboardInterrupt:
            complain(game.left("stopped."))
            return INTERRUPTED
        self._say("drawn" if self._series.match.leader is None else "won", game)
        return FINISHED

    def _game(self, *, tossed: bool = False, introduced: bool = False) -> _Game:
        """Set up the next game, or, where it was begun already, as it stands."""
        kept, series = self._begun(), self._series
        table, book = (series.table, series.entry.book)
        if kept is not None:
            table, book = replace(kept.table, names=series.names), kept.book
        game = _Game(table, book, self._screen, tossed=tossed, introduced=introduced, within=self)
        if (seating := _seating(self._asked, series.match.number)) is not None:
            from number_tower.cli.seating import take_seats  # noqa: PLC0415 - two people need none of it

            take_seats(game, seating)
        store(game, self._asked, kept=kept, part=partial(self._place, game, series))
        return game

    def _begun(self) -> Kept | None:
        """Return the next game if it was begun: before the match was left, or meanwhile by somebody else."""
        current, self._current = self._current, None
        if current is not None or self._id is None or (shelved := shelf(self._asked)) is None:
            return current
        from number_tower.store import matches  # noqa: PLC0415 - not before the first prompt
        from number_tower.store.kept import Part  # noqa: PLC0415 - likewise
        from number_tower.store.trouble import StoreError  # noqa: PLC0415 - likewise

        try:
            return matches.game(shelved.open(), Part(self._id, self._series.match.number))
        except StoreError:
            return None
        finally:
            shelved.close()

    def _place(self, game: _Game, series: Series, connection: Connection) -> Part:
        """Find the place of a game in the match, which is kept from its first game on."""
        from secrets import token_hex  # noqa: PLC0415 - not before the first prompt

        from number_tower.store.kept import Seats  # noqa: PLC0415 - likewise
        from number_tower.store.matches import KeptMatch, place  # noqa: PLC0415 - likewise

        self._key = self._key or token_hex(16)
        seats = Seats() if game.seating is None else Seats(game.seating.specs, self._asked.seed)
        return place(connection, KeptMatch(self._id, self._key, series, seats))

    def _end(self, game: _Game) -> None:
        """Count a game that is over, and tell the score."""
        if game.table.outcome is not None:
            self._series = self._series.after(game.table.outcome.winner)
        self.learn_id(game)
        if game.storing is not None and not game.kept:
            self._behind.append(game)
        self._say("score", game)

    def keep_earlier(self) -> None:
        """Try once more to keep the games that the database could not take when they were played."""
        for game in self._behind:
            if game.storing is not None:
                try:
                    kept, _ = game.storing.keep(game.table)
                except Stale as stale:
                    kept = stale.table
                game.storing.close()
                self.learn_id(game)
                if game.kept and (kept.game, kept.declared) != (game.table.game, game.table.declared):
                    complain(f"an earlier game of this match went on elsewhere. Here it was {game.line()}")
                    self._parted = True
        self._behind = [game for game in self._behind if not game.kept]

    def ref(self, game: _Game) -> str | None:
        """Return by what a match that is left is found again, and what else has to be said; None if it is not kept."""
        self.learn_id(game)
        shelved = shelf(self._asked)
        if self._id is None or self._behind or self._parted or shelved is None:
            return None
        programs = game.seating is not None and game.seating.programs
        seats = game.seating._replace(seed=self._asked.seed).options if game.seating and programs else ""
        return f"m{self._id}{shelved.options}{seats}"

    def learn_id(self, game: _Game) -> None:
        """Remember by which id the match is kept."""
        if game.storing is not None and game.storing.part is not None:
            self._id = game.storing.part.match

    def _say(self, moment: MatchMoment, game: _Game) -> None:
        match = self._series.match
        number = match.number if moment in {"start", "game"} else len(match.winners)
        plain = len(self._series.games) > 1 and moment != "game"
        said = game.voice.match(moment, game.table, Standing(number, match.best_of, match.score), plain=plain)
        self._screen.headed(said.text)
