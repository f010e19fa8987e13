"""Every speed that the project promises, measured in one run beside whatever it is compared with.

`make bench` prints the table, keeps it in bench/RESULTS.md, and fails if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import keeping
import labs
import startup
import works
from machine import facts
from number_tower import catalogue
from others import NoYardstickError, build_yardstick
from rows import Row, aligned, at_most, duration, faster, markdown, number, within
from timing import alone, in_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESULTS = Path(__file__).with_name("RESULTS.md")

FOLLOWED = {"climb": {"blocks": "1-15"}}
"""Smaller sizes, where the others cannot follow: at its own, `climb` has 727 million positions."""

FOLLOWED_STUDIES = {"climb": {"blocks": "1-12"}}
"""Likewise for the expected games of every pair."""


def starting() -> Iterator[Row]:
    """Measure how soon the command answers."""
    wanted = [*startup.STARTS, *map(startup.solving, catalogue.list_names())]
    runs = [work for work in wanted if _answers(work)]
    own, *taken = in_turns(
        20, *(lambda work=work: startup.seconds(work) for work in (startup.NOTHING, *runs))
    )
    for work, took in zip(runs, taken, strict=True):
        yield at_most(work.name, took, (startup.NOTHING.name, own), work.goal)
    least, took = in_turns(
        10,
        lambda: startup.measure_frame(startup.LEAST_APP),
        lambda: startup.measure_frame(startup.APP),
    )
    yield at_most(startup.APP.name, took, (startup.LEAST_APP.name, least), startup.APP.goal)
    for work in wanted:
        if work not in runs:
            yield Row(work.name, "does not run", goal=f"{work.goal:g} x the time", met=False)


def _answers(work: startup.Work) -> bool:
    try:
        startup.seconds(work)
    except startup.StartError:
        return False
    return True


def rulebooks() -> Iterator[Row]:
    """Measure the games of the catalogue as they are: the goals first, then the ratios."""
    for name in catalogue.list_names():
        yield within(name, alone(works.whole_game, name), 0.010)
    for name in catalogue.list_names():
        options = FOLLOWED.get(name, {})
        work = " ".join([name, *options.values()])
        plain = alone(works.against_plain, name, **options)
        yield faster(work, plain.ours, ("our plain search", plain.other))
        spiel = alone(works.against_openspiel, name, **options)
        rate = f"OpenSpiel's MinimaxSolver, {spiel.positions / spiel.other:,.0f} states/s"
        yield faster(work, spiel.ours, (rate, spiel.other))


def matchings() -> Iterator[Row]:
    """Measure who wins where blocks are paired, against a library that finds one matching and no more."""
    duel = alone(works.against_matching, 20_000)
    work = "factor 1-20,000, values of all openings"
    yield faster(work, duel.ours, ("rustworkx", duel.other), 20)
    worst = alone(works.worst_position, "1-100", 10, 300)
    yield within("factor 1-100 after 10 moves, all values, worst of 300", worst, 0.010)


def searches() -> Iterator[Row]:
    """Measure the deep search, interpreted and compiled."""
    interpreted, compiled = (
        "summit 1-20 target 80, value, plain Python",
        "summit 1-20 target 155, value, compiled",
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = build_yardstick(folder)
        except NoYardstickError as missing:
            ours = alone(works.summit, 80, compiled=False)
            yield Row(interpreted, duration(ours), str(missing), goal="20 x as fast")
            ours = alone(works.summit, 155, compiled=True)
            yield Row(compiled, duration(ours), str(missing), goal="2 x the time")
        else:
            easy = alone(works.summit_against_c, 80, program, 80, compiled=False)
            yield faster(interpreted, easy.ours, ("yardstick in C", easy.other), 20)
            hard = alone(works.summit_against_c, 155, program, 80, compiled=True)
            yield at_most(compiled, hard.ours, ("yardstick in C, target 80", hard.other), 2)
    draft = alone(works.draft_against_alphabeta, 30, 200)
    rival = f"alpha-beta in Python, {number(draft.positions / 1e6)} million positions"
    yield faster("draft 1-30 target 200, value", draft.ours, (rival, draft.other), 20)


def theories() -> Iterator[Row]:
    """Measure what needs no search, at sizes that nobody could search."""
    race = alone(works.whole_game, "race", blocks="1-200", target=1000)
    yield within("race 1-200 target 1,000, all openings, with plies", race, 1)


def opponents() -> Iterator[Row]:
    """Measure the computer's players, and what an arena costs besides them."""
    runner = alone(works.arena_against_bare_play, "draft", 500)
    yield at_most(
        "500 random games of draft in an arena", runner.ours, ("the bare games", runner.other), 4
    )
    for name in catalogue.list_names():
        yield within(
            f"{name}, the slowest choice of the perfect level in 20 games",
            alone(works.worst_choice, name),
            0.1,
        )
    worst = alone(works.worst_explanation, "summit")
    yield within("summit, the slowest hint with its reason in 20 games", worst, 0.1)


def executing() -> Iterator[Row]:
    """Measure many jobs on a cluster of this machine, beside its own processes.

    Dask loads NumPy, which works that are measured without it must not find in their process.
    """
    executors = import_module("executors")
    for what, job, jobs in (
        ("jobs of 1 to 10 ms", executors.compute, executors.JOBS),
        ("settings of climb", labs.make_jobs(), labs.JOBS),
    ):
        on_cluster, here = executors.compare(job, jobs)
        work = f"{jobs:,} {what}, on a Dask cluster with {executors.WORKERS} workers"
        yield faster(work, on_cluster, (f"{executors.WORKERS} local processes", here), 0.8)


def keeping_games() -> Iterator[Row]:
    """Measure what is asked of a database of very many games, the library's loading included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "games.db"
        keeping.fill(file, 100_000)
        own, took = in_turns(
            5, lambda: startup.seconds(startup.NOTHING), lambda: keeping.first_page(file)
        )
        yield within("tower history, the first page of 100,000 games", took, 1.0)
        yield at_most(
            "tower history, the first page of 100,000 games", took, (startup.NOTHING.name, own), 50
        )


def studies() -> Iterator[Row]:
    """Measure the rule lab: a study beside the plain computation, the usual sweeps, and two large ones."""
    for name in catalogue.list_names():
        options = FOLLOWED_STUDIES.get(name, {})
        duel = alone(labs.compare_with_plain, name, **options)
        rate = f"from the rules alone, {duel.positions / duel.other:,.0f} positions/s"
        work = (
            " ".join(["study", name, *options.values()])
            + f", {duel.positions / duel.ours:,.0f} positions/s"
        )
        yield faster(work, duel.ours, (rate, duel.other), 20)
    for name in catalogue.list_names():
        yield _sweep(name, None, 120)
    yield _sweep("climb", labs.CLIMBS, 600)
    yield _sweep("draft", labs.DRAFTS, 600)


def _sweep(name: str, axes: dict[str, str] | None, limit: float) -> Row:
    took = alone(labs.run_sweep, name, axes)
    what = "the usual settings" if axes is None else "a large sweep"
    work = f"tower lab {name}, {what}: {took.settings:,}, {took.too_large:,} of them too large"
    return within(work, took.seconds, limit)


SECTIONS: dict[str, tuple[str, Callable[[], Iterator[Row]]]] = {
    "starting": ("the command, until it answers", starting),
    "rulebooks": (
        "the games at their own sizes: the start and all openings, with plies, without numpy",
        rulebooks,
    ),
    "matchings": ("pairs of blocks", matchings),
    "searches": ("deep searches", searches),
    "theories": ("theories", theories),
    "opponents": ("opponents and hints", opponents),
    "executing": ("many jobs", executing),
    "keeping": ("saved games", keeping_games),
    "lab": ("the rule lab, on all cores", studies),
}
"""What can be measured, under which heading."""


def results(about: dict[str, str], table: dict[str, list[Row]]) -> str:
    """Return the page that keeps a run."""
    known = "\n".join(f"- {what}: {fact}" for what, fact in about.items())
    return f"""# How fast it is

Written by `make bench`: everything in one run, ours and the others' side by side, their answers compared wherever both
give one. The goals are the project's own. Short work is the median of several rounds, and every round solves anew.
Ours includes making what it works on; the others are timed without it.

- OpenSpiel's solver finds values and no plies. It and our plain search keep whole positions, of which `climb` has 727
  million at its own size: it is compared at a smaller one.
- rustworkx finds one maximum matching, and not the winning openings.
- The yardstick is a plain search in C with a table of 2^24 entries, and times itself.

## This run

{known}

{markdown(table)}
"""


def main() -> int:
    """Measure, print one table, and fail if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"only some of: {', '.join(SECTIONS)}"
    )
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    asked = parser.parse_args()
    unknown = [name for name in asked.sections if name not in SECTIONS]
    if unknown or (asked.sections and asked.write):
        parser.error(
            f"no such section: {', '.join(unknown)}" if unknown else "only a whole run is kept"
        )
    about = facts()
    chosen = asked.sections or SECTIONS
    table: dict[str, list[Row]] = {}
    for name in chosen:
        heading, section = SECTIONS[name]
        print(f"measuring: {heading} ...", file=sys.stderr, flush=True)
        table[heading] = list(section())
    print(aligned(table))
    if asked.write:
        _, mark, others = RESULTS.read_text(encoding="utf-8").partition("<!-- bench-")
        RESULTS.write_text(
            results(about, table) + (f"\n{mark}{others}" if mark else ""), encoding="utf-8"
        )
    return int(any(row.met is False for rows in table.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
