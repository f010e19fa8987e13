"""`tower db`: say where the games are kept; back them up, check, restore, upgrade."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from pathlib import Path

from number_tower.store import is_disabled, locate_file
from number_tower.store.backup import create_backup, restore_backup
from number_tower.store.connection import use_once
from number_tower.store.database import DatabaseCounts, count_contents
from number_tower.store.maintenance import DatabaseReport, check_database
from number_tower.store.schema import NEWEST
from number_tower.store.upgrade import upgrade
from number_tower.support.text import format_count, format_path
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.console import show_progress
from number_tower.terminal.cli.database import LazyStore
from number_tower.terminal.cli.errors import FAILED
from number_tower.terminal.session.database import NOT_SAVED


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower db`."""
    parser.add_example("tower db", "say where your games are saved, and how many")
    parser.add_example("tower db backup games-backup.db", "copy all of them to a file")
    actions = ("backup", "check", "restore", "upgrade")
    files = "backup FILE or restore FILE (a PostgreSQL server has pg_dump and pg_restore)"
    meaning = f"{files}, check [FILE], or upgrade (make or upgrade the tables of a server)"
    parser.add_value("action", "ACTION", meaning, nargs="?", choices=actions)
    parser.add_value("file", "FILE", "the backup to write, check or restore", nargs="?")
    parser.add_flag("--force", "backup: replace FILE; restore: also a backup with damaged games")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Run `tower db`."""
    if args.file is not None and args.action in {None, "upgrade"}:
        problem = "a file name needs backup, check or restore before it (see: tower db --help)"
        raise CommandError(problem)
    if args.file is None and args.action in {"backup", "restore"}:
        raise CommandError(f"which file? For example: tower db {args.action} games-backup.db")
    match args.action:
        case "upgrade":
            _upgrade(args, terminal)
        case "backup":
            _back_up(args, terminal)
        case "check":
            _check(args, terminal)
        case "restore":
            _restore(args, terminal)
        case _:
            _describe(args, terminal)


def _describe(args: Namespace, terminal: Terminal) -> None:
    if is_disabled(args.db):
        terminal.show(f"Games are not saved ({NOT_SAVED}).\n")
        return
    store = LazyStore(args.db)
    if store.missing:
        terminal.show(f"Games will be saved in {store.name}, from the first move on.\n")
        return
    with closing(store), store.open().read() as connection:
        counts = count_contents(connection)
    contents = _format_contents(counts, f" ({counts.unfinished:,} unfinished)")
    terminal.show(f"Games are saved in {store.name} (version {NEWEST}).\n{contents}.\n")


def _upgrade(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    with use_once(store.location) as engine:
        before = upgrade(engine, store.location)
    news = ""
    if before != NEWEST:
        # A new database had no version.
        made = "now has its tables" if before is None else f"was upgraded from version {before}"
        news = f"{made}, and "
    terminal.show(f"{store.name} {news}is up to date (version {NEWEST}).\n")


def _back_up(args: Namespace, terminal: Terminal) -> None:
    store, file = _require_store(args), Path(args.file)
    create_backup(store.location, file, overwrite=args.force)
    with use_once(locate_file(file)) as engine, engine.connect() as connection:
        contents = _format_contents(count_contents(connection))
    terminal.show(f"Saved a backup of {store.name} as {format_path(args.file)}: {contents}.\n")


def _check(args: Namespace, terminal: Terminal) -> None:
    name, report = _run_check(args)
    contents = _format_contents(report.contents)
    if not report.problems:
        terminal.show(f"{name} is fine: {contents} (version {NEWEST}).\n")
        return
    for problem in report.problems:
        terminal.show(f"- {problem}\n")
    count = format_count(len(report.problems), "problem")
    advice = "to replace it by a backup: tower db restore FILE"
    raise CommandError(f"{name} has {count}, listed above ({contents}); {advice}", code=FAILED)


def _run_check(args: Namespace) -> tuple[str, DatabaseReport]:
    """Check the database, or the file of the call."""
    if args.file is None:
        location = _require_store(args).location
    elif Path(args.file).is_file():
        location = locate_file(args.file)
    else:
        problem = f"there is no file {format_path(args.file)}"
        raise CommandError(f"{problem}; expected a backup that tower db backup saved")
    with show_progress("games", "stops") as update:
        return location.name, check_database(location, update)


def _restore(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    name, report = _run_check(args)
    if report.problems and not args.force:
        count = format_count(len(report.problems), "problem")
        advice = f"to see them: tower db check {name}; to restore it anyway: --force"
        raise CommandError(f"{name} has {count}, and nothing was restored ({advice})", code=FAILED)
    replaced = restore_backup(store.location, Path(args.file))
    terminal.show(f"Restored {store.name} from {name}: {_format_contents(report.contents)}.\n")
    if replaced is not None:
        terminal.show(f"The database that was there before is saved as {format_path(replaced)}\n")


def _require_store(args: Namespace) -> LazyStore:
    """Return the database, if there is one."""
    store = LazyStore(args.db)
    if store.missing:
        raise CommandError(f"there is no database {store.name} yet")
    return store


def _format_contents(counts: DatabaseCounts, unfinished: str = "") -> str:
    matches = "1 match" if counts.matches == 1 else f"{counts.matches:,} matches"
    puzzles = f"{format_count(counts.puzzles, 'puzzle')} tried"
    return f"{format_count(counts.games, 'game')}{unfinished}, {matches}, {puzzles}"
