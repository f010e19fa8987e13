"""`tower db`: say where games are kept, upgrade the database, make, check and restore backups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.cli.bars import Bar
from number_tower.cli.failure import DAMAGED_DATABASE, FINISHED, NO_DATABASE, WRONG_CALL, Failure
from number_tower.cli.refs import sought
from number_tower.cli.screen import Screen
from number_tower.cli.storing import Shelf
from number_tower.showing import shown_path
from number_tower.store import places
from number_tower.store.backup import create_backup, locate_file, name_backup, restore_backup
from number_tower.store.games import counted
from number_tower.store.integrity import check_database
from number_tower.store.opening import engine_at, upgrade
from number_tower.store.schema import NEWEST
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from number_tower.store.integrity import Report
    from number_tower.store.opening import Backup


def answer(asked: Namespace) -> int:
    """Run `tower db`."""
    screen = Screen()
    _check_options(asked)
    if asked.action is None and places.is_none(asked.db):
        screen.show("Games are not kept (NUMBER_TOWER_DB or --db says none).\n")
        return FINISHED
    run = _ACTIONS[asked.action]
    try:
        return run(asked, screen)
    except StoreError as trouble:
        raise Failure(NO_DATABASE, f"{trouble}.") from None


def _check_options(asked: Namespace) -> None:
    if asked.file is not None and asked.action is None:
        raise Failure(WRONG_CALL, "a file goes with backup, check, restore or upgrade (see: tower db --help)")
    if asked.file is None and asked.action in {"backup", "restore"}:
        raise Failure(WRONG_CALL, f"which file? As in: tower db {asked.action} games-backup.db")
    if asked.force and asked.action not in {"backup", "restore"}:
        raise Failure(WRONG_CALL, "--force goes with backup or restore")
    if asked.no_backup and asked.action != "upgrade":
        raise Failure(WRONG_CALL, "--no-backup goes with upgrade")
    if asked.no_backup and asked.file is not None:
        raise Failure(WRONG_CALL, "choose one: a file for the backup, or --no-backup")


def _describe(asked: Namespace, screen: Screen) -> int:
    shelf = Shelf(asked.db)
    if shelf.absent:
        screen.show(f"Games will be kept in {shelf.name}, from the first move that is made.\n")
        return FINISHED
    kept = sought(shelf, counted, "game")
    screen.show(f"Games are kept in {shelf.name} (form {NEWEST}).\n")
    screen.show(
        f"{_number(kept.games, 'game')} ({kept.unfinished:,} unfinished), {_number(kept.matches, 'match')}, "
        f"{_number(kept.puzzles, 'puzzle')} tried.\n"
    )
    return FINISHED


def _upgrade(asked: Namespace, screen: Screen) -> int:
    shelf = Shelf(asked.db)
    backup = _choose_backup(asked, shelf)
    engine = engine_at(shelf.place)
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
        name = shown_path(str(backup))
        screen.show(f"The database as it was is saved as {name}; to go back: tower db restore {name}{shelf.options}\n")
    return FINISHED


def _choose_backup(asked: Namespace, shelf: Shelf) -> Backup:
    """Return where the backup before an upgrade goes: beside a file, or, for a server, to the user's data folder."""
    if asked.no_backup:
        return False
    if asked.file is not None:
        return Path(asked.file)
    if shelf.place.file is not None:
        return name_backup(Path(shelf.place.file))
    return name_backup(Path(places.data_folder(), "server.db"))


def _back_up(asked: Namespace, screen: Screen) -> int:
    shelf = _existing(asked)
    bar = Bar("stops; then nothing is saved", "parts")
    try:
        summary = create_backup(shelf.place, Path(asked.file), overwrite=asked.force, progress=bar.tick)
    finally:
        bar.clear()
    held = _sum_up(summary.rows.get("games", 0), summary.rows.get("matches", 0), summary.rows.get("puzzles", 0))
    screen.show(f"Saved a backup of {shelf.name} as {shown_path(asked.file)}: {held} (form {summary.version}).\n")
    return FINISHED


def _check(asked: Namespace, screen: Screen) -> int:
    name, report = _checked(asked)
    held = _sum_up(report.games, report.matches, report.puzzles)
    if not report.problems:
        screen.show(f"{name} is fine: {held} (form {report.version}).\n")
        return FINISHED
    for problem in report.problems:
        screen.show(f"- {problem}\n")
    count = _number(len(report.problems), "problem")
    advice = "a backup can take its place: tower db restore FILE"
    raise Failure(DAMAGED_DATABASE, f"{name} has {count}, listed above ({held}); {advice}")


def _checked(asked: Namespace) -> tuple[str, Report]:
    """Check the database, or the file that was named."""
    bar = Bar("stops")
    try:
        if asked.file is None:
            shelf = _existing(asked)
            return shelf.name, check_database(shelf.place, bar.tick)
        if not Path(asked.file).is_file():
            raise Failure(
                WRONG_CALL,
                f"there is no file {shown_path(asked.file)}; expected a backup, as tower db backup saves it.",
            )
        place = locate_file(Path(asked.file))
        return place.name, check_database(place, bar.tick)
    finally:
        bar.clear()


def _restore(asked: Namespace, screen: Screen) -> int:
    shelf = Shelf(asked.db)
    name, report = _checked(asked)
    if report.problems and not asked.force:
        count = _number(len(report.problems), "problem")
        listed = f"to see them: tower db check {name}; to restore it all the same: --force"
        raise Failure(DAMAGED_DATABASE, f"{name} has {count}, and nothing was restored ({listed})")
    bar = Bar("stops; then everything is as it was", "parts")
    try:
        restored = restore_backup(shelf.place, Path(asked.file), bar.tick)
    finally:
        bar.clear()
    held = _sum_up(report.games, report.matches, report.puzzles)
    screen.show(f"Restored {shelf.name} from {name}: {held} (form {restored.summary.version}).\n")
    if restored.kept is not None:
        screen.show(f"The database that was there before is saved as {shown_path(str(restored.kept))}\n")
    return FINISHED


def _existing(asked: Namespace) -> Shelf:
    """Return the database, if there is one."""
    shelf = Shelf(asked.db)
    if shelf.absent:
        raise Failure(WRONG_CALL, f"there is no database {shelf.name} yet")
    return shelf


def _sum_up(games: int, matches: int, puzzles: int) -> str:
    return f"{_number(games, 'game')}, {_number(matches, 'match')}, {_number(puzzles, 'puzzle')} tried"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


_ACTIONS: dict[str | None, Callable[[Namespace, Screen], int]] = {
    None: _describe,
    "upgrade": _upgrade,
    "backup": _back_up,
    "check": _check,
    "restore": _restore,
}
