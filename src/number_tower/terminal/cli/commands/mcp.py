"""`tower mcp`: let a language model play by tools. Only this module imports the MCP server."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from typing import NoReturn

from number_tower.terminal.cli import CommandParser, Terminal
from number_tower.terminal.cli.errors import INTERRUPTED, print_error, require_extra


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower mcp`."""
    parser.add_example("tower mcp", "what a client of the Model Context Protocol starts")
    parser.add_example("tower mcp --no-help", "see how well a model plays without hints")
    parser.add_flag("--no-legal", "never list the legal moves")
    parser.add_flag("--no-help", "offer no hints and no analysis")


def run(args: Namespace, _: Terminal) -> None:
    """Serve the MCP client at standard input and output, until it leaves or Ctrl-C."""
    with require_extra("playing with language models", "mcp"):
        from number_tower.mcp import server  # noqa: PLC0415 - the extra may not be installed
    if sys.stdin.isatty():
        print_error(
            "waiting for an MCP client on standard input; "
            "a client starts this command itself. Ctrl-C ends it"
        )
    signal.signal(signal.SIGINT, _exit_at_once)
    server.run(lists=not args.no_legal, helps=not args.no_help)


def _exit_at_once(*_: object) -> NoReturn:
    """Exit without waiting for the thread that reads the next line; nothing has to be saved."""
    print_error("stopped")
    os._exit(INTERRUPTED)
