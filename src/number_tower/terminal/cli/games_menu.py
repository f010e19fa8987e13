"""The games as a list, and the question which of them a call is about."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple

from number_tower.engine import catalogue
from number_tower.support.text import format_value, suggest_nearest
from number_tower.terminal.cli import Terminal
from number_tower.terminal.cli.errors import report_stop
from number_tower.terminal.cli.input import parse_input
from number_tower.terminal.cli.main import SUMMARIES


def show_games(terminal: Terminal, *, numbered: bool = False) -> None:
    """List the games with their summaries, perhaps with their numbers in the menu."""
    entries = {}
    for number, book in enumerate(catalogue.load_all(), 1):
        entries[f"{number}  {book.name}" if numbered else book.name] = book.summary
    terminal.show_list(entries)


class GameAnswer(NamedTuple):
    """The game that a call is about, None where nobody can be asked; and the level after it."""

    game: str | None
    level: str | None = None


def ask_for_game(args: Namespace, terminal: Terminal) -> GameAnswer | None:
    """Ask which game a call is about, if it names none; return None if the answer is quit."""
    level = getattr(args, "level", None)
    if args.game is not None or not terminal.interactive:
        return GameAnswer(args.game, level)
    show_games(terminal, numbered=True)
    while True:
        answer = ask_which(terminal)
        if parse_input(answer).command == "quit":
            return None
        name, *words = answer.split() or [""]
        if (game := parse_game(name)) is not None:
            return GameAnswer(game, level or (words[-1] if words else None))
        advice = "Type a number or a name from the list, or quit."
        terminal.show(f"{format_misunderstood(answer)} {advice}\n")


def ask_which(terminal: Terminal) -> str:
    """Ask for a game, or whatever is typed instead."""
    with report_stop("the input ended before a game was chosen"):
        return terminal.ask("Which game? ").strip()


def format_misunderstood(answer: str) -> str:
    """Say what is not known, and ask whether something similar was meant."""
    words = (*catalogue.list_names(), *SUMMARIES, "help", "quit")
    nearest = suggest_nearest(answer.partition(" ")[0], words)
    return f"I do not know {format_value(answer)}{nearest or '.'}"


def parse_game(text: str) -> str | None:
    """Return a rule file, or the game of this number or beginning."""
    names = catalogue.list_names()
    if text.endswith(".toml"):
        return text
    if text.isascii() and text.isdigit():
        return names[int(text) - 1] if 0 < int(text) <= len(names) else None
    begun = [name for name in names if text and name.startswith(text.lower())]
    return begun[0] if len(begun) == 1 else None
