"""A terminal, or a pipe that stands for one: asking, showing, and colour where there is someone to see it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from number_tower.cli.failure import InputEnded

if TYPE_CHECKING:
    from number_tower.voice import Said

LONGEST_ANSWER = 1000
"""Characters of an answer that are looked at; no number and no command needs more."""

SEAT_COLOURS = ("36", "35")

_BOLD = "1"
_COLOURS = {"refused": "33", "skipped": "33", "unreachable": "33", "end": "1;32"}


class Screen:
    """Where a game is played: plain text in a pipe, on a dumb terminal or with NO_COLOR; colour besides elsewhere."""

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="replace")
        self.typed = sys.stdin is not None and sys.stdin.isatty()
        seen = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.fancy = seen and not os.environ.get("NO_COLOR")
        self._columns = _columns() if seen else sys.maxsize
        if self.typed:
            import readline  # noqa: F401, PLC0415 - gives input() its line editing; of no use in a pipe

    def ask(self, prompt: str) -> str:
        """Ask for an answer; one that was not typed is printed after its prompt, as it is part of the dialogue."""
        if self.typed:
            sys.stdout.flush()
            try:
                return input(prompt)
            except EOFError:
                print()
                raise InputEnded from None
        print(prompt, end="", flush=True)
        answer = _line()
        print(visible(answer))
        return answer

    def say(self, said: Said) -> None:
        """Show a piece of the dialogue."""
        kind = said.moment.partition("_")[0]
        text = self._wrapped(said.text)
        if not self.fancy:
            self.show(text)
        elif kind in _COLOURS:
            self.show(paint(text, _COLOURS[kind]))
        elif kind in {"turn", "start"}:
            code = _BOLD if kind == "start" else f"{_BOLD};{SEAT_COLOURS[said.player]}"
            before, heading, after = _first_line(text)
            self.show(before + paint(heading, code) + after)
        else:
            self.show(text)

    def show(self, text: str) -> None:
        """Show text as it is."""
        print(text, end="")

    def _wrapped(self, text: str) -> str:
        """Break lines between words where the terminal would break them anywhere; in a pipe, leave them alone."""
        lines = text.split("\n")
        if max(map(len, lines)) <= self._columns:
            return text
        from textwrap import fill  # noqa: PLC0415 - only for lines that are too long

        return "\n".join(fill(line, self._columns, subsequent_indent="  ") for line in lines)

    def strong(self, text: str) -> str:
        """Return text that stands out where that is possible."""
        return paint(text, _BOLD) if self.fancy else text


def paint(text: str, code: str) -> str:
    """Colour each line of a text for itself, so that no colour runs on."""
    return "\n".join(f"\033[{code}m{line}\033[0m" if line else "" for line in text.split("\n"))


def visible(text: str, most: int = 200) -> str:
    """Return typed text fit to be shown: cut short, and with nothing in it that a terminal would act on."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= most else clean[: most - 3] + "..."


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        columns = 0
    return columns if columns >= 20 else 80


def _line() -> str:
    if sys.stdin is None:
        print()
        raise InputEnded
    line = sys.stdin.readline(LONGEST_ANSWER)
    if not line:
        print()
        raise InputEnded
    rest = line
    while len(rest) == LONGEST_ANSWER and not rest.endswith("\n"):
        rest = sys.stdin.readline(LONGEST_ANSWER)
    return line.rstrip("\r\n")


def _first_line(text: str) -> tuple[str, str, str]:
    start = len(text) - len(text.lstrip("\n"))
    end = text.find("\n", start)
    return text[:start], text[start:end], text[end:]
