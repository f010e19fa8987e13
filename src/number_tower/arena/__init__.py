"""Players against players: many games, on all cores, and what they show about who is how much stronger."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

from number_tower.arena.log import Log
from number_tower.arena.pool import held
from number_tower.arena.results import Results, Score, Standing, results
from number_tower.arena.runner import Finished, Maker, Played, play, play_out
from number_tower.arena.schedule import ArenaError, Contest, Fixture, arrange
from number_tower.players import PATIENCE, player

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable

    from number_tower.rules import Rules

__all__ = [
    "ArenaError",
    "Contest",
    "Finished",
    "Fixture",
    "Log",
    "Maker",
    "Played",
    "Results",
    "Score",
    "Standing",
    "arena",
    "arrange",
    "hold",
    "play_out",
    "results",
]


def arena(  # noqa: PLR0913 - what there is to choose, all of it by name
    games: Iterable[str | Rules],
    players: Iterable[str],
    *,
    number: int = 100,
    seed: int = 1,
    patience: float = PATIENCE,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    make: Maker = player,
) -> Results:
    """Let every two players play each game so many times, and return what came of it and all games.

    `jobs` is how many games are played at once: without it, as many as there are cores. Every game is kept in the
    file `out`, if one is named; with `resume` the games that it holds already are not played again.
    """
    contest = arrange(games, players, number=number, seed=seed, patience=patience, make=make)
    with ExitStack() as leaving:
        log = None if out is None else leaving.enter_context(Log(out, contest, resume=resume))
        played = leaving.enter_context(closing(hold(contest, log=log, jobs=jobs, make=make)))
        return results(contest, played, keep=True)


def hold(
    contest: Contest,
    *,
    log: Log | None = None,
    jobs: int | None = None,
    make: Maker = player,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[Played]:
    """Give every game of an arena as it comes: first what its log holds, then the others, which are played and kept.

    `progress` is told how many games there are now, and how many there will be.
    """
    return held(len(contest), contest.fixture, partial(play, contest, make=make), log=log, jobs=jobs, progress=progress)
