"""The settings of a user: the command line beats the environment, which beats the settings file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from platformdirs import user_config_dir

from number_tower import store
from number_tower.engine.table import check_player_name
from number_tower.players import ALL_LEVELS
from number_tower.support.text import (
    format_mistakes,
    format_path,
    format_text,
    format_value,
    suggest_nearest,
)
from number_tower.terminal.cli import CommandError
from number_tower.terminal.cli.errors import report_as

CONFIG_VARIABLE = "NUMBER_TOWER_CONFIG"
"""The environment variable for another settings file, or none."""

PEOPLE = "people"
"""The level that stands for two people at one keyboard."""

LEVEL_NAMES = (PEOPLE, *ALL_LEVELS)
"""The levels that a new game can have."""

_TRUTH = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


@dataclass(frozen=True)
class Config:
    """The settings of a user, from the environment and the settings file; each may be left out."""

    name: str | None = None
    """The user's name, in games against the computer and in puzzles."""
    level: str | None = None
    """The computer's level in a new game; None for two people at one keyboard."""
    app: bool | None = None
    """Whether games open in the full-screen app; None: only `tower` alone does."""
    colours: bool = True
    """Whether a terminal shows colours."""
    database: str | None = None
    """The database; None for the default one."""


class ConfigOption(NamedTuple):
    """A key of the settings file: the variable that beats it, its meaning, and its reader."""

    variable: str
    meaning: str
    parse: Callable[[object], object]
    parse_variable: Callable[[str], object] | None = None
    """The reader of the environment variable, where that is another one."""


def load_config() -> Config:
    """Read the settings file and the environment; whatever is wrong there is a CommandError."""
    settings: dict[str, Any] = {}
    if (file := find_config_file()) is not None:
        problems = []
        for key, value in read_table(file).items():
            try:
                settings[key] = get_option(key).parse(value)
            except ValueError as error:
                problems.append(f"{format_text(key, 40)}: {error}")
        if problems:
            raise CommandError(format_mistakes(format_path(file), problems))
    for key, option in SETTINGS.items():
        if value := os.environ.get(option.variable):
            with report_as(f"{option.variable}: ", ValueError):
                settings[key] = (option.parse_variable or option.parse)(value)
    return Config(**settings)


def find_config_file() -> str | None:
    """Return the path of the settings file, which need not exist; None if there is to be none."""
    chosen = os.environ.get(CONFIG_VARIABLE)
    if chosen:
        return None if chosen.lower() == store.NONE else os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(user_config_dir("number-tower", appauthor=False), "config.toml")


# Reading ------------------------------------------------------------------------------------------


def read_table(file: str) -> dict[str, object]:
    """Return the keys and values of the settings file, not checked yet; there may be no file."""
    start = f"{format_path(file)}: "
    try:
        with open(file, encoding="utf-8-sig") as stream:
            return tomllib.loads(stream.read())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise CommandError(f"{start}cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{start}not TOML: expected text in UTF-8, but {error}") from None
    except (ValueError, RecursionError) as error:
        advice = 'write a line for each setting, as in level = "easy"'
        raise CommandError(f"{start}not TOML: {format_text(str(error))}; {advice}") from None


def get_option(key: str) -> ConfigOption:
    """Return a setting by its key; a ValueError lists those that there are."""
    if key in SETTINGS:
        return SETTINGS[key]
    meant = suggest_nearest(key, SETTINGS)
    raise ValueError(f"unknown; expected one of {', '.join(SETTINGS)}{meant}")


def _parse_level(value: object) -> str | None:
    level = value.strip().lower() if isinstance(value, str) else ""
    if level not in LEVEL_NAMES:
        expected, meant = ", ".join(LEVEL_NAMES), suggest_nearest(level, LEVEL_NAMES)
        raise ValueError(f"expected one of {expected}; got {format_value(value)}{meant}")
    return None if level == PEOPLE else level


def _parse_truth(value: object) -> bool:
    truth = _TRUTH.get(str(value).strip().lower()) if isinstance(value, str | bool) else None
    if truth is None:
        raise ValueError(f"expected true or false; got {format_value(value)}")
    return truth


def _parse_database(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{store.EXPECTED}; got {format_value(value)}")
    store.find_location(value)
    is_file = "://" not in value and value.lower() != store.NONE
    if is_file and not os.path.isabs(os.path.expanduser(value)):
        raise ValueError(f"expected a whole path, such as ~/games.db; got {format_value(value)}")
    return value


SETTINGS = {
    "name": ConfigOption(
        "NUMBER_TOWER_NAME", "your name against the computer and in puzzles", check_player_name
    ),
    "level": ConfigOption(
        "NUMBER_TOWER_LEVEL",
        "whom you play against: a level of the computer, or people",
        _parse_level,
    ),
    "app": ConfigOption(
        "NUMBER_TOWER_APP", "true: games open in the full-screen app; false: never", _parse_truth
    ),
    "colours": ConfigOption(
        "NO_COLOR", "whether a terminal shows colours", _parse_truth, lambda _: False
    ),
    "database": ConfigOption(
        store.ENVIRONMENT_VARIABLE,
        "where games are saved: a file, postgresql://..., or none",
        _parse_database,
        parse_variable=str,  # a wrong location is reported when it is used
    ),
}
