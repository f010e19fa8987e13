"""Every speed that the project promises, measured in one run beside whatever it is compared with.

`make bench` prints the table, saves it in bench/RESULTS.md, and fails if a goal is missed.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import keeping
import labs
import startup
import works
from number_tower.engine import catalogue
from others import NoYardstickError, build_yardstick
from rows import Row, at_most, faster, measure, within
from timing import alone, in_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = ("number-tower", "numba", "numpy", "open_spiel", "rustworkx")

SMALLER = {"climb": {"blocks": "1-12"}}
"""Smaller sizes, where the plain computation cannot follow: at its own, `climb` has 727 million
positions.
"""


def measure_starts() -> Iterator[Row]:
    """Measure how soon the command answers."""
    solving = [
        startup.Work(f"tower solve {name}", [startup.TOWER, "solve", name])
        for name in catalogue.list_names()
    ]
    starts = [*startup.STARTS, *solving]
    clocks = [partial(startup.measure_start, work) for work in (startup.NOTHING, *starts)]
    nothing, *taken = in_turns(20, *clocks)
    for work, took in zip(starts, taken, strict=True):
        yield at_most(work.name, took, (startup.NOTHING.name, nothing), 12)
    apps = (startup.LEAST_APP, startup.APP)
    least, took = in_turns(10, *(partial(startup.measure_frame, app) for app in apps))
    yield at_most(startup.APP.name, took, (startup.LEAST_APP.name, least), 1.5)


def measure_games() -> Iterator[Row]:
    """Measure the games of the catalogue: at their own sizes, and beside OpenSpiel."""
    for name in catalogue.list_names():
        yield within(name, alone(works.solve_game, name), 0.010)
    for name in catalogue.list_names():
        duel = alone(works.compare_with_openspiel, name)
        rate = f"OpenSpiel's MinimaxSolver, {duel.positions / duel.other:,.0f} states/s"
        yield faster(name, duel.ours, (rate, duel.other))


def measure_matchings() -> Iterator[Row]:
    """Measure who wins where blocks are paired, beside a library that finds one matching."""
    duel = alone(works.compare_matchings, 20_000)
    work = "factor 1-20,000, values of all openings"
    yield faster(work, duel.ours, ("rustworkx", duel.other), 20)
    slowest = alone(works.find_slowest_position, "1-100", 10, 300)
    yield within("factor 1-100 after 10 moves, all values, worst of 300", slowest, 0.010)


def measure_searches() -> Iterator[Row]:
    """Measure the deep search, interpreted and compiled."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = build_yardstick(folder)
        except NoYardstickError as error:
            yield Row("summit 1-20", "", str(error), goal="20 x as fast")
        else:
            easy = alone(works.compare_with_c, 80, program, 80, compiled=False)
            work = "summit 1-20 target 80, value, plain Python"
            yield faster(work, easy.ours, ("yardstick in C", easy.other), 20)
            hard = alone(works.compare_with_c, 155, program, 80, compiled=True)
            work = "summit 1-20 target 155, value, compiled"
            yield at_most(work, hard.ours, ("yardstick in C, target 80", hard.other), 2)
    draft = alone(works.find_value, "draft", blocks="1-30", target=200)
    yield within("draft 1-30 target 200, value", draft, 0.15)
    race = alone(works.solve_game, "race", blocks="1-200", target=1000)
    yield within("race 1-200 target 1,000, all openings, with plies", race, 1)


def measure_players() -> Iterator[Row]:
    """Measure the computer's players, and what an arena costs besides them."""
    duel = alone(works.compare_arena_with_bare_play, "draft", 500)
    work = "500 random games of draft in an arena"
    yield at_most(work, duel.ours, ("the bare games", duel.other), 4)
    for name in catalogue.list_names():
        work = f"{name}, the slowest choice of the perfect level in 20 games"
        yield within(work, alone(works.find_slowest_choice, name), 0.1)
    work = "summit, the slowest hint with its reason in 20 games"
    yield within(work, alone(works.find_slowest_hint, "summit"), 0.1)


def measure_executors() -> Iterator[Row]:
    """Measure many jobs on a cluster of this machine, beside its own processes."""
    # Dask loads NumPy, which works that are measured without it must not find in their process.
    executors = import_module("executors")
    on_cluster, here = executors.compare()
    work = (
        f"{executors.JOBS:,} jobs of 1 to 10 ms, on a Dask cluster of {executors.WORKERS} workers"
    )
    yield faster(work, on_cluster, (f"{executors.WORKERS} local processes", here), 0.8)


def measure_history() -> Iterator[Row]:
    """Measure what is asked of a database of very many games, the library's loading included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "games.db"
        keeping.fill(file, 100_000)
        work = startup.Work("tower history", [startup.TOWER, "history", "--db", str(file)])
        [took] = in_turns(5, partial(startup.measure_start, work))
        yield within("tower history, the first page of 100,000 games", took, 1.0)


def measure_lab() -> Iterator[Row]:
    """Measure the rule lab: a study beside a plain one, the usual sweeps, and two large ones."""
    for name in catalogue.list_names():
        options = SMALLER.get(name, {})
        duel = alone(labs.compare_with_plain, name, **options)
        rate = f"from the rules alone, {duel.positions / duel.other:,.0f} positions/s"
        study = " ".join(["study", name, *options.values()])
        work = f"{study}, {duel.positions / duel.ours:,.0f} positions/s"
        yield faster(work, duel.ours, (rate, duel.other), 20)
    for name in catalogue.list_names():
        yield _measure_sweep(name, None, 120)
    yield _measure_sweep("climb", labs.CLIMBS, 600)
    yield _measure_sweep("draft", labs.DRAFTS, 600)


def _measure_sweep(name: str, axes: dict[str, str] | None, limit: float) -> Row:
    took = alone(labs.run_sweep, name, axes)
    what = "the usual settings" if axes is None else "a large sweep"
    work = f"tower lab {name}, {what}: {took.settings:,}, {took.too_large:,} of them too large"
    return within(work, took.seconds, limit)


SECTIONS = {
    "starting": ("the command, until it answers", measure_starts),
    "rulebooks": (
        "the games at their own sizes: the start and all openings, with plies, without numpy",
        measure_games,
    ),
    "matchings": ("pairs of blocks", measure_matchings),
    "searches": ("larger games", measure_searches),
    "opponents": ("opponents and hints", measure_players),
    "executing": ("many jobs", measure_executors),
    "keeping": ("saved games", measure_history),
    "lab": ("the rule lab, on all cores", measure_lab),
}


if __name__ == "__main__":
    sys.exit(measure("bench", SECTIONS, PACKAGES))
