"""Backups: made while people play, checked, and restored in one step."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from number_tower.store.backup import create_backup
from number_tower.store.database import Store
from number_tower.store.maintenance import check_database
from number_tower.store.schema import NEWEST
from support.command import TOWER, Tower, plain_environment, run_tower_with_small_files, transcribe
from support.played_games import store_played_games
from support.postgres import make_location
from support.servers import run_servers
from support.stores import create_database, open_store, run_sql, store_draft

pytest_plugins = ["support.postgres"]


def store_drafts(file: Path, count: int) -> Path:
    """Store some games in a file, which is made if it does not exist."""
    if not file.exists():
        create_database(file)
    with closing(open_store(file)) as store:
        for _ in range(count):
            store_draft(store, 9)
    return file


@pytest.fixture
def games(file: Path) -> Path:
    """The database games.db, with three games."""
    return store_drafts(file, 3)


@pytest.fixture
def backup(games: Path) -> Path:
    """The backup b.db of games.db."""
    file = games.with_name("b.db")
    create_backup(make_location(str(games)), file)
    return file


def count_games(file: Path) -> int:
    (count,) = run_sql(file, "SELECT count(*) FROM games")[0]
    return int(count)


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def get_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Backups ------------------------------------------------------------------------------------------


def test_backup_is_one_private_file_that_holds_everything(games: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved" / "backup.db"
    with closing(open_store(games)) as store:  # the newest game is still in the log
        store_draft(store, 9)
        create_backup(store.location, saved)
    assert list_names(saved.parent) == {"backup.db"}
    assert (get_mode(saved), get_mode(saved.parent)) == (0o600, 0o700)
    dumps = []
    for file in (saved, games):
        with closing(sqlite3.connect(file)) as connection:
            dumps.append([*connection.iterdump()])
    assert dumps[0] == dumps[1]


def test_backup_is_of_one_moment_while_games_are_stored(games: Path, tmp_path: Path) -> None:
    ended, location = Event(), make_location(str(games))
    backups = [tmp_path / f"{number}.db" for number in range(5)]
    with closing(open_store(games)) as store, ThreadPoolExecutor(1) as pool:

        def store_games() -> None:
            while not ended.is_set():
                store_draft(store, 9)

        storing = pool.submit(store_games)
        for file in backups:
            create_backup(location, file)
        ended.set()
        storing.result()
    counts = [count_games(file) for file in backups]
    assert counts == sorted(counts)
    assert 3 <= counts[0] < counts[-1] <= count_games(games)
    assert not any(check_database(make_location(str(file))).problems for file in backups)


def test_existing_backup_is_replaced_only_by_force(
    call_tower: Tower, games: Path, backup: Path
) -> None:
    store_drafts(games, 2)
    assert call_tower("db", "backup", "b.db", "--db", "games.db").returncode == 1
    assert count_games(backup) == 3
    assert call_tower("db", "backup", "b.db", "--force", "--db", "games.db").returncode == 0
    assert count_games(backup) == 5


@pytest.mark.parametrize("name", ["games.db", "./games.db", "link.db"])
def test_database_is_never_its_own_backup(call_tower: Tower, games: Path, name: str) -> None:
    games.with_name("link.db").symlink_to("games.db")
    for action in ("backup", "restore"):
        refused = call_tower("db", action, name, "--force", "--db", "games.db")
        assert (refused.returncode, "is the database itself" in refused.stderr) == (1, True)
    assert count_games(games) == 3


def test_full_disk_leaves_database_and_backup_unchanged(games: Path, tmp_path: Path) -> None:
    run_sql(store_drafts(tmp_path / "backup.db", 5), "PRAGMA journal_mode = DELETE")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for call in (("backup", "backup.db", "--force"), ("restore", "backup.db")):
        failed = run_tower_with_small_files(60, "db", *call, "--db", games.name, cwd=tmp_path)
        assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
        assert "cannot be" in failed.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("games")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_device_as_backup_is_refused(call_tower: Tower) -> None:
    refused = call_tower("db", "backup", "/dev/full", "--db", "games.db")
    assert (refused.returncode, refused.stdout) == (1, "")


def test_calls_of_db_print_what_the_snapshot_shows(
    call_tower: Tower, games: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    server = "--db postgresql://nobody@127.0.0.1:1/x"
    shown = transcribe(
        call_tower, "db --db games.db", "db --db new.db", "db --db none",
        "db upgrade --db games.db", "db backup", "db restore", "db upgrade b.db", "db copy b.db",
        "db check b.db", "db backup b.db --db new.db", "db restore b.db --db games.db",
        "db backup games.db --force --db games.db", "db restore games.db --db games.db",
        f"db backup b.db {server}", f"db restore games.db {server}", f"db check {server}",
    )  # fmt: skip
    assert list_names(tmp_path) == {"games.db"}
    shown += "\n" + transcribe(
        call_tower, "db upgrade --db new.db", "db check --db games.db", "db check games.db",
        "db backup b.db --db games.db", "db backup b.db --db games.db",
        "db restore b.db --db games.db",
    )  # fmt: skip
    run_sql(games, "UPDATE games SET moves = '1,2,3' WHERE id = 2")
    shown += "\n" + transcribe(
        call_tower, "db check --db games.db", "db restore games.db --db b.db"
    )
    shown = re.sub(r"before-restore-[\d.-]+", "before-restore-TIME", shown)
    assert shown.replace(f"{tmp_path}/", "").replace(NEWEST, "VERSION") == snapshot


# Checks -------------------------------------------------------------------------------------------


def test_check_names_every_damaged_entry(call_tower: Tower, store: Store, file: Path) -> None:
    store_played_games(store, games=5)
    for damage in (
        "UPDATE games SET moves = '1,2,3' WHERE id IN (1, 3)",
        "UPDATE games SET match = NULL WHERE match > 1",
        "DELETE FROM matches WHERE id > 1",
        "UPDATE matches SET document = '['",
        "UPDATE puzzles SET grade = 99 WHERE id = 1",
    ):
        run_sql(file, damage)
    checked = call_tower("db", "check", "--db", "games.db")
    problems = [line.split(" is ")[0] for line in checked.stdout.splitlines()]
    assert problems == ["- game 1", "- game 3", "- match m1", "- puzzle 1"]
    assert (checked.returncode, "has 4 problems" in checked.stderr) == (1, True)


def test_check_finds_row_that_refers_to_nothing(call_tower: Tower, games: Path) -> None:
    run_sql(games, "INSERT INTO changes VALUES (77, 0, '9', '2027-01-01T10:01:00.000000Z')")
    checked = call_tower("db", "check", "--db", "games.db")
    assert checked.returncode == 1
    assert "of changes refers to a row of games that is missing" in checked.stdout


def test_damaged_page_is_found_and_neither_backed_up_nor_restored(
    call_tower: Tower, games: Path
) -> None:
    run_sql(store_drafts(games, 27), "PRAGMA journal_mode = DELETE")
    ((root,),) = run_sql(games, "SELECT rootpage FROM sqlite_master WHERE name = 'games_changed'")
    with games.open("r+b") as stream:
        stream.seek(4096 * (root - 1))
        stream.write(bytes(200))
    checked = call_tower("db", "check", "--db", "games.db")
    assert (checked.returncode, checked.stderr.count("\n")) == (1, 1)
    refused = call_tower("db", "backup", "b.db", "--db", "games.db")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert call_tower("db", "restore", "games.db", "--db", "other.db").returncode == 1
    assert list_names(games.parent) == {"games.db"}


@pytest.mark.parametrize("any_store", ["postgresql"], indirect=True)
def test_check_of_a_server_names_the_damaged_game(call_tower: Tower, any_store: Store) -> None:
    store_draft(any_store, 9)
    store_draft(any_store, 9)
    name = any_store.location.name
    fine = call_tower("db", "check", "--db", name)
    assert (fine.returncode, fine.stderr) == (0, "")
    with any_store.write() as connection:
        connection.execute(text("UPDATE games SET moves = '1,2,3' WHERE id = 2"))
    damaged = call_tower("db", "check", "--db", name)
    assert damaged.returncode == 1
    assert damaged.stdout.startswith("- game 2 is damaged in the database")


# Restoring ----------------------------------------------------------------------------------------


def test_restore_replaces_the_database_and_saves_the_old_one(
    call_tower: Tower, games: Path, backup: Path
) -> None:
    store_drafts(games, 2)
    assert call_tower("db", "restore", "b.db", "--db", "games.db").returncode == 0
    (old,) = games.parent.glob("*before-restore*")
    assert [count_games(file) for file in (games, old, backup)] == [3, 5, 3]
    assert get_mode(old) == 0o600
    assert call_tower("db", "restore", str(old), "--db", "games.db").returncode == 0
    assert count_games(games) == 5
    assert len(list_names(games.parent)) == 4, "every old database has a name of its own"


@pytest.mark.usefixtures("backup")
def test_restore_makes_a_database_that_does_not_exist(call_tower: Tower, games: Path) -> None:
    restored = call_tower("db", "restore", "b.db", "--db", "new/games.db")
    assert (restored.returncode, restored.stdout.count("\n")) == (0, 1)
    file = games.parent / "new" / "games.db"
    assert (count_games(file), get_mode(file)) == (3, 0o600)


def damage_header(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(b"no database at all, but a letter")


def damage_schema(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 3000)


@pytest.mark.usefixtures("backup")
@pytest.mark.parametrize("damage", [damage_header, damage_schema])
def test_restore_over_a_damaged_database_ignores_its_log(
    call_tower: Tower, games: Path, damage: Callable[[Path], None]
) -> None:
    log, parts = Path(f"{games}-wal"), {}
    with closing(sqlite3.connect(games)) as connection:
        connection.execute("UPDATE games SET seed = '1'")
        connection.commit()
        for part in (games, log):
            parts[part] = shutil.copy(part, f"{part}.copy")
    for part, copy in parts.items():
        Path(copy).rename(part)
        damage(part)  # the log too, so that it does not repair the file
    restored = call_tower("db", "restore", "b.db", "--db", "games.db")
    assert (restored.returncode, restored.stderr) == (0, "")
    assert run_sql(games, "SELECT seed FROM games") == [(None,)] * 3


@pytest.mark.parametrize("name", ["letter.txt", "addresses.db", "newer.db", "empty.db"])
def test_restore_of_another_file_is_refused(call_tower: Tower, games: Path, name: str) -> None:
    folder = games.parent
    (folder / "letter.txt").write_text("Dear Ann,\n" * 100)
    run_sql(folder / "addresses.db", "CREATE TABLE addresses (name TEXT)")
    newer = create_database(folder / "newer.db")
    run_sql(newer, "UPDATE alembic_version SET version_num = '9999'")
    (folder / "empty.db").touch()
    refused = call_tower("db", "restore", name, "--force", "--db", "games.db")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert count_games(games) == 3


def test_backup_with_a_damaged_game_is_restored_only_by_force(
    call_tower: Tower, backup: Path
) -> None:
    run_sql(backup, "UPDATE games SET moves = '1,2,3' WHERE id = 2")
    refused = call_tower("db", "restore", "b.db", "--db", "new.db")
    assert (refused.returncode, "1 problem" in refused.stderr) == (1, True)
    assert not backup.with_name("new.db").exists()
    assert call_tower("db", "restore", "b.db", "--force", "--db", "new.db").returncode == 0


@contextmanager
def leave_game_open(file: Path) -> Iterator[None]:
    """Play a first move in a terminal, and do nothing afterwards."""
    with subprocess.Popen(
        [TOWER, "play", "draft"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=plain_environment(NUMBER_TOWER_DB=str(file)),
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("9\n")
        child.stdin.flush()
        assert any("block 9" in line for line in child.stdout)
        try:
            yield
        finally:
            child.kill()


@pytest.mark.parametrize("use", [run_servers, leave_game_open])
def test_restore_is_refused_while_a_program_uses_the_database(
    call_tower: Tower,
    games: Path,
    backup: Path,
    use: Callable[[Path], AbstractContextManager[object]],
) -> None:
    with use(games):
        before = list_names(games.parent)
        refused = call_tower("db", "restore", backup.name, "--db", "games.db")
        assert (refused.returncode, "games.db is in use" in refused.stderr) == (1, True)
        assert list_names(games.parent) == before
    assert call_tower("db", "restore", backup.name, "--db", "games.db").returncode == 0
    assert count_games(games) == 3
