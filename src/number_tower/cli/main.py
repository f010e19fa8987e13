# PYTHON_ARGCOMPLETE_OK
"""The `tower` command: its subcommands, and the exit code of a call.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record is damaged, or nothing can be
written; 2 a wrong call or rule file; 3 not solved within the limits given; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

import number_tower
from number_tower.cli.errors import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    CommandError,
    handle_interrupt_once,
    print_error,
)
from number_tower.cli.options import CommandParser, list_games
from number_tower.cli.terminal import Terminal
from number_tower.text import format_value, make_sentence, suggest_nearest

COMMANDS = {
    "play": ("play", "play a game at this keyboard"),
    "match": ("match", "play a series of games; the players take turns to start"),
    "resume": ("resume", "resume a game: the last unfinished one, or any"),
    "replay": ("replay", "print a saved game again, move by move"),
    "history": ("history", "list the games you played"),
    "stats": ("stats", "show your results: games, accuracy, streaks, puzzles"),
    "export": ("transfer", "export games to a file that another machine can import"),
    "import": ("transfer", "import games that were exported, or any records, one per line"),
    "forget": ("forget", "delete games from the database"),
    "db": ("db", "show where games are saved; back them up, check, restore, upgrade"),
    "learn": ("learn", "a first lesson: three positions, and a game against the easiest opponent"),
    "puzzle": ("puzzle", "find the only winning move; without a game or seed, today's puzzle"),
    "review": ("review", "review a game: every move's value, the mistakes, and why"),
    "solve": ("solve", "show the exact value of a position and of each move"),
    "arena": ("arena", "let players play each other, and compare how strong they are"),
    "eval": ("eval", "measure how well a player plays, by results and by the exact value lost"),
    "lab": ("lab", "measure many settings of a game: who wins, how fair and how deep each is"),
    "lab show": (
        "lab_show",
        "list the best settings that were measured, or write a report with maps",
    ),
    "app": ("app", "play in the full-screen app, as `tower` alone does on a terminal"),
    "serve": ("serve", "play in the browser: on this machine, in a class, on the web"),
    "mcp": ("mcp", "let a language model play, with tools of the Model Context Protocol (stdio)"),
    "config": ("config", "show your settings, or change one: name, level, app, colours, database"),
    "games": ("info", "list the games"),
    "levels": ("info", "describe the levels of the computer"),
    "rules": ("info", "print the rules of a game in brief"),
    "print": (
        "print",
        "make a sheet for playing on paper: rules, blocks to cut out, a score table",
    ),
    "completion": ("completion", 'print shell completion, e.g. eval "$(tower completion bash)"'),
}
"""Each command's module in `cli`, which is imported only when the command is called, and its summary.

The module has the functions `add_arguments(parser)` and `run(args, terminal)`; what goes wrong is raised as a
CommandError, and `run` returns an exit code only where it is not 0. Where a module has several commands, the others
have `add_NAME_arguments` and `run_NAME`.
"""


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
    argv = complete_call(argv)
    try:
        args, unknown = create_parser(argv).parse_known_args(argv, namespace)
    except SystemExit as end:
        return int(end.code or FINISHED)
    if unknown and not unknown[0].startswith("-") and getattr(args, "level", "") is None:
        args.level = unknown.pop(
            0
        )  # argparse takes the game and what follows it only where they stand side by side
    if unknown:
        call = " ".join(filter(None, ("tower", args.command)))
        raise CommandError(f"unexpected argument {format_value(unknown[0])} (see: {call} --help)")
    run = (
        import_module("number_tower.cli.menu").run
        if args.command is None
        else _load(args.command, "run")
    )
    colours = (
        args.command == "config" or import_module("number_tower.cli.config").load_config().colours
    )
    try:
        return int(run(args, Terminal(colours=colours)) or FINISHED)
    except number_tower.RuleFileError as error:  # imported only when there is an error
        raise CommandError(
            str(import_module("number_tower.voice").add_voice_mistakes(error))
        ) from None
    except number_tower.CatalogueError as error:
        raise CommandError(str(error)) from None


def create_parser(names: Collection[str] = tuple(COMMANDS)) -> CommandParser:
    """Describe the command: all subcommands with their summaries, those named with all their options."""
    parser = CommandParser(
        prog="tower",
        description="Number-stacking games for two players. `tower` alone shows them and asks which to play.",
    )
    parser.add_argument(
        "--version", action="version", version=f"Number Tower {number_tower.__version__}"
    )
    parser.add_db_option()
    parser.add_no_save_option()
    parser.add_app_option(only_plain=True)
    parser.set_defaults(db=None, no_save=False, app=None)
    commands = parser.add_subparsers(
        title="commands",
        metavar="COMMAND",
        dest="command",
        parser_class=CommandParser,
        prog="tower",
    )
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=make_sentence(summary))
        if name in names:
            _load(name, "add", "_arguments")(command)
    return parser


def _load(name: str, verb: str, noun: str = "") -> Any:
    """Import a command's module and return its function `run`, `run_NAME`, `add_arguments` or `add_NAME_arguments`."""
    module = import_module(f"number_tower.cli.{COMMANDS[name][0]}")
    return getattr(module, f"{verb}_{name}{noun}", None) or getattr(module, f"{verb}{noun}")


def complete_call(argv: Sequence[str]) -> Sequence[str]:
    """Return a call with its command, which is `play` where a game stands first; refuse an unknown command.

    A command of two words becomes one argument.
    """
    if " ".join(argv[:2]) in COMMANDS:
        return [" ".join(argv[:2]), *argv[2:]]
    if not argv or argv[0] in COMMANDS or argv[0].startswith("-"):
        return argv
    if argv[0].lower() in list_games() or argv[0].endswith(".toml"):
        return ["play", *argv]
    known = (
        suggest_nearest(argv[0], [*COMMANDS, *list_games()])
        or f"; the commands are {', '.join(COMMANDS)}"
    )
    raise CommandError(
        f"there is no command or game {format_value(argv[0])}{known} (see: tower --help)"
    )
