"""Games in a database: where the database is, how to open it, and what can go wrong.

Games are stored from their first move on. This module loads no database library.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_path, format_text, format_value

if TYPE_CHECKING:
    # See `__getattr__`.
    from number_tower.store import database, games, matches, puzzles, rows  # noqa: F401
    from number_tower.store.database import Store
    from number_tower.store.rows import StoredGame

__all__ = ["GameNotFoundError", "LocationError", "StoreError", "open_store"]

ENVIRONMENT_VARIABLE = "NUMBER_TOWER_DB"

NONE = "none"
"""The location that means: store nothing."""

EXPECTED = "expected a file, postgresql://USER@HOST/NAME, or none"

_SERVER_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")
_FILE_SCHEME = "sqlite:///"
_NO_TEXT = re.compile(r"[\ud800-\udfff]")  # an argument may contain bytes that are no Unicode
_PASSWORD = re.compile(r"(?<=password=)[^&]*")


if not TYPE_CHECKING:  # a type checker would take every name for a module

    def __getattr__(name: str) -> ModuleType:
        """Import a module of this package when it is first used: SQLAlchemy takes time to load."""
        if name in {"database", "games", "matches", "puzzles", "rows"}:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class StoreError(NumberTowerError):
    """A database that cannot be used, and why, in one sentence without its full stop.

    Examples:
        >>> open_store("/dev/null/games.db")
        Traceback (most recent call last):
            ...
        number_tower.store.StoreError: the database ... cannot be used: /dev/null is not a folder
    """

    reason = "store"


class DamagedError(StoreError):
    """A damaged part of a database, such as a game, and the reason."""


class LocationError(NumberTowerError, ValueError):
    """A text that does not name a database; the message says what would.

    Examples:
        >>> open_store("mysql://localhost/games")
        Traceback (most recent call last):
            ...
        number_tower.store.LocationError: expected a file, postgresql://USER@HOST/NAME, or...
    """

    reason = "bad_location"


class GameNotFoundError(NumberTowerError, LookupError):
    """The database holds no game, or no match, of this id.

    Examples:
        >>> open_store("games.db").get(77)
        Traceback (most recent call last):
            ...
        number_tower.store.GameNotFoundError: 77
    """

    reason = "no_such_game"


class GameStartedError(ValueError):
    """Another process has already started this game of a match."""

    def __init__(self, game: StoredGame) -> None:
        super().__init__(f"{game.slot} was begun already")
        self.game = game


class Location(NamedTuple):
    """A database: its URL unless it is a plain file, its file if any, and its name in messages."""

    url: str | None
    file: str | None
    name: str


def open_store(where: str | None = None) -> Store:
    """Open a database: a file, `postgresql://...`, or the default one.

    Examples:
        >>> store = open_store("games.db")
        >>> saved = store.begin(nt.Table(nt.Game()))
        >>> store.close()
    """
    location = find_location(where)
    if location is None:
        raise LocationError("expected a database; got none")
    store: Store = import_module("number_tower.store.database").Store(location)
    return store


def get_choice(given: str | None) -> str:
    """Return the chosen location, from the argument or the environment; "" is the default."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "") if given is None else given


def is_disabled(given: str | None) -> bool:
    """Say whether the location means that nothing is stored."""
    return get_choice(given).lower() == NONE


def find_location(given: str | None) -> Location | None:
    """Return the chosen location, or the default one; None if nothing is to be stored."""
    source = get_choice(given)
    if is_disabled(source):
        return None
    if not source:
        from platformdirs import user_data_dir  # noqa: PLC0415 - only for the default location

        folder = user_data_dir("number-tower", appauthor=False)
        return locate_file(os.path.join(folder, "games.db"))
    if source.startswith(_SERVER_SCHEMES) and not _NO_TEXT.search(source):
        url = f"postgresql+psycopg://{source.partition('://')[2]}"
        return Location(url, None, format_text(_mask_password(source)))
    if source.startswith(_FILE_SCHEME):
        from urllib.parse import unquote  # noqa: PLC0415 - most files have a plain name

        file, _, options = source.removeprefix(_FILE_SCHEME).partition("?")
        if not file:
            raise LocationError(f"{EXPECTED}; got {format_value(source)}, which names no file")
        location = locate_file(os.path.expanduser(unquote(file).removeprefix("file:")))
        return location._replace(url=source) if options else location
    if "://" in source:
        raise LocationError(f"{EXPECTED}; got {format_value(_mask_password(source))}")
    return locate_file(os.path.expanduser(source))


def locate_file(file: str | os.PathLike[str]) -> Location:
    """Return the location of a database file."""
    return Location(None, os.path.abspath(file), format_path(file))


def _mask_password(url: str) -> str:
    scheme, _, rest = _PASSWORD.sub("***", url).partition("://")
    before, at, host = rest.rpartition("@")
    user, colon, _ = before.partition(":")
    return f"{scheme}://{user}{':***' if colon else ''}{at}{host}"
