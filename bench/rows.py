"""One table of what was measured: how it is printed, and how it is saved in bench/RESULTS.md."""

from __future__ import annotations

import argparse
import sys
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from machine import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

RESULTS = Path(__file__).with_name("RESULTS.md")
HEADS = ("work", "ours", "the other", "ratio", "goal", "")


@dataclass(frozen=True)
class Row:
    """One measurement beside another's or a goal; `met` is None where there is no goal."""

    work: str
    ours: str
    other: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands in the columns."""
        verdict = ""
        if self.met is False:
            verdict = "MISSED"
        elif self.goal and self.met is None:
            verdict = "not measured"
        return (*astuple(self)[:-1], verdict)


def within(work: str, ours: float, limit: float) -> Row:
    """Make the row of work that may take a number of seconds."""
    return Row(work, duration(ours), goal=duration(limit), met=ours <= limit)


def faster(work: str, ours: float, other: tuple[str, float], times: float | None = None) -> Row:
    """Make the row of work for which another should take a number of times as long."""
    name, theirs = other
    ratio = theirs / ours
    row = Row(work, duration(ours), f"{name}: {duration(theirs)}", f"{number(ratio)} x as fast")
    if times is None:
        return row
    return replace(row, goal=f"{times:g} x as fast", met=ratio >= times)


def at_most(work: str, ours: float, other: tuple[str, float], times: float) -> Row:
    """Make the row of work that may take a number of times as long as another's."""
    name, theirs = other
    ratio = ours / theirs
    shown = f"{name}: {duration(theirs)}"
    times_shown = f"{number(ratio)} x the time"
    return Row(work, duration(ours), shown, times_shown, f"{times:g} x the time", ratio <= times)


def duration(seconds: float) -> str:
    """Write a time with three figures that count."""
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1000)} ms"


def number(amount: float) -> str:
    """Write a number with three figures that count, and without an exponent."""
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"


def markdown(sections: Mapping[str, list[Row]]) -> str:
    """Return the table as Markdown, each section under a line with its name."""
    lines = [HEADS, ("---",) * len(HEADS)]
    for name, rows in sections.items():
        lines += [(f"**{name}**", "", "", "", "", ""), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |".replace("  ", " ") for cells in lines)


def replace_section(page: str, begin: str, section: str, end: str) -> str:
    """Return a page with a section in place of the one between two marks, or at its end."""
    before, found, rest = page.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    return f"{before.rstrip()}\n\n{section}{after}"


def measure(
    mark: str,
    sections: Mapping[str, tuple[str, Callable[[], Iterator[Row]]]],
    packages: tuple[str, ...],
) -> int:
    """Measure sections, print their table, and return 1 if a goal is missed.

    A section has a name and a heading. With `--write`, the table replaces the one between two marks
    in RESULTS.md.
    """
    parser = argparse.ArgumentParser(
        description=f"Measure; without a SECTION, {', '.join(sections)}."
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="measure only this")
    parser.add_argument("--write", action="store_true", help=f"save a whole run in {RESULTS.name}")
    asked = parser.parse_args()
    if set(asked.sections) - set(sections):
        parser.error(f"expected some of {', '.join(sections)}")
    if asked.sections and asked.write:
        parser.error("only a whole run is saved")
    # A part may be measured where not everything is installed.
    machine = facts(packages) if asked.write else {}
    about = "\n".join(f"- {what}: {fact}" for what, fact in machine.items())
    table = dict[str, list[Row]]()
    for name in asked.sections or sections:
        heading, section = sections[name]
        print(f"measuring: {heading} ...", file=sys.stderr, flush=True)
        table[heading] = list(section())
    print(markdown(table))
    if asked.write:
        begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        run = f"{begin}\n{about}\n\n{markdown(table)}\n{end}"
        RESULTS.write_text(replace_section(RESULTS.read_text("utf-8"), begin, run, end), "utf-8")
    return int(any(row.met is False for rows in table.values() for row in rows))
