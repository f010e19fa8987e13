"""The argument parser, and the options that several commands share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from functools import partial
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.cli.errors import CommandError
from number_tower.text import format_value

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

Number = TypeVar("Number", int, float)

_CHOICE = re.compile(r"(.+): invalid choice: (.+) \(choose from (.+)\)")
_DATABASE = "the database: a file, postgresql://..., or none (default: NUMBER_TOWER_DB)"


# Values --------------------------------------------------------------------------------------------------------------


def make_number_parser(
    read: Callable[[str], Number | None], expected: str, lowest: float = -inf, highest: float = inf
) -> Callable[[str], Number]:
    """Return a function that reads a number between two others; `expected` describes it in the error."""

    def parse(text: str) -> Number:
        with suppress(ValueError):
            number = read(text)
            if number is not None and lowest <= number <= highest:
                return number
        raise argparse.ArgumentTypeError(f"expected {expected}; got {format_value(text)}")

    return parse


parse_count = make_number_parser(parse_number, "a whole number from 1 to 1,000,000", 1, 1_000_000)
parse_seed = make_number_parser(int, "a whole number")
parse_seconds = make_number_parser(float, "a number of seconds, such as 10 or 0.5", nextafter(0, 1), sys.float_info.max)
_parse_target = make_number_parser(parse_number, f"a whole number from 1 to {LARGEST_NUMBER:,}", highest=LARGEST_NUMBER)


def parse_day(text: str) -> str:
    """Read a date."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a date such as 2027-01-31; got {format_value(text)}") from None


# The parser -----------------------------------------------------------------------------------------------------------


class CommandParser(argparse.ArgumentParser):
    """Reports a wrong call as a CommandError: one line that says what is wrong and what would be right."""

    def __init__(self, **settings: Any) -> None:
        fixed = partial(argparse.HelpFormatter, max_help_position=26, width=96)  # measuring a terminal takes long
        super().__init__(formatter_class=fixed, allow_abbrev=False, **settings)

    def add_flag(self, name: str, meaning: str, **settings: Any) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=meaning, **settings)

    def add_value(self, name: str, metavar: str, meaning: str, **settings: Any) -> argparse.Action:
        """Add an argument or an option that takes a value; `metavar` stands for the value in the help."""
        return self.add_argument(name, metavar=metavar, help=meaning, **settings)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help and version; unlike argparse, let a failed write raise its error."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise the error of a wrong call."""
        message = message.removeprefix("argument ")
        if choice := _CHOICE.fullmatch(message):
            name, given, known = choice.groups()
            one_of = "one of " if "," in known else ""
            message = f"{name}: expected {one_of}{known.replace(chr(39), '')}; got {given}"
        message = message.replace("expected one argument", "expected a value; got none")
        message = message.replace("the following arguments are required", "missing")
        raise CommandError(f"{message} (see: {self.prog} --help)")

    def add_game_options(
        self, name: str = "GAME", meaning: str = "a game's name, or a rule file (mygame.toml)"
    ) -> None:
        """Add a game and the options of its rules."""
        game = self.add_value("game", name, meaning, nargs="?")
        setattr(game, "completer", _complete_game)  # noqa: B010 - argcomplete's own attribute, unknown to argparse's types
        self.add_value("--target", "N", "the height to reach exactly", type=_parse_target)
        self.add_value("--blocks", "1-5", "the blocks to play with, such as 1-5 or 1,3,5")
        self.add_value("--opening", "1-5", "the blocks that may start a tower")

    def add_player_options(self, first: str) -> None:
        """Add the players' names, who starts, and who plays for the computer."""
        self.add_value("--names", "ANN,BEN", "the players' names; with --vs, your name (ANN), or both")
        self.add_argument("--first", choices=("1", "2", "random"), default="1", help=first)
        self.add_opponent_options()

    def add_opponent_options(self) -> None:
        """Add who plays for the computer."""
        self.add_value(
            "--vs", "LEVEL", "play against the computer, or a program (./my-bot); see `levels`", action="append"
        )
        self.add_argument("--seat", choices=("1", "2"), help="with --vs: your seat (1)")
        self.add_value(
            "--seed",
            "N",
            "the random seed: the same number gives the same coin toss and computer moves",
            type=parse_seed,
        )
        self.add_patience_option()

    def add_patience_option(self) -> None:
        """Add the time that a program has for a move."""
        self.add_value(
            "--patience", "S", "seconds that a program has for a move (10)", type=parse_seconds, default=10.0
        )

    def add_hidden_option(self) -> None:
        """Add whether the blocks that are left are hidden."""
        self.add_flag("--hidden", "do not show which blocks are left")

    def add_ref_argument(self, *, required: bool = True) -> None:
        """Add a reference to a game, and the database that it may be in."""
        match = "" if required else ", a match's such as m3"
        self.add_value(
            "ref",
            "REF",
            f"""a game's id (see `history`){match}, one line such as "draft:9,8,6", or a file with its record""",
            nargs=None if required else "?",
        )
        self.add_db_option()

    def add_db_option(self, meaning: str = _DATABASE) -> None:
        """Add which database to use."""
        self.add_value("--db", "URL", meaning, default=argparse.SUPPRESS)

    def add_no_save_option(self) -> None:
        """Add whether the game is kept out of the database."""
        self.add_flag("--no-save", "do not save anything in the database", default=argparse.SUPPRESS)

    def add_record_option(self) -> None:
        """Add a file that the game is saved to."""
        self.add_value("--record", "FILE", "save the game in a file, after every move")


def list_games() -> tuple[str, ...]:
    """Return the names of the games."""
    from number_tower import catalogue  # noqa: PLC0415 - `--version` and `--help` need no games

    return catalogue.list_names()


def _complete_game(prefix: str, **_: object) -> Iterable[str]:
    """List the games and rule files that begin with a prefix, for shell completion."""
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415 - only for completion

    return (*list_games(), *FilesCompleter(["toml"])(prefix))
