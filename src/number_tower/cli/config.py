"""`tower config`: the settings file of a user. The command line beats the environment, which beats the file."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from number_tower import store
from number_tower.cli.errors import CommandError, report_as
from number_tower.files import open_replacing
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

_ON_LINUX = sys.platform == "linux"
_LARGEST_FILE = 64 * 1024
_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
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
    values: tuple[str, ...] = ()
    """The values that it can have, if they can be listed here."""
    parse_variable: Callable[[str], object] | None = None
    """The reader of the environment variable, where that is another one."""


def load_config() -> Config:
    """Read the settings file and the environment; whatever is wrong there is a ConfigError."""
    file = find_config_file()
    return Config(
        **{**(_parse_settings(_read_table(file), file) if file else {}), **_read_environment()}
    )


def find_config_file() -> str | None:
    """Return the path of the settings file, which need not exist; None if there is to be none."""
    chosen = os.environ.get(CONFIG_VARIABLE)
    if chosen:
        return None if chosen.lower() == store.NONE else os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(_find_config_folder(), "config.toml")


def _find_config_folder() -> str:
    """Return the system's folder for a user's settings."""
    if _ON_LINUX:  # as platformdirs does, which takes longer to load than the first prompt may
        base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(base, "number-tower")
    from platformdirs import user_config_dir  # noqa: PLC0415 - start-up, see above

    return user_config_dir("number-tower", appauthor=False)


# Reading --------------------------------------------------------------------------------------------------------------


def _read_file(file: str) -> str:
    """Return the text of the settings file; "" if there is none."""
    start = f"{format_path(file)}: "
    with report_as(f"{start}cannot be read: ", OSError):
        try:
            with open(file, "rb") as stream:
                content = stream.read(_LARGEST_FILE + 1)
        except (FileNotFoundError, NotADirectoryError):
            return ""
    if len(content) > _LARGEST_FILE:
        raise ConfigError(
            f"{start}too large for a settings file (at most {_LARGEST_FILE // 1024} KiB)"
        )
    with report_as(f"{start}not TOML: expected text in UTF-8, but ", UnicodeDecodeError):
        return content.decode("utf-8-sig")


def _read_table(file: str) -> dict[str, object]:
    """Return the keys and values of the settings file, not checked yet."""
    return _parse_toml(text, file) if (text := _read_file(file)) else {}


def _parse_toml(text: str, file: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - start-up: most users have no settings file

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f'not TOML: {format_text(str(error))}; write a line for each setting, as in level = "easy"'
        raise ConfigError(f"{format_path(file)}: {problem}") from None


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
    levels = list_levels()
    level = value.strip().lower() if isinstance(value, str) else ""
    if level not in levels:
        meant = suggest_nearest(level, levels)
        raise ValueError(f"expected one of {', '.join(levels)}; got {format_value(value)}{meant}")
    return None if level == PEOPLE else level


def list_levels() -> tuple[str, ...]:
    """Return the levels that a new game can have, among them two people."""
    from number_tower.players import ALL_LEVELS  # noqa: PLC0415 - start-up: most users have no settings file

    return (PEOPLE, *ALL_LEVELS)


def _parse_truth(value: object) -> bool:
    truth = _TRUTH.get(str(value).strip().lower()) if isinstance(value, str | bool) else None
    if truth is None:
        raise ValueError(f"expected true or false; got {format_value(value)}")
    return truth


def _parse_database(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{store.EXPECTED}; got {format_value(value)}")
    store.find_location(value)
    if (
        "://" not in value
        and value.lower() != store.NONE
        and not os.path.isabs(os.path.expanduser(value))
    ):
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
        ("true", "false"),
    ),
    "colours": Setting(
        "NO_COLOR",
        "whether a terminal shows colours",
        _parse_truth,
        ("true", "false"),
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
    parser.add_examples(
        ("tower config", "show all settings, and where each comes from"),
        ("tower config level easy", "play against the level easy unless a call says otherwise"),
    )
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
    if args.key is not None and not (
        args.unset and file is not None and args.key in _read_table(file)
    ):
        with report_as(f"{format_text(args.key, 40)}: ", ValueError):
            _get_setting(args.key)
    if args.value is None and not args.unset:
        _show_settings(file, SETTINGS if args.key is None else (args.key,), terminal)
        return
    if file is None:
        raise CommandError(f"there is no settings file to change: {CONFIG_VARIABLE} says none")
    value = None if args.unset else _parse_value(args.key, args.value)
    _write_setting(file, args.key, value)
    terminal.show(f"{_format_change(args.key, value)} in {format_path(file)}.\n")
    variable = SETTINGS[args.key].variable if args.key in SETTINGS else ""
    if os.environ.get(variable):
        terminal.show(f"{variable} is set in the environment, which beats the file.\n")


def _show_settings(file: str | None, keys: Iterable[str], terminal: Terminal) -> None:
    """Show the settings that hold, each with where it comes from."""
    table = {} if file is None else _read_table(file)
    config = load_config()
    if file is None:
        terminal.show(f"There is no settings file: {CONFIG_VARIABLE} says none.\n\n")
    else:
        terminal.show(
            f"Settings file: {format_path(file)}{'' if table else ' (nothing is set there yet)'}\n\n"
        )
    entries = {}
    for key in keys:
        variable = SETTINGS[key].variable
        source = (
            f"from {variable}"
            if os.environ.get(variable)
            else "from the file"
            if key in table
            else "default"
        )
        entries[key] = (
            f"{_format_value(key, getattr(config, key))} ({source}). {make_sentence(SETTINGS[key].meaning)}"
        )
    terminal.show_list(entries)
    terminal.show("\nChange one with, for example: tower config level easy\n")


def _format_value(key: str, value: object) -> str:
    if value is None:
        return {"level": PEOPLE, "app": "false, but `tower` alone opens it"}.get(key, "not set")
    if key == "database" and (location := store.find_location(str(value))) is not None:
        return location.name
    return str(value).lower() if isinstance(value, bool) else format_text(str(value))


def _format_change(key: str, value: object) -> str:
    return f"Removed {key}" if value is None else f"Set {key} = {_format_toml(value)}"


def _parse_value(key: str, text: str) -> object:
    """Return a value of the command line as it is to be written; the path of a file is made whole."""
    if (
        key == "database"
        and text
        and "://" not in text
        and text.lower() != store.NONE
        and not text.startswith("~")
    ):
        text = os.path.abspath(text)
    with report_as(f"{key}: ", ValueError):
        return SETTINGS[key].parse(text) or (PEOPLE if key == "level" else False)


def _format_toml(value: object) -> str:
    """Write a truth value or a text without control characters as TOML does."""
    if isinstance(value, bool):
        return str(value).lower()
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _write_setting(file: str, key: str, value: object) -> None:
    """Change one line of the settings file, and leave the others as they are; None removes the setting."""
    from pathlib import Path  # noqa: PLC0415 - start-up: only a change needs it

    text = _read_file(file)
    table = _parse_toml(text, file)
    line = "" if value is None else f"{key} = {_format_toml(value)}\n"
    pattern = re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[^\n]*(\n|\Z)", re.MULTILINE)
    if pattern.search(text):
        changed = pattern.sub(lambda _: line, text, count=1)
    else:
        changed = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    expected = (
        {**table, key: value}
        if value is not None
        else {each: table[each] for each in table if each != key}
    )
    if _parse_toml(changed, file) != expected:
        raise ConfigError(
            f"{format_path(file)}: {key} cannot be changed there by a command; please edit the file"
        )
    with report_as(f"{format_path(file)}: cannot be written: ", OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open_replacing(Path(os.path.realpath(file))) as stream:
            stream.write(changed)
