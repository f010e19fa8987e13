"""Players against players: many games, on all cores, and what they show about who is how much stronger."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from number_tower.arena.log import Log
from number_tower.arena.pool import cores, one_by_one, side_by_side
from number_tower.arena.results import Results, Score, Standing, results
from number_tower.arena.runner import Finished, Maker, Played, play_out
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
    total, done = len(contest), 0
    for played in () if log is None else log.read():
        done += 1
        yield played
    if progress is not None:
        progress(done, total)
    todo = (contest.fixture(index) for index in range(total) if log is None or index not in log)
    at_once = min(cores() if jobs is None else jobs, total - done)
    running = one_by_one(contest, todo, make) if at_once < 2 else side_by_side(contest, todo, make, at_once)
    with closing(running):
        for games in running:
            if log is not None:
                log.add(games)
            done += len(games)
            if progress is not None:
                progress(done, total)
            yield from games
    if log is not None:
        log.finish()
