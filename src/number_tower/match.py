"""A series of games and its score: a win is a point, a draw half a point each, and the starter alternates."""

from __future__ import annotations

from dataclasses import dataclass, replace

from number_tower.showing import shown

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
            raise MatchError(f"expected a best of 1 to {MOST_GAMES} games; got {shown(self.best_of)}")
        if self.first not in (0, 1) or any(winner not in (0, 1, None) for winner in self.winners):
            raise MatchError("expected players 0 and 1")
        decided = (replace(self, winners=self.winners[:played]).over for played in range(len(self.winners)))
        if any(decided):
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
        drawn = self.winners.count(None) / 2
        return self.winners.count(0) + drawn, self.winners.count(1) + drawn

    @property
    def over(self) -> bool:
        """Whether the games that are left could no longer change who wins the match, or there are none."""
        left = self.best_of - len(self.winners)
        return left <= 0 or abs(self.score[0] - self.score[1]) > left

    @property
    def leader(self) -> int | None:
        """Who has more points; once the match is over, its winner. None: level."""
        one, other = self.score
        return None if one == other else int(other > one)
