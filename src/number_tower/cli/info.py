"""Commands that describe the games: `games`, `levels` and `rules`."""

from __future__ import annotations

from argparse import Namespace
from textwrap import fill

from number_tower import catalogue
from number_tower.brief import describe_rules
from number_tower.cli.menu import ask_for_game, show_games
from number_tower.cli.options import CommandParser
from number_tower.cli.play import choose_game, format_options, format_rule_options
from number_tower.cli.terminal import Terminal
from number_tower.players import LEVELS, RANDOM
from number_tower.text import format_argument
from number_tower.voice import get_voice


def add_games_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower games`: there are none."""
    parser.add_examples(
        ("tower games", "the games, a line each"),
        ("tower rules draft", "the rules of one of them"),
    )


def add_levels_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower levels`: there are none."""
    parser.add_examples(
        ("tower levels", "the levels, from the weakest to the strongest"),
        ("tower play draft fair", "play against one of them"),
    )


def run_games(_: Namespace, terminal: Terminal) -> None:
    """List the games."""
    show_games(terminal)
    books = [book for book in catalogue.load_all() if book.presets]
    if books:
        terminal.show("\nSome settings are worth trying. Play them with, for example, ")
        terminal.show(f"`tower play {books[0].name} --preset {next(iter(books[0].presets))}`:\n\n")
        terminal.show_list(
            {
                f"{book.name} {name}": each.describe()
                for book in books
                for name, each in book.presets.items()
            }
        )
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
    parser.add_examples(
        ("tower rules draft", "the rules of draft in brief"),
        ("tower rules summit --target 30", "the rules with another target"),
    )
    parser.add_game_options()


def run_rules(args: Namespace, terminal: Terminal) -> None:
    """Print the rules of a game in brief."""
    if not ask_for_game(args, terminal):
        return
    choice = choose_game(args, args.game)
    book = choice.book
    lines = describe_rules(choice.rules, get_voice(book).noun)
    terminal.show_heading(f"{book.title}\n")
    if book.about:
        terminal.show(f"\n{fill(book.about, min(80, terminal.columns))}\n")
    terminal.show("\n" + "".join(f"- {line}\n" for line in lines))
    call = f"tower play {format_argument(book.source)}{format_rule_options(book, choice.rules)}"
    terminal.show(f"\nOptions: {format_options(book.options)}\n")
    if book.presets:
        terminal.show("Presets, which are settings worth trying:\n")
        terminal.show_list(
            {f"--preset {name}": preset.describe() for name, preset in book.presets.items()}
        )
    terminal.show(f"Play it with: {call}\n")
