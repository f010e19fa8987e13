"""What `tower serve` does: the one door by which the command leads to the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.failure import NO_DATABASE, WRONG_CALL, Failure
from number_tower.cli.storing import Shelf
from number_tower.store.places import VARIABLE, is_none
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from argparse import Namespace

    from number_tower.web.settings import Settings

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
        public,
        trusted,
        usual_thinkers,
    )

    if is_none(asked.db):
        advice = "leave --db out for the usual one, or name a file"
        problem = f"a server keeps every game, and needs a place for them: {advice} (--db or {VARIABLE} says none)"
        raise Failure(WRONG_CALL, problem)
    try:
        proxy = trusted(",".join(NEAR) if asked.proxy == "" else asked.proxy)
    except WrongSetting as wrong:
        raise Failure(WRONG_CALL, f"--proxy: {wrong}") from None
    try:
        public_url = public(asked.public_url)
    except WrongSetting as wrong:
        raise Failure(WRONG_CALL, f"--public-url: {wrong}") from None
    try:
        host_names = parse_host_names(asked.host_name)
    except WrongSetting as wrong:
        raise Failure(WRONG_CALL, f"--host-name: {wrong}") from None
    return Settings(
        place=Shelf(asked.db).place,
        host=HOST if asked.host is None else asked.host,
        port=asked.port,
        proxy=proxy,
        public_url=public_url,
        host_names=host_names,
        drain=asked.drain,
        limits=not asked.no_limits,
        thinkers=asked.workers or usual_thinkers(),
        log=asked.log,
        quiet=asked.quiet,
    )


def _say(text: str) -> None:
    print(text, flush=True)
