"""What `tower serve` does: the one door by which the command leads to the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from number_tower.cli.failure import NO_DATABASE, WRONG_CALL, Failure
from number_tower.cli.storing import Shelf
from number_tower.store.places import VARIABLE, is_none
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from number_tower.web.settings import Settings

T = TypeVar("T")

_NOT_SERVED = 1
_NEEDED = "pip install 'number-tower[web]'"


def answer(asked: Namespace) -> int:
    """Serve the games to browsers until Ctrl-C."""
    settings = _settings(asked)
    try:
        return _served(settings)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("number_tower"):
            raise
        raise Failure(_NOT_SERVED, f"serving games takes a few more packages: {_NEEDED}") from None
    except StoreError as trouble:
        raise Failure(NO_DATABASE, f"{trouble}.") from None


def _served(settings: Settings) -> int:
    from number_tower.web.server import CannotServe, run  # noqa: PLC0415 - the extra may not be installed

    try:
        return run(settings, _say)
    except CannotServe as wrong:
        raise Failure(_NOT_SERVED, f"{wrong}.") from None


def _settings(asked: Namespace) -> Settings:
    from number_tower.web.settings import (  # noqa: PLC0415 - nothing of the web is loaded before somebody asks for it
        HOST,
        NEAR,
        Settings,
        WrongSetting,
        parse_host_names,
        parse_metrics_address,
        public,
        read_days,
        read_size,
        trusted,
        usual_thinkers,
    )

    if is_none(asked.db):
        advice = "leave --db out for the usual one, or name a file"
        problem = f"a server keeps every game, and needs a place for them: {advice} (--db or {VARIABLE} says none)"
        raise Failure(WRONG_CALL, problem)

    def read(option: str, reader: Callable[[Any], T], given: object) -> T:
        try:
            return reader(given)
        except WrongSetting as wrong:
            raise Failure(WRONG_CALL, f"{option}: {wrong}") from None

    return Settings(
        place=Shelf(asked.db).place,
        host=HOST if asked.host is None else asked.host,
        port=asked.port,
        proxy=read("--proxy", trusted, ",".join(NEAR) if asked.proxy == "" else asked.proxy),
        public_url=read("--public-url", public, asked.public_url),
        host_names=read("--host-name", parse_host_names, asked.host_name),
        drain=asked.drain,
        limits=not asked.no_limits,
        thinkers=asked.workers or usual_thinkers(),
        log=asked.log,
        quiet=asked.quiet,
        metrics=read("--metrics", parse_metrics_address, asked.metrics),
        keep_days=read("--keep-days", read_days, asked.keep_days),
        max_db=read("--max-db", read_size, asked.max_db),
    )


def _say(text: str) -> None:
    print(text, flush=True)
