# PYTHON_ARGCOMPLETE_OK
"""The `tower` command: its subcommands, and the exit code of a call.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record cannot be read, or nothing can be
written; 2 a wrong call or rule file; 3 not solved within the limits given; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from typing import Any

import number_tower
from number_tower.catalogue import RuleFileError, list_names
from number_tower.cli.config import Config, load_config
from number_tower.cli.errors import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    NOT_SOLVED,
    WRONG_CALL,
    CommandError,
    handle_interrupt_once,
    print_error,
)
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.errors import NumberTowerError
from number_tower.store import ENVIRONMENT_VARIABLE
from number_tower.text import format_value, make_sentence, suggest_nearest
from number_tower.voice import add_voice_mistakes

COMMANDS = {
    "Play": {
        "play": "play a game at this keyboard",
        "match": "play a series of games; the players take turns to start",
        "resume": "resume a game or match: the last unfinished one, or any",
        "games": "list the games and the levels of the computer, or print the rules of a game",
    },
    "Learn": {
        "learn": "a first lesson: three positions, and a game against the easiest level",
        "puzzle": "find the only winning move; without a game or seed, today's puzzle",
        "review": "review a game: every move's value, the mistakes, and why; or replay it",
        "solve": "show the exact value of a position and of each move",
    },
    "Your games": {
        "history": "list the games you played",
        "stats": "show your results: games, accuracy, streaks, puzzles",
        "export": "export games to a file that another machine can import",
        "import": "import games that were exported, or any records, one per line",
        "forget": "delete games from the database",
        "db": "show where games are saved; back them up, check, restore, upgrade",
        "config": "show your settings, or change one: name, level, app, colours, database",
        "completion": 'print shell completion, e.g. eval "$(tower completion bash)"',
    },
    "Teach": {
        "print": "make a sheet for playing on paper: rules, blocks to cut out, a score table",
    },
    "Make rules": {
        "lab": "measure many settings of a game, and list the best of them or write a report",
    },
    "Study": {
        "arena": "let players play each other, and compare how strong they are",
        "eval": "measure how well a player plays, by results and by the exact value lost",
    },
    "Serve": {
        "serve": "play in the browser: on this machine, in a class, on the web",
        "mcp": "let a language model play, with tools of the Model Context Protocol (stdio)",
    },
}
"""The commands by what they are for, each with its summary.

A command's module in `cli` is imported only when the command is called. It has the functions `add_arguments(parser)`
and `run(args, terminal)`; what goes wrong is raised as a CommandError, and `run` returns an exit code only where it is
not 0.
"""

_CODES = {"store": FAILED, "bad_record": FAILED, "damaged": FAILED, "too_hard": NOT_SOLVED}
"""The exit codes of errors by their reason; of others it is that of a wrong call."""

SUMMARIES = {name: text for group in COMMANDS.values() for name, text in group.items()}
"""The summary of each command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; whatever goes wrong is reported in one line. Return the exit code."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    code = FINISHED
    handle_interrupt_once()
    try:
        code = _run_safely(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return code
        print_error(f"the output cannot be written: {error.strerror}")
        return FAILED
    return code


def _run_safely(argv: Sequence[str]) -> int:
    try:
        return run_command(argv)
    except KeyboardInterrupt:
        print_error("stopped")
        return INTERRUPTED
    except CommandError as error:
        print_error(str(error))
        return error.code


def run_command(argv: Sequence[str], namespace: Namespace | None = None) -> int:
    """Parse a call, import its command's module and run it; `namespace` holds options given before."""
    if "_ARGCOMPLETE" in os.environ:
        import_module("number_tower.cli.completion").complete(create_parser)
    call = complete_call(argv)
    try:
        args, unknown = create_parser(call).parse_known_args(call, namespace)
    except SystemExit as end:  # after --help and --version
        return int(end.code or FINISHED)
    # argparse takes the game and what follows it only where they stand side by side.
    if unknown and not unknown[0].startswith("-") and getattr(args, "level", "") is None:
        args.level = unknown.pop(0)
    if unknown:
        help_call = " ".join(filter(None, ("tower", args.command, "--help")))
        raise CommandError(f"unexpected argument {format_value(unknown[0])} (see: {help_call})")
    args.call = argv
    args.prefers_app = args.command is None or (call != argv and args.command == "play")
    try:
        config = Config() if args.command == "config" else load_config()
        if config.database is not None:
            os.environ[ENVIRONMENT_VARIABLE] = config.database
        command = load_command(args.command or "menu")
        return int(command.run(args, Terminal(colours=config.colours)) or FINISHED)
    except RuleFileError as error:
        raise CommandError(str(add_voice_mistakes(error))) from None
    except NumberTowerError as error:
        raise CommandError(str(error), code=_CODES.get(error.reason, WRONG_CALL)) from None


def create_parser(names: Collection[str] = tuple(SUMMARIES)) -> CommandParser:
    """Describe the command: all subcommands with their summaries, those named with all their options."""
    parser = CommandParser(
        prog="tower",
        usage="tower [OPTIONS] COMMAND ...",
        description="Number-stacking games for two players. `tower` alone shows them and asks which to play; "
        "`tower draft` plays one of them: in the full-screen app on a terminal, else line by line.",
        epilog="\n".join(_list_commands()),
    )
    version = f"Number Tower {number_tower.__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_saving_options()
    parser.add_app_option(only_plain=True)
    parser.set_defaults(db=None, no_save=False, app=None)
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", help=SUPPRESS, parser_class=CommandParser, prog="tower"
    )
    for name, summary in SUMMARIES.items():
        command = commands.add_parser(name, description=make_sentence(summary))
        if name in names:
            load_command(name).add_arguments(command)
    return parser


def _list_commands() -> Iterator[str]:
    width = max(map(len, SUMMARIES)) + 2
    for title, group in COMMANDS.items():
        yield f"{title}:"
        for name, summary in group.items():
            yield f"  {name.ljust(width)}{summary}"
        yield ""
    yield "To see the options of a command: tower COMMAND --help"


def load_command(name: str) -> Any:
    """Import the module of a command."""
    module = "import_games" if name == "import" else name
    return import_module(f"number_tower.cli.{module}")


def complete_call(argv: Sequence[str]) -> Sequence[str]:
    """Return a call with its command, which is `play` where a game stands first; refuse an unknown command."""
    if not argv or argv[0] in SUMMARIES or argv[0].startswith("-"):
        return argv
    if argv[0].lower() in list_names() or argv[0].endswith(".toml"):
        return ["play", *argv]
    names = [*SUMMARIES, *list_names()]
    known = suggest_nearest(argv[0], names) or f"; the commands are {', '.join(SUMMARIES)}"
    raise CommandError(
        f"there is no command or game {format_value(argv[0])}{known} (see: tower --help)"
    )
