"""`tower db`: say where games are kept, upgrade the database, make, check and restore backups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.cli.autosave import LazyStore
from number_tower.cli.console import ProgressBar
from number_tower.cli.errors import DAMAGED_DATABASE, FINISHED, NO_DATABASE, WRONG_CALL, CommandError
from number_tower.cli.refs import query_store
from number_tower.cli.terminal import Terminal
from number_tower.store import StoreError, locate_file
from number_tower.store.backup import create_backup, name_backup, restore_backup
from number_tower.store.database import count_contents
from number_tower.store.engine import make_engine
from number_tower.store.maintenance import check_database
from number_tower.store.schema import NEWEST
from number_tower.store.upgrade import upgrade
from number_tower.text import format_path

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from number_tower.store.maintenance import CheckReport
    from number_tower.store.upgrade import BackupChoice


def run(asked: Namespace) -> int:
    """Run `tower db`."""
    screen = Terminal()
    _check_options(asked)
    if asked.action is None and store.is_disabled(asked.db):
        screen.show("Games are not kept (NUMBER_TOWER_DB or --db says none).\n")
        return FINISHED
    run = _ACTIONS[asked.action]
    try:
        return run(asked, screen)
    except StoreError as trouble:
        raise CommandError(NO_DATABASE, f"{trouble}.") from None


def _check_options(asked: Namespace) -> None:
    if asked.file is not None and asked.action is None:
        raise CommandError(WRONG_CALL, "a file goes with backup, check, restore or upgrade (see: tower db --help)")
    if asked.file is None and asked.action in {"backup", "restore"}:
        raise CommandError(WRONG_CALL, f"which file? As in: tower db {asked.action} games-backup.db")
    if asked.force and asked.action not in {"backup", "restore"}:
        raise CommandError(WRONG_CALL, "--force goes with backup or restore")
    if asked.no_backup and asked.action != "upgrade":
        raise CommandError(WRONG_CALL, "--no-backup goes with upgrade")
    if asked.no_backup and asked.file is not None:
        raise CommandError(WRONG_CALL, "choose one: a file for the backup, or --no-backup")


def _describe(asked: Namespace, screen: Terminal) -> int:
    shelf = LazyStore(asked.db)
    if shelf.missing:
        screen.show(f"Games will be kept in {shelf.name}, from the first move that is made.\n")
        return FINISHED
    kept = query_store(shelf, count_contents, "game")
    screen.show(f"Games are kept in {shelf.name} (form {NEWEST}).\n")
    screen.show(
        f"{_format_count(kept.games, 'game')} ({kept.unfinished:,} unfinished), {_format_count(kept.matches, 'match')}, "
        f"{_format_count(kept.puzzles, 'puzzle')} tried.\n"
    )
    return FINISHED


def _upgrade(asked: Namespace, screen: Terminal) -> int:
    shelf = LazyStore(asked.db)
    backup = _choose_backup(asked, shelf)
    engine = make_engine(shelf.place)
    try:
        before, after = upgrade(engine, shelf.place, backup)
    finally:
        engine.dispose()
    if before == after:
        screen.show(f"{shelf.name} is up to date (form {after}).\n")
        return FINISHED
    made = "has got its tables" if before is None else f"is brought from form {before}"
    screen.show(f"{shelf.name} {made}, and is up to date (form {after}).\n")
    if before is not None and isinstance(backup, Path):
        name = format_path(str(backup))
        screen.show(
            f"The database as it was is saved as {name}; to go back: tower db restore {name}{shelf.db_option}\n"
        )
    return FINISHED


def _choose_backup(asked: Namespace, shelf: LazyStore) -> BackupChoice:
    """Return where the backup before an upgrade goes: beside a file, or, for a server, to the user's data folder."""
    if asked.no_backup:
        return False
    if asked.file is not None:
        return Path(asked.file)
    if shelf.place.file is not None:
        return name_backup(Path(shelf.place.file))
    return name_backup(Path(store.get_data_folder(), "server.db"))


def _back_up(asked: Namespace, screen: Terminal) -> int:
    shelf = _require_store(asked)
    bar = ProgressBar("stops; then nothing is saved", "parts")
    try:
        summary = create_backup(shelf.place, Path(asked.file), overwrite=asked.force, progress=bar.update)
    finally:
        bar.clear()
    held = _format_summary(summary.rows.get("games", 0), summary.rows.get("matches", 0), summary.rows.get("puzzles", 0))
    screen.show(f"Saved a backup of {shelf.name} as {format_path(asked.file)}: {held} (form {summary.version}).\n")
    return FINISHED


def _check(asked: Namespace, screen: Terminal) -> int:
    name, report = _run_check(asked)
    held = _format_summary(report.games, report.matches, report.puzzles)
    if not report.problems:
        screen.show(f"{name} is fine: {held} (form {report.version}).\n")
        return FINISHED
    for problem in report.problems:
        screen.show(f"- {problem}\n")
    count = _format_count(len(report.problems), "problem")
    advice = "a backup can take its place: tower db restore FILE"
    raise CommandError(DAMAGED_DATABASE, f"{name} has {count}, listed above ({held}); {advice}")


def _run_check(asked: Namespace) -> tuple[str, CheckReport]:
    """Check the database, or the file that was named."""
    bar = ProgressBar("stops")
    try:
        if asked.file is None:
            shelf = _require_store(asked)
            return shelf.name, check_database(shelf.place, bar.update)
        if not Path(asked.file).is_file():
            raise CommandError(
                WRONG_CALL,
                f"there is no file {format_path(asked.file)}; expected a backup, as tower db backup saves it.",
            )
        place = locate_file(asked.file)
        return place.name, check_database(place, bar.update)
    finally:
        bar.clear()


def _restore(asked: Namespace, screen: Terminal) -> int:
    shelf = LazyStore(asked.db)
    name, report = _run_check(asked)
    if report.problems and not asked.force:
        count = _format_count(len(report.problems), "problem")
        listed = f"to see them: tower db check {name}; to restore it all the same: --force"
        raise CommandError(DAMAGED_DATABASE, f"{name} has {count}, and nothing was restored ({listed})")
    bar = ProgressBar("stops; then everything is as it was", "parts")
    try:
        restored = restore_backup(shelf.place, Path(asked.file), bar.update)
    finally:
        bar.clear()
    held = _format_summary(report.games, report.matches, report.puzzles)
    screen.show(f"Restored {shelf.name} from {name}: {held} (form {restored.summary.version}).\n")
    if restored.replaced is not None:
        screen.show(f"The database that was there before is saved as {format_path(str(restored.replaced))}\n")
    return FINISHED


def _require_store(asked: Namespace) -> LazyStore:
    """Return the database, if there is one."""
    shelf = LazyStore(asked.db)
    if shelf.missing:
        raise CommandError(WRONG_CALL, f"there is no database {shelf.name} yet")
    return shelf


def _format_summary(games: int, matches: int, puzzles: int) -> str:
    return (
        f"{_format_count(games, 'game')}, {_format_count(matches, 'match')}, {_format_count(puzzles, 'puzzle')} tried"
    )


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


_ACTIONS: dict[str | None, Callable[[Namespace, Terminal], int]] = {
    None: _describe,
    "upgrade": _upgrade,
    "backup": _back_up,
    "check": _check,
    "restore": _restore,
}
