"""How well somebody plays, by results and by the exact value lost at every decision; see `docs/evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from number_tower.arena.pool import held
from number_tower.evaluation.asking import Attempt, Decision
from number_tower.evaluation.log import Log
from number_tower.evaluation.respondents import Respondents
from number_tower.evaluation.runner import Done, perform
from number_tower.evaluation.suite import (
    AGAINST,
    GAMES,
    PATIENCE,
    POSITIONS,
    TRIES,
    VARIANTS,
    Suite,
    Task,
    arranged,
    check_whole,
)
from number_tower.players import LEVELS, RANDOM
from number_tower.rules import Rules

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable

    from number_tower.evaluation.functions import Function
    from number_tower.evaluation.scoring import Scores

__all__ = [
    "AGAINST",
    "BASELINES",
    "GAMES",
    "PATIENCE",
    "POSITIONS",
    "TRIES",
    "VARIANTS",
    "Attempt",
    "Decision",
    "Done",
    "Evaluation",
    "Log",
    "Respondents",
    "Suite",
    "Task",
    "arranged",
    "evaluate",
    "hold",
]

BASELINES = (RANDOM.name, *LEVELS)
"""Players to compare with, from the weakest to one that never errs."""


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation asked, and every task that was done, in order."""

    suite: Suite
    done: tuple[Done, ...] = field(repr=False)

    @cached_property
    def scores(self) -> Scores:
        """What it adds up to."""
        from number_tower.evaluation.scoring import scores  # noqa: PLC0415 - who only runs it need not add it up

        return scores(self.suite, self.done)


def evaluate(  # noqa: PLR0913 - what there is to choose, all of it by name
    players: str | Function | Iterable[str | Function] | Mapping[str, Function],
    games: str | Rules | Iterable[str | Rules] = (),
    *,
    variants: int = VARIANTS,
    number: int = GAMES,
    positions: int = POSITIONS,
    against: str = AGAINST,
    seed: int = 1,
    tries: int = TRIES,
    legal: bool = True,
    patience: float = PATIENCE,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    stop: bool = False,
) -> Evaluation:
    """Let one or more players play so many games and move in so many positions each, and return all that they did.

    A player is a level, a command, `module:function`, or a function itself: it is given a question, whose `prompt` says
    all that there is to know, and returns an answer in words or a number. Functions may be given by the names that they
    shall have. Without games, so many variants are made.

    `jobs` is how many tasks are done at once: without it, as many as there are cores; with a function that is given
    itself, one. Every task is kept in the file `out`, if one is named; with `resume` those that it holds are not done
    again. With `stop` an answer that does not come ends it all, by a `Stopped`, instead of being counted as illegal.
    """
    if jobs is not None:
        check_whole("jobs", jobs, 1)
    names, functions = _called(players)
    make = Respondents(functions)
    with ExitStack() as leaving:
        leaving.callback(make.close)
        suite = arranged(
            names,
            [games] if isinstance(games, str | Rules) else games,
            variants=variants,
            number=number,
            positions=positions,
            against=against,
            seed=seed,
            tries=tries,
            legal=legal,
            patience=patience,
            make=make,
        )
        log = None if out is None else leaving.enter_context(Log(out, suite, resume=resume))
        running = hold(suite, log=log, jobs=1 if functions else jobs, make=make, stop=stop)
        done = leaving.enter_context(closing(running))
        return Evaluation(suite, tuple(sorted(done, key=attrgetter("index"))))


def hold(
    suite: Suite,
    *,
    log: Log | None = None,
    jobs: int | None = None,
    make: Respondents | None = None,
    stop: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[Done]:
    """Give every task as it is done: first what the log holds, then the others, which are done and kept.

    `progress` is told how many tasks are done now, and how many there are. In the end nobody who was asked stays.
    """
    with closing(Respondents() if make is None else make) as asked:
        if jobs != 1:
            asked.close()  # workers start their own
        do = partial(perform, suite=suite, make=asked, stop=stop)
        yield from held(len(suite), suite.task, do, log=log, jobs=jobs, progress=progress)


def _called(
    players: str | Function | Iterable[str | Function] | Mapping[str, Function],
) -> tuple[list[str], dict[str, Function]]:
    """Return what all players are called, and those that are functions; of equal names, later ones get a number."""
    if isinstance(players, Mapping):
        return list(players), dict(players)
    names: list[str] = []
    functions: dict[str, Function] = {}
    for each in [players] if isinstance(players, str) or callable(players) else players:
        if isinstance(each, str):
            names.append(each)
            continue
        name, times = _name(each), 1
        while functions.get(name, each) is not each:
            times += 1
            name = f"{_name(each)}#{times}"
        functions[name] = each
        names.append(name)
    return names, functions


def _name(function: Function) -> str:
    """Call a function as `module:function` would."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"
