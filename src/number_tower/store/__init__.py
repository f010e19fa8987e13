"""Games kept in a database, from their first move, whatever happens; one store for the terminal and the browser."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from number_tower.text import format_path, format_text, format_value

if TYPE_CHECKING:
    from number_tower.store.database import Store
    from number_tower.store.rows import (
        StoredGame,
    )


def open_store(where: str | None = None) -> Store:
    """Open the database that is meant: a file, `postgresql://...`, or, without a word, the usual one."""
    from number_tower.store import LocationError, find_location  # noqa: PLC0415 - likewise
    from number_tower.store.database import Store  # noqa: PLC0415 - the database's library is loaded when it is needed

    place = find_location(where)
    if place is None:
        raise LocationError("expected a database; got none")
    return Store(place)


class GameNotFoundError(LookupError):
    """The database holds no game, or no match, of this id."""


class GameStartedError(ValueError):
    """The game of a match that was to be begun is there already, begun by somebody else."""

    def __init__(self, kept: StoredGame) -> None:
        super().__init__(f"{kept.slot} was begun already")
        self.game = kept


ENVIRONMENT_VARIABLE = "NUMBER_TOWER_DB"


NONE = "none"


"""What is chosen instead of a database by whoever wants nothing kept."""


EXPECTED = "expected a file, postgresql://USER@HOST/NAME, or none"


_SERVER_SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")


_FILE_SCHEME = "sqlite:///"


_PASSWORD = re.compile(r"(?<=password=)[^&]*")


class LocationError(ValueError):
    """Something that names no database, and what would."""


class Location(NamedTuple):
    """A database: its URL unless it is a plain file, its file unless it is on a server, and its name in messages."""

    url: str | None
    file: str | None
    name: str
    is_default: bool = False
    """Whether it is the one that is used if nobody says otherwise."""


def get_choice(given: str | None) -> str:
    """Return what was chosen: by word, or by the environment; "" is the usual place."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "") if given is None else given


def is_disabled(given: str | None) -> bool:
    """Say whether nothing is to be kept."""
    return get_choice(given).lower() == NONE


def find_location(given: str | None) -> Location | None:
    """Return the place that was chosen, or the usual one; None if nothing is to be kept."""
    source = get_choice(given)
    if source.lower() == NONE:
        return None
    if not source:
        return _locate_file(os.path.join(get_data_folder(), "games.db"), usual=given is None)
    if source.startswith(_SERVER_SCHEMES):
        if not _is_text(source):
            raise LocationError(f"{EXPECTED}; got {format_value(_mask_password(source))}")
        url = f"postgresql+psycopg://{source.partition('://')[2]}"
        return Location(url, None, format_text(_mask_password(source)))
    if source.startswith(_FILE_SCHEME):
        from urllib.parse import unquote  # noqa: PLC0415 - a file is mostly chosen by its plain name

        file, _, options = source.removeprefix(_FILE_SCHEME).partition("?")
        if not file:
            raise LocationError(f"{EXPECTED}; got {format_value(source)}, which names no file")
        place = _locate_file(unquote(file).removeprefix("file:"))
        return place._replace(url=source) if options else place
    if "://" in source:
        raise LocationError(f"{EXPECTED}; got {format_value(_mask_password(source))}")
    return _locate_file(source)


def _locate_file(file: str, *, usual: bool = False) -> Location:
    path = os.path.expanduser(file)
    return Location(None, os.path.abspath(path), format_path(path), usual)


def get_data_folder() -> str:
    """Return the folder where the system wants a user's data."""
    from platformdirs import user_data_dir  # noqa: PLC0415 - only where nothing else was chosen

    return user_data_dir("number-tower", appauthor=False)


def _is_text(source: str) -> bool:
    """Say whether a URL can be sent: what the system gives may hold bytes that are no text."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mask_password(url: str) -> str:
    """Leave a password out of what is shown."""
    scheme, _, rest = _PASSWORD.sub("***", url).partition("://")
    before, at, host = rest.rpartition("@")
    user, colon, _ = before.partition(":")
    return f"{scheme}://{user}{':***' if colon else ''}{at}{host}"


class StoreError(Exception):
    """A database that cannot be used, and why, in one sentence without its full stop."""
