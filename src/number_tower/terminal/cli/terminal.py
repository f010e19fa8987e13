"""The terminal: prompts, text with colour, and the progress of a search.

Output is plain in a pipe, on a dumb terminal, and with NO_COLOR.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, TextIO

from number_tower.support.text import count_cells, format_text
from number_tower.terminal.cli.errors import InputEndedError

if TYPE_CHECKING:
    from rich.live import Live

    from number_tower.solve.limits import Progress
    from number_tower.solve.worth import Value
    from number_tower.words.voice import Message

MAX_ANSWER = 1000
"""Characters of an answer that are read; no number and no command needs more."""

SEAT_COLOURS = ("36", "35")
VALUE_COLOURS: dict[Value, str] = {"win": "32", "draw": "33", "loss": "31"}
"""Colours are the codes of ANSI escape sequences."""

BOLD = "1"
_COLOURS = {"refused": "33", "skipped": "33", "unreachable": "33", "end": "1;32"}


class Terminal:
    """Standard input and output."""

    def __init__(self, *, colours: bool = True) -> None:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                # This fails for a stream that was read from; it was configured before that.
                with suppress(OSError):
                    reconfigure(errors="replace")
        self.interactive = sys.stdin is not None and sys.stdin.isatty()
        self._visible = is_visible(sys.stdout)
        self.colour = self._visible and colours and not os.environ.get("NO_COLOR")
        if self.interactive:
            with suppress(ImportError):
                # It gives input() its line editing, which is of no use in a pipe.
                import readline  # noqa: F401, PLC0415

    @property
    def columns(self) -> int:
        """The width of the terminal now; in a pipe, lines are as long as they need to be."""
        return get_columns(sys.stdout) if self._visible else sys.maxsize

    def ask(self, prompt: str) -> str:
        """Ask for an answer. One that the terminal does not echo is printed after its prompt."""
        if not self.interactive:
            print(prompt, end="", flush=True)
            try:
                line = "" if sys.stdin is None else sys.stdin.readline()
            except OSError:
                line = ""
            if not line:
                print()
                raise InputEndedError
            answer = line.rstrip("\r\n")[:MAX_ANSWER]
            print(format_text(answer))
            return answer
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

    def confirm(self, question: str) -> bool:
        """Ask once whether to do something; where nobody can be asked, it is done."""
        if not self.interactive:
            return True
        return self.ask(f"{question} (y, n) ").strip().lower() in {"y", "yes"}

    def show_event(self, message: Message) -> None:
        """Show a message of the game's voice; the reader's defeat without colour."""
        if message.kind in _COLOURS:
            is_defeat = message.kind == "end" and message.view == "opponent"
            code = BOLD if is_defeat else _COLOURS[message.kind]
            self.write(self.paint(self._wrap(message.text), code))
        elif message.kind in {"turn", "start"}:
            code = BOLD if message.kind == "start" else f"{BOLD};{SEAT_COLOURS[message.player]}"
            self.show_heading(message.text, code)
        else:
            self.show(message.text)

    def show_heading(self, text: str, code: str = BOLD) -> None:
        """Show text with its first line in bold, or in another colour."""
        body = text.lstrip("\n")
        heading, end, rest = body.partition("\n")
        start = "\n" * (len(text) - len(body))
        self.write(f"{start}{self.paint(self._wrap(heading), code)}{end}{self._wrap(rest)}")

    def show(self, text: str) -> None:
        """Show text, wrapped between words."""
        self.write(self._wrap(text))

    def show_list(self, entries: Mapping[str, str]) -> None:
        """Show names and their meanings, a line each."""
        width = max(map(len, entries)) + 2
        for name, meaning in entries.items():
            text = self._wrap(f"  {name.ljust(width)}{meaning}\n", indent=width + 2)
            self.write(text.replace(name, self.paint(name, BOLD), 1))

    def paint(self, text: str, code: str) -> str:
        """Colour each line of a text, where there is colour."""
        return paint(text, code) if self.colour else text

    def flush(self) -> None:
        """Flush the output before work that may take a while."""
        sys.stdout.flush()

    def write(self, text: str) -> None:
        """Show text as it is, not wrapped."""
        print(text, end="")

    def _wrap(self, text: str, indent: int = 2) -> str:
        """Wrap lines between words and after commas; in a pipe, leave them as they are."""
        lines = [wrap_line(line, self.columns, " " * indent) for line in text.split("\n")]
        return "\n".join(lines)


def wrap_line(line: str, columns: int, indent: str) -> str:
    """Break a line between words and after commas; what cannot be broken stays too long."""
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
    """Colour each line of a text on its own."""
    return "\n".join(f"\033[{code}m{line}\033[0m" if line else "" for line in text.split("\n"))


def is_visible(stream: TextIO | None) -> bool:
    """Say whether a stream goes to a terminal that understands escape sequences."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def get_columns(stream: TextIO) -> int:
    """Return the width of a terminal, or 80 where it is unknown or makes no sense."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns if columns >= 20 else 80


class SearchProgress(AbstractContextManager["SearchProgress"]):
    """Shows on standard error how far a search has come, from half a second on.

    `interrupt_hint` says what Ctrl-C does. In a game, only the time is shown.
    """

    def __init__(self, interrupt_hint: str = "stops", *, in_game: bool = False) -> None:
        self._interrupt_hint = interrupt_hint
        self._in_game = in_game
        self._visible = is_visible(sys.stderr)
        self._due = 0.5
        self._text = ""
        self._line: Live | None = None

    def __exit__(self, *_: object) -> None:
        self.clear()

    def update(self, progress: Progress) -> None:
        """Show the progress, five times a second at most."""
        if not self._visible or progress.seconds < self._due:
            return
        self._due = progress.seconds + 0.2
        text = f"{progress.seconds:,.0f} s"
        if progress.positions and not self._in_game:
            rate = progress.positions / progress.seconds
            text += f", {progress.positions:,} positions, {rate:,.0f}/s"
            text += f", table {progress.filled:.0%} full"
        doing = "thinking" if self._in_game else "searching"
        self._text = f"{doing}: {text} (Ctrl-C {self._interrupt_hint})"
        if self._line is None:
            # Most searches need no Rich.
            from number_tower.terminal.cli.console import create_status_line  # noqa: PLC0415

            self._line = create_status_line(lambda: self._text)
        self._line.start()
        self._line.refresh()

    def clear(self) -> None:
        """Remove the line, and get ready for another search."""
        if self._line is not None:
            self._line.stop()
        self._due = 0.5
