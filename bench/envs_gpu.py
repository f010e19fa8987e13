"""How fast the games are on an accelerator, beside pgx's tic-tac-toe and its bandwidth.

    python bench/envs_gpu.py > gpu.md          measures, where there is an accelerator
    python bench/envs_gpu.py --merge gpu.md    writes the table into bench/RESULTS.md

The first needs jax, numpy, pgx (with svgwrite) and this repository, and nothing else. The part of
RESULTS.md stays as it is until another run is merged.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
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

GAMES = 262_144
MOVES = 4096
"""Games that are played at once, and the moves of a round in each."""
ROUNDS = 5

COPIED = 1 << 28
"""Numbers of 4 bytes that are copied to measure the bandwidth."""


def measure_copy() -> float:
    """Return how many bytes a second the memory reads and writes when it copies."""
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
    """Return the bytes that a move has to read and write, and those that a game takes.

    A move reads who is to move, the step count and the packed board. It writes these, rewards and
    ends as well.
    """
    packed = 4 * env.arrays.packed_words
    shown = env.num_actions + 4 * env.observation_shape[0] * observed
    state = 4 + 4 + packed + 8 + 1
    return (4 + 4 + packed) + state + shown, state + 1 + shown


def measure_games(*, observed: bool, bandwidth: float) -> Iterator[Row]:
    """Measure all games beside pgx, each in its fastest way; all ways take turns."""
    module = import_module("envs_jax")
    names = import_module("number_tower.engine.catalogue").list_names()
    theirs = module.pgx_ways(GAMES, MOVES, observed=observed, loops=module.LOOPS)
    plays = {("pgx", way): play for way, play in theirs}
    for name in names:
        for loop in module.LOOPS:
            plays[name, loop] = module.ours(name, GAMES, MOVES, observed=observed, loop=loop)
    rounds = measure_rates(ROUNDS, plays)
    rates = {play: median(found) for play, found in rounds.items()}

    def find_fastest(name: str) -> tuple[str, str]:
        return max((play for play in plays if play[0] == name), key=rates.__getitem__)

    pgx = find_fastest("pgx")
    other = f"pgx, {pgx[1]}: {number(rates[pgx])}"
    ratios, shares = [], []
    for name in names:
        play = find_fastest(name)
        ratios.append(median(map(truediv, rounds[play], rounds[pgx])))
        needed, memory = count_bytes(module.make(name), observed=observed)
        shares.append(rates[play] * needed / bandwidth)
        moved = f"{needed} bytes a move: {shares[-1]:.0%} of the bandwidth; {memory} bytes a game"
        work, rate = f"{name}, {play[1]}; {moved}", number(rates[play])
        yield make_row(work, rate, other, ratios[-1], None if observed else 3.0)
    if observed:
        yield make_row("the five games on average", "", "", fmean(ratios), 1.5)
        share, work = fmean(shares), "the five games on average, part of the bandwidth"
        yield Row(work, f"{share:.0%}", "", "", "40%", share >= 0.4)


def make_row(work: str, ours: str, other: str, ratio: float, goal: float | None) -> Row:
    """Make the row of a ratio, with a goal if there is one."""
    row = Row(work, ours, other, f"{number(ratio)} x as many")
    return row if goal is None else replace(row, goal=f"{goal:g} x as many", met=ratio >= goal)


def measure() -> str:
    """Measure everything, and return it as a part of the page of results."""
    jax: Any = import_module("jax")
    device = jax.devices()[0]
    begun = perf_counter()
    bandwidth = measure_copy()
    sections: dict[str, list[Row]] = {}
    for observed in (False, True):
        shown = "observations and masks" if observed else "masks"
        heading = f"{GAMES:,} games: moves a second with {shown}, written at every move"
        print(f"measuring: {heading} ...", file=sys.stderr, flush=True)
        sections[heading] = list(measure_games(observed=observed, bandwidth=bandwidth))
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
