"""Players against players: many games, on all cores, and what they show about who is how much stronger."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

from number_tower.arena.playout import ArenaJournal, GameResult, PlayerFactory, Playout, play_fixture, play_out
from number_tower.arena.results import ArenaResults, ArenaStanding, Score, compute_results
from number_tower.arena.schedule import Contest, Fixture, arrange
from number_tower.batch import BatchError
from number_tower.batch.executor import run_journaled
from number_tower.players import DEFAULT_PATIENCE, make_player

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable

    from number_tower.rules import Rules

__all__ = [
    "ArenaJournal",
    "ArenaResults",
    "ArenaStanding",
    "BatchError",
    "Contest",
    "Fixture",
    "GameResult",
    "PlayerFactory",
    "Playout",
    "Score",
    "arena",
    "arrange",
    "compute_results",
    "play_games",
    "play_out",
]


def arena(  # noqa: PLR0913 - what there is to choose, all of it by name
    games: Iterable[str | Rules],
    players: Iterable[str],
    *,
    number: int = 100,
    seed: int = 1,
    patience: float = DEFAULT_PATIENCE,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    make: PlayerFactory = make_player,
) -> ArenaResults:
    """Let every two players play each game so many times, and return what came of it and all games.

    `jobs` is how many games are played at once: without it, as many as there are cores. Every game is kept in the
    file `out`, if one is named; with `resume` the games that it holds already are not played again.
    """
    contest = arrange(games, players, number=number, seed=seed, patience=patience, make=make)
    with ExitStack() as leaving:
        log = None if out is None else leaving.enter_context(ArenaJournal(out, contest, resume=resume))
        played = leaving.enter_context(closing(play_games(contest, log=log, jobs=jobs, make=make)))
        return compute_results(contest, played, keep=True)


def play_games(
    contest: Contest,
    *,
    log: ArenaJournal | None = None,
    jobs: int | None = None,
    make: PlayerFactory = make_player,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[GameResult]:
    """Give every game of an arena as it comes: first what its log holds, then the others, which are played and kept.

    `progress` is told how many games there are now, and how many there will be.
    """
    return run_journaled(
        len(contest),
        contest.get_fixture,
        partial(play_fixture, contest, make=make),
        log=log,
        jobs=jobs,
        progress=progress,
    )
