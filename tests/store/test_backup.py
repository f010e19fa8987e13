"""Backups: made while people play, checked, restored in one step, and made before every upgrade."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from number_tower import Game, Table, catalogue
from number_tower import store as places
from number_tower.store import Location, StoreError, backup
from number_tower.store.backup import create_backup, read_summary, restore_backup
from number_tower.store.database import Store
from number_tower.store.maintenance import check_database
from number_tower.store.schema import NEWEST
from support.command import TOWER, limited, plain_environment
from support.dumps import HELD, connected, content, copy, loaded
from support.forking import Forked
from support.postgres import brought_up_to_date, on_server, place_of
from support.servers import serving
from support.stores import Command, by_hand, store_in

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
    with closing(store_in(database)) as store:
        begin(store, count)
        return store.location


def games_in(file: Path) -> int:
    (count,) = by_hand(file, "SELECT count(*) FROM games")[0]
    return int(count)


def version_of(file: Path) -> str:
    return str(by_hand(file, "SELECT version_num FROM alembic_version")[0][0])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Backups --------------------------------------------------------------------------------------------------------------


def test_a_backup_is_one_private_file_that_holds_everything(tmp_path: Path) -> None:
    place = filled(tmp_path / "games.db")
    with closing(
        store_in(tmp_path / "games.db")
    ) as store:  # open, and with its newest moves in the log
        begin(store)
        summary = create_backup(place, tmp_path / "saved" / "backup.db")
    saved = tmp_path / "saved" / "backup.db"
    assert (summary.version, summary.rows["games"]) == (NEWEST, 4)
    assert (names(saved.parent), stat.S_IMODE(saved.stat().st_mode)) == ({"backup.db"}, 0o600)
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700
    assert content(saved) == content(tmp_path / "games.db")


def test_a_backup_is_of_one_moment_while_games_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(tmp_path / "games.db", 40)
    monkeypatch.setattr(backup, "_PAGES_PER_STEP", 1)
    steps: list[int] = []
    with closing(store_in(tmp_path / "games.db")) as store:

        def step(done: int, _: int) -> None:
            if len(steps) % 5 == 0:
                begin(store)
            steps.append(done)

        summary = create_backup(place, tmp_path / "backup.db", progress=step)
    assert len(steps) > 10
    assert summary.rows["games"] == games_in(tmp_path / "backup.db") == 40
    assert games_in(tmp_path / "games.db") > 40
    assert not check_database(place_of(str(tmp_path / "backup.db"))).problems


def test_a_backup_that_exists_is_not_replaced_unasked(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    assert play("db", "backup", "b.db", "--db", "games.db").code == 0
    filled(tmp_path / "games.db", 2)
    refused = play("db", "backup", "b.db", "--db", "games.db")
    said = "b.db exists already; choose another name, or add --force to replace it"
    assert refused == (1, "", f"tower: {said}\n")
    assert games_in(tmp_path / "b.db") == 3
    done = play("db", "backup", "b.db", "--force", "--db", "games.db")
    assert (
        done.out
        == f"Saved a backup of games.db as b.db: 5 games, 0 matches, 0 puzzles tried (version {NEWEST}).\n"
    )
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


def test_an_interrupted_backup_leaves_nothing(tmp_path: Path) -> None:
    place = filled(tmp_path / "games.db")

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_backup(place, tmp_path / "backup.db", progress=interrupt)
    assert names(tmp_path) == {"games.db"}


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    filled(tmp_path / "backup.db", 5)
    by_hand(tmp_path / "backup.db", "PRAGMA journal_mode = DELETE")
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    saved = limited(60, "db", "backup", "backup.db", "--force", "--db", "games.db", cwd=tmp_path)
    assert saved.returncode == 1
    assert saved.stderr.startswith("tower: backup.db cannot be written: ")
    restored = limited(60, "db", "restore", "backup.db", "--db", "games.db", cwd=tmp_path)
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
    assert play("db", "check", "--force").err == "tower: --force is only for backup and restore\n"
    assert (
        play("db", "backup", "b.db", "--no-backup").err
        == "tower: --no-backup is only for upgrade\n"
    )
    assert play("db", "upgrade", "b.db", "--no-backup").code == 2
    assert "expected one of" in play("db", "copy", "b.db").err
    assert names(tmp_path) == set()


# Checks ---------------------------------------------------------------------------------------------------------------


def test_a_whole_database_is_fine(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    said = f"games.db is fine: 3 games, 0 matches, 0 puzzles tried (version {NEWEST}).\n"
    assert play("db", "check", "--db", "games.db") == (0, said, "")
    assert play("db", "check", "games.db") == (0, said, "")


def test_every_damaged_game_is_named(play: Command, tmp_path: Path) -> None:
    file = loaded("0004", tmp_path / "games.db")
    store_in(file).close()
    by_hand(file, "UPDATE games SET moves = '1,2,3' WHERE id IN (1, 3)")
    by_hand(file, "UPDATE matches SET games = '['")
    by_hand(file, "UPDATE puzzles SET grade = 99")
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


@pytest.mark.parametrize("version", HELD)
def test_a_file_of_an_earlier_version_is_checked_and_left_as_it_is(
    play: Command, tmp_path: Path, version: str
) -> None:
    file = loaded(version, tmp_path / "old.db")
    before = file.read_bytes()
    done = play("db", "check", "old.db")
    assert (done.code, done.err) == (0, "")
    assert f"(version {version})" in done.out
    assert (file.read_bytes(), names(tmp_path)) == (before, {"old.db"})


def test_a_row_that_refers_to_nothing_is_found(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    by_hand(
        tmp_path / "games.db",
        "INSERT INTO changes VALUES (77, 0, '9', '2027-01-01T10:01:00.000000Z')",
    )
    done = play("db", "check", "--db", "games.db")
    assert done.code == 1
    assert "of changes refers to a row of games that is missing" in done.out


def test_a_damaged_page_is_found(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db", 30)
    by_hand(tmp_path / "games.db", "PRAGMA journal_mode = DELETE")
    root = by_hand(
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


# Restoring ------------------------------------------------------------------------------------------------------------


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
    assert by_hand(tmp_path / "games.db", "SELECT DISTINCT seed FROM games") == [(None,)]


def test_a_file_that_is_no_backup_is_not_restored(play: Command, tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    (tmp_path / "letter.txt").write_text("Dear Ann,\n" * 100)
    by_hand(tmp_path / "addresses.db", "CREATE TABLE addresses (name TEXT)")
    filled(tmp_path / "newer.db")
    by_hand(tmp_path / "newer.db", "UPDATE alembic_version SET version_num = '9999'")
    (tmp_path / "empty.db").touch()
    for name in ("letter.txt", "addresses.db", "newer.db", "empty.db"):
        done = play("db", "restore", name, "--force", "--db", "games.db")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert games_in(tmp_path / "games.db") == 3


def test_a_backup_with_a_damaged_game_is_restored_only_by_force(
    play: Command, tmp_path: Path
) -> None:
    filled(tmp_path / "b.db")
    by_hand(tmp_path / "b.db", "UPDATE games SET moves = '1,2,3' WHERE id = 2")
    refused = play("db", "restore", "b.db", "--db", "games.db")
    assert (refused.code, "b.db has 1 problem, and nothing was restored" in refused.err) == (
        1,
        True,
    )
    assert not (tmp_path / "games.db").exists()
    assert play("db", "restore", "b.db", "--force", "--db", "games.db").code == 0


# Refused onto a database in use ---------------------------------------------------------------------------------------


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


@contextmanager
def shell(file: Path) -> Iterator[None]:
    """Another program that has read the file once."""
    held = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM games').fetchall(); "
        "print(flush=True); sys.stdin.read()"
    )
    child = Forked(
        [sys.executable, "-c", held, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        child.stdout.readline()
        yield
    finally:
        child.communicate()


@pytest.mark.parametrize("user", [serving, terminal, shell])
def test_a_restore_is_refused_while_a_program_has_the_database_open(
    play: Command, tmp_path: Path, user: object
) -> None:
    filled(tmp_path / "games.db")
    create_backup(place_of(str(tmp_path / "games.db")), tmp_path / "b.db")
    with user(tmp_path / "games.db"):  # type: ignore[operator]  # one of the three
        before = names(tmp_path)
        refused = play("db", "restore", "b.db", "--db", "games.db")
        said = "the database games.db is in use; stop the server or the game that uses it, then try again"
        assert refused == (1, "", f"tower: {said}\n")
        assert names(tmp_path) == before
    assert play("db", "restore", "b.db", "--db", "games.db").code == 0
    assert games_in(tmp_path / "games.db") == 3


@pytest.mark.skipif(
    sys.platform == "win32", reason="a file that is open cannot be replaced there anyway"
)
def test_nor_is_a_damaged_database_replaced_while_it_is_in_use(
    play: Command, tmp_path: Path
) -> None:
    filled(tmp_path / "games.db")
    create_backup(place_of(str(tmp_path / "games.db")), tmp_path / "b.db")
    with shell(tmp_path / "games.db"):
        damage_header(tmp_path / "games.db")
        refused = play("db", "restore", "b.db", "--db", "games.db")
        assert (refused.code, "is in use" in refused.err) == (1, True)
    assert play("db", "restore", "b.db", "--db", "games.db").code == 0


def test_a_store_that_waits_while_a_database_is_restored_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the file that is being replaced; without another look it would go on writing to that one."""
    file = tmp_path / "games.db"
    place = filled(file)
    create_backup(place, tmp_path / "b.db")
    filled(file, 4)
    waiting, set_aside = Event(), backup._keep_replaced  # noqa: SLF001 - the moment between locking and replacing
    opened: list[int] = []

    def wait(given: Path) -> Path:
        script = (
            "import sys; from number_tower.store import open_store\n"
            "from number_tower.store.database import count_contents\n"
            "print('ready', flush=True); s = open_store(sys.argv[1]); print(count_contents(s).games); s.close()"
        )
        child = Forked([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()

        def read() -> None:
            assert child.stdout is not None
            opened.append(int(child.stdout.read()))
            child.wait()

        thread = Thread(target=read)
        thread.start()
        wait.thread = thread  # type: ignore[attr-defined]  # joined below
        waiting.wait(
            1
        )  # long enough that it usually waits for the lock; right however long it takes
        return set_aside(given)

    monkeypatch.setattr(backup, "_keep_replaced", wait)
    restore_backup(place, tmp_path / "b.db")
    wait.thread.join()  # type: ignore[attr-defined]  # see above
    assert opened == [3]


# Servers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_is_backed_up_and_restored_with_the_same_commands(
    play: Command, database: str, tmp_path: Path
) -> None:
    filled(database)
    with closing(store_in(database)) as store:
        store.delete(3)
    saved = play("db", "backup", "b.db", "--db", database)
    assert (saved.code, saved.err) == (0, "")
    assert "as b.db: 2 games" in saved.out
    filled(database, 5)
    restored = play("db", "restore", "b.db", "--db", database)
    assert (restored.code, restored.err) == (0, "")
    kept = next(name for name in names(tmp_path) if "before-restore" in name)
    assert (games_in(tmp_path / "b.db"), games_in(tmp_path / kept)) == (2, 7)
    with closing(store_in(database)) as store:
        assert [store.get(identity).table.game.moves for identity in (1, 2)] == [(9,), (9,)]
        begun = store.begin(Table(Game(DRAFT.rules), "draft"), DRAFT)
    assert begun.id == 4, "the id of a game that was forgotten is still not used again"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_backup_of_a_server_can_be_restored_to_a_file_and_back(
    play: Command, database: str, tmp_path: Path
) -> None:
    with closing(store_in(loaded("0004", tmp_path / "games.db"))):
        pass
    there = play("db", "backup", "b.db", "--db", "games.db")
    onto_server = play("db", "restore", "b.db", "--db", database)
    back = play("db", "backup", "again.db", "--db", database)
    onto_file = play("db", "restore", "again.db", "--db", "other.db")
    assert [each.code for each in (there, onto_server, back, onto_file)] == [0, 0, 0, 0]
    first, second = (read_summary(tmp_path / name) for name in ("games.db", "other.db"))
    assert first == second
    tables = [line for line in content(tmp_path / "other.db") if line.startswith("INSERT")]
    assert sorted(tables) == sorted(
        line for line in content(tmp_path / "games.db") if line.startswith("INSERT")
    )


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_restore_is_refused_while_anybody_is_connected_to_the_server(
    play: Command, database: str, tmp_path: Path
) -> None:
    filled(database)
    play("db", "backup", "b.db", "--db", database)
    filled(database)
    with psycopg.connect(database, autocommit=True) as connection:
        refused = play("db", "restore", "b.db", "--db", database)
        assert (
            refused.code,
            "is in use; stop all servers and games that use it" in refused.err,
        ) == (1, True)
        assert connection.execute("SELECT count(*) FROM games").fetchone() == (6,)
    assert names(tmp_path) == {"b.db"}
    assert play("db", "restore", "b.db", "--db", database).code == 0


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_restore_to_a_server_that_fails_changes_nothing(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(database)
    create_backup(place, tmp_path / "b.db")
    filled(database)
    monkeypatch.setattr(backup, "_write_sequence", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        restore_backup(place, tmp_path / "b.db")
    assert names(tmp_path) == {"b.db"}
    with closing(store_in(database)) as store:
        assert store.get(6).table.game.moves == (9,)


# Upgrades -------------------------------------------------------------------------------------------------------------

OLDER = [version for version in HELD if version != NEWEST]


@pytest.mark.parametrize("version", OLDER)
def test_an_upgrade_makes_a_backup_first_and_restoring_it_goes_back(
    play: Command, tmp_path: Path, version: str
) -> None:
    file = loaded(version, tmp_path / "games.db")
    before = content(file)
    store_in(file).close()
    saved = next(path for path in tmp_path.iterdir() if path != file)
    assert saved.name.startswith(f"games.db.before-{NEWEST}-20")
    assert (content(saved), stat.S_IMODE(saved.stat().st_mode)) == (before, 0o600)
    assert (version_of(file), version_of(saved)) == (NEWEST, version)
    assert play("db", "restore", saved.name, "--db", "games.db").code == 0
    assert (version_of(file), content(file)) == (version, before)


def test_a_new_database_and_one_that_is_up_to_date_need_no_backup(tmp_path: Path) -> None:
    filled(tmp_path / "games.db")
    filled(tmp_path / "games.db")
    assert names(tmp_path) == {"games.db"}


def test_several_who_open_an_older_file_at_once_make_one_backup(tmp_path: Path) -> None:
    file = loaded(OLDER[0], tmp_path / "games.db")
    threads = [Thread(target=lambda: store_in(file, 60).close()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(tmp_path)) == 2
    assert version_of(file) == NEWEST


def test_without_room_for_a_backup_there_is_no_upgrade(play: Command, tmp_path: Path) -> None:
    file = loaded(OLDER[-1], tmp_path / "games.db")
    before = content(file)
    size = file.stat().st_size // 1024
    done = limited(size - 8, "play", "draft", "--db", "games.db", cwd=tmp_path, typed="9\nquit\n")
    assert done.returncode == 0
    advice = "make room for it, or skip the backup: tower db upgrade --no-backup"
    assert f"Before an upgrade a backup is needed; {advice}. You can continue" in done.stderr
    assert (content(file), names(tmp_path)) == (before, {"games.db"})
    without = play("db", "upgrade", "--no-backup", "--db", "games.db")
    assert (without.code, version_of(file), names(tmp_path)) == (0, NEWEST, {"games.db"})


def test_the_command_says_where_the_backup_is_and_how_to_go_back(
    play: Command, tmp_path: Path
) -> None:
    loaded(OLDER[-1], tmp_path / "games.db")
    done = play("db", "upgrade", "mine.db", "--db", "games.db")
    assert done.out.splitlines()[1] == (
        "The old database is saved as mine.db; to go back to it: tower db restore mine.db --db games.db"
    )
    assert version_of(tmp_path / "mine.db") == OLDER[-1]


@pytest.mark.parametrize("empty", ["postgresql"], indirect=True)
def test_the_upgrade_of_a_server_makes_a_backup_too_and_restoring_it_goes_back(
    play: Command, tmp_path: Path, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from number_tower.store.engine import make_engine  # noqa: PLC0415 - only here
    from number_tower.store.upgrade import migrate, read_version  # noqa: PLC0415 - only here

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    version = OLDER[-1]
    with connected(make_engine(place_of(empty))) as target:
        migrate(target, version)
        copy(loaded(version, tmp_path / "games.db"), target)
    done = play("db", "upgrade", "--db", empty)
    assert done.code == 0
    saved = next(Path(places.get_data_folder()).iterdir())
    assert version_of(saved) == version
    assert play("db", "restore", str(saved), "--db", empty).code == 0
    with connected(make_engine(place_of(empty))) as target:
        assert read_version(target) == version
    assert on_server(empty)
    assert brought_up_to_date(empty) == (version, NEWEST)


# The command ----------------------------------------------------------------------------------------------------------


def test_a_place_that_cannot_be_reached_is_one_sentence(play: Command) -> None:
    for call in (("backup", "b.db"), ("check",)):
        done = play("db", *call, "--db", "postgresql://nobody@127.0.0.1:1/x")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "its server cannot be reached" in done.err


def test_store_errors_are_what_the_library_raises(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no backup"):
        restore_backup(place_of(str(tmp_path / "games.db")), tmp_path / "b.db")
