"""How far long work has come, told while it lasts and gone when it is done."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

from number_tower.cli.screen import terminal_columns

if TYPE_CHECKING:
    from number_tower.solve.limits import Progress


class Ticker:
    """A line on the terminal that says how far long work has come, and goes away when it is done.

    `leaving` says what Ctrl-C does; in a game, where nobody asked for a search, that and the time are all that is told.
    """

    def __init__(self, leaving: str = "stops", *, in_game: bool = False) -> None:
        self._leaving = leaving
        self._in_game = in_game
        self._shows = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = 0.5
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def tick(self, progress: Progress) -> None:
        """Show the progress, not more often than people can read it."""
        if not self._shows or progress.seconds < self._next:
            return
        self._next = progress.seconds + 0.2
        self._shown = True
        text = f"{progress.seconds:,.0f} s"
        if progress.positions and not self._in_game:
            rate = progress.positions / progress.seconds
            text += f", {progress.positions:,} positions, {rate:,.0f}/s, table {progress.filled:.0%} full"
        work = "thinking" if self._in_game else "searching"
        line = f"{work}: {text} (Ctrl-C {self._leaving})"[: terminal_columns(sys.stderr) - 1]
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._next = 0.5
        self._shown = False
