"""`tower games`: list the games and the levels of the computer, or print the rules of a game in brief."""

from __future__ import annotations

from argparse import Namespace
from textwrap import fill

from number_tower import catalogue
from number_tower.brief import describe_rules
from number_tower.cli.errors import CommandError
from number_tower.cli.menu import show_games
from number_tower.cli.options import CommandParser
from number_tower.cli.play import (
    choose_game,
    format_rule_options,
    list_rule_options,
)
from number_tower.cli.terminal import Terminal
from number_tower.players import LEVELS, RANDOM
from number_tower.text import format_argument, format_list
from number_tower.voice import get_voice


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower games`."""
    parser.add_example("tower games", "the games, a line each, and the levels of the computer")
    parser.add_example("tower games summit --target 30", "the rules of one, with another target")
    parser.add_game_options()


def run(args: Namespace, terminal: Terminal) -> None:
    """List the games and levels, or print the rules of a game."""
    if args.game is not None:
        _show_rules(choose_game(args, args.game), terminal)
        return
    for option in list_rule_options(args):
        raise CommandError(f"--{option} needs a game: tower games GAME --{option} ...")
    show_games(terminal)
    books = [book for book in catalogue.load_all() if book.presets]
    if books:
        example = f"tower play {books[0].name} --preset {next(iter(books[0].presets))}"
        terminal.show(
            f"\nSome settings are worth trying. Play them with, for example, `{example}`:\n\n"
        )
        presets = {
            f"{book.name} {name}": preset.describe()
            for book in books
            for name, preset in book.presets.items()
        }
        terminal.show_list(presets)
    terminal.show("\nPlay one with `tower play NAME`; read its rules with `tower games NAME`.\n\n")
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


def _show_rules(choice: catalogue.GameChoice, terminal: Terminal) -> None:
    """Print the rules of a game in brief."""
    book = choice.book
    rules = describe_rules(choice.rules, get_voice(book).noun)
    terminal.show_heading(f"{book.title}\n")
    if book.about:
        terminal.show(f"\n{fill(book.about, min(80, terminal.columns))}\n")
    terminal.show("\n" + "".join(f"- {line}\n" for line in rules))
    options = format_list([f"--{option}" for option in book.options] or ["none"])
    terminal.show(f"\nOptions: {options}\n")
    if book.presets:
        terminal.show("Presets, which are settings worth trying:\n")
        presets = {f"--preset {name}": preset.describe() for name, preset in book.presets.items()}
        terminal.show_list(presets)
    call = f"tower play {format_argument(book.source)}{format_rule_options(book, choice.rules)}"
    terminal.show(f"Play it with: {call}\n")
