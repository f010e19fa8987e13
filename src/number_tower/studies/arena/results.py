"""The results of an arena: standings, the score of every pair, and statistics of every game."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from number_tower.engine.match import Tally
from number_tower.studies.arena.playout import GameResult
from number_tower.studies.arena.ratings import Rating, compute_interval, compute_ratings
from number_tower.studies.arena.schedule import Contest


class Score(Tally):
    """Games won, drawn and lost, with the share of the points.

    Examples:
        >>> score = Score.add_up([Score(won=4, drawn=1), Score(won=2, drawn=1, lost=2)])
        >>> score.points, score.games, score.share, score.opposite.share
        (7.0, 10, 0.7, 0.3)
        >>> low, high = score.interval
        >>> low < score.share < high, score.to_dict()["drawn"]
        (True, 2)
    """

    @property
    def share(self) -> float:
        """The points as a share of the games; one half without a game."""
        return self.points / self.games if self.games else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share."""
        return compute_interval(self.points, self.games)

    @property
    def opposite(self) -> Score:
        """The same games from the other side."""
        return Score(self.lost, self.drawn, self.won)

    def to_dict(self) -> dict[str, object]:
        """Return the score as JSON values."""
        return {
            "games": self.games,
            **self._asdict(),
            "score": round(self.share, 4),
            "interval": [round(end, 4) for end in self.interval],
        }


class ArenaStanding(NamedTuple):
    """The score and rating of one player, and how many of its lost games were forfeited."""

    player: str
    score: Score
    forfeits: int
    rating: Rating


class GameStatistics(NamedTuple):
    """The scores of who started and of each player at one game, and the plies of all its games."""

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
    """The standings, best player first; scores of pairs; statistics of games; all games, if kept.

    Examples:
        >>> results = arena([nt.Rules(target=15)], ["random", "perfect"], number=20, jobs=1)
        >>> results.score("perfect", "random").share > 0.7, len(results.games)
        (True, 20)
        >>> import json
        >>> json.loads(results.to_json())["players"][0]["player"]
        'perfect'
    """

    contest: Contest
    standings: tuple[ArenaStanding, ...]
    pairs: dict[tuple[str, str], Score]
    by_game: tuple[GameStatistics, ...]
    games: tuple[GameResult, ...] = ()

    def score(self, player: str, opponent: str) -> Score:
        """Return the score of a player against another."""
        return self.pairs.get((player, opponent)) or self.pairs[opponent, player].opposite

    def to_json(self) -> str:
        """Return all figures, without the games, as one line of JSON."""
        document = {
            "played": sum(statistics.starter.games for statistics in self.by_game),
            "number": self.contest.number,
            "seed": self.contest.seed,
            "players": [
                {
                    "player": standing.player,
                    **standing.score.to_dict(),
                    "forfeits": standing.forfeits,
                    "elo": round(standing.rating.elo, 1) + 0.0,
                    "elo_margin": round(standing.rating.margin, 1),
                }
                for standing in self.standings
            ],
            "pairs": [{"players": pair, **score.to_dict()} for pair, score in self.pairs.items()],
            "by_game": [
                {
                    "game": statistics.game,
                    "plies": round(statistics.mean_plies, 4),
                    "starter": statistics.starter.to_dict(),
                    "players": {
                        player: score.to_dict() for player, score in statistics.scores.items()
                    },
                }
                for statistics in self.by_game
            ],
        }
        return json.dumps(document)


def compute_results(
    contest: Contest, games: Iterable[GameResult], *, keep: bool = False
) -> ArenaResults:
    """Add up the games; with `keep` they are part of the results."""
    counts: Counter[tuple[str, tuple[str, str], int | None]] = Counter()
    plies: Counter[str] = Counter()
    forfeits: Counter[str] = Counter()
    kept: list[GameResult] = []
    for result in games:
        counts[result.game, result.players, result.winner] += 1
        plies[result.game] += result.plies
        if result.forfeit is not None and result.winner is not None:
            forfeits[result.players[1 - result.winner]] += 1
        if keep:
            kept.append(result)

    def score_starter(game: str, starter: str, other: str) -> Score:
        return Score(*(counts[game, (starter, other), winner] for winner in (0, None, 1)))

    def score_pair(game: str, one: str, other: str) -> Score:
        return Score.add_up(
            (score_starter(game, one, other), score_starter(game, other, one).opposite)
        )

    pairs = {
        pair: Score.add_up(score_pair(game, *pair) for game in contest.games)
        for pair in contest.pairs
    }
    ratings = compute_ratings(
        contest.players, {pair: (score.points, score.games) for pair, score in pairs.items()}
    )
    by_game = []
    for game in contest.games:
        seatings = permutations(contest.players, 2)
        starter = Score.add_up(score_starter(game, *players) for players in seatings)
        scores = {
            player: Score.add_up(
                score_pair(game, player, other) for other in contest.players if other != player
            )
            for player in contest.players
        }
        by_game.append(GameStatistics(game, starter, scores, plies[game]))
    standings = [
        ArenaStanding(
            player,
            Score.add_up(statistics.scores[player] for statistics in by_game),
            forfeits[player],
            ratings[player],
        )
        for player in contest.players
    ]
    standings.sort(key=lambda standing: -standing.score.share)
    return ArenaResults(contest, tuple(standings), pairs, tuple(by_game), tuple(sorted(kept)))
