"""The others' solvers: OpenSpiel's, matchings by rustworkx, and the yardstick in C.

They are loaded when they are measured, and by name: `make bench` brings them, and no other check
needs them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from machine import COMPILER

if TYPE_CHECKING:
    import number_tower as nt

ROOT = Path(__file__).parent.parent
YARDSTICK = Path(os.environ.get("YARDSTICK") or ROOT.parent / "shared" / "yardstick" / "summit.c")
"""The plain search for `summit` in C; it is no part of this project and need not be there."""


class Solved(NamedTuple):
    """What OpenSpiel's solver found: the values of the start and openings, and the states."""

    values: list[float]
    states: int
    seconds: float


def solve_with_openspiel(rules: nt.Rules) -> Solved:
    """Solve a game with OpenSpiel's MinimaxSolver, which finds values and no plies."""
    solver: Any = import_module("open_spiel.python.algorithms.minimax_solver")
    game = import_module("number_tower.envs.openspiel").game(rules)
    begun = perf_counter()
    table: dict[str, Any] = solver.MinimaxSolver(str(game)).solve()
    took = perf_counter() - begun
    start = game.new_initial_state()
    found = table[str(start)]
    values = [found.value, *(found.action_values[action] for action in start.legal_actions())]
    return Solved(values, len(table), took)


class Matched(NamedTuple):
    """One maximum matching and its seconds, without building the graph."""

    pairs: int
    seconds: float


def match_with_rustworkx(blocks: Sequence[int]) -> Matched:
    """Match blocks of which one divides the other."""
    rustworkx: Any = import_module("rustworkx")
    related = [
        (block, multiple)
        for block in blocks
        for multiple in range(2 * block, blocks[-1] + 1, block)
    ]
    graph = rustworkx.PyGraph(multigraph=False)
    graph.extend_from_edge_list(related)
    start = perf_counter()
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=True)
    return Matched(len(pairs), perf_counter() - start)


class NoYardstickError(Exception):
    """There is nothing in C to measure against, and why."""


def build_yardstick(folder: str) -> str:
    """Compile the yardstick into a folder and return the program."""
    if COMPILER is None or not YARDSTICK.is_file():
        raise NoYardstickError(f"no C compiler, or no {YARDSTICK} ($YARDSTICK)")
    program = str(Path(folder) / "summit")
    call = [COMPILER, "-O3", "-march=native", "-w", str(YARDSTICK), "-o", program]
    subprocess.run(call, check=True)
    return program


class Searched(NamedTuple):
    """What the yardstick says: the first player's result, and the seconds of its search."""

    value: str
    seconds: float


def run_yardstick(program: str, blocks: int, target: int) -> Searched:
    """Run the yardstick with a table of 2^24 entries; it times itself."""
    call = [program, str(blocks), str(target), "24"]
    said = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    read = re.search(r" first=(win|loss) .* in ([0-9.]+)s", said)
    if read is None:
        raise ValueError(f"expected who wins and how long it took; the yardstick said {said!r}")
    return Searched(read[1], float(read[2]))
