"""`tower serve`: let people play in browsers. Only this module imports the web server."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any, TypeVar

from number_tower.engine.blocks import parse_number
from number_tower.terminal.cli import CommandParser, Terminal
from number_tower.terminal.cli.database import LazyStore
from number_tower.terminal.cli.errors import FAILED, report_as, require_extra
from number_tower.terminal.cli.options import make_number_parser
from number_tower.web import settings

T = TypeVar("T")


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower serve`."""
    parser.add_example("tower serve", "play in the browser on this machine")
    parser.add_example("tower serve --host 0.0.0.0", "let others in the same network play too")
    expected = "a port from 1 to 65,535, such as 8000"
    parse_port = make_number_parser(parse_number, expected, 0, 65_535)
    addresses = "127.0.0.1: this machine only; 0.0.0.0: also others, as in a class"
    meaning = f"the address to listen on ({addresses})"
    parser.add_value("--host", "HOST", meaning, default=settings.HOST)
    parser.add_value("--port", "PORT", "the port (8000, or the next free one)", type=parse_port)
    parser.add_db_option(
        "the database: a file, or postgresql://... (default: NUMBER_TOWER_DB, or your settings)"
    )
    proxy = "trust the X-Forwarded headers of a reverse proxy on this machine"
    meaning = f"{proxy}, or at these addresses"
    loopback = ",".join(settings.LOOPBACK)
    parser.add_value("--proxy", "ADDRESSES", meaning, nargs="?", const=loopback)
    meaning = "the address that people open, if a proxy gives it another"
    parser.add_value("--public-url", "URL", meaning)
    meaning = "names of the server besides localhost and IP addresses, separated by commas"
    parser.add_value("--host-name", "NAMES", meaning, action="append")
    parser.add_flag("--no-limits", "do not limit the number of requests")
    meaning = "processes that think about positions (all cores but one; at most 4)"
    parser.add_count("--workers", meaning, default=settings.get_default_workers())
    usual = "never; rooms with at most one move: 30"
    meaning = f"delete rooms and their games after N days without a move ({usual})"
    parser.add_value("--keep-days", "N", meaning)
    sizes = "such as 500M or 2G; none: no limit (4G)"
    meaning = f"start no new games while the database is larger than SIZE, {sizes}"
    parser.add_value("--max-db", "SIZE", meaning, default="4G")
    parser.add_flag("--quiet", "log only problems")
    meaning = (
        "serve metrics for Prometheus at this port (of this machine only, unless HOST is given)"
    )
    parser.add_value("--metrics", "[HOST:]PORT", meaning)


def run(args: Namespace, _: Terminal) -> int:
    """Serve the games to browsers until Ctrl-C."""
    chosen = _read_settings(args)
    with require_extra("serving games", "web"):
        from number_tower.web import server  # noqa: PLC0415 - the extra may not be installed

        with report_as("", server.ServerStartError, code=FAILED):
            return server.run(chosen, lambda text: print(text, flush=True))


def _read_settings(args: Namespace) -> settings.Settings:
    def read(option: str, parse: Callable[[Any], T], value: object, default: T) -> T:
        if value is None:
            return default
        with report_as(f"{option}: ", settings.SettingError):
            return parse(value)

    return settings.Settings(
        place=LazyStore(args.db).location,
        host=args.host,
        port=args.port,
        proxy=read("--proxy", settings.parse_proxies, args.proxy, ()),
        public_url=read("--public-url", settings.parse_public_url, args.public_url, None),
        host_names=read("--host-name", settings.parse_host_names, args.host_name, ()),
        limits=not args.no_limits,
        workers=args.workers,
        quiet=args.quiet,
        metrics=read("--metrics", settings.parse_metrics_address, args.metrics, None),
        keep_days=read("--keep-days", settings.parse_days, args.keep_days, None),
        max_db=read("--max-db", settings.parse_size, args.max_db, None),
    )
