"""`tower db`: say where the games are kept; back them up, check, restore, upgrade."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from number_tower.cli.console import show_progress
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import FAILED, CommandError
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.session.database import NOT_SAVED
from number_tower.store import is_disabled, locate_file
from number_tower.store.backup import create_backup, restore_backup
from number_tower.store.database import DatabaseCounts, Store, count_contents
from number_tower.store.engine import use_once
from number_tower.store.maintenance import DatabaseReport, check_database
from number_tower.store.schema import NEWEST
from number_tower.store.upgrade import upgrade
from number_tower.text import format_count, format_path


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower db`."""
    parser.add_example("tower db", "say where your games are saved, and how many")
    parser.add_example("tower db backup games-backup.db", "copy all of them to a file")
    parser.add_value(
        "action",
        "ACTION",
        "backup FILE or restore FILE (a PostgreSQL server has pg_dump and pg_restore), check [FILE], "
        "or upgrade (make or upgrade the tables of a server)",
        nargs="?",
        choices=("backup", "check", "restore", "upgrade"),
    )
    parser.add_value("file", "FILE", "the backup to write, check or restore", nargs="?")
    parser.add_flag("--force", "backup: replace FILE; restore: also a backup with damaged games")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Run `tower db`."""
    _check_options(args)
    if args.action is None and is_disabled(args.db):
        terminal.show(f"Games are not saved ({NOT_SAVED}).\n")
        return
    _ACTIONS[args.action](args, terminal)


def _check_options(args: Namespace) -> None:
    if args.file is not None and args.action in {None, "upgrade"}:
        raise CommandError(
            "a file name needs backup, check or restore before it (see: tower db --help)"
        )
    if args.file is None and args.action in {"backup", "restore"}:
        raise CommandError(f"which file? For example: tower db {args.action} games-backup.db")


def _describe(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    if store.missing:
        terminal.show(f"Games will be saved in {store.name}, from the first move on.\n")
        return
    counts = store.query(_count_contents, "game")
    contents = _format_contents(counts, f" ({counts.unfinished:,} unfinished)")
    terminal.show(f"Games are saved in {store.name} (version {NEWEST}).\n{contents}.\n")


def _count_contents(store: Store) -> DatabaseCounts:
    with store.read() as connection:
        return count_contents(connection)


def _upgrade(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    with use_once(store.location) as engine:
        before = upgrade(engine, store.location)
    news = ""
    if before != NEWEST:
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
        problem = f"there is no file {format_path(args.file)}; expected a backup that tower db backup saved"
        raise CommandError(problem)
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


_ACTIONS: dict[str | None, Callable[[Namespace, Terminal], None]] = {
    None: _describe,
    "upgrade": _upgrade,
    "backup": _back_up,
    "check": _check,
    "restore": _restore,
}
