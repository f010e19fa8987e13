"""Evaluate players by results and by the exact value lost in decisions; see `docs/evaluation`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Unpack

from number_tower.engine.rules import Rules
from number_tower.players import ALL_LEVELS
from number_tower.studies.batch import BatchError, StoppedError
from number_tower.studies.batch.executor import run_journaled
from number_tower.studies.evaluation.players import Function
from number_tower.studies.evaluation.run import CompletedTask, EvaluationJournal, run_task
from number_tower.studies.evaluation.scores import Scores, compute_scores
from number_tower.studies.evaluation.suite import Suite, SuiteOptions, arrange_suite, check_integer

__all__ = [
    "BASELINES",
    "CompletedTask",
    "Evaluation",
    "Scores",
    "StoppedError",
    "Suite",
    "arrange_suite",
    "evaluate",
    "run_tasks",
]

BASELINES = tuple(ALL_LEVELS)
"""Players to compare with, from the weakest to one that never errs."""


@dataclass(frozen=True)
class Evaluation:
    """The tasks of an evaluation, and all of them completed, in order.

    Examples:
        >>> evaluation = evaluate("perfect", nt.Rules(target=15), number=2, positions=4, jobs=1)
        >>> len(evaluation.done), evaluation.scores.players[0].overall.regret.mean
        (6, 0.0)
    """

    suite: Suite
    done: tuple[CompletedTask, ...] = field(repr=False)

    @cached_property
    def scores(self) -> Scores:
        """The scores of the players."""
        return compute_scores(self.suite, self.done)


def evaluate(  # noqa: PLR0913 - all options are keywords
    players: str | Function | Iterable[str | Function] | Mapping[str, Function],
    games: str | Rules | Iterable[str | Rules] = (),
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    stop: bool = False,
    **options: Unpack[SuiteOptions],
) -> Evaluation:
    """Let each player play `number` games and move in a number of positions; return all tasks.

    A player is a level, a command, `module:function`, or a function: it is called with a question,
    whose `prompt` has everything it needs, and returns text or a number. Functions may be given in
    a mapping with their names. Without games, variants are made. The options and their defaults are
    those of `arrange_suite`.

    `jobs` is the number of tasks that run at once (default: one for each core; always one with a
    function that is given itself); an executor, such as a `ClusterExecutor` of
    `number_tower.studies.batch.cluster`, runs them elsewhere. The tasks are kept in the file `out`,
    if given; with `resume` the tasks in that file are not run again. With `stop` a missing answer
    raises a `StoppedError` instead of counting as illegal.

    Examples:
        >>> def largest(question):
        ...     return f"I take [{max(question['legal'])}]"
        >>> results = evaluate({"largest": largest}, nt.Rules(target=15), number=4, positions=10)
        >>> scores = results.scores
        >>> scores.players[0].player, scores.players[0].overall.illegal.mean
        ('largest', 0.0)
    """
    if jobs is not None:
        check_integer("jobs", jobs, 1)
    names, functions = _name_players(players)
    if functions and executor is not None:
        problem = "a function that is given itself is called here"
        raise BatchError(f"{problem}; for an executor, name it as module:function")
    jobs = 1 if functions else jobs
    chosen = [games] if isinstance(games, str | Rules) else games
    suite = arrange_suite(names, chosen, functions=functions, **options)
    journal = nullcontext() if out is None else EvaluationJournal(out, suite, resume=resume)
    run = partial(run_tasks, suite, jobs=jobs, executor=executor, functions=functions, stop=stop)
    with journal as log, closing(run(log=log)) as done:
        return Evaluation(suite, tuple(sorted(done, key=attrgetter("index"))))


def run_tasks(  # noqa: PLR0913 - all options are keywords
    suite: Suite,
    *,
    log: EvaluationJournal | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    functions: Mapping[str, Function] = {},
    stop: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[CompletedTask]:
    """Yield all completed tasks: first those in the journal, then the others as they are run.

    `progress` is called with the number of completed tasks and their total.

    Examples:
        >>> suite = arrange_suite(["random"], [nt.Rules(target=15)], number=2, positions=3)
        >>> len(list(run_tasks(suite, jobs=1)))
        5
    """
    run = partial(run_task, suite=suite, functions=functions, stop=stop)
    return run_journaled(run, len(suite), log=log, jobs=jobs, progress=progress, executor=executor)


def _name_players(
    players: str | Function | Iterable[str | Function] | Mapping[str, Function],
) -> tuple[list[str], dict[str, Function]]:
    """Return the names of all players, and the functions by name; a repeated name gets a number."""
    if isinstance(players, Mapping):
        return list(players), dict(players)
    names: list[str] = []
    functions: dict[str, Function] = {}
    for player in [players] if isinstance(players, str) or callable(players) else players:
        if isinstance(player, str):
            names.append(player)
            continue
        # A partial call, and an object that can be called, have no name of their own.
        function: Any = player
        while isinstance(function, partial):
            function = function.func
        if not hasattr(function, "__qualname__"):
            function = type(function)
        name = plain = f"{function.__module__}:{function.__qualname__}"
        times = 1
        while functions.get(name, player) is not player:
            times += 1
            name = f"{plain}#{times}"
        functions[name] = player
        names.append(name)
    return names, functions
