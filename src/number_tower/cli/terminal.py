"""A terminal, or a pipe that stands for one: asking, showing, and colour where there is someone to see it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from number_tower.cli.errors import InputEndedError
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from number_tower.game import Game
    from number_tower.solve.worth import Value
    from number_tower.table import Table
    from number_tower.voice import Message, Voice

LONGEST_ANSWER = 1000


"""Characters of an answer that are looked at; no number and no command needs more."""


SEAT_COLOURS = ("36", "35")


VALUE_COLOURS: dict[Value, str] = {"win": "32", "draw": "33", "loss": "31"}


_BOLD = "1"


_COLOURS = {"refused": "33", "skipped": "33", "unreachable": "33", "end": "1;32"}


class Terminal:
    """Where a game is played: plain text in a pipe, on a dumb terminal or with NO_COLOR; colour besides elsewhere."""

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                with suppress(OSError):  # a stream that was read from already was prepared before that
                    reconfigure(errors="replace")
        self.interactive = sys.stdin is not None and sys.stdin.isatty()
        seen = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colour = seen and not os.environ.get("NO_COLOR")
        self.columns = get_columns(sys.stdout) if seen else sys.maxsize
        if self.interactive:
            with suppress(ImportError):
                import readline  # noqa: F401, PLC0415 - gives input() its line editing; of no use in a pipe

    def ask(self, prompt: str) -> str:
        """Ask for an answer; one that was not typed is printed after its prompt, as it is part of the dialogue."""
        if self.interactive:
            return self._read_typed(prompt)
        print(prompt, end="", flush=True)
        answer = _read_line()
        print(format_text(answer))
        return answer

    def _read_typed(self, prompt: str) -> str:
        sys.stdout.flush()
        try:
            answer = input(prompt)
        except (EOFError, OSError):
            print()
            raise InputEndedError from None
        except KeyboardInterrupt:
            print()
            raise
        if not sys.stdout.isatty():
            print(format_text(answer))
        return answer

    def show_event(self, said: Message) -> None:
        """Show a piece of the dialogue."""
        if self.colour and said.kind in _COLOURS:
            self.write(paint(self._wrap(said.text), _COLOURS[said.kind]))
        elif said.kind in {"turn", "start"}:
            self.show_heading(said.text, _BOLD if said.kind == "start" else f"{_BOLD};{SEAT_COLOURS[said.player]}")
        else:
            self.show(said.text)

    def show_heading(self, text: str, code: str = _BOLD) -> None:
        """Show text whose first line stands out where that is possible."""
        before, heading, after = _split_heading(self._wrap(text))
        self.write(before + (paint(heading, code) if self.colour else heading) + after)

    def show(self, text: str) -> None:
        """Show text, broken between words where the terminal would break it anywhere."""
        self.write(self._wrap(text))

    def show_list(self, entries: Mapping[str, str]) -> None:
        """Show names and what they mean, a line each."""
        width = max(map(len, entries)) + 2
        for name, meaning in entries.items():
            text = self._wrap(f"  {name.ljust(width)}{meaning}\n", indent=width + 2)
            self.write(text.replace(name, paint(name, _BOLD), 1) if self.colour else text)

    def flush(self) -> None:
        """Let everything be seen that was shown, wherever it goes: what follows may take a while."""
        sys.stdout.flush()

    def write(self, text: str) -> None:
        """Show text exactly as it is."""
        print(text, end="")

    def _wrap(self, text: str, indent: int = 2) -> str:
        """Break lines between words and after commas; in a pipe, leave them alone."""
        return "\n".join(_wrap_line(line, self.columns, " " * indent) for line in text.split("\n"))


def count_cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: some letters take two, and some none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) or c in "\u200c\u200d" else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _wrap_line(line: str, columns: int, indent: str) -> str:
    if count_cells(line) <= columns:
        return line
    lines = [""]
    for piece in re.findall(r"\s*[^\s,]+,*|\s*,+|\s+", line):
        if lines[-1].strip() and count_cells(lines[-1] + piece) > columns:
            lines.append(indent + piece.lstrip())
        else:
            lines[-1] += piece
    return "\n".join(lines)


def paint(text: str, code: str) -> str:
    """Colour each line of a text for itself, so that no colour runs on."""
    return "\n".join(f"\033[{code}m{line}\033[0m" if line else "" for line in text.split("\n"))


def get_columns(stream: TextIO) -> int:
    """Return how wide a terminal is, or how wide one usually is."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns if columns >= 20 else 80


def _read_line() -> str:
    """Read one line of the input, however long, and keep its beginning."""
    line = rest = _read_chunk()
    if not line:
        print()
        raise InputEndedError
    while len(rest) == LONGEST_ANSWER and not rest.endswith("\n"):
        rest = _read_chunk()
    return line.rstrip("\r\n")


def _read_chunk() -> str:
    try:
        return "" if sys.stdin is None else sys.stdin.readline(LONGEST_ANSWER)
    except OSError:
        return ""


def _split_heading(text: str) -> tuple[str, str, str]:
    before = text[: len(text) - len(text.lstrip("\n"))]
    heading, end, after = text[len(before) :].partition("\n")
    return before, heading, end + after


MOST_ROWS = 12


_WIDEST = 8


_EDGES = (("[", "]"), ("(", ")"))


def draw_towers(table: Table, voice: Voice, columns: int, *, colour: bool = False) -> str:
    """Draw what stands on the table: two towers side by side if there is room, else one below the other."""
    game = table.game
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    placed = list(zip(game.moves, game.movers, strict=True))
    if game.rules.towers == "shared":
        tower = _draw_column(table, placed, [_format_caption(game, 0)], colour=colour)
        legend = [f"{left} {right} {name}" for (left, right), name in zip(_EDGES, names, strict=True)]
        apart = "   " if count_cells("".join(legend)) + 5 <= columns else "\n  "
        return _join_columns([tower]) + f"  {apart.join(legend)}\n"
    towers = [
        _draw_column(
            table,
            [(block, mover) for block, mover in placed if mover == player],
            [names[player], _format_caption(game, player)],
            colour=colour,
        )
        for player in (0, 1)
    ]
    if sum(max(count_cells(plain) for plain, _ in tower) + 2 for tower in towers) <= columns:
        return _join_columns(towers)
    return "".join(_join_columns([tower]) for tower in towers)


def _format_caption(game: Game, player: int) -> str:
    """Say how high a tower is, where that matters, or else what lies on top."""
    if game.rules.target is not None:
        return f"height {game.heights[player]} of {game.rules.target}"
    if game.rules.stuck == "skips":
        return f"height {game.heights[player]}"
    return f"top {game.position.tops[player]}" if game.position.tops[player] else "empty"


def _draw_column(
    table: Table, placed: list[tuple[int, int]], captions: list[str], *, colour: bool
) -> list[tuple[str, str]]:
    """Return the rows of one tower from the top down, each plain, to be measured, and as it is shown."""
    largest = table.game.rules.blocks[-1]
    rows: list[tuple[str, str]] = []
    for block, mover in reversed(placed[-MOST_ROWS:]):
        left, right = _EDGES[mover]
        side = " " * (1 + _WIDEST * block // largest)
        row = f"{left}{side}{block}{side}{right}"
        rows.append((row, paint(row, SEAT_COLOURS[mover]) if colour else row))
    if len(placed) > MOST_ROWS:
        rows.append((more := f"({len(placed) - MOST_ROWS:,} more below)", more))
    ground = "=" * (len(str(largest)) + 4 + 2 * _WIDEST)
    return [*rows, (ground, ground), *((text, text) for text in captions)]


def _join_columns(columns: list[list[tuple[str, str]]]) -> str:
    height = max(map(len, columns))
    widths = [max(count_cells(plain) for plain, _ in column) for column in columns]
    lines: list[str] = []
    for row in range(height):
        line = ""
        for column, width in zip(columns, widths, strict=True):
            plain, shown = column[row - height] if row >= height - len(column) else ("", "")
            indent = (width - count_cells(plain)) // 2
            line += "  " + " " * indent + shown + " " * (width - count_cells(plain) - indent)
        lines.append(line.rstrip())
    return "\n" + "\n".join(lines) + "\n"
