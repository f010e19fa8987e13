"""`tower` alone: a menu of the games."""

from __future__ import annotations

from argparse import Namespace

from number_tower.engine import catalogue
from number_tower.support.text import make_sentence
from number_tower.terminal.cli import CommandError, Terminal
from number_tower.terminal.cli.app import open_app, opens_app
from number_tower.terminal.cli.errors import PlayStoppedError
from number_tower.terminal.cli.games_menu import (
    ask_which,
    format_misunderstood,
    parse_game,
    show_games,
)
from number_tower.terminal.cli.input import parse_input
from number_tower.terminal.cli.main import SUMMARIES, run_command


def run(args: Namespace, terminal: Terminal) -> None:
    """Open the full-screen app where it can be shown, and else the menu."""
    if opens_app(args):
        open_app(args)
    else:
        _run_menu(args, terminal)


def _run_menu(args: Namespace, terminal: Terminal) -> None:
    """Ask which game to play, and play it; on a terminal, until the player leaves the menu."""
    terminal.show_heading("Welcome to Number Tower!\n")
    terminal.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    show_games(terminal, numbered=terminal.interactive)
    help_text = _format_help(terminal)
    terminal.show(f"\n{help_text}")
    while True:
        answer = ask_which(terminal)
        if parse_input(answer).command == "quit":
            return
        call = parse_answer(answer)
        if call is None:
            if terminal.interactive and answer and parse_input(answer).command != "help":
                terminal.show(f"{format_misunderstood(answer)} Type help to see the list.\n")
                continue
            if terminal.interactive:
                terminal.show("\n")
                show_games(terminal, numbered=True)
                terminal.show("\n")
            terminal.show(help_text)
            continue
        try:
            run_command(call, Namespace(db=args.db, no_save=args.no_save))
        # Where the input ended there is nobody to ask again.
        except PlayStoppedError:
            raise
        except CommandError as error:
            terminal.show(f"{make_sentence(str(error))}\n")
        else:
            if not terminal.interactive:
                return
            terminal.show("\nBack in the menu. Type a game, help, or quit.\n")


def parse_answer(answer: str) -> list[str] | None:
    """Return the call that an answer in the menu stands for; None if it stands for none."""
    first, *words = answer.split() or [""]
    if (game := parse_game(first.rstrip(","))) is not None:
        return ["play", game, *(word for word in words if word != "vs")]
    return [first, *words] if first in SUMMARIES else None


def _format_help(terminal: Terminal) -> str:
    names = catalogue.list_names()
    games = f"Type {', '.join(names)}"
    more = ""
    if terminal.interactive:
        games = f"Type a number from 1 to {len(names)}, a name"
        more = "`history` lists your games, `help` shows this again.\n"
    return (
        f"{games}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, "
        "as in `draft gentle`.\n`learn draft` is a first lesson, `puzzle` is today's puzzle, "
        "and `resume` continues your last game.\n"
        f"{more}"
    )
