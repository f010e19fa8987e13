"""Tournaments: players play each other many times, on all cores, and are rated by the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor
from contextlib import closing, nullcontext
from functools import partial

from number_tower.engine.rules import Rules
from number_tower.players import DEFAULT_PATIENCE, make_player
from number_tower.studies.arena.playout import (
    ArenaJournal,
    GameResult,
    Playout,
    play_fixture,
    play_out,
)
from number_tower.studies.arena.results import ArenaResults, Score, compute_results
from number_tower.studies.arena.schedule import Contest, PlayerFactory, arrange
from number_tower.studies.batch import BatchError
from number_tower.studies.batch.executor import run_journaled

__all__ = [
    "ArenaResults",
    "BatchError",
    "Contest",
    "GameResult",
    "Playout",
    "Score",
    "arena",
    "arrange",
    "play_games",
    "play_out",
]


def arena(  # noqa: PLR0913 - all options are keywords
    games: Iterable[str | Rules],
    players: Iterable[str],
    *,
    number: int = 100,
    seed: int = 1,
    patience: float = DEFAULT_PATIENCE,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    make: PlayerFactory = make_player,
) -> ArenaResults:
    """Let each pair of players play each game `number` times; return the results with all games.

    `jobs` is the number of games played at once (default: one for each core); an executor, such as
    a `ClusterExecutor` of `number_tower.studies.batch.cluster`, plays them elsewhere. The games are
    kept in the file `out`, if given; with `resume` the games in that file are not played again.

    Examples:
        >>> results = arena([nt.Rules(target=15)], ["random", "perfect"], number=20, jobs=1)
        >>> [standing.player for standing in results.standings]
        ['perfect', 'random']
    """
    contest = arrange(games, players, number=number, seed=seed, patience=patience, make=make)
    journal = nullcontext() if out is None else ArenaJournal(out, contest, resume=resume)
    with (
        journal as log,
        closing(play_games(contest, log=log, jobs=jobs, executor=executor, make=make)) as played,
    ):
        return compute_results(contest, played, keep=True)


def play_games(
    contest: Contest,
    *,
    log: ArenaJournal | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    make: PlayerFactory = make_player,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[GameResult]:
    """Yield all games of an arena: first those in the journal, then the others as they are played.

    `progress` is called with the number of finished games and their total.

    Examples:
        >>> contest = arrange([nt.Rules(target=15)], ["random", "perfect"], number=4)
        >>> [game.reason for game in play_games(contest, jobs=1)]
        ['exact', 'exact', 'exact', 'exact']
    """
    run = partial(play_fixture, contest=contest, make=make)
    return run_journaled(
        run, len(contest), log=log, jobs=jobs, progress=progress, executor=executor
    )
