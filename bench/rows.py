"""One table of all that was measured: on a terminal as aligned columns, in a file as Markdown."""

from __future__ import annotations

from dataclasses import astuple, dataclass

HEADS = ("work", "ours", "the other", "ratio", "goal", "")


@dataclass(frozen=True)
class Row:
    """One measurement: the work, our time, whom it is compared with, and whether the goal was met (None: no goal)."""

    work: str
    ours: str
    other: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands in the columns."""
        verdict = (
            "MISSED"
            if self.met is False
            else "not measured"
            if self.goal and self.met is None
            else ""
        )
        return (*astuple(self)[:-1], verdict)


def within(work: str, ours: float, limit: float) -> Row:
    """Make the row of work that may take so many seconds."""
    return Row(work, duration(ours), goal=duration(limit), met=ours <= limit)


def faster(work: str, ours: float, other: tuple[str, float], times: float | None = None) -> Row:
    """Make the row of work that should take another, given by its name, so many times as long."""
    name, theirs = other
    ratio = theirs / ours
    goal = "" if times is None else f"{times:g} x as fast"
    met = None if times is None else ratio >= times
    return Row(
        work, duration(ours), f"{name}: {duration(theirs)}", f"{number(ratio)} x as fast", goal, met
    )


def at_most(work: str, ours: float, other: tuple[str, float], times: float) -> Row:
    """Make the row of work that may take so many times as long as another's, given by its name."""
    name, theirs = other
    ratio = ours / theirs
    shown = f"{name}: {duration(theirs)}"
    return Row(
        work,
        duration(ours),
        shown,
        f"{number(ratio)} x the time",
        f"{times:g} x the time",
        ratio <= times,
    )


def duration(seconds: float) -> str:
    """Write a time with three figures that count."""
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1000)} ms"


def number(amount: float) -> str:
    """Write a number with three figures that count, and without an exponent."""
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"


def aligned(sections: dict[str, list[Row]]) -> str:
    """Return the table in columns, each section under its name."""
    lines = [HEADS, *(row.cells for rows in sections.values() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(
            cell.ljust(width) for cell, width in zip(cells, widths, strict=True)
        ).rstrip()

    parts = [line(HEADS)]
    for name, rows in sections.items():
        parts += ["", name, *(line(row.cells) for row in rows)]
    return "\n".join(parts)


def markdown(sections: dict[str, list[Row]]) -> str:
    """Return the table as Markdown, each section under a line with its name."""

    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(cells)} |".replace("  ", " ")

    parts = [line(HEADS), "|---|---|---|---|---|---|"]
    for name, rows in sections.items():
        parts += [line((f"**{name}**", "", "", "", "", "")), *(line(row.cells) for row in rows)]
    return "\n".join(parts)


def replace_section(page: str, begin: str, section: str, end: str) -> str:
    """Return a page of results with a section in the place of the one between two marks, or at its end."""
    before, found, rest = page.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    return f"{before.rstrip()}\n\n{section}{after}"
