"""What `tower mcp` does: the one door by which the command leads to language models."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from number_tower.cli.failure import FINISHED, INTERRUPTED, Failure, complain

if TYPE_CHECKING:
    from argparse import Namespace

_NOT_SERVED = 1
_NEEDED = "pip install 'number-tower[mcp]'"


def answer(asked: Namespace) -> int:
    """Let the program at the other end of standard input and output play, until it goes or Ctrl-C."""
    try:
        from number_tower.mcp.server import run  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("number_tower"):
            raise
        raise Failure(_NOT_SERVED, f"letting language models play takes a few more packages: {_NEEDED}") from None
    if sys.stdin.isatty():
        complain("waiting for an MCP client on standard input; a client starts this command itself. Ctrl-C ends it.")
    signal.signal(signal.SIGINT, _leave)
    run(lists=not asked.no_legal, helps=not asked.no_help)
    return FINISHED


def _leave(*_: object) -> NoReturn:
    """Go at once: a thread that waits for the next line would hold up everything else, and there is nothing to keep."""
    complain("stopped.")
    os._exit(INTERRUPTED)
