"""The study of one set of rules: what makes a game good, measured exactly (see docs/lab.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from number_tower.engine.catalogue import choose
from number_tower.engine.position import Position
from number_tower.engine.rules import Rules
from number_tower.solve.worth import Value
from number_tower.studies.lab.graph import (
    MAX_MEMORY,
    MAX_POSITIONS,
    ExpectedGames,
    NotMeasuredError,
    PositionGraph,
)
from number_tower.studies.lab.measures import ENDINGS, SIGHTS
from number_tower.support.text import format_value

__all__ = ["HELPFUL_RESULT", "NotMeasuredError", "Study", "study"]

HELPFUL_RESULT = 0.55
"""The result against the step below from which a step of the ladder counts as helpful."""

_SEEING = range(len(SIGHTS) - 1)
"""The steps whose players see a number of plies; the last one sees everything."""


@dataclass(frozen=True)
class Study:
    """The measures of one set of rules. `value` is for the first player, and so are the results.

    Length, drama, reach, draws and endings are means over games of equal players, who see 0, 1, 2,
    3, 4, 6 or 8 plies.

    Examples:
        >>> draft = study(nt.Rules(target=15))
        >>> draft.value, draft.plies, draft.winning_openings
        ('win', 3, 1)
        >>> round(draft.fairness, 2), draft.depth, round(draft.length, 1)
        (0.34, 3, 3.5)
        >>> round(draft.drama, 2), draft.draws, round(draft.reach, 2)
        (0.6, 0.0, 0.83)
        >>> round(draft.endings["stuck"], 2)
        0.17
        >>> round(draft.get_games(2, 0).result, 2)  # the first player sees 2 plies, the second none
        0.84
        >>> draft.results[2][0] == draft.get_games(2, 0).result
        True
        >>> [round(result, 2) for result in draft.step_results]  # each sight against the one below
        [0.79, 0.85, 0.9, 0.5, 0.5, 0.5, 0.5]
    """

    rules: Rules
    value: Value
    plies: int
    """Plies of the game with best play."""
    openings: int
    winning_openings: int
    positions: int
    """Positions in which the game is not over; those with the same future count once."""
    longest: int
    """Plies of the longest game."""
    decisions: float
    """Share of positions with moves of different values."""
    games: tuple[tuple[ExpectedGames, ...], ...] = field(repr=False)
    """The games of every pair: by the step of the first player, then of the second."""

    def get_games(self, first: int | None, second: int | None) -> ExpectedGames:
        """Return the games of two players, named by how many plies they see (None: everything)."""
        for sight in (first, second):
            if sight not in SIGHTS:
                expected = "expected players who see 0, 1, 2, 3, 4, 6, 8 or None"
                raise ValueError(f"{expected}; got {format_value(sight)}")
        return self.games[SIGHTS.index(first)][SIGHTS.index(second)]

    @property
    def results(self) -> tuple[tuple[float, ...], ...]:
        """The expected result of the first player of every pair."""
        return tuple(tuple(games.result for games in row) for row in self.games)

    @property
    def fairness(self) -> float:
        """How near games of equal players are to even: 1 - 2 x mean of |result - 1/2|."""
        return 1 - 2 * self._average(lambda games: abs(games.result - 0.5))

    @property
    def depth(self) -> int:
        """The number of steps of the ladder that help against the step below, over both seats."""
        return sum(result >= HELPFUL_RESULT for result in self.step_results)

    @property
    def step_results(self) -> tuple[float, ...]:
        """The mean result, over both seats, of each step of the ladder against the step below."""
        return tuple(
            (self.games[above][below].result + 1 - self.games[below][above].result) / 2
            for below, above in pairwise(range(len(SIGHTS)))
        )

    @property
    def drama(self) -> float:
        """How often the value changes hands in a game; from a win to a draw counts half."""
        return self._average(lambda games: games.swings)

    @property
    def length(self) -> float:
        """The expected plies of a game."""
        return self._average(lambda games: games.length)

    @property
    def draws(self) -> float:
        """The share of drawn games."""
        return self._average(lambda games: games.draws)

    @property
    def endings(self) -> Mapping[str, float]:
        """The share of games that end by each reason."""
        return {
            reason: fmean(self.games[step][step].endings[reason] for step in _SEEING)
            for reason in ENDINGS
        }

    @property
    def reach(self) -> float | None:
        """The share of games that end by reaching the target; None without a target."""
        return None if self.rules.target is None else self.endings["exact"]

    def _average(self, measure: Callable[[ExpectedGames], float]) -> float:
        """Return the mean of a measure over the games of equal players."""
        return fmean(measure(self.games[step][step]) for step in _SEEING)


def study(
    rules: str | os.PathLike[str] | Rules | Mapping[str, object],
    *,
    positions: int = MAX_POSITIONS,
    memory: int = MAX_MEMORY,
    compiled: bool | None = None,
) -> Study:
    """Measure one set of rules exactly: a game's name, a rule file, or rules.

    Rules with more positions than allowed, or that need more MiB of memory, raise a
    `NotMeasuredError`. `compiled` says whether to use Numba; without it, Numba is used for larger
    games if it is installed. The result is the same.

    Examples:
        >>> study(nt.Rules(blocks=range(1, 6), target=9)).positions
        15
    """
    mechanics = choose(rules).rules
    outcome = Position.start(mechanics).outcome
    if outcome is not None:
        # The game is over before it begins: all its games are the same.
        is_draw = outcome.winner is None
        endings = {reason: float(reason == outcome.reason) for reason in ENDINGS}
        games = ExpectedGames(0.5 if is_draw else 0.0, float(is_draw), endings, 0.0, 0.0)
        value: Value = "draw" if is_draw else "loss"
        pairs = ((games,) * len(SIGHTS),) * len(SIGHTS)
        return Study(mechanics, value, 0, 0, 0, 0, 0, 0.0, pairs)
    graph = PositionGraph(mechanics, positions=positions, memory=memory, compiled=compiled)
    openings = graph.openings
    return Study(
        mechanics,
        graph.value,
        graph.plies,
        len(openings),
        openings.count("win"),
        graph.positions,
        graph.longest,
        graph.decisions / graph.positions,
        graph.play_pairs(),
    )
