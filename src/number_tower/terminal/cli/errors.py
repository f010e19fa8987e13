"""Errors of the command, its exit codes, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from number_tower.support.text import make_printable

FINISHED = 0
FAILED = 1
WRONG_CALL = 2
NOT_SOLVED = 3
INTERRUPTED = 130

NOTHING_TO_SAVE = "No move was made, so there is nothing to save."


class CommandError(Exception):
    """A call that cannot be carried out: one line without a full stop, and the exit code."""

    def __init__(self, problem: str, *, code: int = WRONG_CALL) -> None:
        super().__init__(problem)
        self.code = code


class PlayStoppedError(CommandError):
    """The input ended, or Ctrl-C was typed, in the middle of a game, a puzzle or a lesson."""


class InputEndedError(Exception):
    """The input ended where an answer was expected."""


@contextmanager
def report_as(
    start: str, *errors: type[Exception], end: str = "", code: int = WRONG_CALL
) -> Iterator[None]:
    """Turn these errors into a CommandError; its message has the error between start and end."""
    try:
        yield
    except errors as error:
        problem = getattr(error, "strerror", None) or error
        raise CommandError(f"{start}{problem}{end}", code=code) from None


@contextmanager
def report_stop(message: str, describe: Callable[[str], str] = str) -> Iterator[None]:
    """Turn the end of the input (with this message) and Ctrl-C into a PlayStoppedError.

    `describe` may change the messages of both.
    """
    try:
        yield
    except InputEndedError:
        raise PlayStoppedError(describe(message), code=FAILED) from None
    except KeyboardInterrupt:
        raise PlayStoppedError(describe("stopped"), code=INTERRUPTED) from None


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Say which extra to install where a package is missing; `what` begins the message."""
    try:
        yield
    except ModuleNotFoundError as error:
        # A missing module of our own is a mistake in this program.
        if (error.name or "").startswith("number_tower"):
            raise
        from number_tower.support.installation import format_install_command  # noqa: PLC0415 - rare

        message = f"{what} needs a few more packages: {format_install_command(extra)}"
        raise CommandError(message, code=FAILED) from None


def handle_interrupt_once() -> None:
    """Let the first Ctrl-C raise KeyboardInterrupt, and ignore others while that is handled."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        rearm_interrupt()


def rearm_interrupt() -> None:
    """Listen to Ctrl-C again, after one that stopped only a part of the work."""
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(*_: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def print_error(text: str) -> None:
    """Print a message to standard error, in one line."""
    with suppress(OSError):
        sys.stdout.flush()
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"tower: {make_printable(text)}", file=sys.stderr)
