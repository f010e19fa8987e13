"""Tables and progress bars, drawn with Rich.

Rich takes longer to load than the first prompt of a game may take, so only commands that print
tables or work for long import this module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
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

from number_tower.support.text import format_path
from number_tower.terminal.cli.terminal import is_visible

MAX_WIDTH = 80
"""Columns of a terminal that a table takes at most."""

_TRANSIENT: dict[str, Any] = {
    "auto_refresh": False,  # no thread: worker processes are forked while it is shown
    "transient": True,
    "redirect_stdout": False,
    "redirect_stderr": False,
}
"""Settings of what is shown only while there is work."""

_NAME = 24
"""Characters of a player's name; of a longer command, the end is shown."""

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
    width: int = sys.maxsize,
) -> str:
    """Return a table without lines; what is too wide is continued below.

    `alignment` has `<` or `>` for each column; cells may be painted.
    """
    table = Grid(
        box=None, padding=(0, 1), pad_edge=False, header_style="bold" if colour else "none"
    )
    for head, side in zip(heads, alignment, strict=True):
        table.add_column(head, justify="left" if side == "<" else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text.from_ansi, row))
    console = Console(
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def format_ranking(
    players: Sequence[str],
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = sys.maxsize,
) -> str:
    """Return a table with a numbered line for each player."""
    named = [
        (f"{place:3}", format_path(player, _NAME), *row)
        for place, (player, row) in enumerate(zip(players, rows, strict=True), 1)
    ]
    return format_table(["", "player", *heads], "><" + ">" * len(heads), named, width=width)


class _RateColumn(ProgressColumn):
    """How many things are done in a second, once that is known."""

    def render(self, task: Task) -> Text:
        """Return the rate of a task."""
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")


@contextmanager
def show_progress(unit: str, interrupt_hint: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error; yield the function that updates it.

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
        # Short work shows no bar.
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
    """Return a line on standard error that is shown from its start until it is stopped."""
    return Live(
        console=Console(stderr=True, highlight=False),
        get_renderable=lambda: Text(get_text(), no_wrap=True, overflow="ellipsis"),
        **_TRANSIENT,
    )
