"""`tower serve` and `tower mcp`: let people play in browsers, and language models by tools.

Only this module of the command imports the web server and the MCP server.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from number_tower.cli import options
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import FINISHED, INTERRUPTED, NO_DATABASE, CommandError, print_error, report_as
from number_tower.cli.options import make_integer_parser, parse_count
from number_tower.store import ENVIRONMENT_VARIABLE, StoreError, is_disabled
from number_tower.text import format_value
from number_tower.web.settings import (
    HOST,
    LOOPBACK,
    SettingError,
    Settings,
    get_default_workers,
    parse_days,
    parse_host_names,
    parse_metrics_address,
    parse_proxies,
    parse_public_url,
    parse_size,
)

T = TypeVar("T")

LONGEST_DRAIN = 5
"""Seconds that `--drain` may take of the 15 that a server has to stop."""

_NOT_STARTED = 1


def add_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower serve`."""
    parse_port = make_integer_parser(0, 65_535, "a port from 1 to 65,535, such as 8000")
    parser.add_argument("--host", metavar="HOST", help="where to listen (127.0.0.1: this machine; 0.0.0.0: a class)")
    parser.add_argument(
        "--port", type=parse_port, metavar="PORT", help="at which port (8000, or the next that is free)"
    )
    options.add_db_option(parser, "the database: a file, or postgresql://... (else what NUMBER_TOWER_DB says)")
    parser.add_argument(
        "--proxy",
        nargs="?",
        const="",
        metavar="ADDRESSES",
        help="believe the X-Forwarded headers of a reverse proxy on this machine, or at these addresses",
    )
    parser.add_argument("--public-url", metavar="URL", help="the address that people open, if a proxy gives it another")
    parser.add_argument(
        "--host-name",
        action="append",
        metavar="NAMES",
        help="names by which people open the server, besides localhost and IP addresses, with commas between",
    )
    parser.add_argument(
        "--drain",
        type=_parse_drain,
        default=0.0,
        metavar="S",
        help="when told to stop, serve so many seconds more with readiness down, for a load balancer (0; at most 5)",
    )
    parser.add_argument("--no-limits", action="store_true", help="let everybody ask as often as they like")
    parser.add_argument(
        "--workers",
        type=parse_count,
        metavar="N",
        help="processes that think about positions (all cores but one; at most 4)",
    )
    parser.add_argument(
        "--keep-days",
        metavar="N",
        help="delete rooms with their games in which nothing happened for N days (never; with one move at most: 30)",
    )
    parser.add_argument(
        "--max-db",
        default="4G",
        metavar="SIZE",
        help="start no new games while the database is larger, e.g. 500M or 2G, or none for no limit (4G)",
    )
    parser.add_argument("--log", choices=("json", "text"), help="write the log so (text on a terminal, else json)")
    parser.add_argument("--quiet", action="store_true", help="log only what goes wrong")
    parser.add_argument(
        "--metrics",
        metavar="[HOST:]PORT",
        help="serve metrics for Prometheus at this port (of this machine only, unless HOST is given)",
    )


def _parse_drain(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_DRAIN:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to {LONGEST_DRAIN}; got {format_value(text)}")
    return seconds


def run(args: argparse.Namespace) -> int:
    """Serve the games to browsers until Ctrl-C."""
    settings = _read_settings(args)
    try:
        with report_as("{}.", StoreError, code=NO_DATABASE):
            return _run_server(settings)
    except ModuleNotFoundError as error:
        raise _explain_missing_package(error, "serving games", "web") from None


def _run_server(settings: Settings) -> int:
    from number_tower.web.server import ServerStartError, run  # noqa: PLC0415 - the extra may not be installed

    with report_as("{}.", ServerStartError, code=_NOT_STARTED):
        return run(settings, lambda text: print(text, flush=True))


def _read_settings(args: argparse.Namespace) -> Settings:
    if is_disabled(args.db):
        advice = f"leave --db out for the usual one, or name a file (--db or {ENVIRONMENT_VARIABLE} says none)"
        raise CommandError(f"a server keeps every game, and needs a place for them: {advice}")

    def read(option: str, parse: Callable[[Any], T], value: object, default: T) -> T:
        if value is None:
            return default
        with report_as(f"{option}: {{}}", SettingError):
            return parse(value)

    return Settings(
        place=LazyStore(args.db).location,
        host=HOST if args.host is None else args.host,
        port=args.port,
        proxy=read("--proxy", parse_proxies, ",".join(LOOPBACK) if args.proxy == "" else args.proxy, ()),
        public_url=read("--public-url", parse_public_url, args.public_url, None),
        host_names=read("--host-name", parse_host_names, args.host_name, ()),
        drain=args.drain,
        limits=not args.no_limits,
        workers=args.workers or get_default_workers(),
        log=args.log,
        quiet=args.quiet,
        metrics=read("--metrics", parse_metrics_address, args.metrics, None),
        keep_days=read("--keep-days", parse_days, args.keep_days, None),
        max_db=read("--max-db", parse_size, args.max_db, None),
    )


def add_mcp_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower mcp`."""
    parser.add_argument("--no-legal", action="store_true", help="never list which blocks may be placed")
    parser.add_argument("--no-help", action="store_true", help="offer no hints and no analysis")


def run_mcp(args: argparse.Namespace) -> int:
    """Serve the MCP client at standard input and output, until it leaves or Ctrl-C."""
    try:
        from number_tower.mcp.server import run  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError as error:
        raise _explain_missing_package(error, "letting language models play", "mcp") from None
    if sys.stdin.isatty():
        print_error("waiting for an MCP client on standard input; a client starts this command itself. Ctrl-C ends it.")
    signal.signal(signal.SIGINT, _exit_at_once)
    run(lists=not args.no_legal, helps=not args.no_help)
    return FINISHED


def _exit_at_once(*_: object) -> NoReturn:
    """Exit without waiting for the thread that reads the next line; nothing has to be saved."""
    print_error("stopped.")
    os._exit(INTERRUPTED)


def _explain_missing_package(error: ModuleNotFoundError, what: str, extra: str) -> Exception:
    """Return the error that names the extra to install, or the same error if a module of this package is missing."""
    if (error.name or "").startswith("number_tower"):
        return error
    return CommandError(f"{what} takes a few more packages: pip install 'number-tower[{extra}]'", code=_NOT_STARTED)
