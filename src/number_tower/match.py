"""A series of games and its score: a win is a point, a draw half a point each, and the starter alternates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

from number_tower.game import Game
from number_tower.table import Table
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from number_tower.catalogue import Rulebook
    from number_tower.rules import Rules

MOST_GAMES = 999


class MatchError(ValueError):
    """A series that cannot be played, and why."""


@dataclass(frozen=True)
class Match:
    """A best-of-N: who starts its first game, and who won each game so far (None: drawn)."""

    best_of: int
    first: int = 0
    winners: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if type(self.best_of) is not int or not 1 <= self.best_of <= MOST_GAMES:
            raise MatchError(f"expected a best of 1 to {MOST_GAMES} games; got {format_value(self.best_of)}")
        if self.first not in (0, 1) or any(winner not in (0, 1, None) for winner in self.winners):
            raise MatchError("expected players 0 and 1")
        if self.winners and self._is_decided(self.winners[:-1]):
            raise MatchError("a game was played after the match was decided")

    def after(self, winner: int | None) -> Match:
        """Return the match after one more game."""
        return replace(self, winners=(*self.winners, winner))

    @property
    def number(self) -> int:
        """Which game is the next, counting from 1."""
        return len(self.winners) + 1

    @property
    def starter(self) -> int:
        """Who starts the next game."""
        return (self.first + len(self.winners)) % 2

    @property
    def score(self) -> tuple[float, float]:
        """The points of each player."""
        return compute_score(self.winners)

    @property
    def over(self) -> bool:
        """Whether the games that are left could no longer change who wins the match, or there are none."""
        return self._is_decided(self.winners)

    @property
    def leader(self) -> int | None:
        """Who has more points; once the match is over, its winner. None: level."""
        one, other = self.score
        return None if one == other else int(other > one)

    def _is_decided(self, winners: tuple[int | None, ...]) -> bool:
        """Say it of any games: what is decided once stays so, since a lead shrinks no faster than what is left."""
        left = self.best_of - len(winners)
        one, other = compute_score(winners)
        return left <= 0 or abs(one - other) > left


class Tally(NamedTuple):
    """Games won, drawn and lost."""

    won: int = 0
    drawn: int = 0
    lost: int = 0

    @property
    def games(self) -> int:
        """How many games that are."""
        return sum(self)

    @property
    def points(self) -> float:
        """A point for a win, and half a point for a draw."""
        return self.won + self.drawn / 2

    @classmethod
    def add_up(cls, some: Iterable[Tally]) -> Self:
        """Return what some of them make together."""
        return cls(*map(sum, zip(cls(), *some, strict=True)))


def compute_score(winners: tuple[int | None, ...]) -> tuple[float, float]:
    """Return the points of each player, by who won each game (None: drawn)."""
    won, drawn, lost = map(winners.count, (0, None, 1))
    return Tally(won, drawn, lost).points, Tally(lost, drawn, won).points


class MatchGame(NamedTuple):
    """One of the games that a match is made of: its rulebook, and its rules with the options that were chosen."""

    book: Rulebook
    rules: Rules


@dataclass(frozen=True)
class Series:
    """A match, and what is played in it: games that take turns, between the same two people."""

    games: tuple[MatchGame, ...]
    match: Match
    names: tuple[str, str] | None = None
    hidden: bool = False

    @property
    def entry(self) -> MatchGame:
        """The game that is played next."""
        return self.games[(self.match.number - 1) % len(self.games)]

    @property
    def table(self) -> Table:
        """The next game, before its first move."""
        game = Game(self.entry.rules, self.match.starter)
        return Table(game, names=self.names, hidden=self.hidden, book=self.entry.book)

    def after(self, winner: int | None) -> Series:
        """Return the series after one more game."""
        return replace(self, match=self.match.after(winner))
