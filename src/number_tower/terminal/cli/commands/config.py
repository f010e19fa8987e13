"""`tower config`: the settings file of a user. The command line beats the environment, which beats the file."""

from __future__ import annotations

import json
import os
import tomllib
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_config_dir

from number_tower import store
from number_tower.cli.errors import CommandError, report_as
from number_tower.files import open_replacing
from number_tower.players import ALL_LEVELS
from number_tower.table import check_player_name
from number_tower.text import (
    format_mistakes,
    format_path,
    format_text,
    format_value,
    make_sentence,
    suggest_nearest,
)

if TYPE_CHECKING:
    from number_tower.cli.options import CommandParser
    from number_tower.cli.terminal import Terminal

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
    """The level of the computer that a new game is played against; None for two people at one keyboard."""
    app: bool | None = None
    """Whether games open in the full-screen app; None: only `tower` alone does."""
    colours: bool = True
    """Whether a terminal shows colours."""
    database: str | None = None
    """The database; None for the default one."""


class ConfigError(CommandError):
    """A settings file or a setting in the environment that is not valid: where, which key, and what would be right."""


class Setting(NamedTuple):
    """A key of the settings file: the environment variable that beats it, its meaning, and its reader."""

    variable: str
    meaning: str
    parse: Callable[[object], object]
    parse_variable: Callable[[str], object] | None = None
    """The reader of the environment variable, where that is another one."""


def load_config() -> Config:
    """Read the settings file and the environment; whatever is wrong there is a ConfigError."""
    file = find_config_file()
    settings = {} if file is None else _parse_settings(_read_table(file), file)
    return Config(**{**settings, **_read_environment()})


def find_config_file() -> str | None:
    """Return the path of the settings file, which need not exist; None if there is to be none."""
    chosen = os.environ.get(CONFIG_VARIABLE)
    if chosen:
        return None if chosen.lower() == store.NONE else os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(user_config_dir("number-tower", appauthor=False), "config.toml")


# Reading --------------------------------------------------------------------------------------------------------------


def _read_table(file: str) -> dict[str, object]:
    """Return the keys and values of the settings file, not checked yet; there may be no file."""
    start = f"{format_path(file)}: "
    try:
        with open(file, encoding="utf-8-sig") as stream:
            return tomllib.loads(stream.read())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{start}cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{start}not TOML: expected text in UTF-8, but {error}") from None
    except (ValueError, RecursionError) as error:
        advice = 'write a line for each setting, as in level = "easy"'
        raise ConfigError(f"{start}not TOML: {format_text(str(error))}; {advice}") from None


def _parse_settings(table: Mapping[str, object], file: str) -> dict[str, Any]:
    """Check the settings of a file; all mistakes are reported at once."""
    parsed, problems = {}, []
    for key, value in table.items():
        try:
            parsed[key] = _get_setting(key).parse(value)
        except ValueError as error:
            problems.append(f"{format_text(key, 40)}: {error}")
    if problems:
        raise ConfigError(format_mistakes(format_path(file), problems))
    return parsed


def _read_environment() -> dict[str, Any]:
    parsed = {}
    for key, setting in SETTINGS.items():
        if not (value := os.environ.get(setting.variable)):
            continue
        try:
            parsed[key] = (setting.parse_variable or setting.parse)(value)
        except ValueError as error:
            raise ConfigError(f"{setting.variable}: {error}") from None
    return parsed


def _get_setting(key: str) -> Setting:
    if key in SETTINGS:
        return SETTINGS[key]
    raise ValueError(
        f"unknown; expected one of {', '.join(SETTINGS)}{suggest_nearest(key, SETTINGS)}"
    )


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
    "name": Setting(
        "NUMBER_TOWER_NAME", "your name against the computer and in puzzles", check_player_name
    ),
    "level": Setting(
        "NUMBER_TOWER_LEVEL",
        "whom you play against: a level of the computer, or people",
        _parse_level,
    ),
    "app": Setting(
        "NUMBER_TOWER_APP",
        "true: games open in the full-screen app; false: never",
        _parse_truth,
    ),
    "colours": Setting(
        "NO_COLOR",
        "whether a terminal shows colours",
        _parse_truth,
        lambda _: False,
    ),
    "database": Setting(
        store.ENVIRONMENT_VARIABLE,
        "where games are saved: a file, postgresql://..., or none",
        _parse_database,
        parse_variable=str,  # a wrong location is reported when it is used
    ),
}


# The command ----------------------------------------------------------------------------------------------------------


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower config`."""
    parser.add_example("tower config", "show all settings, and where each comes from")
    parser.add_example("tower config level easy", "play against easy, unless a call differs")
    parser.add_value(
        "key", "KEY", f"the setting to show or change: {', '.join(SETTINGS)}", nargs="?"
    )
    parser.add_value("value", "VALUE", "the new value", nargs="?")
    parser.add_flag("--unset", "remove the setting from the file")


def run(args: Namespace, terminal: Terminal) -> None:
    """Show the settings and where they come from, or change one in the file."""
    if args.key is None and args.unset:
        raise CommandError("--unset: which setting? As in: tower config level --unset")
    if args.value is not None and args.unset:
        raise CommandError("choose one: a new value, or --unset")
    file = find_config_file()
    if args.key is not None:
        with report_as(f"{format_text(args.key, 40)}: ", ValueError):
            _get_setting(args.key)
    if args.value is None and not args.unset:
        _show_settings(file, [*SETTINGS] if args.key is None else [args.key], terminal)
        return
    if file is None:
        raise CommandError(f"there is no settings file to change: {CONFIG_VARIABLE} says none")
    # Keys that are no settings are mistakes; they are not written again.
    table = {key: value for key, value in _read_table(file).items() if key in SETTINGS}
    if args.unset:
        table.pop(args.key, None)
        change = f"Removed {args.key}"
    else:
        table[args.key] = _parse_value(args.key, args.value)
        change = f"Set {args.key} = {_format_toml(table[args.key])}"
    with report_as(f"{format_path(file)}: cannot be written: ", OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open_replacing(Path(os.path.realpath(file))) as stream:
            stream.writelines(f"{key} = {_format_toml(table[key])}\n" for key in table)
    terminal.show(f"{change} in {format_path(file)}.\n")
    variable = SETTINGS[args.key].variable
    if os.environ.get(variable):
        terminal.show(f"{variable} is set in the environment, which beats the file.\n")


def _show_settings(file: str | None, keys: list[str], terminal: Terminal) -> None:
    """Show the settings that hold, each with where it comes from."""
    table = {} if file is None else _read_table(file)
    config = load_config()
    if file is None:
        terminal.show(f"There is no settings file: {CONFIG_VARIABLE} says none.\n\n")
    else:
        empty = "" if table else " (nothing is set there yet)"
        terminal.show(f"Settings file: {format_path(file)}{empty}\n\n")
    entries = {}
    for key in keys:
        variable = SETTINGS[key].variable
        source = "from the file" if key in table else "default"
        if os.environ.get(variable):
            source = f"from {variable}"
        value = _format_value(key, getattr(config, key))
        entries[key] = f"{value} ({source}). {make_sentence(SETTINGS[key].meaning)}"
    terminal.show_list(entries)
    terminal.show("\nChange one with, for example: tower config level easy\n")


def _format_value(key: str, value: object) -> str:
    if value is None:
        unset = {"level": PEOPLE, "app": "false, but `tower` and `tower GAME` open it"}
        return unset.get(key, "not set")
    if key == "database" and (location := store.find_location(str(value))) is not None:
        return location.name
    return str(value).lower() if isinstance(value, bool) else format_text(str(value))


def _parse_value(key: str, text: str) -> object:
    """Return a value of the command line as it is to be written; the path of a file is made whole."""
    is_file = "://" not in text and text.lower() != store.NONE and not text.startswith("~")
    if key == "database" and text and is_file:
        text = os.path.abspath(text)
    with report_as(f"{key}: ", ValueError):
        return SETTINGS[key].parse(text) or (PEOPLE if key == "level" else False)


def _format_toml(value: object) -> str:
    """Write a truth value or a text, which look alike in TOML and in JSON."""
    return json.dumps(value, ensure_ascii=False)
