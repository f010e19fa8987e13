"""`tower app`: the full-screen app; and when the other commands open it instead of the dialogue."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from number_tower import catalogue, store
from number_tower.cli.config import load_config
from number_tower.cli.database import choose_store
from number_tower.cli.errors import FAILED, CommandError, require_extra
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal, is_visible
from number_tower.session.game import GameSession

if TYPE_CHECKING:
    from number_tower.catalogue import GameChoice
    from number_tower.coach.quiz import PuzzleSource
    from number_tower.session.match import MatchCourse

MIN_COLUMNS, MIN_ROWS = 40, 16
"""The smallest terminal that the app is shown in."""

_LIGHT_BACKGROUNDS = {"7", "15"}


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower app`."""
    parser.add_game_argument()
    parser.add_db_option()
    parser.add_no_save_option()
    parser.add_examples(
        ("tower app", "show the games, your unfinished games, puzzles and lessons"),
        ("tower app draft", "choose an opponent and options for draft"),
    )


def run(args: Namespace, _: Terminal) -> None:
    """Open the app, on its first screen or on that of a new game."""
    book = None if args.game is None else catalogue.load(args.game)
    _require_terminal()
    open_app(args, None if book is None else _load("start").create_new_game(book))


def opens_app(args: Namespace, *, default: bool = False) -> bool:
    """Say whether a call opens the app: by its option, else by the settings, else by default.

    It is an error only if an option asks for it where it cannot be shown.
    """
    wanted = args.app
    if wanted is None:
        if find_problem() is not None:
            return False
        settings = load_config().app
        wanted = default if settings is None else settings
    elif wanted:
        _require_terminal()
    return bool(wanted)


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


def _require_terminal() -> None:
    with require_extra("the app", "tui"):
        import_module("textual")
    if (problem := find_problem()) is not None:
        raise CommandError(f"{problem}; play in the dialogue with: tower --plain", code=FAILED)


def open_app(args: Namespace, first: object = None) -> None:
    """Show the app until it is left, and then print how to resume what was left.

    `first` is the screen that is shown first, as a function of `tui.start` returned it.
    """
    config = load_config()
    if not config.colours:
        os.environ["NO_COLOR"] = "1"
    if args.db is None and config.database is not None:
        os.environ[store.ENVIRONMENT_VARIABLE] = config.database
    choose_store(args)  # a wrong location is reported before the app is shown
    app = _load("app")
    light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    settings = app.AppSettings(
        config.name, config.level, args.db, save=not args.no_save, light=light
    )
    if hint := app.TowerApp(settings, first).run():
        print(hint)


def _load(module: str) -> Any:
    """Import a module of the app; Textual is loaded only then."""
    return import_module(f"number_tower.tui.{module}")


def play_in_app(args: Namespace, session: GameSession, *, coin_tossed: bool = False) -> None:
    """Play a game in the app."""
    open_app(args, _load("start").create_board(session, coin_tossed=coin_tossed))


def play_match_in_app(args: Namespace, course: MatchCourse) -> None:
    """Play a match in the app."""
    open_app(args, _load("start").create_match(course))


def learn_in_app(args: Namespace, choice: GameChoice) -> None:
    """Give a first lesson in the app."""
    open_app(args, _load("start").create_lesson(choice, args.seed))


def ask_puzzles_in_app(args: Namespace, source: PuzzleSource, name: str | None) -> None:
    """Ask puzzles in the app."""
    open_app(args, _load("start").create_puzzles(source, args.count, name))
