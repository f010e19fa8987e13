"""Tables and progress bars, drawn with Rich.

Rich takes longer to load than the first prompt of a game may take, so only commands that print tables or work for long
import this module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from types import MappingProxyType
from typing import Any

from rich.console import Console, JustifyMethod
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as Grid
from rich.text import Text

from number_tower.cli.terminal import BOLD, count_cells, is_visible, paint
from number_tower.text import format_path

MAX_WIDTH = 80
"""Columns of a terminal that a table takes, if its names can be shortened to that."""

MIN_NAME = 10
"""Columns that a name has even where there is little room."""

_TRANSIENT: dict[str, Any] = {
    "auto_refresh": False,  # no thread: worker processes are forked while it is shown
    "transient": True,
    "redirect_stdout": False,
    "redirect_stderr": False,
}
"""Settings of what is shown only while there is work."""

_DELAY = 0.5
"""Seconds of work before a progress bar is shown."""

_INTERVAL = 0.2
"""Seconds between two updates of a progress bar."""


def format_table(
    heads: Sequence[str],
    alignment: str,
    rows: Iterable[Sequence[str]],
    *,
    colour: bool = False,
    max_widths: Mapping[str, int] = MappingProxyType({}),
    width: int = sys.maxsize,
) -> str:
    """Return a table without lines, as wide as it needs to be, without spaces at the ends of lines.

    `alignment` has `<` or `>` for each column; cells may be painted; `max_widths` has columns that are cut. Where the
    table is wider than `width`, those columns are cut to what is left, or each row is written in several lines.
    """
    rows = list(rows)
    text = _draw_table(heads, alignment, rows, colour=colour, max_widths=max_widths)
    excess = measure_width(text) - width
    if excess <= 0:
        return text
    room = _share_room(heads, rows, max_widths, excess)
    if room is None:
        return _stack_rows(heads, alignment, rows, width, colour=colour)
    return _draw_table(heads, alignment, rows, colour=colour, max_widths=room)


def measure_width(text: str) -> int:
    """Return the width of the longest line of a text, which may be painted."""
    return max((count_cells(Text.from_ansi(line).plain) for line in text.splitlines()), default=0)


def _share_room(
    heads: Sequence[str], rows: Sequence[Sequence[str]], max_widths: Mapping[str, int], excess: int
) -> dict[str, int] | None:
    """Return narrower widths for the columns that may be cut, the widest cut first; None if that is not enough."""
    widths = {}
    for place, head in enumerate(heads):
        if head in max_widths:
            widths[head] = min(
                max_widths[head], max(measure_width(row[place]) for row in (heads, *rows))
            )
    while excess > 0:
        widest = max(widths, key=lambda head: widths[head], default=None)
        if widest is None or widths[widest] <= MIN_NAME:
            return None
        widths[widest] -= 1
        excess -= 1
    return widths


def _stack_rows(
    heads: Sequence[str], alignment: str, rows: Sequence[Sequence[str]], width: int, *, colour: bool
) -> str:
    """Write each row in as many lines as it needs, with its numbers after their heads."""
    lines = [paint(heads[0], BOLD) if colour else heads[0]] if alignment[0] == "<" else []
    first = max(measure_width(row[0]) for row in rows)
    for row in rows:
        line = row[0].rjust(first) if alignment[0] == ">" else row[0]
        for head, side, cell in list(zip(heads, alignment, row, strict=True))[1:]:
            if not cell:
                continue
            piece = f"{head} {cell}" if side == ">" and head else cell
            if measure_width(f"{line}  {piece}") > width:
                lines.append(line)
                line = _cut(" " * (first + 2 if alignment[0] == ">" else 4) + piece, width)
            else:
                line += f"  {piece}"
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _cut(text: str, width: int) -> str:
    """Return a text that fits into a width; what is cut loses its colour."""
    if measure_width(text) <= width:
        return text
    plain = Text.from_ansi(text)
    plain.truncate(width, overflow="ellipsis")
    return plain.plain


def _draw_table(
    heads: Sequence[str],
    alignment: str,
    rows: Iterable[Sequence[str]],
    *,
    colour: bool,
    max_widths: Mapping[str, int],
) -> str:
    table = Grid(box=None, padding=(0, 1), pad_edge=False, header_style="none")
    for head, side in zip(heads, alignment, strict=True):
        justify: JustifyMethod = "left" if side == "<" else "right"
        table.add_column(head, justify=justify, no_wrap=True, max_width=max_widths.get(head))
    for row in rows:
        table.add_row(*map(Text.from_ansi, row))
    console = Console(
        width=sys.maxsize,
        force_terminal=colour,
        color_system="standard" if colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(table)
    heading, *rows = (line.rstrip() for line in capture.get().splitlines())
    return "".join(f"{line}\n" for line in (paint(heading, BOLD) if colour else heading, *rows))


def render_ranking(
    players: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> str:
    """Return a table with a numbered line for each player; names are shortened to fit into the width."""

    def build(longest_name: int) -> str:
        named = [
            (name, *row)
            for name, row in zip(number_names(players, longest_name), rows, strict=True)
        ]
        return format_table(["     player", *heads], "<" + ">" * len(heads), named)

    longest_name = max(map(len, players))
    text = build(longest_name)
    excess = measure_width(text) - width
    if excess > 0:
        text = build(longest_name - excess)
    if width >= MAX_WIDTH or measure_width(text) <= width:
        return text
    named = [(name, *row) for name, row in zip(number_names(players, width - 5), rows, strict=True)]
    return _stack_rows(["     player", *heads], "<" + ">" * len(heads), named, width, colour=False)


def number_names(players: Sequence[str], longest_name: int) -> list[str]:
    """Return the players' names after their places, shortened where they are longer than that."""
    return [
        f"{place:3}  {format_path(player, max(longest_name, MIN_NAME))}"
        for place, player in enumerate(players, 1)
    ]


class _RateColumn(ProgressColumn):
    """How many things are done in a second, once that is known."""

    def render(self, task: Task) -> Text:
        """Return the rate of a task."""
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")


@contextmanager
def show_progress(unit: str, interrupt_hint: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error until the work is done; yields the function that updates it.

    `unit` is what is counted, in the plural; `interrupt_hint` says what Ctrl-C does.
    """
    progress = Progress(
        TextColumn(f"  {{task.completed:,.0f}} of {{task.total:,.0f}} {unit}"),
        BarColumn(20),
        TaskProgressColumn(),
        _RateColumn(),
        TimeRemainingColumn(),
        TextColumn(f"(Ctrl-C {interrupt_hint})"),
        console=Console(stderr=True),
        **_TRANSIENT,
        disable=not is_visible(sys.stderr),
    )
    task = progress.add_task("", total=None)
    due = 0.0

    def update(done: int, total: int) -> None:
        nonlocal due
        if not due:
            due = monotonic() + _DELAY
            progress.reset(task, completed=done, total=total)
        progress.update(task, completed=done, total=total)
        if monotonic() >= due:
            due = monotonic() + _INTERVAL
            progress.start()
            progress.refresh()

    try:
        yield update
    finally:
        progress.stop()


def create_status_line(get_text: Callable[[], str]) -> Live:
    """Return a line on standard error; it is shown when it is started and refreshed, and gone when it is stopped."""
    return Live(
        console=Console(stderr=True, highlight=False),
        get_renderable=lambda: Text(get_text(), no_wrap=True, overflow="ellipsis"),
        **_TRANSIENT,
    )
