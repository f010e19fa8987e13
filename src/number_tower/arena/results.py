"""What the games of an arena add up to: standings, the score of every pair, and of every game."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from number_tower.arena.ratings import compute_interval, compute_ratings
from number_tower.match import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from number_tower.arena.playout import GameResult
    from number_tower.arena.ratings import Rating
    from number_tower.arena.schedule import Contest


class Score(Tally):
    """Games won, drawn and lost, and what they say of the players."""

    @property
    def share(self) -> float:
        """The points, of all that there were; without a game, half."""
        return self.points / self.games if self.games else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """Between what the share would be after very many games, at 95 %."""
        return compute_interval(self.points, self.games)

    @property
    def opposite(self) -> Score:
        """The same games, as the other side sees them."""
        return Score(self.lost, self.drawn, self.won)

    def to_document(self) -> dict[str, object]:
        """Give the score as a JSON document has it."""
        return {
            "games": self.games,
            **self._asdict(),
            "score": round(self.share, 4),
            "interval": [round(end, 4) for end in self.interval],
        }

    def plus(self, other: Score) -> Score:
        """Return the score of these games and of others."""
        return Score(self.won + other.won, self.drawn + other.drawn, self.lost + other.lost)


class ArenaStanding(NamedTuple):
    """How one player came off, and how many of the lost games were forfeit."""

    player: str
    score: Score
    forfeits: int
    rating: Rating


class GameStatistics(NamedTuple):
    """How one game went: whoever started, each player by name, and how many plies all its games took."""

    game: str
    starter: Score
    scores: dict[str, Score]
    plies: int

    @property
    def mean_plies(self) -> float:
        """The mean number of plies."""
        return self.plies / self.starter.games if self.starter.games else 0.0


@dataclass(frozen=True)
class ArenaResults:
    """What an arena showed: the players, the best first; every pair; every game of the arena; and all that was played.

    The games are there where they were asked to be kept in memory.
    """

    contest: Contest
    standings: tuple[ArenaStanding, ...]
    pairs: dict[tuple[str, str], Score]
    by_game: tuple[GameStatistics, ...]
    games: tuple[GameResult, ...] = ()

    def score(self, player: str, opponent: str) -> Score:
        """Return how a player came off against another."""
        return (
            self.pairs[player, opponent] if (player, opponent) in self.pairs else self.pairs[opponent, player].opposite
        )

    def to_json(self) -> str:
        """Write all the numbers as one JSON document, on one line; the games themselves are not in it."""
        document = {
            "played": sum(ground.starter.games for ground in self.by_game),
            "number": self.contest.number,
            "seed": self.contest.seed,
            "players": [
                {
                    "player": standing.player,
                    **standing.score.to_document(),
                    "forfeits": standing.forfeits,
                    "elo": round(standing.rating.elo, 1) + 0.0,
                    "elo_margin": round(standing.rating.margin, 1),
                }
                for standing in self.standings
            ],
            "pairs": [{"players": pair, **score.to_document()} for pair, score in self.pairs.items()],
            "by_game": [
                {
                    "game": ground.game,
                    "plies": round(ground.mean_plies, 4),
                    "starter": ground.starter.to_document(),
                    "players": {player: score.to_document() for player, score in ground.scores.items()},
                }
                for ground in self.by_game
            ],
        }
        return json.dumps(document)


def compute_results(contest: Contest, games: Iterable[GameResult], *, keep: bool = False) -> ArenaResults:
    """Add up games, each of which is looked at once and, unless they are to be kept, forgotten."""
    scores: Counter[tuple[str, tuple[str, str], int | None]] = Counter()
    plies: Counter[str] = Counter()
    forfeits: Counter[str] = Counter()
    kept: list[GameResult] = []
    for played in games:
        scores[played.game, played.players, played.winner] += 1
        plies[played.game] += played.plies
        if played.forfeit is not None and played.winner is not None:
            forfeits[played.players[1 - played.winner]] += 1
        if keep:
            kept.append(played)

    def of_starter(game: str, starter: str, other: str) -> Score:
        return Score(*(scores[game, (starter, other), winner] for winner in (0, None, 1)))

    def of_pair(game: str, one: str, other: str) -> Score:
        return of_starter(game, one, other).plus(of_starter(game, other, one).opposite)

    def against(player: str) -> list[str]:
        return [other for other in contest.players if other != player]

    pairs = {pair: _sum(of_pair(game, *pair) for game in contest.games) for pair in contest.pairs}
    rated = compute_ratings(contest.players, {pair: (score.points, score.games) for pair, score in pairs.items()})
    grounds = tuple(
        GameStatistics(
            game,
            _sum(of_starter(game, player, other) for player in contest.players for other in against(player)),
            {player: _sum(of_pair(game, player, other) for other in against(player)) for player in contest.players},
            plies[game],
        )
        for game in contest.games
    )
    standings = [
        ArenaStanding(player, _sum(ground.scores[player] for ground in grounds), forfeits[player], rated[player])
        for player in contest.players
    ]
    standings.sort(key=lambda standing: -standing.score.share)
    return ArenaResults(contest, tuple(standings), pairs, grounds, tuple(sorted(kept)))


def _sum(scores: Iterable[Score]) -> Score:
    return reduce(Score.plus, scores, Score())
