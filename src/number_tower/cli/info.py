"""Commands that describe the games and the command itself: `games`, `levels`, `rules` and `completion`."""

from __future__ import annotations

from argparse import Namespace
from textwrap import fill

from number_tower.brief import describe_rules
from number_tower.cli.errors import CommandError
from number_tower.cli.options import CommandParser
from number_tower.cli.play import choose_game, format_options, format_rule_options, show_games
from number_tower.cli.terminal import Terminal
from number_tower.players import LEVELS, RANDOM
from number_tower.text import format_argument
from number_tower.voice import get_voice

SHELLS = ("bash", "zsh", "fish", "powershell", "tcsh")


def add_arguments(_: CommandParser) -> None:
    """Describe the options of `tower games` and `tower levels`: there are none."""


def run_games(_: Namespace, terminal: Terminal) -> None:
    """List the games."""
    show_games(terminal)
    terminal.show("\nPlay one with `tower play NAME`; read its rules with `tower rules NAME`.\n")


def run_levels(_: Namespace, terminal: Terminal) -> None:
    """Describe the computer's levels."""
    terminal.show("The computer plays at five levels, from the weakest to the strongest:\n\n")
    terminal.show_list({level.name: f"{level.about}." for level in LEVELS.values()})
    terminal.show(
        "\nIf a game is too large to work out, strong and perfect say so, and play as well as they can.\n"
        "There is also:\n\n"
    )
    terminal.show_list({RANDOM.name: f"{RANDOM.about}."})
    terminal.show(
        "\nPlay against one with `tower play GAME --vs LEVEL`, or against a program of your own with --vs ./my-bot.\n"
    )


def add_rules_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower rules`."""
    parser.add_game_options()


def run_rules(args: Namespace, terminal: Terminal) -> None:
    """Print the rules of a game in brief."""
    choice = choose_game(args, args.game)
    book = choice.book
    lines = describe_rules(choice.rules, get_voice(book).noun)
    terminal.show_heading(f"{book.title}\n")
    if book.about:
        terminal.show(f"\n{fill(book.about, min(80, terminal.columns))}\n")
    terminal.show("\n" + "".join(f"- {line}\n" for line in lines))
    call = f"tower play {format_argument(book.source)}{format_rule_options(book, choice.rules)}"
    terminal.show(f"\nOptions: {format_options(book.options)}\nPlay it with: {call}\n")


def add_completion_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower completion`."""
    parser.add_value("shell", "SHELL", "bash, zsh, fish, powershell or tcsh", nargs="?")


def run_completion(args: Namespace, _: Terminal) -> None:
    """Print a script that makes a shell complete `tower`."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only for completion

    if args.shell not in SHELLS:
        raise CommandError(f"which shell? One of {', '.join(SHELLS)}")
    print(shellcode(["tower"], shell=args.shell))
