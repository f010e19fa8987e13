"""`tower db`: say where the games are kept; back them up, check, restore, upgrade."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from number_tower.cli.console import show_progress
from number_tower.cli.database import LazyStore, is_disabled, name_disabling
from number_tower.cli.errors import FAILED, CommandError, report_as
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.store import StoreError, get_data_folder, locate_file
from number_tower.store.backup import DatabaseSummary, create_backup, name_backup, restore_backup
from number_tower.store.database import count_contents
from number_tower.store.engine import use_once
from number_tower.store.maintenance import check_database
from number_tower.store.schema import NEWEST
from number_tower.store.upgrade import BackupChoice, upgrade
from number_tower.text import format_count, format_path


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower db`."""
    parser.add_examples(
        ("tower db", "say where your games are saved, and how many"),
        ("tower db backup games-backup.db", "copy all of them to a file"),
    )
    parser.add_value(
        "action",
        "ACTION",
        "backup FILE, check [FILE], restore FILE, or upgrade (for a server; a database file is upgraded by itself)",
        nargs="?",
        choices=("backup", "check", "restore", "upgrade"),
    )
    parser.add_value("file", "FILE", "the backup to write, check or restore", nargs="?")
    parser.add_flag("--force", "backup: replace FILE; restore: also a backup with damaged games")
    parser.add_flag("--no-backup", "upgrade: do not save a backup first")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Run `tower db`."""
    _check_options(args)
    if args.action is None and is_disabled(args.db):
        terminal.show(f"Games are not saved ({name_disabling(args.db)} says none).\n")
        return
    with report_as("", StoreError, code=FAILED):
        _ACTIONS[args.action](args, terminal)


def _check_options(args: Namespace) -> None:
    if args.file is not None and args.action is None:
        raise CommandError(
            "a file name needs backup, check, restore or upgrade before it (see: tower db --help)"
        )
    if args.file is None and args.action in {"backup", "restore"}:
        raise CommandError(f"which file? For example: tower db {args.action} games-backup.db")
    if args.force and args.action not in {"backup", "restore"}:
        raise CommandError("--force is only for backup and restore")
    if args.no_backup and args.action != "upgrade":
        raise CommandError("--no-backup is only for upgrade")
    if args.no_backup and args.file is not None:
        raise CommandError("choose one: a file for the backup, or --no-backup")


def _describe(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    if store.missing:
        terminal.show(f"Games will be saved in {store.name}, from the first move on.\n")
        return
    counts = store.query(count_contents, "game")
    contents = _format_contents(counts._asdict(), f" ({counts.unfinished:,} unfinished)")
    terminal.show(f"Games are saved in {store.name} (version {NEWEST}).\n{contents}.\n")


def _upgrade(args: Namespace, terminal: Terminal) -> None:
    store = LazyStore(args.db)
    backup = _choose_backup(args, store)
    with use_once(store.location) as engine:
        before, after = upgrade(engine, store.location, backup)
    if before == after:
        terminal.show(f"{store.name} is up to date (version {after}).\n")
        return
    made = "now has its tables" if before is None else f"was upgraded from version {before}"
    terminal.show(f"{store.name} {made}, and is up to date (version {after}).\n")
    if before is not None and isinstance(backup, Path):
        name = format_path(backup)
        terminal.show(
            f"The old database is saved as {name}; to go back to it: tower db restore {name}{store.db_option}\n"
        )


def _choose_backup(args: Namespace, store: LazyStore) -> BackupChoice:
    """Return where the backup before an upgrade goes: beside a file, or, for a server, to the user's data folder."""
    if args.no_backup:
        return False
    if args.file is not None:
        return Path(args.file)
    return name_backup(Path(store.location.file or os.path.join(get_data_folder(), "server.db")))


def _back_up(args: Namespace, terminal: Terminal) -> None:
    store = _require_store(args)
    with show_progress("parts", "stops, and nothing is saved") as update:
        summary = create_backup(
            store.location, Path(args.file), overwrite=args.force, progress=update
        )
    contents = _format_contents(summary.rows)
    terminal.show(
        f"Saved a backup of {store.name} as {format_path(args.file)}: {contents} (version {summary.version}).\n"
    )


def _check(args: Namespace, terminal: Terminal) -> None:
    name, report = _run_check(args)
    contents = _format_contents(report.rows)
    if not report.problems:
        terminal.show(f"{name} is fine: {contents} (version {report.version}).\n")
        return
    for problem in report.problems:
        terminal.show(f"- {problem}\n")
    count = format_count(len(report.problems), "problem")
    advice = "to replace it by a backup: tower db restore FILE"
    raise CommandError(f"{name} has {count}, listed above ({contents}); {advice}", code=FAILED)


def _run_check(args: Namespace) -> tuple[str, DatabaseSummary]:
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
    with show_progress("parts", "stops, and everything stays as it was") as update:
        replaced = restore_backup(store.location, Path(args.file), update)
    contents = _format_contents(report.rows)
    terminal.show(f"Restored {store.name} from {name}: {contents} (version {report.version}).\n")
    if replaced is not None:
        terminal.show(f"The database that was there before is saved as {format_path(replaced)}\n")


def _require_store(args: Namespace) -> LazyStore:
    """Return the database, if there is one."""
    store = LazyStore(args.db)
    if store.missing:
        raise CommandError(f"there is no database {store.name} yet")
    return store


def _format_contents(rows: Mapping[str, int], unfinished: str = "") -> str:
    games, matches, puzzles = (rows.get(table, 0) for table in ("games", "matches", "puzzles"))
    some = f"{matches:,} {'match' if matches == 1 else 'matches'}, {format_count(puzzles, 'puzzle')} tried"
    return f"{format_count(games, 'game')}{unfinished}, {some}"


_ACTIONS: dict[str | None, Callable[[Namespace, Terminal], None]] = {
    None: _describe,
    "upgrade": _upgrade,
    "backup": _back_up,
    "check": _check,
    "restore": _restore,
}
