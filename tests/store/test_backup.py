"""Backups: made while people play, checked, and restored in one step."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import psycopg
import pytest

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store import Location, StoreError
from number_tower.store.backup import create_backup, restore_backup
from number_tower.store.database import Store
from number_tower.store.maintenance import check_database
from number_tower.store.schema import NEWEST
from support.command import TOWER, plain_environment, run_tower_with_small_files
from support.forking import Forked
from support.played_games import store_played_games
from support.postgres import make_location
from support.servers import run_servers
from support.stores import Command, open_store, run_sql

pytest_plugins = ["support.postgres"]

DRAFT = catalogue.load_named("draft")


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


def begin(store: Store, count: int = 1) -> None:
    for _ in range(count):
        store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)


def filled(database: Path | str, count: int = 3) -> Location:
    """Make a database with some games; return where it is."""
    with closing(open_store(database)) as store:
        begin(store, count)
        return store.location


def games_in(file: Path) -> int:
    (count,) = run_sql(file, "SELECT count(*) FROM games")[0]
    return int(count)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Backups ------------------------------------------------------------------------------------------


def test_a_backup_is_one_private_file_that_holds_everything(tmp_path: Path) -> None:
    place = filled(tmp_path / "games.db")
    with closing(
        open_store(tmp_path / "games.db")
    ) as store:  # open, and with its newest moves in the log
        begin(store)
        create_backup(place, tmp_path / "saved" / "backup.db")
    saved = tmp_path / "saved" / "backup.db"
    assert (names(saved.parent), stat.S_IMODE(saved.stat().st_mode)) == ({"backup.db"}, 0o600)
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700
    dumps = []
    for file in (saved, tmp_path / "games.db"):
        with closing(sqlite3.connect(file)) as connection:
            dumps.append([*connection.iterdump()])
    assert dumps[0] == dumps[1]


def test_a_backup_is_of_one_moment_while_games_go_on(tmp_path: Path) -> None:
    place, ended = filled(tmp_path / "games.db"), Event()
    with closing(open_store(tmp_path / "games.db")) as store, ThreadPoolExecutor(1) as pool:

        def go_on() -> None:
            while not ended.is_set():
                begin(store)

        going_on = pool.submit(go_on)
        for number in range(5):
            create_backup(place, tmp_path / f"{number}.db")
        ended.set()
        going_on.result()
    counts = [games_in(tmp_path / f"{number}.db") for number in range(5)]
    assert counts == sorted(counts)
    assert 3 <= counts[0] < counts[-1] <= games_in(tmp_path / "games.db")
    for number in range(5):
        assert not check_database(make_location(str(tmp_path / f"{number}.db"))).problems


def test_a_backup_that_exists_is_not_replaced_unasked(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    assert play("db", "backup", "b.db", "--db", "games.db").code == 0
    filled(tmp_path / "games.db", 2)
    refused = play("db", "backup", "b.db", "--db", "games.db")
    said = "b.db exists already; choose another name, or add --force to replace it"
    assert refused == (1, "", f"tower: {said}\n")
    assert games_in(tmp_path / "b.db") == 3
    done = play("db", "backup", "b.db", "--force", "--db", "games.db")
    assert done.out == "Saved a backup of games.db as b.db: 5 games, 0 matches, 0 puzzles tried.\n"
    assert games_in(tmp_path / "b.db") == 5


def test_the_database_itself_is_never_the_backup(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    (tmp_path / "link.db").symlink_to("games.db")
    for name in ("games.db", "./games.db", "link.db"):
        done = play("db", "backup", name, "--force", "--db", "games.db")
        assert done == (
            1,
            "",
            f"tower: {Path(name)} is the database itself; choose another file for the backup\n",
        )
        done = play("db", "restore", name, "--db", "games.db")
        assert done == (
            1,
            "",
            f"tower: {Path(name)} is the database itself; there is nothing to restore\n",
        )
    assert games_in(tmp_path / "games.db") == 3


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    filled(tmp_path / "backup.db", 5)
    run_sql(tmp_path / "backup.db", "PRAGMA journal_mode = DELETE")
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    saved = run_tower_with_small_files(
        60, "db", "backup", "backup.db", "--force", "--db", "games.db", cwd=tmp_path
    )
    assert saved.returncode == 1
    assert saved.stderr.startswith("tower: backup.db cannot be written: ")
    restored = run_tower_with_small_files(
        60, "db", "restore", "backup.db", "--db", "games.db", cwd=tmp_path
    )
    assert (restored.returncode, restored.stderr.count("\n")) == (1, 1)
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_a_device_is_no_place_for_a_backup(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    done = play("db", "backup", "/dev/full", "--db", "games.db")
    assert (done.code, done.out) == (1, "")


def test_calls_that_make_no_sense_are_refused(play: Command, tmp_path: Path) -> None:
    assert (
        play("db", "backup").err
        == "tower: which file? For example: tower db backup games-backup.db\n"
    )
    assert play("db", "restore").code == 2
    assert play("db", "backup", "b.db", "--db", "games.db") == (
        2,
        "",
        "tower: there is no database games.db yet\n",
    )
    assert play("db", "check", "b.db") == (
        2,
        "",
        "tower: there is no file b.db; expected a backup that tower db backup saved\n",
    )
    assert play("db", "restore", "b.db", "--db", "games.db") == (
        2,
        "",
        "tower: there is no file b.db; expected a backup that tower db backup saved\n",
    )
    assert play("db", "upgrade", "b.db").code == 2
    assert "expected one of" in play("db", "copy", "b.db").err
    assert names(tmp_path) == set()


# Checks -------------------------------------------------------------------------------------------


def test_a_whole_database_is_fine(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    said = f"games.db is fine: 3 games, 0 matches, 0 puzzles tried (version {NEWEST}).\n"
    assert play("db", "check", "--db", "games.db") == (0, said, "")
    assert play("db", "check", "games.db") == (0, said, "")


def test_every_damaged_game_is_named(play: Command, tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    with closing(open_store(file)) as store:
        store_played_games(store)
    run_sql(file, "UPDATE games SET moves = '1,2,3' WHERE id IN (1, 3)")
    run_sql(file, "UPDATE games SET match = NULL WHERE match > 1")
    run_sql(file, "DELETE FROM matches WHERE id > 1")
    run_sql(file, "UPDATE matches SET document = '['")
    run_sql(file, "UPDATE puzzles SET grade = 99 WHERE id = 1")
    done = play("db", "check", "--db", "games.db")
    assert done.code == 1
    lines = done.out.splitlines()
    assert [line.split(" is ")[0] for line in lines] == [
        "- game 1",
        "- game 3",
        "- match m1",
        "- puzzle 1",
    ]
    assert "games.db has 4 problems, listed above" in done.err


def test_a_row_that_refers_to_nothing_is_found(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    run_sql(
        tmp_path / "games.db",
        "INSERT INTO changes VALUES (77, 0, '9', '2027-01-01T10:01:00.000000Z')",
    )
    done = play("db", "check", "--db", "games.db")
    assert done.code == 1
    assert "of changes refers to a row of games that is missing" in done.out


def test_a_damaged_page_is_found(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db", 30)
    run_sql(tmp_path / "games.db", "PRAGMA journal_mode = DELETE")
    root = run_sql(
        tmp_path / "games.db", "SELECT rootpage FROM sqlite_master WHERE name = 'games_changed'"
    )[0][0]
    with (tmp_path / "games.db").open("r+b") as stream:
        stream.seek(4096 * (root - 1))
        stream.write(bytes(200))
    done = play("db", "check", "--db", "games.db")
    assert (done.code, done.err.count("\n")) == (1, 1)
    refused = play("db", "backup", "b.db", "--db", "games.db")
    assert (refused.code, refused.out) == (1, "")
    assert not (tmp_path / "b.db").exists()
    assert play("db", "restore", "games.db", "--db", "other.db").code == 1
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_is_checked_too(play: Command, database: str) -> None:
    filled(database)
    fine = play("db", "check", "--db", database)
    assert (fine.code, fine.err) == (0, "")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE games SET moves = '1,2,3' WHERE id = 2")
    damaged = play("db", "check", "--db", database)
    assert (damaged.code, damaged.out.startswith("- game 2 is damaged in the database")) == (
        1,
        True,
    )


# Restoring ----------------------------------------------------------------------------------------


def test_a_restored_database_holds_what_the_backup_held_and_the_old_one_is_kept(
    play: Command, tmp_path: Path
) -> None:
    filled(tmp_path / "games.db")
    play("db", "backup", "b.db", "--db", "games.db")
    filled(tmp_path / "games.db", 2)
    done = play("db", "restore", "b.db", "--db", "games.db")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Restored games.db from b.db: 3 games, 0 matches, 0 puzzles tried")
    kept = tmp_path / next(name for name in names(tmp_path) if "before-restore" in name)
    assert done.out.endswith(f"The database that was there before is saved as {kept}\n")
    assert (games_in(tmp_path / "games.db"), games_in(kept), games_in(tmp_path / "b.db")) == (
        3,
        5,
        3,
    )
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = play("db", "restore", str(kept), "--db", "games.db")
    assert again.code == 0
    assert games_in(tmp_path / "games.db") == 5
    assert len(names(tmp_path)) == 4, (
        "each is kept under a name of its own, and nothing else is left"
    )


def test_a_restore_makes_a_database_that_is_not_there(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    play("db", "backup", "b.db", "--db", "games.db")
    done = play("db", "restore", "b.db", "--db", "new/games.db")
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert games_in(tmp_path / "new" / "games.db") == 3
    assert stat.S_IMODE((tmp_path / "new" / "games.db").stat().st_mode) == 0o600


def damage_header(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(b"no database at all, but a letter")


def damage_schema(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 3000)


@pytest.mark.parametrize("damage", [damage_header, damage_schema])
def test_a_damaged_database_is_replaced_and_kept_with_its_log(
    play: Command, tmp_path: Path, damage: object
) -> None:
    filled(tmp_path / "games.db")
    play("db", "backup", "b.db", "--db", "games.db")
    with closing(sqlite3.connect(tmp_path / "games.db")) as connection:
        connection.execute("UPDATE games SET seed = '1'")
        connection.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{tmp_path}/games.db{suffix}", f"{tmp_path}/copy.db{suffix}")
    for suffix in ("", "-wal"):
        (tmp_path / f"copy.db{suffix}").rename(tmp_path / f"games.db{suffix}")
    damage(tmp_path / "games.db")  # type: ignore[operator]  # one of the two above
    damage(tmp_path / "games.db-wal")  # type: ignore[operator]  # so that the log does not mend it
    done = play("db", "restore", "b.db", "--db", "games.db")
    assert (done.code, done.err) == (0, "")
    assert games_in(tmp_path / "games.db") == 3
    assert run_sql(tmp_path / "games.db", "SELECT DISTINCT seed FROM games") == [(None,)]


def test_a_file_that_is_no_backup_is_not_restored(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    (tmp_path / "letter.txt").write_text("Dear Ann,\n" * 100)
    run_sql(tmp_path / "addresses.db", "CREATE TABLE addresses (name TEXT)")
    filled(tmp_path / "newer.db")
    run_sql(tmp_path / "newer.db", "UPDATE alembic_version SET version_num = '9999'")
    (tmp_path / "empty.db").touch()
    for name in ("letter.txt", "addresses.db", "newer.db", "empty.db"):
        done = play("db", "restore", name, "--force", "--db", "games.db")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert games_in(tmp_path / "games.db") == 3


def test_a_backup_with_a_damaged_game_is_restored_only_by_force(
    play: Command, tmp_path: Path
) -> None:
    filled(tmp_path / "b.db")
    run_sql(tmp_path / "b.db", "UPDATE games SET moves = '1,2,3' WHERE id = 2")
    refused = play("db", "restore", "b.db", "--db", "games.db")
    assert (refused.code, "b.db has 1 problem, and nothing was restored" in refused.err) == (
        1,
        True,
    )
    assert not (tmp_path / "games.db").exists()
    assert play("db", "restore", "b.db", "--force", "--db", "games.db").code == 0


# Refused onto a database in use -------------------------------------------------------------------


@contextmanager
def terminal(file: Path) -> Iterator[subprocess.Popen[str]]:
    """A game in a terminal in which nobody does anything after the first move."""
    child = Forked(
        [TOWER, "play", "draft"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=plain_environment(NUMBER_TOWER_DB=str(file)),
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write("9\n")
        child.stdin.flush()
        for line in child.stdout:
            if "block 9" in line:
                break
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("user", [run_servers, terminal])
def test_a_restore_is_refused_while_a_program_has_the_database_open(
    play: Command, tmp_path: Path, user: object
) -> None:
    filled(tmp_path / "games.db")
    create_backup(make_location(str(tmp_path / "games.db")), tmp_path / "b.db")
    with user(tmp_path / "games.db"):  # type: ignore[operator]  # one of the two
        before = names(tmp_path)
        refused = play("db", "restore", "b.db", "--db", "games.db")
        said = (
            "the database games.db is in use; stop the server or the game that uses it, "
            "then try again"
        )
        assert refused == (1, "", f"tower: {said}\n")
        assert names(tmp_path) == before
    assert play("db", "restore", "b.db", "--db", "games.db").code == 0
    assert games_in(tmp_path / "games.db") == 3


# Servers ------------------------------------------------------------------------------------------


def test_a_database_on_a_server_is_backed_up_with_its_own_programs(
    play: Command, tmp_path: Path
) -> None:
    filled(tmp_path / "games.db")
    server = "postgresql://nobody@127.0.0.1:1/x"
    advice = "back it up and restore it with PostgreSQL's own pg_dump and pg_restore"
    said = f"the database {server} is on a server; {advice}"
    for call in (("backup", "b.db"), ("restore", "games.db")):
        assert play("db", *call, "--db", server) == (1, "", f"tower: {said}\n")
    checked = play("db", "check", "--db", server)
    assert (checked.code, "its server cannot be reached" in checked.err) == (1, True)


def test_store_errors_are_what_the_library_raises(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no backup"):
        restore_backup(make_location(str(tmp_path / "games.db")), tmp_path / "b.db")
