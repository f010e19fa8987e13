# PYTHON_ARGCOMPLETE_OK
"""The command line: what can be asked for, and the exit code that answers.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record is damaged, or nothing can be
written; 2 a wrong call or rule file; 3 not solved within the limits given; 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from number_tower import __version__
from number_tower.blocks import LARGEST_NUMBER, whole_number
from number_tower.cli.failure import (
    FINISHED,
    INTERRUPTED,
    NO_OUTPUT,
    WRONG_CALL,
    Failure,
    complain,
    no_more_interrupts,
)
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from _typeshed import SupportsWrite


_CHOICE = re.compile(r"(.+): invalid choice: (.+) \(choose from (.+)\)")


class Help(argparse.HelpFormatter):
    """Lays help out the same on every terminal; measuring it would cost more than parsing the call."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=96)


class Parser(argparse.ArgumentParser):
    """Says what is wrong, and what would be right, in one line."""

    commands: tuple[str, ...] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Help, allow_abbrev=False, **settings)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help and version like everything else: argparse itself would hide that they cannot be written."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """End a wrong call."""
        message = message.removeprefix("argument ")
        if choice := _CHOICE.fullmatch(message):
            name, given, known = choice.groups()
            message = f"{name}: expected one of {known.replace(chr(39), '')}; got {given}"
        raise Failure(WRONG_CALL, f"{message} (see: {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; everything that can go wrong ends here in one clear line."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it serves until the process ends
    code = FINISHED
    try:
        code = _answer(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except OSError as trouble:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(trouble, BrokenPipeError):
            return code
        complain(f"the output cannot be written: {trouble.strerror}")
        return NO_OUTPUT
    return code


def _answer(argv: Sequence[str]) -> int:
    try:
        return _run(argv)
    except KeyboardInterrupt:
        no_more_interrupts()
        complain("stopped.")
        return INTERRUPTED
    except Failure as failure:
        complain(str(failure))
        return failure.code


def parser() -> Parser:
    """Describe every command and option."""
    tower = Parser(
        prog="tower",
        description="Number-stacking games for two players. `tower` alone shows them and asks which to play.",
    )
    tower.add_argument("--version", action="version", version=f"Number Tower {__version__}")
    add = tower.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser, prog="tower")

    play = add.add_parser("play", help="play a game at this keyboard")
    _game(play)
    play.add_argument("--names", metavar="ANN,BEN", help="what the players are called")
    play.add_argument(
        "--first", choices=("1", "2", "random"), default="1", help="who starts: 1, 2, or random for a coin toss"
    )
    play.add_argument("--seed", type=_seed, metavar="N", help="make the coin toss repeatable")
    play.add_argument("--hidden", action="store_true", help="do not show which blocks are left")
    _record(play)

    resume = add.add_parser("resume", help="go on with a recorded game")
    _ref(resume)
    _record(resume)

    replay = add.add_parser("replay", help="print a recorded game again, in its voice")
    _ref(replay)

    solve = add.add_parser("solve", help="say what a position and each of its moves is worth, exactly")
    _game(
        solve,
        "GAME|REF",
        'a game or rule file, or a game as one line, such as "draft:9,8,6", or a file with its record',
    )
    solve.add_argument("--moves", metavar="9,8", help="the moves made so far, or after those of the record")
    solve.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    solve.add_argument("--line", action="store_true", help="also print one best line of play to the end")
    solve.add_argument("--all", action="store_true", help="list every move, even thousands of them")
    solve.add_argument(
        "--values", action="store_true", help="win, draw or loss only, without the plies: often much quicker"
    )
    solve.add_argument("--seconds", type=_seconds, metavar="S", help="give up after so much work (exit code 3)")
    solve.add_argument("--memory", type=_mebibytes, metavar="M", help="use at most so many MiB for tables (512)")

    add.add_parser("games", help="list the games")

    rules = add.add_parser("rules", help="print the rules of a game in brief")
    _game(rules)

    completion = add.add_parser("completion", help='print shell completion, e.g. eval "$(tower completion bash)"')
    completion.add_argument("shell", nargs="?", metavar="SHELL", help="bash, zsh, fish, powershell or tcsh")
    tower.commands = tuple(add.choices)
    return tower


def _run(argv: Sequence[str]) -> int:
    tower = parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete  # noqa: PLC0415 - only for completion

        argcomplete.autocomplete(tower)
    _check_command(argv, tower.commands)
    try:
        asked, unknown = tower.parse_known_args(argv)
    except SystemExit as done:
        return int(done.code or FINISHED)
    if unknown:
        call = " ".join(filter(None, ("tower", asked.command)))
        raise Failure(WRONG_CALL, f"{shown(unknown[0])} is not something that `{call}` takes (see: {call} --help)")
    from number_tower.cli import commands  # noqa: PLC0415 - `--version` and `--help` need none of it

    return commands.perform(asked)


def _check_command(argv: Sequence[str], commands: tuple[str, ...]) -> None:
    """Meet a wrong command before argparse does: a game's name in its place means that someone wants to play it."""
    if not argv or argv[0] in commands or argv[0].startswith("-"):
        return
    from number_tower import catalogue  # noqa: PLC0415 - only for a wrong call

    if argv[0].lower() in catalogue.names() or argv[0].endswith(".toml"):
        raise Failure(WRONG_CALL, f"to play it: tower play {shown_text(' '.join(argv))}")
    known = ", ".join(commands)
    raise Failure(WRONG_CALL, f"there is no command {shown(argv[0])}; the commands are {known} (see: tower --help)")


def _game(
    command: argparse.ArgumentParser, name: str = "GAME", meaning: str = "a game's name, or a rule file (mygame.toml)"
) -> None:
    game = command.add_argument("game", nargs="?", metavar=name, help=meaning)
    setattr(game, "completer", _games)  # noqa: B010 - argcomplete's own attribute, unknown to argparse's types
    command.add_argument("--target", type=_whole, metavar="N", help="the height to reach exactly")
    command.add_argument("--blocks", metavar="1-5", help="the blocks to play with, such as 1-5 or 1,3,5")
    command.add_argument("--opening", metavar="1-5", help="the blocks that may lie on an empty tower")


def _ref(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "ref", metavar="REF", help='a game as one line, such as "draft:9,8,6", or a file with its record'
    )


def _record(command: argparse.ArgumentParser) -> None:
    command.add_argument("--record", metavar="FILE", help="keep the game in a file, written after every move")


def _games(prefix: str, **_: object) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415 - only for completion

    from number_tower import catalogue  # noqa: PLC0415 - likewise

    return (*catalogue.names(), *FilesCompleter(["toml"])(prefix))


def _whole(text: str) -> int:
    number = whole_number(text)
    if number is None or number > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {LARGEST_NUMBER:,}; got {shown(text)}")
    return number


def _mebibytes(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"expected a whole number of MiB, 1 or more; got {shown(text)}")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, such as 10 or 0.5; got {shown(text)}")
    return seconds


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number; got {shown(text)}") from None
