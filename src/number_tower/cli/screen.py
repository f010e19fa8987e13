"""A terminal, or a pipe that stands for one: asking, showing, and colour where there is someone to see it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from number_tower.cli.failure import InputEnded
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from number_tower.solve.worth import Value
    from number_tower.voice import Said

LONGEST_ANSWER = 1000
"""Characters of an answer that are looked at; no number and no command needs more."""

SEAT_COLOURS = ("36", "35")
VALUE_COLOURS: dict[Value, str] = {"win": "32", "draw": "33", "loss": "31"}

_BOLD = "1"
_COLOURS = {"refused": "33", "skipped": "33", "unreachable": "33", "end": "1;32"}


class Screen:
    """Where a game is played: plain text in a pipe, on a dumb terminal or with NO_COLOR; colour besides elsewhere."""

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                with suppress(OSError):  # a stream that was read from already was prepared before that
                    reconfigure(errors="replace")
        self.typed = sys.stdin is not None and sys.stdin.isatty()
        seen = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.fancy = seen and not os.environ.get("NO_COLOR")
        self.columns = terminal_columns(sys.stdout) if seen else sys.maxsize
        if self.typed:
            with suppress(ImportError):
                import readline  # noqa: F401, PLC0415 - gives input() its line editing; of no use in a pipe

    def ask(self, prompt: str) -> str:
        """Ask for an answer; one that was not typed is printed after its prompt, as it is part of the dialogue."""
        if self.typed:
            return self._typed_answer(prompt)
        print(prompt, end="", flush=True)
        answer = _line()
        print(shown_text(answer))
        return answer

    def _typed_answer(self, prompt: str) -> str:
        sys.stdout.flush()
        try:
            answer = input(prompt)
        except (EOFError, OSError):
            print()
            raise InputEnded from None
        except KeyboardInterrupt:
            print()
            raise
        if not sys.stdout.isatty():
            print(shown_text(answer))
        return answer

    def say(self, said: Said) -> None:
        """Show a piece of the dialogue."""
        if self.fancy and said.kind in _COLOURS:
            self.draw(paint(self._wrapped(said.text), _COLOURS[said.kind]))
        elif said.kind in {"turn", "start"}:
            self.headed(said.text, _BOLD if said.kind == "start" else f"{_BOLD};{SEAT_COLOURS[said.player]}")
        else:
            self.show(said.text)

    def headed(self, text: str, code: str = _BOLD) -> None:
        """Show text whose first line stands out where that is possible."""
        before, heading, after = _first_line(self._wrapped(text))
        self.draw(before + (paint(heading, code) if self.fancy else heading) + after)

    def show(self, text: str) -> None:
        """Show text, broken between words where the terminal would break it anywhere."""
        self.draw(self._wrapped(text))

    def listed(self, entries: Mapping[str, str]) -> None:
        """Show names and what they mean, a line each."""
        width = max(map(len, entries)) + 2
        for name, meaning in entries.items():
            text = self._wrapped(f"  {name.ljust(width)}{meaning}\n", indent=width + 2)
            self.draw(text.replace(name, paint(name, _BOLD), 1) if self.fancy else text)

    def flush(self) -> None:
        """Let everything be seen that was shown, wherever it goes: what follows may take a while."""
        sys.stdout.flush()

    def draw(self, text: str) -> None:
        """Show text exactly as it is."""
        print(text, end="")

    def _wrapped(self, text: str, indent: int = 2) -> str:
        """Break lines between words and after commas; in a pipe, leave them alone."""
        return "\n".join(_broken(line, self.columns, " " * indent) for line in text.split("\n"))


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: some letters take two, and some none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) or c in "\u200c\u200d" else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _broken(line: str, columns: int, indent: str) -> str:
    if cells(line) <= columns:
        return line
    lines = [""]
    for piece in re.findall(r"\s*[^\s,]+,*|\s*,+|\s+", line):
        if lines[-1].strip() and cells(lines[-1] + piece) > columns:
            lines.append(indent + piece.lstrip())
        else:
            lines[-1] += piece
    return "\n".join(lines)


def paint(text: str, code: str) -> str:
    """Colour each line of a text for itself, so that no colour runs on."""
    return "\n".join(f"\033[{code}m{line}\033[0m" if line else "" for line in text.split("\n"))


def terminal_columns(stream: TextIO) -> int:
    """Return how wide a terminal is, or how wide one usually is."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns if columns >= 20 else 80


def _line() -> str:
    """Read one line of the input, however long, and keep its beginning."""
    line = rest = _some()
    if not line:
        print()
        raise InputEnded
    while len(rest) == LONGEST_ANSWER and not rest.endswith("\n"):
        rest = _some()
    return line.rstrip("\r\n")


def _some() -> str:
    try:
        return "" if sys.stdin is None else sys.stdin.readline(LONGEST_ANSWER)
    except OSError:
        return ""


def _first_line(text: str) -> tuple[str, str, str]:
    before = text[: len(text) - len(text.lstrip("\n"))]
    heading, end, after = text[len(before) :].partition("\n")
    return before, heading, end + after
