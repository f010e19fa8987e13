# PYTHON_ARGCOMPLETE_OK
"""The command line: one call, and the exit code that answers.

0 finished, quit, or the reader closed the pipe; 1 the input ended first, a record is damaged, or nothing can be
written; 2 a wrong call or rule file; 3 not solved within the limits given; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from number_tower.cli.calls import parser
from number_tower.cli.failure import (
    FINISHED,
    INTERRUPTED,
    NO_OUTPUT,
    WRONG_CALL,
    Failure,
    complain,
    one_interrupt,
)
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; everything that can go wrong ends here in one clear line."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it serves until the process ends
    code = FINISHED
    one_interrupt()
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
        complain("stopped.")
        return INTERRUPTED
    except Failure as failure:
        complain(str(failure))
        return failure.code


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
