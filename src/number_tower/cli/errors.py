"""What the command cannot do, in one line, and the exit code that says so."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import NoReturn

from number_tower.text import make_printable

FINISHED = 0
INPUT_ENDED = 1
DAMAGED_RECORD = 1
NO_OUTPUT = 1
NO_DATABASE = 1
DAMAGED_DATABASE = 1
WRONG_CALL = 2
NOT_SOLVED = 3
INTERRUPTED = 130


class CommandError(Exception):
    """Something that was asked for and cannot be had."""

    def __init__(self, code: int, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class InputEndedError(Exception):
    """There is no more input, though an answer was asked for."""


def handle_interrupt_once() -> None:
    """Let one Ctrl-C interrupt what goes on, and a second one not disturb the answer to the first."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def rearm_interrupt() -> None:
    """Wait for a new Ctrl-C: the one that came ended a piece of work, and the game goes on."""
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(*_: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def print_error(text: str) -> None:
    """Say on standard error, in one line, what is wrong."""
    with suppress(OSError):
        sys.stdout.flush()
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"tower: {make_printable(text)}", file=sys.stderr)
