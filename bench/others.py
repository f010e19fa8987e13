"""The others' solvers: a matching by rustworkx, and the yardstick in C; OpenSpiel has its own module.

They are loaded when they are measured, and by name: `make bench` brings them, and no other check needs them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
YARDSTICK = Path(os.environ.get("YARDSTICK") or ROOT.parent / "shared" / "yardstick" / "summit.c")
"""The plain search for `summit` in C; it is no part of this project and need not be there."""

# Matchings -----------------------------------------------------------------------------------------------


class Matched(NamedTuple):
    """One maximum matching: how many pairs it has, and how long it took; building the graph is not timed."""

    pairs: int
    seconds: float


def related(blocks: Sequence[int]) -> list[tuple[int, int]]:
    """Return every two blocks, by their places, of which one divides the other."""
    places = {block: place for place, block in enumerate(blocks)}
    return [
        (place, places[multiple])
        for block, place in places.items()
        for multiple in range(2 * block, blocks[-1] + 1, block)
        if multiple in places
    ]


def rustworkx_matching(blocks: Sequence[int]) -> Matched:
    """Match related blocks with rustworkx."""
    rustworkx: Any = import_module("rustworkx")
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(blocks)))
    graph.add_edges_from_no_data(related(blocks))
    start = perf_counter()
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=True)
    return Matched(len(pairs), perf_counter() - start)


# The yardstick -------------------------------------------------------------------------------------------


class NoYardstickError(Exception):
    """There is nothing in C to measure against, and why."""


def compiler() -> str | None:
    """Return where a C compiler is, if there is one."""
    return shutil.which(os.environ.get("CC") or "cc")


def build_yardstick(folder: str) -> str:
    """Compile the yardstick into a folder and return the program."""
    found = compiler()
    if found is None:
        raise NoYardstickError("no C compiler here")
    if not YARDSTICK.is_file():
        raise NoYardstickError("no yardstick here ($YARDSTICK)")
    program = str(Path(folder) / "summit")
    subprocess.run([found, "-O3", "-march=native", "-w", str(YARDSTICK), "-o", program], check=True)
    return program


class Searched(NamedTuple):
    """What the yardstick says: who wins, from the first player's side, and the seconds of its search alone."""

    value: str
    seconds: float


def yardstick(program: str, blocks: int, target: int) -> Searched:
    """Run the yardstick with a table of 2^24 entries; it times itself."""
    told = subprocess.run(
        [program, str(blocks), str(target), "24"], check=True, capture_output=True, text=True
    ).stdout
    read = re.search(r" first=(win|loss) .* in ([0-9.]+)s", told)
    if read is None:
        raise ValueError(
            f"expected the yardstick to say who wins and how long it took; got {told!r}"
        )
    return Searched(read[1], float(read[2]))
