"""Where games are kept: a file of the user's, or a database that was chosen; found without loading any library."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from number_tower.showing import shown, shown_path, shown_text

VARIABLE = "NUMBER_TOWER_DB"
NONE = "none"
"""What is chosen instead of a database by whoever wants nothing kept."""

EXPECTED = "expected a file, postgresql://USER@HOST/NAME, or none"

_SERVERS = ("postgresql://", "postgresql+psycopg://", "postgres://")
_FILES = "sqlite:///"
_PASSWORD = re.compile(r"(?<=password=)[^&]*")


class WrongPlace(ValueError):  # noqa: N818 - named for what it says
    """Something that names no database, and what would."""


class Place(NamedTuple):
    """A database: its URL unless it is a plain file, its file unless it is on a server, and its name in messages."""

    url: str | None
    file: str | None
    name: str
    usual: bool = False
    """Whether it is the one that is used if nobody says otherwise."""


def chosen(given: str | None) -> str:
    """Return what was chosen: by word, or by the environment; "" is the usual place."""
    return os.environ.get(VARIABLE, "") if given is None else given


def is_none(given: str | None) -> bool:
    """Say whether nothing is to be kept."""
    return chosen(given).lower() == NONE


def find(given: str | None) -> Place | None:
    """Return the place that was chosen, or the usual one; None if nothing is to be kept."""
    source = chosen(given)
    if source.lower() == NONE:
        return None
    if not source:
        return _at(os.path.join(data_folder(), "games.db"), usual=given is None)
    if source.startswith(_SERVERS):
        if not _is_text(source):
            raise WrongPlace(f"{EXPECTED}; got {shown(_without_password(source))}")
        url = f"postgresql+psycopg://{source.partition('://')[2]}"
        return Place(url, None, shown_text(_without_password(source)))
    if source.startswith(_FILES):
        from urllib.parse import unquote  # noqa: PLC0415 - a file is mostly chosen by its plain name

        file, _, options = source.removeprefix(_FILES).partition("?")
        if not file:
            raise WrongPlace(f"{EXPECTED}; got {shown(source)}, which names no file")
        place = _at(unquote(file).removeprefix("file:"))
        return place._replace(url=source) if options else place
    if "://" in source:
        raise WrongPlace(f"{EXPECTED}; got {shown(_without_password(source))}")
    return _at(source)


def _at(file: str, *, usual: bool = False) -> Place:
    path = os.path.expanduser(file)
    return Place(None, os.path.abspath(path), shown_path(path), usual)


def data_folder() -> str:
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


def _without_password(url: str) -> str:
    """Leave a password out of what is shown."""
    scheme, _, rest = _PASSWORD.sub("***", url).partition("://")
    before, at, host = rest.rpartition("@")
    user, colon, _ = before.partition(":")
    return f"{scheme}://{user}{':***' if colon else ''}{at}{host}"
