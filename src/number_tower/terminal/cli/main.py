# PYTHON_ARGCOMPLETE_OK
"""The `tower` command: its subcommands, and the exit code of a call.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record cannot be read,
or nothing can be written; 2 a wrong call or rule file; 3 not solved within the limits; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Callable, Collection, Sequence
from importlib import import_module

import number_tower
from number_tower.engine.catalogue import RuleFileError, list_names
from number_tower.store import ENVIRONMENT_VARIABLE
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value, make_sentence, suggest_nearest
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.errors import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    NOT_SOLVED,
    WRONG_CALL,
    handle_interrupt_once,
    print_error,
)
from number_tower.terminal.cli.settings import Config, load_config
from number_tower.words.voice import add_voice_mistakes

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
        "print": "make a sheet for playing on paper: rules, blocks to cut out, a score table"
    },
    "Make rules": {
        "lab": "measure many settings of a game, and list the best of them or write a report"
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

A command's module in `commands` is imported only when it is called. It has `add_arguments(parser)`
and `run(args, terminal)`, which raises a CommandError, or returns an exit code where it is not 0.
"""

_CODES = {"store": FAILED, "bad_record": FAILED, "damaged": FAILED, "too_hard": NOT_SOLVED}
"""The exit codes of errors by their reason; of others it is that of a wrong call."""

AddArguments = Callable[[CommandParser], None]
RunCommand = Callable[[Namespace, Terminal], int | None]

SUMMARIES = {name: text for group in COMMANDS.values() for name, text in group.items()}
"""The summary of each command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; whatever goes wrong is reported in one line. Return the exit code."""
    # A program without a console, such as pythonw, has no output.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    code = FINISHED
    handle_interrupt_once()
    try:
        try:
            code = run_command(sys.argv[1:] if argv is None else argv)
        except KeyboardInterrupt:
            print_error("stopped")
            code = INTERRUPTED
        except CommandError as error:
            print_error(str(error))
            code = error.code
        sys.stdout.flush()
    except OSError as error:
        # Nobody reads the output any more, so what is still buffered must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return code
        print_error(f"the output cannot be written: {error.strerror}")
        return FAILED
    return code


def run_command(argv: Sequence[str], namespace: Namespace | None = None) -> int:
    """Parse a call and run its command; `namespace` holds options given before."""
    # A shell asks what can follow a call.
    if "_ARGCOMPLETE" in os.environ:
        import_module("number_tower.terminal.cli.commands.completion").complete(create_parser)
    call = complete_call(argv)
    options = Namespace(**vars(namespace or Namespace()), call=argv)
    try:
        # Only the command in the call needs its options, and so its module.
        args, unknown = create_parser(call).parse_known_args(call, options)
    except SystemExit as end:  # after --help and --version
        return int(end.code or FINISHED)
    # argparse takes the game and what follows it only where they stand side by side.
    if unknown and not unknown[0].startswith("-") and getattr(args, "level", "") is None:
        args.level = unknown.pop(0)
    if unknown:
        help_call = " ".join(filter(None, ("tower", args.command, "--help")))
        raise CommandError(f"unexpected argument {format_value(unknown[0])} (see: {help_call})")
    try:
        # With wrong settings, the command that mends them still works.
        config = Config() if args.command == "config" else load_config()
        if config.database is not None:
            os.environ[ENVIRONMENT_VARIABLE] = config.database
        if args.command is None:
            run = import_module("number_tower.terminal.cli.commands.menu").run
        else:
            _, run = load_command(args.command)
        return int(run(args, Terminal(colours=config.colours)) or FINISHED)
    except RuleFileError as error:
        raise CommandError(str(add_voice_mistakes(error))) from None
    except NumberTowerError as error:
        raise CommandError(str(error), code=_CODES.get(error.reason, WRONG_CALL)) from None


def create_parser(names: Collection[str] = tuple(SUMMARIES)) -> CommandParser:
    """Describe the command: all subcommands, and the options of those named."""
    width = max(map(len, SUMMARIES)) + 2
    overview = []
    for title, group in COMMANDS.items():
        lines = [f"  {name.ljust(width)}{summary}" for name, summary in group.items()]
        overview += [f"{title}:", *lines, ""]
    overview.append("To see the options of a command: tower COMMAND --help")
    parser = CommandParser(
        prog="tower",
        usage="tower [OPTIONS] COMMAND ...",
        description="Number-stacking games for two players. `tower` alone shows them and asks "
        "which to play; `tower draft` plays one of them: in the full-screen app on a terminal, "
        "else line by line.",
        epilog="\n".join(overview),
    )
    version = f"Number Tower {number_tower.__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_saving_options()
    parser.add_app_option(only_plain=True)
    # Not as defaults of options: those of a command would replace values given before it.
    parser.set_defaults(db=None, no_save=False, app=None)
    # The overview lists the commands by what they are for, so argparse has not to.
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", help=SUPPRESS, parser_class=CommandParser, prog="tower"
    )
    for name, summary in SUMMARIES.items():
        command = commands.add_parser(name, description=make_sentence(summary))
        if name in names:
            add_arguments, _ = load_command(name)
            add_arguments(command)
    return parser


def load_command(name: str) -> tuple[AddArguments, RunCommand]:
    """Import the module of a command; return what describes its options, and what runs it."""
    is_shared = name in {"export", "import", "forget"}
    home = "transfer" if is_shared else name
    module = import_module(f"number_tower.terminal.cli.commands.{home}")
    if is_shared:
        return getattr(module, f"add_{name}_arguments"), getattr(module, f"run_{name}")
    return module.add_arguments, module.run


def complete_call(argv: Sequence[str]) -> Sequence[str]:
    """Return a call with its command, which is `play` where a game stands first."""
    if not argv or argv[0] in SUMMARIES or argv[0].startswith("-"):
        return argv
    if argv[0].lower() in list_names() or argv[0].endswith(".toml"):
        return ["play", *argv]
    names = [*SUMMARIES, *list_names()]
    meant = suggest_nearest(argv[0], names) or f"; the commands are {', '.join(SUMMARIES)}"
    raise CommandError(
        f"there is no command or game {format_value(argv[0])}{meant} (see: tower --help)"
    )
