"""Bars of plain characters: how parts make up a whole, and how far long work has come."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Self

from number_tower.cli.terminal import count_cells, get_columns, paint
from number_tower.text import format_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.solve.limits import Progress

BAR_WIDTH = 20


"""Characters of a bar where there is room for it."""


BAR_MARKS = "#."


"""What is done, or right, and what is not."""


def draw_bar(parts: Sequence[int], marks: str = BAR_MARKS, width: int = BAR_WIDTH, colours: Sequence[str] = ()) -> str:
    """Draw a bar: each part by a mark of its own, as long as its share; nothing that is there is left out."""
    pieces = [mark * size for mark, size in zip(marks, split_width(parts, width), strict=True)]
    if colours:
        pieces = [paint(piece, colour) for piece, colour in zip(pieces, colours, strict=True)]
    return f"[{''.join(pieces)}]"


def split_width(parts: Sequence[int], width: int) -> list[int]:
    """Return how many characters of a bar belong to each part: by its share, but one at least for what is there."""
    whole = sum(parts) or 1
    sizes = [max(part * width // whole, bool(part)) for part in parts]
    while any(parts) and (left := width - sum(sizes)):
        step = 1 if left > 0 else -1
        places = [place for place, size in enumerate(sizes) if parts[place] and (step > 0 or size > 1)]
        sizes[max(places, key=lambda place: step * (parts[place] * width - sizes[place] * whole))] += step
    return sizes


class ProgressBar:
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

    def update(self, done: int, total: int) -> None:
        """Show how many games are finished, not more often than people can read it."""
        now = monotonic()
        if self._begun is None:
            self._begun, self._since, self._next = done, now, now + 0.5
        if not self._shows or now < self._next:
            return
        self._next = now + 0.2
        self._shown = True
        columns = get_columns(sys.stderr) - 1
        line = format_progress(
            done, total, done - self._begun, now - self._since, columns, self._leaving, what=self._what
        )
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def format_progress(  # noqa: PLR0913 - all that the line is made of
    done: int, total: int, just: int, seconds: float, columns: int, leaving: str, *, what: str = "games"
) -> str:
    """Say how many games are finished and how long the others may take, as just now so many took so many seconds."""
    text = f"  {done:,} of {total:,} {what}  {draw_bar((done, total - done))} {done / total:4.0%}"
    left = f"  {_format_time((total - done) * seconds / just)} left" if just and done < total else ""
    for more in (f"{left}  (Ctrl-C {leaving})", left):
        if len(text + more) <= columns:
            return text + more
    return text[:columns]


def _format_time(seconds: float) -> str:
    if seconds < 100:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 100 * 60 else f"about {round(seconds / 3600)} h"


TABLE_WIDTH = 80


"""Columns that are used at most."""


_LEAST_NAME = 10


"""Columns that a name has even where there is little room."""


def format_ranking(players: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Write a line for each player, in this order; names have the room that is left."""
    sizes = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["".join(f"  {cell:>{size}}" for cell, size in zip(row, sizes, strict=True)) for row in (head, *rows)]
    names = pad_labels(["     player", *number_players(players, width - len(lines[0]))])
    return "".join(f"{name}{line}\n" for name, line in zip(names, lines, strict=True))


def number_players(players: Sequence[str], most: int) -> list[str]:
    """Return the players' names with their places, none longer than there is room for."""
    places = [f"{place:3}  " for place, _ in enumerate(players, 1)]
    return [
        place + format_path(player, max(most - len(place), _LEAST_NAME))
        for place, player in zip(places, players, strict=True)
    ]


def pad_labels(labels: list[str]) -> list[str]:
    """Make all labels as wide as the widest."""
    width = max(map(count_cells, labels))
    return [label + " " * (width - count_cells(label)) for label in labels]


class SearchProgress:
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

    def update(self, progress: Progress) -> None:
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
        line = f"{work}: {text} (Ctrl-C {self._leaving})"[: get_columns(sys.stderr) - 1]
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._next = 0.5
        self._shown = False
