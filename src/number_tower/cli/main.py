# PYTHON_ARGCOMPLETE_OK
"""The command line: one call, and the exit code that answers.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record is damaged, or nothing can be
written; 2 a wrong call or rule file; 3 not solved within the limits given; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from number_tower.cli.errors import (
    FINISHED,
    INTERRUPTED,
    NO_OUTPUT,
    WRONG_CALL,
    CommandError,
    handle_interrupt_once,
    print_error,
)
from number_tower.cli.options import create_parser
from number_tower.text import format_text, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; everything that can go wrong ends here in one clear line."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it serves until the process ends
    code = FINISHED
    handle_interrupt_once()
    try:
        code = _run_safely(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except OSError as trouble:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(trouble, BrokenPipeError):
            return code
        print_error(f"the output cannot be written: {trouble.strerror}")
        return NO_OUTPUT
    return code


def _run_safely(argv: Sequence[str]) -> int:
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print_error("stopped.")
        return INTERRUPTED
    except CommandError as failure:
        print_error(str(failure))
        return failure.code


def _run(argv: Sequence[str]) -> int:
    tower = create_parser()
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
        raise CommandError(
            WRONG_CALL, f"{format_value(unknown[0])} is not something that `{call}` takes (see: {call} --help)"
        )
    from number_tower.cli import commands  # noqa: PLC0415 - `--version` and `--help` need none of it

    return commands.run_command(asked)


def _check_command(argv: Sequence[str], commands: tuple[str, ...]) -> None:
    """Meet a wrong command before argparse does: a game's name in its place means that someone wants to play it."""
    if not argv or argv[0] in commands or argv[0].startswith("-"):
        return
    from number_tower import catalogue  # noqa: PLC0415 - only for a wrong call

    if argv[0].lower() in catalogue.list_names() or argv[0].endswith(".toml"):
        raise CommandError(WRONG_CALL, f"to play it: tower play {format_text(' '.join(argv))}")
    known = ", ".join(commands)
    raise CommandError(
        WRONG_CALL, f"there is no command {format_value(argv[0])}; the commands are {known} (see: tower --help)"
    )
