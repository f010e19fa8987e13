"""The argument parser, and the options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from math import inf, nextafter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from number_tower.engine.blocks import MAX_NUMBER, parse_number
from number_tower.support.text import format_path, format_value
from number_tower.terminal.cli.errors import CommandError
from number_tower.terminal.cli.terminal import get_columns, is_visible

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

Number = TypeVar("Number", int, float)

_CHOICE = re.compile(r"(.+): invalid choice: (.+) \(choose from (.+)\)")
_HELP_WIDTH = 96
"""Columns of the help where there is room for them."""

CLUSTER_VARIABLE = "NUMBER_TOWER_CLUSTER"
"""The environment variable with the address of a cluster."""

REPORT_MARK = b'<meta name="generator" content="Number Tower">'
"""By which the page of a report is known; other pages are not replaced."""

_GAME = "a game's name, or a rule file (mygame.toml)"
_DATABASE = (
    "the database: a file, postgresql://..., or none (default: NUMBER_TOWER_DB, or your settings)"
)


# Values -------------------------------------------------------------------------------------------


def make_number_parser(
    read: Callable[[str], Number | None], expected: str, lowest: float = -inf, highest: float = inf
) -> Callable[[str], Number]:
    """Return a function that reads a number in a range; `expected` describes it in the error."""

    def parse(text: str) -> Number:
        with suppress(ValueError):
            number = read(text)
            if number is not None and lowest <= number <= highest:
                return number
        raise argparse.ArgumentTypeError(f"expected {expected}; got {format_value(text)}")

    return parse


parse_count = make_number_parser(parse_number, "a whole number from 1 to 1,000,000", 1, 1_000_000)
parse_seed = make_number_parser(int, "a whole number")
parse_seconds = make_number_parser(
    float, "a number of seconds, such as 10 or 0.5", nextafter(0, 1), sys.float_info.max
)
_parse_target = make_number_parser(
    parse_number, f"a whole number from 1 to {MAX_NUMBER:,}", highest=MAX_NUMBER
)


def parse_day(text: str) -> str:
    """Read a date."""
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat()
    problem = f"expected a date such as 2027-01-31; got {format_value(text)}"
    raise argparse.ArgumentTypeError(problem)


def check_report_folder(folder: str | None) -> None:
    """Refuse a folder for a report that cannot be one, before any work is done."""
    if folder is None:
        return
    if not folder or (os.path.exists(folder) and not os.path.isdir(folder)):
        raise CommandError("--report: expected a folder; it is created if needed")
    page = Path(folder, "index.html")
    if page.exists() and REPORT_MARK not in page.read_bytes()[:1000]:
        problem = f"{format_path(str(page))} is not a report, so it is not replaced"
        raise CommandError(f"--report: {problem}; name another folder")


# The parser ---------------------------------------------------------------------------------------


class _HelpFormatter(argparse.HelpFormatter):
    """Fits the help into the terminal; in a pipe its width is fixed. Lists keep their lines."""

    def __init__(self, prog: str) -> None:
        columns = get_columns(sys.stdout) - 2 if is_visible(sys.stdout) else _HELP_WIDTH
        width = min(columns, _HELP_WIDTH)
        super().__init__(prog, max_help_position=min(26, columns // 3), width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - of argparse
        lines = []
        for line in text.split("\n"):
            hanging = " " * 6 if line.startswith(" ") else ""
            is_call = line.startswith("  tower ")
            lines.append(line if is_call else fill(line, width, subsequent_indent=hanging))
        return "\n".join(lines)


class CommandParser(argparse.ArgumentParser):
    """Reports a wrong call as a CommandError: what is wrong, and what would be right."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, allow_abbrev=False, **settings)
        self.examples: list[tuple[str, str]] = []
        """Calls of the command, each with what it does."""

    def add_flag(self, name: str, meaning: str, **settings: Any) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=meaning, **settings)

    def add_value(self, name: str, metavar: str, meaning: str, **settings: Any) -> argparse.Action:
        """Add an argument or option with a value; `metavar` stands for the value in the help."""
        return self.add_argument(name, metavar=metavar, help=meaning, **settings)

    def add_count(self, name: str, meaning: str, **settings: Any) -> None:
        """Add an option that takes a whole number from 1 on."""
        self.add_value(name, "N", meaning, type=parse_count, **settings)

    def add_seed(self, what: str, default: int | None = None) -> None:
        """Add the random seed of what a command does."""
        meaning = f"the random seed: the same number gives the same {what}"
        if default is not None:
            meaning += f" ({default})"
        self.add_value("--seed", "N", meaning, type=parse_seed, default=default)

    def add_example(self, call: str, meaning: str) -> None:
        """Add a call and what it does to the end of the help."""
        self.examples.append((call, meaning))
        self.epilog = f"{self.epilog or 'examples:'}\n  {call}\n      {meaning}"

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help and version; unlike argparse, let a failed write raise its error."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise the error of a wrong call."""
        message = message.removeprefix("argument ")
        # Say it as our own errors do: what was expected, and what came.
        if choice := _CHOICE.fullmatch(message):
            name, value, choices = choice.groups()
            one_of = "one of " if "," in choices else ""
            choices = choices.replace("'", "")
            message = f"{name}: expected {one_of}{choices}; got {value}"
        message = message.replace("expected one argument", "expected a value; got none")
        message = message.replace("the following arguments are required", "missing")
        raise CommandError(f"{message} (see: {self.prog} --help)")

    def add_game_argument(self, name: str = "GAME", meaning: str = _GAME) -> None:
        """Add a game."""
        self.add_value("game", name, meaning, nargs="?")

    def add_game_options(self, name: str = "GAME", meaning: str = _GAME) -> None:
        """Add a game, its presets and the options of its rules."""
        self.add_game_argument(name, meaning)
        meaning = "recommended settings of the game (see `games GAME`); options override them"
        self.add_value("--preset", "PRESET", meaning)
        self.add_value("--target", "N", "the height to reach exactly", type=_parse_target)
        self.add_value("--blocks", "1-5", "the blocks to play with, such as 1-5 or 1,3,5")
        self.add_value("--opening", "1-5", "the blocks that may start a tower")

    def add_app_option(self, *, only_plain: bool = False) -> None:
        """Add whether to play in the full-screen app or in the dialogue."""
        if not only_plain:
            self.add_flag("--app", "play in the full-screen app", default=argparse.SUPPRESS)
        meaning = "play line by line, not in the full-screen app"
        plain = self.add_argument("--plain", action="store_false", dest="app", help=meaning)
        plain.default = argparse.SUPPRESS

    def add_match_options(self, first: str) -> None:
        """Add the players of a game or a match, who starts, and what is shown and saved."""
        meaning = "play against the computer: the same as --vs LEVEL"
        self.add_value("level", "LEVEL", meaning, nargs="?")
        meaning = "the players' names; with --vs, your name (ANN), or both"
        self.add_value("--names", "ANN,BEN", meaning)
        self.add_argument("--first", choices=("1", "2", "random"), default="1", help=first)
        self.add_opponent_options()
        self.add_flag("--hidden", "do not show which blocks are left")
        self.add_saving_options()
        self.add_app_option()

    def add_opponent_options(self) -> None:
        """Add who plays for the computer."""
        meaning = "play against the computer, or a program (./my-bot); see `games`"
        self.add_value("--vs", "LEVEL", meaning, action="append")
        self.add_argument("--seat", choices=("1", "2"), help="with --vs: your seat (1)")
        self.add_seed("coin toss and computer moves")
        self.add_patience_option()

    def add_patience_option(self) -> None:
        """Add the time that a program has for a move."""
        meaning = "seconds that a program has for a move (10)"
        self.add_value("--patience", "S", meaning, type=parse_seconds, default=10.0)

    def add_study_options(self, what: str, file: str) -> None:
        """Add where the results of a study are saved, and who does the work."""
        self.add_value("--out", "FILE", file)
        self.add_flag("--resume", "resume what is saved in FILE")
        self.add_count("--jobs", f"how many {what} to work on at once (one per core)")
        meaning = (
            "use the workers of the Dask scheduler at ADDRESS, such as tcp://host:8786, or none"
        )
        usual = f"(default: {CLUSTER_VARIABLE}, or this machine)"
        self.add_value("--cluster", "ADDRESS", f"{meaning} {usual}")

    def add_ref_argument(self, default: str, *, matches: bool = False) -> None:
        """Add a reference to a game; `default` says which game is meant without it."""
        match = ", a match's such as m3" if matches else ""
        meaning = f"a game's id (see `history`){match}, one line such as draft:9,8,6, or a file"
        self.add_value("ref", "REF", f"{meaning} with its record (default: {default})", nargs="?")

    def add_db_option(self, meaning: str = _DATABASE) -> None:
        """Add which database to use."""
        self.add_value("--db", "URL", meaning, default=argparse.SUPPRESS)

    def add_saving_options(self) -> None:
        """Add where games are saved, and whether they are."""
        self.add_db_option()
        meaning = "do not save anything in the database"
        self.add_flag("--no-save", meaning, default=argparse.SUPPRESS)

    def add_record_option(self) -> None:
        """Add a file that the game is saved to."""
        self.add_value("--record", "FILE", "save the game in a file, after every move")
        self.add_force_option()

    def add_force_option(self) -> None:
        """Add whether a file that exists is replaced."""
        self.add_flag("--force", "replace FILE if it exists")
