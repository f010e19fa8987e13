"""OpenSpiel's own solver at work on our games; load this module only when measuring, since it brings OpenSpiel."""

from __future__ import annotations

from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import number_tower as nt

if TYPE_CHECKING:
    from number_tower.solve.worth import Value

_VALUES: dict[float, Value] = {1.0: "win", 0.0: "draw", -1.0: "loss"}


class Solved(NamedTuple):
    """What OpenSpiel's solver made of a game: the values of its start and openings, the states it tabled, its time."""

    values: list[Value]
    states: int
    seconds: float


def minimax(rules: nt.Rules) -> Solved:
    """Solve a game with OpenSpiel's MinimaxSolver, which tables the value of every state; only that is timed."""
    solvers: Any = import_module("open_spiel.python.algorithms.minimax_solver")
    game = import_module("number_tower.envs.openspiel").game(rules)
    solver = solvers.MinimaxSolver(str(game))
    begun = perf_counter()
    table: dict[str, Any] = solver.solve()
    took = perf_counter() - begun
    start = game.new_initial_state()
    found = table[str(start)]
    values = [found.value, *(found.action_values[action] for action in start.legal_actions())]
    return Solved([_VALUES[float(value)] for value in values], len(table), took)
