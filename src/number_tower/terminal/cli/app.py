"""When a call opens the full-screen app instead of the dialogue, and with which screen."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from number_tower.terminal.cli import CommandError
from number_tower.terminal.cli.database import choose_store
from number_tower.terminal.cli.errors import FAILED, require_extra
from number_tower.terminal.cli.settings import load_config
from number_tower.terminal.cli.terminal import is_visible

MIN_COLUMNS, MIN_ROWS = 40, 16
"""The smallest terminal that the app is shown in."""

_LIGHT_BACKGROUNDS = {"7", "15"}


def opens_app(args: Namespace) -> bool:
    """Say whether a call opens the app: by its option, the settings, or as `tower [GAME]`.

    It is an error only if an option asks for it where it cannot be shown.
    """
    problem = find_problem()
    if args.app:
        with require_extra("the app", "tui"):
            import_module("textual")
        if problem is not None:
            raise CommandError(f"{problem}; play in the dialogue with: tower --plain", code=FAILED)
        return True
    if args.app is not None or problem is not None:
        return False
    by_settings = load_config().app
    return bool(args.command not in args.call if by_settings is None else by_settings)


def find_problem() -> str | None:
    """Say why the app cannot be shown here; None if it can."""
    if sys.stdin is None or not sys.stdin.isatty() or not is_visible(sys.stdout):
        return "the app needs a terminal that shows whole screens"
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns = rows = 0
    if columns < MIN_COLUMNS or rows < MIN_ROWS:
        small = f"{MIN_COLUMNS} columns and {MIN_ROWS} rows"
        return f"the app needs a terminal of at least {small}; this one has {columns} and {rows}"
    return None if find_spec("textual") else "the app needs the package textual"


def load_screens() -> Any:
    """Import the screens to start with; Textual is loaded only then."""
    return import_module("number_tower.terminal.tui.start")


def open_app(args: Namespace, first: object = None) -> None:
    """Show the app until it is left, and then print how to resume what was left.

    `first` is a screen of `load_screens`, which is shown above the list of games.
    """
    config = load_config()
    if not config.colours:
        os.environ["NO_COLOR"] = "1"
    choose_store(args)  # a wrong location is reported before the app is shown
    app = import_module("number_tower.terminal.tui.app")
    light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    settings = app.AppSettings(
        config.name, config.level, args.db, save=not args.no_save, light=light
    )
    if hint := app.TowerApp(settings, first).run():
        print(hint)
