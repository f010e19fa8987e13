"""Bars of plain characters: how parts make up a whole, and how far long work has come."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING

from number_tower.cli.screen import paint, terminal_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 20
"""Characters of a bar where there is room for it."""

DONE = "#."
"""What is done, or right, and what is not."""


def drawn(parts: Sequence[int], marks: str = DONE, width: int = WIDTH, colours: Sequence[str] = ()) -> str:
    """Draw a bar: each part by a mark of its own, as long as its share; nothing that is there is left out."""
    pieces = [mark * size for mark, size in zip(marks, shares(parts, width), strict=True)]
    if colours:
        pieces = [paint(piece, colour) for piece, colour in zip(pieces, colours, strict=True)]
    return f"[{''.join(pieces)}]"


def shares(parts: Sequence[int], width: int) -> list[int]:
    """Return how many characters of a bar belong to each part: by its share, but one at least for what is there."""
    whole = sum(parts) or 1
    sizes = [max(part * width // whole, bool(part)) for part in parts]
    while any(parts) and (left := width - sum(sizes)):
        step = 1 if left > 0 else -1
        places = [place for place, size in enumerate(sizes) if parts[place] and (step > 0 or size > 1)]
        sizes[max(places, key=lambda place: step * (parts[place] * width - sizes[place] * whole))] += step
    return sizes


class Bar:
    """A line on the terminal that fills as games are finished, or other things, and goes away when all are.

    `leaving` says what Ctrl-C does.
    """

    def __init__(self, leaving: str, what: str = "games") -> None:
        self._leaving = leaving
        self._what = what
        self._shows = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False
        self._begun: int | None = None
        self._since = self._next = 0.0

    def tick(self, done: int, total: int) -> None:
        """Show how many games are finished, not more often than people can read it."""
        now = monotonic()
        if self._begun is None:
            self._begun, self._since, self._next = done, now, now + 0.5
        if not self._shows or now < self._next:
            return
        self._next = now + 0.2
        self._shown = True
        columns = terminal_columns(sys.stderr) - 1
        line = progress(done, total, done - self._begun, now - self._since, columns, self._leaving, what=self._what)
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def progress(  # noqa: PLR0913 - all that the line is made of
    done: int, total: int, just: int, seconds: float, columns: int, leaving: str, *, what: str = "games"
) -> str:
    """Say how many games are finished and how long the others may take, as just now so many took so many seconds."""
    text = f"  {done:,} of {total:,} {what}  {drawn((done, total - done))} {done / total:4.0%}"
    left = f"  {_time((total - done) * seconds / just)} left" if just and done < total else ""
    for more in (f"{left}  (Ctrl-C {leaving})", left):
        if len(text + more) <= columns:
            return text + more
    return text[:columns]


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 100 * 60 else f"about {round(seconds / 3600)} h"
