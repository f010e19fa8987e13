"""How well somebody plays, by results and by the exact value lost at every decision; see `docs/evaluation`."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from number_tower.arena.pool import held
from number_tower.evaluation.asking import Attempt, Decision
from number_tower.evaluation.log import Log
from number_tower.evaluation.respondents import FunctionPlayer, respondent
from number_tower.evaluation.runner import Done, perform
from number_tower.evaluation.suite import AGAINST, GAMES, POSITIONS, TRIES, VARIANTS, Suite, Task, arranged
from number_tower.players import LEVELS, PATIENCE, RANDOM

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable

    from number_tower.evaluation.asking import Respondent
    from number_tower.evaluation.respondents import Function, Maker
    from number_tower.evaluation.scoring import Scores
    from number_tower.rules import Rules

__all__ = [
    "AGAINST",
    "BASELINES",
    "GAMES",
    "POSITIONS",
    "TRIES",
    "VARIANTS",
    "Attempt",
    "Decision",
    "Done",
    "Evaluation",
    "Log",
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
    players: Iterable[str | Function],
    games: Iterable[str | Rules] = (),
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
) -> Evaluation:
    """Let players play so many games and move in so many positions each, and return all that they did.

    A player is a level, a command, `module:function`, or a function itself: it is given a question, whose `prompt` says
    all that there is to know, and returns an answer in words or a number. Without games, so many variants are made.

    `jobs` is how many tasks are done at once: without it, as many as there are cores; with a function that is given
    itself, one. Every task is kept in the file `out`, if one is named; with `resume` those that it holds are not done
    again.
    """
    given = list(players)
    functions = {_name(each): each for each in given if not isinstance(each, str)}
    make = partial(_made, functions=functions)
    suite = arranged(
        [each if isinstance(each, str) else _name(each) for each in given],
        games,
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
    with ExitStack() as leaving:
        log = None if out is None else leaving.enter_context(Log(out, suite, resume=resume))
        running = hold(suite, log=log, jobs=1 if functions else jobs, make=make)
        done = leaving.enter_context(closing(running))
        return Evaluation(suite, tuple(sorted(done, key=attrgetter("index"))))


def hold(
    suite: Suite,
    *,
    log: Log | None = None,
    jobs: int | None = None,
    make: Maker = respondent,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[Done]:
    """Give every task as it is done: first what the log holds, then the others, which are done and kept.

    `progress` is told how many tasks are done now, and how many there are.
    """
    return held(len(suite), suite.task, partial(perform, suite=suite, make=make), log=log, jobs=jobs, progress=progress)


def _name(function: Function) -> str:
    """Call a function as `module:function` would."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _made(spec: str, *, seed: int, patience: float, functions: dict[str, Function]) -> Respondent:
    if spec in functions:
        return FunctionPlayer(functions[spec])
    return respondent(spec, seed=seed, patience=patience)
