"""`tower` alone: a menu of the games. Also the question which game, where a call names none."""

from __future__ import annotations

from argparse import Namespace

from number_tower import catalogue
from number_tower.cli.app import open_app, opens_app
from number_tower.cli.errors import CommandError, PlayStoppedError, report_stop
from number_tower.cli.input import parse_input
from number_tower.cli.main import SUMMARIES, run_command
from number_tower.cli.terminal import Terminal
from number_tower.text import format_value, make_sentence, suggest_nearest


def run(args: Namespace, terminal: Terminal) -> None:
    """Open the full-screen app where it can be shown, and else the menu."""
    if opens_app(args):
        open_app(args)
    else:
        _run_menu(args, terminal)


def _run_menu(args: Namespace, terminal: Terminal) -> None:
    """Show the games, ask which to play, and play it; on a terminal, come back until the menu is left."""
    terminal.show_heading("Welcome to Number Tower!\n")
    terminal.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    show_games(terminal, numbered=terminal.interactive)
    help_text = _format_help(terminal)
    terminal.show(f"\n{help_text}")
    while True:
        answer = _ask_which(terminal)
        if parse_input(answer).command == "quit":
            return
        call = _parse_answer(answer)
        if call is None:
            if terminal.interactive and answer and parse_input(answer).command != "help":
                terminal.show(f"{_format_misunderstood(answer)} Type help to see the list.\n")
                continue
            if terminal.interactive:
                terminal.show("\n")
                show_games(terminal, numbered=True)
                terminal.show("\n")
            terminal.show(help_text)
            continue
        try:
            run_command(call, Namespace(db=args.db, no_save=args.no_save))
        except PlayStoppedError:
            raise
        except CommandError as error:
            terminal.show(f"{make_sentence(str(error))}\n")
        else:
            if not terminal.interactive:
                return
            terminal.show("\nBack in the menu. Type a game, help, or quit.\n")


def show_games(terminal: Terminal, *, numbered: bool = False) -> None:
    """List the games with their summaries, perhaps with the numbers by which the menu knows them."""
    entries = {}
    for number, book in enumerate(catalogue.load_all(), 1):
        entries[f"{number}  {book.name}" if numbered else book.name] = book.summary
    terminal.show_list(entries)


def ask_for_game(args: Namespace, terminal: Terminal) -> bool:
    """Ask on a terminal which game a call is about, if it names none; return False if the answer is quit."""
    if args.game is not None or not terminal.interactive:
        return True
    show_games(terminal, numbered=True)
    while True:
        answer = _ask_which(terminal)
        if parse_input(answer).command == "quit":
            return False
        game, *more = answer.split() or [""]
        args.game = _find_game(game)
        if args.game is not None:
            if more and getattr(args, "level", "") is None:
                args.level = more[-1]
            return True
        advice = "Type a number or a name from the list, or quit."
        terminal.show(f"{_format_misunderstood(answer)} {advice}\n")


def _ask_which(terminal: Terminal) -> str:
    with report_stop("the input ended before a game was chosen"):
        return terminal.ask("Which game? ").strip()


def _format_help(terminal: Terminal) -> str:
    names = catalogue.list_names()
    games = f"Type {', '.join(names)}"
    more = ""
    if terminal.interactive:
        games = f"Type a number from 1 to {len(names)}, a name"
        more = "`history` lists your games, `help` shows this again.\n"
    return (
        f"{games}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, as in `draft gentle`.\n"
        "`learn draft` is a first lesson, `puzzle` is today's puzzle, and `resume` continues your last game.\n"
        f"{more}"
    )


def _format_misunderstood(answer: str) -> str:
    """Say what is not known, and ask whether something similar was meant."""
    words = (*catalogue.list_names(), *SUMMARIES, "help", "quit")
    nearest = suggest_nearest(answer.partition(" ")[0], words)
    return f"I do not know {format_value(answer)}{nearest or '.'}"


def _parse_answer(answer: str) -> list[str] | None:
    """Return the call that an answer in the menu stands for; None if it stands for none."""
    first, *more = answer.split() or [""]
    if (game := _find_game(first.rstrip(","))) is not None:
        return ["play", game, *(word for word in more if word != "vs")]
    return [first, *more] if first in SUMMARIES else None


def _find_game(text: str) -> str | None:
    """Return a rule file, or the game of this number or beginning."""
    names = catalogue.list_names()
    if text.endswith(".toml"):
        return text
    if text.isascii() and text.isdigit():
        return names[int(text) - 1] if 0 < int(text) <= len(names) else None
    begun = [name for name in names if text and name.startswith(text.lower())]
    return begun[0] if len(begun) == 1 else None
