"""How fast the games are on an accelerator, beside pgx's tic-tac-toe, and how much of the memory's bandwidth they use.

    python bench/envs_gpu.py --out gpu.json     measures where there is an accelerator, in ten minutes
    python bench/envs_gpu.py --merge gpu.json   writes the table into bench/RESULTS.md, on any machine

The first needs jax, numpy, pgx (with svgwrite) and this repository, and nothing else. The part of RESULTS.md stays
as it is until another run is merged.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from operator import truediv
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rows import Row, aligned, markdown, number, replace_section
from timing import measure_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Play = Callable[[], int]

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

RESULTS = Path(__file__).with_name("RESULTS.md")
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
    usual = next(iter(theirs))
    plays = {("pgx", way): play for way, play in theirs.items()}
    for name in names:
        for looped in LOOPS:
            plays[name, looped] = module.ours(name, games, moves, observed=observed, looped=looped)
    found = measure_rates(ROUNDS, plays)
    rates = {play: median(each) for play, each in found.items()}

    def find_fastest(name: str) -> tuple[str, str]:
        return max((play for play in plays if play[0] == name), key=rates.__getitem__)

    yield Row(f"pgx's tic_tac_toe, {usual}: {what}", "", number(rates["pgx", usual]))
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


def measure(batches: tuple[int, ...]) -> dict[str, Any]:
    """Measure everything, and return it as JSON takes it."""
    jax: Any = import_module("jax")
    device = jax.devices()[0]
    if device.platform == "cpu":
        print("There is no accelerator here: these are the processor's numbers.", file=sys.stderr)
    begun = perf_counter()
    bandwidth = measure_copy()
    sections: dict[str, list[Row]] = {
        "copy": [Row("bytes a second, read and written in a copy", number(bandwidth))]
    }
    for observed in (False, True):
        heading = f"moves a second with {'observations and ' if observed else ''}masks, written at every move"
        sections[heading] = []
        for games in batches:
            print(f"measuring: {heading}, {games:,} games ...", file=sys.stderr, flush=True)
            sections[heading] += measure_batch(games, observed=observed, bandwidth=bandwidth)
    return {
        "about": {
            "date": datetime.now(tz=UTC).date().isoformat(),
            "device": f"{device.device_kind} ({device.platform})",
            "command": "python bench/envs_gpu.py",
            "packages": ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "pgx")),
            "seconds": f"{perf_counter() - begun:.0f}",
        },
        "sections": {heading: [asdict(row) for row in rows] for heading, rows in sections.items()},
    }


def merge(page: str, found: dict[str, Any]) -> str:
    """Return the page of results with this run in its own part."""
    table = {heading: [Row(**row) for row in rows] for heading, rows in found["sections"].items()}
    about = "\n".join(f"- {what}: {fact}" for what, fact in found["about"].items())
    part = f"""{BEGIN}
## On an accelerator

Written by `python bench/envs_gpu.py --merge`, from a run on a machine that has one. Play is random, in one compiled
loop, with pgx's `auto_reset`; medians of {ROUNDS} rounds in which all ways to play take turns. The fastest way of each
is shown: there are two to launch the kernels of a step, and for pgx's tic-tac-toe also cheaper random choices. The
bytes of a move are those that it has to read and to write: state, mask and observation.

{about}

{markdown(table)}
{END}"""
    return replace_section(page, BEGIN, part, END)


def main() -> int:
    """Measure and print, or write what was measured elsewhere into the page of results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was measured as JSON")
    parser.add_argument(
        "--merge", type=Path, metavar="FILE", help=f"write a file of --out into {RESULTS.name}"
    )
    parser.add_argument(
        "--batches",
        default=",".join(map(str, BATCHES)),
        help="numbers of games, with commas between",
    )
    asked = parser.parse_args()
    if asked.merge is not None:
        found = json.loads(asked.merge.read_text(encoding="utf-8"))
        RESULTS.write_text(merge(RESULTS.read_text(encoding="utf-8"), found), encoding="utf-8")
        return 0
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found = measure(tuple(int(games) for games in asked.batches.split(",")))
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(merge("", found).strip())
    rows = {heading: [Row(**row) for row in rows] for heading, rows in found["sections"].items()}
    print(aligned(rows), file=sys.stderr)
    return int(any(row.met is False for section in rows.values() for row in section))


if __name__ == "__main__":
    sys.exit(main())
