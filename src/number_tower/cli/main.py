# PYTHON_ARGCOMPLETE_OK
"""The command line: what can be asked for, and the exit code that answers.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, or a record is damaged; 2 a wrong call or
rule file; 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from number_tower import __version__, catalogue
from number_tower.catalogue import CatalogueError
from number_tower.cli import commands
from number_tower.cli.failure import FINISHED, INPUT_ENDED, INTERRUPTED, WRONG_CALL, Failure
from number_tower.cli.screen import InputEnded, complain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Parser(argparse.ArgumentParser):
    """Says what is wrong, and what would be right, in one line."""

    def error(self, message: str) -> NoReturn:
        """End a wrong call."""
        raise Failure(WRONG_CALL, f"{message} (see: {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; everything that can go wrong ends here in one clear line."""
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINISHED
    except KeyboardInterrupt:
        complain("stopped.")
        return INTERRUPTED
    except InputEnded:
        complain("the input ended before the game did.")
        return INPUT_ENDED
    except Failure as failure:
        complain(str(failure))
        return failure.code
    except CatalogueError as wrong:
        complain(str(wrong))
        return WRONG_CALL
    return code


def parser() -> Parser:
    """Describe every command and option."""
    tower = Parser(prog="tower", description="Five number-stacking games for two players.", allow_abbrev=False)
    tower.add_argument("--version", action="version", version=f"Number Tower {__version__}")
    tower.set_defaults(run=commands.welcome)
    add = tower.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)

    play = add.add_parser("play", help="play a game at this keyboard", allow_abbrev=False)
    _game(play)
    play.add_argument("--names", metavar="ANN,BEN", help="what the players are called")
    play.add_argument(
        "--first", choices=("1", "2", "random"), default="1", help="who starts: 1, 2, or random for a coin toss"
    )
    play.add_argument("--seed", type=_seed, metavar="N", help="make the coin toss repeatable")
    play.add_argument("--hidden", action="store_true", help="do not show which blocks are left")
    _record(play)
    play.set_defaults(run=commands.play)

    resume = add.add_parser("resume", help="go on with a recorded game", allow_abbrev=False)
    _ref(resume)
    _record(resume)
    resume.set_defaults(run=commands.resume)

    replay = add.add_parser("replay", help="print a recorded game again, in its voice", allow_abbrev=False)
    _ref(replay)
    replay.set_defaults(run=commands.replay)

    games = add.add_parser("games", help="list the games", allow_abbrev=False)
    games.set_defaults(run=commands.games)

    rules = add.add_parser("rules", help="print the rules of a game in brief", allow_abbrev=False)
    _game(rules)
    rules.set_defaults(run=commands.rules)

    completion = add.add_parser(
        "completion", help='print shell completion, e.g. eval "$(tower completion bash)"', allow_abbrev=False
    )
    completion.add_argument(
        "shell", choices=("bash", "zsh", "fish", "powershell", "tcsh"), help="the shell to complete in"
    )
    completion.set_defaults(run=commands.completion)
    return tower


def _run(argv: Sequence[str]) -> int:
    tower = parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete  # noqa: PLC0415 - only for completion

        argcomplete.autocomplete(tower)
    asked = tower.parse_args(argv)
    code: int = asked.run(asked)
    return code


def _game(command: argparse.ArgumentParser) -> None:
    game = command.add_argument("game", nargs="?", metavar="GAME", help="a game's name, or a rule file (mygame.toml)")
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

    return (*catalogue.names(), *FilesCompleter(["toml"])(prefix))


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise argparse.ArgumentTypeError(f"expected a positive whole number; got {text!a}")
    return int(text)


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number; got {text!a}") from None
