"""Matches: several games between two players.

A win is a point, a draw half a point, and the starter alternates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from number_tower.engine.catalogue import GameChoice
from number_tower.engine.table import Table
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value

MAX_GAMES = 999


class MatchError(NumberTowerError, ValueError):
    """A match is not valid, and why."""

    reason = "bad_match"


@dataclass(frozen=True)
class Match:
    """A best-of-N match: who starts its first game, and each winner so far (None: drawn).

    Examples:
        >>> match = nt.Match(best_of=3).after(0).after(None)
        >>> match.score, match.over
        ((1.5, 0.5), False)
        >>> match.number, match.starter  # of the next game
        (3, 0)
        >>> match.after(0).leader
        0
    """

    best_of: int
    first: int = 0
    winners: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if type(self.best_of) is not int or not 1 <= self.best_of <= MAX_GAMES:
            expected = f"expected a best of 1 to {MAX_GAMES} games"
            raise MatchError(f"{expected}; got {format_value(self.best_of)}")
        if self.first not in (0, 1) or any(winner not in (0, 1, None) for winner in self.winners):
            raise MatchError("expected players 0 and 1")
        if self.winners and self._is_decided(self.winners[:-1]):
            raise MatchError("a game was played after the match was decided")

    def after(self, winner: int | None) -> Match:
        """Return the match after one more game."""
        return replace(self, winners=(*self.winners, winner))

    @property
    def number(self) -> int:
        """The number of the next game, counting from 1."""
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
        """Whether the match is decided."""
        return self._is_decided(self.winners)

    @property
    def leader(self) -> int | None:
        """Who has more points, and so the winner of a decided match; None: level."""
        one, other = self.score
        return None if one == other else int(other > one)

    def _is_decided(self, winners: tuple[int | None, ...]) -> bool:
        """Return whether a lead is larger than the games left, or no game is left."""
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
        """The number of games."""
        return sum(self)

    @property
    def points(self) -> float:
        """A point for a win, and half a point for a draw."""
        return self.won + self.drawn / 2

    @classmethod
    def add_up(cls, some: Iterable[Tally]) -> Self:
        """Return the sum of some tallies."""
        return cls(*map(sum, zip(cls(), *some, strict=True)))


def compute_score(winners: tuple[int | None, ...]) -> tuple[float, float]:
    """Return the points of each player for a list of winners (None: drawn)."""
    won, drawn, lost = map(winners.count, (0, None, 1))
    return Tally(won, drawn, lost).points, Tally(lost, drawn, won).points


@dataclass(frozen=True)
class Series:
    """A match between two people, and the games that they play in turn."""

    games: tuple[GameChoice, ...]
    match: Match
    names: tuple[str, str] | None = None
    hidden: bool = False

    @property
    def entry(self) -> GameChoice:
        """The game that is played next."""
        return self.games[(self.match.number - 1) % len(self.games)]

    @property
    def table(self) -> Table:
        """The next game, before its first move."""
        choice = self.entry._replace(first=self.match.starter, hidden=self.hidden)
        return Table.start(choice, self.names)

    def after(self, winner: int | None) -> Series:
        """Return the series after one more game."""
        return replace(self, match=self.match.after(winner))
