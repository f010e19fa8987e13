"""What `tower serve` does: the one door by which the command leads to the browser."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from number_tower.cli.autosave import LazyStore
from number_tower.cli.errors import FINISHED, INTERRUPTED, NO_DATABASE, WRONG_CALL, CommandError, print_error
from number_tower.store import ENVIRONMENT_VARIABLE, StoreError, is_disabled

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from number_tower.web.settings import Settings

T = TypeVar("T")


_NOT_SERVED = 1


_WEB_EXTRA = "pip install 'number-tower[web]'"


def run_serve(asked: Namespace) -> int:
    """Serve the games to browsers until Ctrl-C."""
    settings = _read_settings(asked)
    try:
        return _run_server(settings)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("number_tower"):
            raise
        raise CommandError(_NOT_SERVED, f"serving games takes a few more packages: {_WEB_EXTRA}") from None
    except StoreError as trouble:
        raise CommandError(NO_DATABASE, f"{trouble}.") from None


def _run_server(settings: Settings) -> int:
    from number_tower.web.server import ServerStartError, run  # noqa: PLC0415 - the extra may not be installed

    try:
        return run(settings, _print_line)
    except ServerStartError as wrong:
        raise CommandError(_NOT_SERVED, f"{wrong}.") from None


def _read_settings(asked: Namespace) -> Settings:
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

    if is_disabled(asked.db):
        advice = "leave --db out for the usual one, or name a file"
        problem = f"a server keeps every game, and needs a place for them: {advice} (--db or {ENVIRONMENT_VARIABLE} says none)"
        raise CommandError(WRONG_CALL, problem)

    def read(option: str, reader: Callable[[Any], T], given: object) -> T:
        try:
            return reader(given)
        except SettingError as wrong:
            raise CommandError(WRONG_CALL, f"{option}: {wrong}") from None

    return Settings(
        place=LazyStore(asked.db).place,
        host=HOST if asked.host is None else asked.host,
        port=asked.port,
        proxy=read("--proxy", parse_proxies, ",".join(LOOPBACK) if asked.proxy == "" else asked.proxy),
        public_url=read("--public-url", parse_public_url, asked.public_url),
        host_names=read("--host-name", parse_host_names, asked.host_name),
        drain=asked.drain,
        limits=not asked.no_limits,
        workers=asked.workers or get_default_workers(),
        log=asked.log,
        quiet=asked.quiet,
        metrics=read("--metrics", parse_metrics_address, asked.metrics),
        keep_days=read("--keep-days", parse_days, asked.keep_days),
        max_db=read("--max-db", parse_size, asked.max_db),
    )


def _print_line(text: str) -> None:
    print(text, flush=True)


_NOT_STARTED = 1


_MCP_EXTRA = "pip install 'number-tower[mcp]'"


def run_mcp(asked: Namespace) -> int:
    """Let the program at the other end of standard input and output play, until it goes or Ctrl-C."""
    try:
        from number_tower.mcp.server import run  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("number_tower"):
            raise
        raise CommandError(
            _NOT_STARTED, f"letting language models play takes a few more packages: {_MCP_EXTRA}"
        ) from None
    if sys.stdin.isatty():
        print_error("waiting for an MCP client on standard input; a client starts this command itself. Ctrl-C ends it.")
    signal.signal(signal.SIGINT, _exit_at_once)
    run(lists=not asked.no_legal, helps=not asked.no_help)
    return FINISHED


def _exit_at_once(*_: object) -> NoReturn:
    """Go at once: a thread that waits for the next line would hold up everything else, and there is nothing to keep."""
    print_error("stopped.")
    os._exit(INTERRUPTED)
