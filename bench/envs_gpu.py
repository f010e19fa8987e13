"""How fast the games are on an accelerator, beside pgx's tic-tac-toe, and how much of the memory's bandwidth they use.

    python bench/envs_gpu.py > gpu.md           measures where there is an accelerator, in ten minutes
    python bench/envs_gpu.py --merge gpu.md     writes the table into bench/RESULTS.md, on any machine

The first needs jax, numpy, pgx (with svgwrite) and this repository, and nothing else. The part of RESULTS.md stays
as it is until another run is merged.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from operator import truediv
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rows import RESULTS, Row, markdown, number, replace_section
from timing import measure_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Play = Callable[[], int]

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

BEGIN, END = "<!-- bench-gpu: begin -->", "<!-- bench-gpu: end -->"

BATCHES = (16_384, 262_144, 2_097_152)
MIDDLE = BATCHES[1]
ROUNDS = 5
MOVES = 1 << 30
"""Moves of a round."""

LOOPS = ("scanned", "scanned as a graph")
"""How the kernels of a step are launched. A graph is faster where starting kernels takes longer than their work."""

COPIED = 1 << 28
"""Numbers of 4 bytes that are copied to measure the bandwidth."""


def measure_copy() -> float:
    """Return how many bytes a second the memory reads and writes, in a copy from one place to another."""
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    numbers = jnp.arange(COPIED, dtype=jnp.uint32)
    copy = jax.jit(lambda part: part ^ jnp.uint32(1))
    found: list[float] = []
    for _ in range(20):
        jax.block_until_ready(numbers)
        begun = perf_counter()
        copied = jax.block_until_ready(copy(numbers))
        found.append(2 * copied.nbytes / (perf_counter() - begun))
    return median(found)


def count_bytes(env: Any, *, observed: bool) -> tuple[int, int]:
    """Return the bytes that a move has to read and to write, and those that a game takes: state, mask, observation.

    A move reads who is to move, the step count and the packed board. It writes these, rewards and ends as well.
    """
    packed = 4 * env.arrays.packed_words
    shown = env.num_actions + 4 * env.observation_shape[0] * observed
    state = 4 + 4 + packed + 8 + 1
    return (4 + 4 + packed) + state + shown, state + 1 + shown


def measure_batch(games: int, *, observed: bool, bandwidth: float) -> Iterator[Row]:
    """Measure all games beside pgx, each in its fastest way; all ways take turns."""
    module = import_module("envs_jax")
    names = import_module("number_tower.catalogue").list_names()
    moves = MOVES // games
    what = f"{games:,} games, {'observations and ' if observed else ''}masks"
    theirs = dict(module.pgx_ways(games, moves, observed=observed, loops=LOOPS))
    plays = {("pgx", way): play for way, play in theirs.items()}
    for name in names:
        for looped in LOOPS:
            plays[name, looped] = module.ours(name, games, moves, observed=observed, looped=looped)
    found = measure_rates(ROUNDS, plays)
    rates = {play: median(each) for play, each in found.items()}

    def find_fastest(name: str) -> tuple[str, str]:
        return max((play for play in plays if play[0] == name), key=rates.__getitem__)

    best = find_fastest("pgx")
    ratios, shares = [], []
    for name in names:
        own = find_fastest(name)
        ratio = median(map(truediv, found[own], found[best]))
        needed, memory = count_bytes(module.make(name), observed=observed)
        ratios.append(ratio)
        shares.append(rates[own] * needed / bandwidth)
        moved = f"{needed} bytes a move: {shares[-1]:.0%} of the bandwidth; {memory} bytes a game"
        other = f"pgx, {best[1]}: {number(rates[best])}"
        goal = 3.0 if games == MIDDLE and not observed else None
        yield make_row(f"{name}, {own[1]}, {what}; {moved}", number(rates[own]), other, ratio, goal)
    if observed and games == MIDDLE:
        average = f"the five games on average, {what}"
        yield make_row(average, "", "", fmean(ratios), 1.5)
        share = fmean(shares)
        yield Row(f"{average}, part of the bandwidth", f"{share:.0%}", "", "", "40%", share >= 0.4)


def make_row(work: str, ours: str, other: str, ratio: float, goal: float | None) -> Row:
    """Make the row of a ratio, with a goal if there is one."""
    wanted, met = ("", None) if goal is None else (f"{goal:g} x as many", ratio >= goal)
    return Row(work, ours, other, f"{number(ratio)} x as many", wanted, met)


def measure() -> str:
    """Measure everything, and return it as a part of the page of results."""
    jax: Any = import_module("jax")
    device = jax.devices()[0]
    begun = perf_counter()
    bandwidth = measure_copy()
    sections: dict[str, list[Row]] = {}
    for observed in (False, True):
        shown = "observations and masks" if observed else "masks"
        heading = f"moves a second with {shown}, written at every move"
        sections[heading] = []
        for games in BATCHES:
            print(f"measuring: {heading}, {games:,} games ...", file=sys.stderr, flush=True)
            sections[heading] += measure_batch(games, observed=observed, bandwidth=bandwidth)
    packages = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "pgx"))
    return f"""{BEGIN}
- date: {datetime.now(tz=UTC).date().isoformat()}
- device: {device.device_kind} ({device.platform})
- packages: {packages}
- bytes a second, read and written in a copy: {number(bandwidth)}
- seconds: {perf_counter() - begun:.0f}

{markdown(sections)}
{END}"""


if __name__ == "__main__":
    if sys.argv[1:2] == ["--merge"]:
        part = Path(sys.argv[2]).read_text("utf-8").strip()
        RESULTS.write_text(replace_section(RESULTS.read_text("utf-8"), BEGIN, part, END), "utf-8")
    else:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        print(measure())
