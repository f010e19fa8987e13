"""The database as a whole: `tower db`, `tower export` and `tower import`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

from number_tower.cli import options
from number_tower.cli.console import show_progress
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import (
    DAMAGED_DATABASE,
    DAMAGED_RECORD,
    FINISHED,
    NO_DATABASE,
    NO_OUTPUT,
    CommandError,
    print_error,
    report_as,
)
from number_tower.cli.history import normalize_game_name
from number_tower.cli.terminal import Terminal
from number_tower.files import open_replacing
from number_tower.store import StoreError, get_data_folder, is_disabled, locate_file
from number_tower.store.backup import create_backup, name_backup, restore_backup
from number_tower.store.database import Store, count_contents
from number_tower.store.engine import use_once
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.maintenance import CheckReport, check_database
from number_tower.store.schema import NEWEST
from number_tower.store.transfer import ImportResult, TransferError, export_games, import_games
from number_tower.store.upgrade import BackupChoice, upgrade
from number_tower.text import format_count, format_path

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is imported."""


def add_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower db`."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("backup", "check", "restore", "upgrade"),
        metavar="ACTION",
        help="backup FILE, check, check FILE, restore FILE, or upgrade (a server's tables; a file upgrades itself)",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="the backup to write, check or restore")
    parser.add_argument(
        "--force", action="store_true", help="backup: replace FILE; restore: also a backup with damaged games"
    )
    parser.add_argument("--no-backup", action="store_true", help="upgrade: do not save a backup first")
    options.add_db_option(parser)


def run(args: Namespace) -> int:
    """Run `tower db`."""
    terminal = Terminal()
    _check_options(args)
    if args.action is None and is_disabled(args.db):
        terminal.show("Games are not kept (NUMBER_TOWER_DB or --db says none).\n")
        return FINISHED
    with report_as("{}.", StoreError, code=NO_DATABASE):
        return _ACTIONS[args.action](args, terminal)


def _check_options(args: Namespace) -> None:
    if args.file is not None and args.action is None:
        raise CommandError("a file goes with backup, check, restore or upgrade (see: tower db --help)")
    if args.file is None and args.action in {"backup", "restore"}:
        raise CommandError(f"which file? As in: tower db {args.action} games-backup.db")
    if args.force and args.action not in {"backup", "restore"}:
        raise CommandError("--force goes with backup or restore")
    if args.no_backup and args.action != "upgrade":
        raise CommandError("--no-backup goes with upgrade")
    if args.no_backup and args.file is not None:
        raise CommandError("choose one: a file for the backup, or --no-backup")


def _describe(args: Namespace, terminal: Terminal) -> int:
    store = LazyStore(args.db)
    if store.missing:
        terminal.show(f"Games will be kept in {store.name}, from the first move that is made.\n")
        return FINISHED
    counts = store.query(count_contents, "game")
    games = f"{format_count(counts.games, 'game')} ({counts.unfinished:,} unfinished)"
    terminal.show(f"Games are kept in {store.name} (form {NEWEST}).\n")
    terminal.show(f"{games}, {_format_counts(counts.matches, counts.puzzles)}.\n")
    return FINISHED


def _upgrade(args: Namespace, terminal: Terminal) -> int:
    store = LazyStore(args.db)
    backup = _choose_backup(args, store)
    with use_once(store.location) as engine:
        before, after = upgrade(engine, store.location, backup)
    if before == after:
        terminal.show(f"{store.name} is up to date (form {after}).\n")
        return FINISHED
    made = "has got its tables" if before is None else f"is brought from form {before}"
    terminal.show(f"{store.name} {made}, and is up to date (form {after}).\n")
    if before is not None and isinstance(backup, Path):
        name = format_path(backup)
        terminal.show(
            f"The database as it was is saved as {name}; to go back: tower db restore {name}{store.db_option}\n"
        )
    return FINISHED


def _choose_backup(args: Namespace, store: LazyStore) -> BackupChoice:
    """Return where the backup before an upgrade goes: beside a file, or, for a server, to the user's data folder."""
    if args.no_backup:
        return False
    if args.file is not None:
        return Path(args.file)
    if store.location.file is not None:
        return name_backup(Path(store.location.file))
    return name_backup(Path(get_data_folder(), "server.db"))


def _back_up(args: Namespace, terminal: Terminal) -> int:
    store = _require_store(args)
    with show_progress("parts", "stops; then nothing is saved") as update:
        summary = create_backup(store.location, Path(args.file), overwrite=args.force, progress=update)
    contents = _format_contents(summary.rows)
    terminal.show(f"Saved a backup of {store.name} as {format_path(args.file)}: {contents} (form {summary.version}).\n")
    return FINISHED


def _check(args: Namespace, terminal: Terminal) -> int:
    name, report = _run_check(args)
    contents = _format_contents(report.rows)
    if not report.problems:
        terminal.show(f"{name} is fine: {contents} (form {report.version}).\n")
        return FINISHED
    for problem in report.problems:
        terminal.show(f"- {problem}\n")
    count = format_count(len(report.problems), "problem")
    advice = "a backup can take its place: tower db restore FILE"
    raise CommandError(f"{name} has {count}, listed above ({contents}); {advice}", code=DAMAGED_DATABASE)


def _run_check(args: Namespace) -> tuple[str, CheckReport]:
    """Check the database, or the file of the call."""
    if args.file is None:
        store = _require_store(args)
        name, location = store.name, store.location
    elif Path(args.file).is_file():
        location = locate_file(args.file)
        name = location.name
    else:
        problem = f"there is no file {format_path(args.file)}; expected a backup, as tower db backup saves it."
        raise CommandError(problem)
    with show_progress("games", "stops") as update:
        return name, check_database(location, update)


def _restore(args: Namespace, terminal: Terminal) -> int:
    store = LazyStore(args.db)
    name, report = _run_check(args)
    if report.problems and not args.force:
        count = format_count(len(report.problems), "problem")
        advice = f"to see them: tower db check {name}; to restore it all the same: --force"
        raise CommandError(f"{name} has {count}, and nothing was restored ({advice})", code=DAMAGED_DATABASE)
    with show_progress("parts", "stops; then everything is as it was") as update:
        replaced = restore_backup(store.location, Path(args.file), update)
    contents = _format_contents(report.rows)
    terminal.show(f"Restored {store.name} from {name}: {contents} (form {report.version}).\n")
    if replaced is not None:
        terminal.show(f"The database that was there before is saved as {format_path(replaced)}\n")
    return FINISHED


def _require_store(args: Namespace) -> LazyStore:
    """Return the database, if there is one."""
    store = LazyStore(args.db)
    if store.missing:
        raise CommandError(f"there is no database {store.name} yet")
    return store


def _format_contents(rows: Mapping[str, int]) -> str:
    games, matches, puzzles = (rows.get(table, 0) for table in ("games", "matches", "puzzles"))
    return f"{format_count(games, 'game')}, {_format_counts(matches, puzzles)}"


def _format_counts(matches: int, puzzles: int) -> str:
    return f"{matches:,} {'match' if matches == 1 else 'matches'}, {format_count(puzzles, 'puzzle')} tried"


_ACTIONS: dict[str | None, Callable[[Namespace, Terminal], int]] = {
    None: _describe,
    "upgrade": _upgrade,
    "backup": _back_up,
    "check": _check,
    "restore": _restore,
}


# Export and import ---------------------------------------------------------------------------------------------------


def add_export_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower export`."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="where to (standard output)")
    parser.add_argument("--game", metavar="GAME", help="only this game, but matches whole")
    parser.add_argument("--player", metavar="NAME", help="only games of this player")
    options.add_db_option(parser)


def run_export(args: Namespace) -> int:
    """Write games, a line each, to a file or to standard output."""
    store = LazyStore(args.db)
    wanted = GameFilter(normalize_game_name(args.game), args.player and args.player.strip())
    number = 0
    with _open_output(args.file) as stream:
        if not store.missing:
            number = store.query(lambda database: _write_games(database, wanted, stream), "game")
    if args.file is not None:
        Terminal().show(f"{format_count(number, 'game')} written to {format_path(args.file)}.\n")
    return FINISHED


def _write_games(store: Store, wanted: GameFilter, stream: TextIO) -> int:
    number = 0
    with store.read() as connection:
        for item in export_games(connection, wanted):
            if isinstance(item, DamagedEntry):
                print_error(f"{item.problem}; it is left out")
                continue
            stream.write(item.text)
            number += item.is_game
    return number


@contextmanager
def _open_output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.flush()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    try:
        with open_replacing(Path(os.path.realpath(path))) as stream:
            yield stream
    except OSError as error:
        raise CommandError(f"{format_path(path)} cannot be written: {error.strerror}", code=NO_OUTPUT) from None


def add_import_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower import`."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="where from (standard input)")
    options.add_db_option(parser)


def run_import(args: Namespace) -> int:
    """Import games from a file or standard input; all of them, or none if one of them is wrong."""
    name = "standard input" if args.file is None else format_path(args.file)
    try:
        with _open_input(args.file) as stream:
            store, lines = LazyStore(args.db), _read_lines(stream)
            result = store.query(lambda database: import_games(database, lines), "game", create=True)
    except TransferError as error:
        raise CommandError(f"{name}, {error}. Nothing was taken in.", code=DAMAGED_RECORD) from None
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
    Terminal().show(_describe_import(result))
    return FINISHED


@contextmanager
def _open_input(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


def _read_lines(stream: BinaryIO) -> Iterator[str]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TransferError(number, "longer than any record")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise TransferError(number, "expected text in UTF-8") from None


def _describe_import(result: ImportResult) -> str:
    parts = [f"{format_count(result.new, 'game')} taken in"]
    if result.continued:
        parts.append(f"{result.continued:,} went on")
    if result.known:
        parts.append(f"{result.known:,} {'was' if result.known == 1 else 'were'} here already")
    if result.puzzles:
        parts.append(f"{format_count(result.puzzles, 'puzzle')} taken in")
    text = f"{', '.join(parts)}.\n"
    if result.differ:
        one = len(result.differ) == 1
        which = f"line {result.differ[0]} says" if one else f"lines {', '.join(map(str, result.differ))} say"
        text += f"Something else was played here than {which}; that stays as it is.\n"
    return text
