"""`tower games`: list the games and the computer's levels, or print the rules of a game."""

from __future__ import annotations

from argparse import Namespace
from textwrap import fill

from number_tower.engine import catalogue
from number_tower.players import LEVELS, RANDOM
from number_tower.support.text import format_argument, format_list
from number_tower.terminal.cli import CommandParser, Terminal, play_arguments
from number_tower.terminal.cli.games_menu import show_games
from number_tower.words.brief import describe_rules
from number_tower.words.voice import get_voice


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower games`."""
    parser.add_example("tower games", "the games, a line each, and the levels of the computer")
    parser.add_example("tower games summit --target 30", "the rules of one, with another target")
    parser.add_game_options()


def run(args: Namespace, terminal: Terminal) -> None:
    """List the games and levels, or print the rules of a game."""
    if args.game is not None:
        _show_rules(play_arguments.choose_game(args, args.game), terminal)
        return
    play_arguments.refuse_rule_options(args, "{0} needs a game: tower games GAME {0} ...")
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
        "\nIf a game is too large to work out, strong and perfect say so, and play as well as they "
        "can.\nThere is also:\n\n"
    )
    terminal.show_list({RANDOM.name: f"{RANDOM.about}."})
    terminal.show(
        "\nPlay against one with `tower play GAME --vs LEVEL`, or against a program of your own "
        "with --vs ./my-bot.\n"
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
    options = play_arguments.format_rule_options(book, choice.rules)
    terminal.show(f"Play it with: tower play {format_argument(book.source)}{options}\n")
