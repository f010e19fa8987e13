"""How well somebody plays, by results and by the exact value lost at every decision; see `docs/evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from number_tower.batch.executor import run_journaled
from number_tower.evaluation.players import RespondentFactory
from number_tower.evaluation.questions import AnswerAttempt, Decision
from number_tower.evaluation.run import CompletedTask, EvaluationJournal, run_task
from number_tower.evaluation.suite import (
    DEFAULT_GAMES,
    DEFAULT_OPPONENT,
    DEFAULT_PATIENCE,
    DEFAULT_POSITIONS,
    DEFAULT_TRIES,
    DEFAULT_VARIANTS,
    Suite,
    Task,
    arrange_suite,
    check_integer,
)
from number_tower.players import LEVELS, RANDOM
from number_tower.rules import Rules

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable

    from number_tower.evaluation.players import Function
    from number_tower.evaluation.scores import Scores

__all__ = [
    "BASELINES",
    "DEFAULT_GAMES",
    "DEFAULT_OPPONENT",
    "DEFAULT_PATIENCE",
    "DEFAULT_POSITIONS",
    "DEFAULT_TRIES",
    "DEFAULT_VARIANTS",
    "AnswerAttempt",
    "CompletedTask",
    "Decision",
    "Evaluation",
    "EvaluationJournal",
    "RespondentFactory",
    "Suite",
    "Task",
    "arrange_suite",
    "evaluate",
    "run_tasks",
]

BASELINES = (RANDOM.name, *LEVELS)
"""Players to compare with, from the weakest to one that never errs."""


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation asked, and every task that was done, in order."""

    suite: Suite
    done: tuple[CompletedTask, ...] = field(repr=False)

    @cached_property
    def scores(self) -> Scores:
        """What it adds up to."""
        from number_tower.evaluation.scores import compute_scores  # noqa: PLC0415 - who only runs it need not add it up

        return compute_scores(self.suite, self.done)


def evaluate(  # noqa: PLR0913 - what there is to choose, all of it by name
    players: str | Function | Iterable[str | Function] | Mapping[str, Function],
    games: str | Rules | Iterable[str | Rules] = (),
    *,
    variants: int = DEFAULT_VARIANTS,
    number: int = DEFAULT_GAMES,
    positions: int = DEFAULT_POSITIONS,
    against: str = DEFAULT_OPPONENT,
    seed: int = 1,
    tries: int = DEFAULT_TRIES,
    legal: bool = True,
    patience: float = DEFAULT_PATIENCE,
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
        check_integer("jobs", jobs, 1)
    names, functions = _name_players(players)
    make = RespondentFactory(functions)
    with ExitStack() as leaving:
        leaving.callback(make.close)
        suite = arrange_suite(
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
        log = None if out is None else leaving.enter_context(EvaluationJournal(out, suite, resume=resume))
        running = run_tasks(suite, log=log, jobs=1 if functions else jobs, make=make, stop=stop)
        done = leaving.enter_context(closing(running))
        return Evaluation(suite, tuple(sorted(done, key=attrgetter("index"))))


def run_tasks(
    suite: Suite,
    *,
    log: EvaluationJournal | None = None,
    jobs: int | None = None,
    make: RespondentFactory | None = None,
    stop: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[CompletedTask]:
    """Give every task as it is done: first what the log holds, then the others, which are done and kept.

    `progress` is told how many tasks are done now, and how many there are. In the end nobody who was asked stays.
    """
    with closing(RespondentFactory() if make is None else make) as asked:
        if jobs != 1:
            asked.close()  # workers start their own
        run = partial(run_task, suite=suite, make=asked, stop=stop)
        yield from run_journaled(run, len(suite), log=log, jobs=jobs, progress=progress)


def _name_players(
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
        name, times = _name_function(each), 1
        while functions.get(name, each) is not each:
            times += 1
            name = f"{_name_function(each)}#{times}"
        functions[name] = each
        names.append(name)
    return names, functions


def _name_function(function: Function) -> str:
    """Call a function as `module:function` would."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"
