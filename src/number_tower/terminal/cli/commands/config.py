"""`tower config`: show the settings of a user, or change one in the settings file."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path

from number_tower import store
from number_tower.support.files import open_replacing
from number_tower.support.text import format_path, format_text, make_sentence
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.errors import report_as
from number_tower.terminal.cli.settings import (
    CONFIG_VARIABLE,
    PEOPLE,
    SETTINGS,
    find_config_file,
    get_option,
    load_config,
    read_table,
)


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
            get_option(args.key)
    if args.value is None and not args.unset:
        _show_settings(file, [*SETTINGS] if args.key is None else [args.key], terminal)
        return
    if file is None:
        raise CommandError(f"there is no settings file to change: {CONFIG_VARIABLE} says none")
    # Keys that are no settings are mistakes; they are not written again.
    table = {key: value for key, value in read_table(file).items() if key in SETTINGS}
    if args.unset:
        table.pop(args.key, None)
        change = f"Removed {args.key}"
    else:
        text = args.value
        is_file = "://" not in text and text.lower() != store.NONE and not text.startswith("~")
        if args.key == "database" and text and is_file:
            text = os.path.abspath(text)
        with report_as(f"{args.key}: ", ValueError):
            value = SETTINGS[args.key].parse(text)
        # Two people are None to a game, and no colours are False.
        table[args.key] = value or (PEOPLE if args.key == "level" else False)
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
    table = {} if file is None else read_table(file)
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


def _format_toml(value: object) -> str:
    """Write a truth value or a text, which look alike in TOML and in JSON."""
    return json.dumps(value, ensure_ascii=False)
