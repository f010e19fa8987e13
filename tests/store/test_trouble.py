"""What can go wrong with a database: one clear sentence, and the game goes on in memory."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from syrupy.assertion import SnapshotAssertion

from number_tower.engine import record
from number_tower.store import StoreError, connection, database
from number_tower.store.database import Store
from number_tower.store.schema import NEWEST
from number_tower.support.installation import format_install_command
from support.clocks import SLOW
from support.command import (
    TOWER,
    CommandResult,
    Tower,
    plain_environment,
    run_tower_with_small_files,
)
from support.stores import create_database, open_store, run_sql, store_draft

HASTY = "sqlite:///games.db?timeout=0.1"
"""The database games.db, waited for only a moment while another program has locked it."""


def play_draft(
    call_tower: Tower, answers: Iterable[str], database: str = "games.db"
) -> CommandResult:
    return call_tower("play", "draft", "--db", database, answers=answers)


# Databases that cannot be used --------------------------------------------------------------------

MakeTrouble = Callable[[], str]
"""Makes a database that cannot be used, in the current folder; returns its name."""


def use_full_device() -> str:
    return "/dev/full"


def use_read_only_file() -> str:
    run_sql(create_database(Path("games.db")), "PRAGMA journal_mode = DELETE")
    return f"sqlite:///file:{Path('games.db').absolute()}?mode=ro&uri=true"


def use_newer_version() -> str:
    file = create_database(Path("games.db"))
    run_sql(file, "UPDATE alembic_version SET version_num = '9999'")
    return str(file)


def use_letter() -> str:
    Path("letter.txt").write_text("Dear Ann,\n" * 100)
    return "letter.txt"


def use_damaged_file() -> str:
    file = create_database(Path("games.db"))
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 4000)
    return str(file)


def use_foreign_database() -> str:
    run_sql("addresses.db", "CREATE TABLE addresses (name TEXT)")
    return "addresses.db"


def use_foreign_migrations() -> str:
    run_sql("addresses.db", "CREATE TABLE alembic_version (version_num TEXT)")
    run_sql("addresses.db", "INSERT INTO alembic_version VALUES ('1975ea83b712')")
    return "addresses.db"


def use_folder() -> str:
    Path("games").mkdir()
    return "games"


def use_file_as_folder() -> str:
    Path("file").write_text("no folder")
    return "file/games.db"


def use_unreachable_server() -> str:
    return "postgresql://nobody@127.0.0.1:1/x"


def use_server_without_psycopg() -> str:
    sys.modules["psycopg"] = None  # type: ignore[assignment]  # as if it were not installed
    return "postgresql://nobody@127.0.0.1:1/x"


FOREIGN = [use_letter, use_foreign_database, use_foreign_migrations, use_newer_version]
UNREADABLE = [
    *FOREIGN, use_damaged_file, use_folder, use_unreachable_server, use_server_without_psycopg
]  # fmt: skip
UNWRITABLE = [use_read_only_file, use_file_as_folder]
UNWRITABLE += [use_full_device] * os.path.exists("/dev/full")


@pytest.fixture
def trouble(
    request: pytest.FixtureRequest, call_tower: Tower, monkeypatch: pytest.MonkeyPatch
) -> Tower:
    """The command, with a database that cannot be used."""
    monkeypatch.setitem(sys.modules, "psycopg", psycopg)
    make_trouble: MakeTrouble = request.param
    monkeypatch.setenv("NUMBER_TOWER_DB", make_trouble())
    return call_tower


@pytest.mark.parametrize("trouble", [*UNREADABLE, *UNWRITABLE], indirect=True)
def test_game_goes_on_in_memory_and_can_be_saved_to_a_file(
    trouble: Tower, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    answers = ["9", "8", "save game.json", "5", "quit"]
    played = trouble("play", "draft", answers=answers)
    assert played.returncode == 0
    said = played.stderr.replace(f"{tmp_path}/", "").replace(NEWEST, "VERSION")
    assert said.replace(format_install_command("postgres"), "INSTALL") == snapshot
    assert record.read("game.json").game.moves == (9, 8, 5)
    Path("game.json").unlink()
    assert played.stdout == trouble("play", "draft", "--no-save", answers=answers).stdout
    resumed = trouble("resume", "game.json", answers=["7"])
    assert (resumed.returncode, resumed.stderr) == (0, played.stderr)
    assert record.read("game.json").outcome == (1, "exact")


@pytest.mark.parametrize("trouble", UNREADABLE, indirect=True)
def test_command_that_needs_the_database_ends_with_the_reason(trouble: Tower) -> None:
    reason = trouble("review", "1")
    assert (reason.returncode, reason.stdout, reason.stderr.count("\n")) == (1, "", 1)
    assert trouble("play", "draft", answers=["9", "quit"]).stderr.startswith(
        reason.stderr.rstrip("\n")
    )
    for call in ("review --replay 1", "resume", "resume 1", "solve 1"):
        assert trouble(*call.split()) == reason


@pytest.mark.parametrize(
    ("answers", "code", "last"),
    [
        (["9", "8", "quit"], 0, "Game not saved. Resume it with: tower resume draft:9,8\n"),
        (["9", "8"], 1, "Game not saved. Resume it with: tower resume draft:9,8\n"),
        (["9", "8", "6"], 0, ""),
    ],
    ids=["left", "input ended", "over"],
)
def test_game_in_memory_ends_as_any_other(
    call_tower: Tower, answers: list[str], code: int, last: str
) -> None:
    played = play_draft(call_tower, answers, use_letter())
    assert played.returncode == code
    assert (played.stdout if code == 0 else played.stderr).endswith(last)


@pytest.mark.parametrize("make_trouble", FOREIGN)
def test_foreign_file_is_never_changed(
    call_tower: Tower, tmp_path: Path, make_trouble: MakeTrouble
) -> None:
    file = tmp_path / make_trouble()
    before = file.read_bytes()
    play_draft(call_tower, ["9", "8"], file.name)
    call_tower("resume", "--db", file.name)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def check_played_in_memory(played: CommandResult, reason: str) -> None:
    assert (played.returncode, played.stderr.count("\n")) == (0, 1)
    assert f" cannot be used: {reason}" in played.stderr
    assert "Resume it with: tower resume draft:9,8" in played.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="there is such a folder")
@pytest.mark.parametrize(("name", "reason"), [("games.db", "it cannot be opened"), ("x/y.db", "")])
def test_game_in_a_folder_without_write_permission_goes_on(
    call_tower: Tower, name: str, reason: str
) -> None:
    check_played_in_memory(play_draft(call_tower, ["9", "8", "quit"], f"/sys/{name}"), reason)


# Disks and locks ----------------------------------------------------------------------------------


def test_game_without_room_for_a_database_goes_on(tmp_path: Path) -> None:
    database = str(tmp_path / "games.db")
    done = run_tower_with_small_files(
        20, "play", "draft", typed="9\n8\nquit\n", NUMBER_TOWER_DB=database
    )
    check_played_in_memory(done, "reading or writing it failed")


def test_game_is_saved_with_little_room(file: Path) -> None:
    """The log soon has no room; put away, it leaves as much again."""
    moves = [*map(str, range(1, 31))]
    kib = file.stat().st_size // 1024 + 12
    done = run_tower_with_small_files(
        kib, "play", "climb", typed="\n".join(moves), NUMBER_TOWER_DB=str(file)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert run_sql(file, "SELECT moves, reason FROM games") == [(",".join(moves), "stuck")]


def test_disk_that_becomes_full_loses_no_earlier_game(store: Store) -> None:
    begun = store_draft(store, 9)
    store.close()

    @event.listens_for(store.engine, "connect")
    def limit_pages(connection: sqlite3.Connection, _: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for _ in range(10_000):
            store_draft(store, 9)

    with pytest.raises(StoreError, match=r"games.db cannot be used: the disk is full$"):
        fill()
    assert store.get(begun.id) == begun


@contextmanager
def lock(file: Path) -> Iterator[None]:
    """Keep all others from writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_game_in_a_locked_database_goes_on(call_tower: Tower, file: Path, mode: str) -> None:
    run_sql(file, f"PRAGMA journal_mode = {mode}")
    with lock(file):
        played = play_draft(call_tower, ["9", "8", "quit"], HASTY)
    check_played_in_memory(played, "another program is using it")


def test_lock_that_is_released_in_time_is_waited_for(file: Path) -> None:
    with lock(file):
        playing = subprocess.Popen(
            [TOWER, "play", "draft"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=plain_environment(NUMBER_TOWER_DB=f"sqlite:///{file}?timeout={SLOW}"),
        )  # fmt: skip
        assert playing.stdin is not None
        playing.stdin.write("9\n")
        playing.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            playing.wait(timeout=1)
    _, complaints = playing.communicate("quit\n", timeout=SLOW)
    assert complaints == ""
    assert run_sql(file, "SELECT moves FROM games") == [("9",)]


# In the middle of a game --------------------------------------------------------------------------


@pytest.mark.parametrize("before", [["9"], []], ids=["saved before", "never saved"])
def test_game_is_saved_as_soon_as_the_database_can_be_used_again(
    call_tower: Tower, file: Path, before: list[str], snapshot: SnapshotAssertion
) -> None:
    def answer() -> Iterator[str]:
        yield from before
        with lock(file):
            yield from ["9", "8", "5", "undo"][len(before) :]
        yield from ("4", "quit")

    played = play_draft(call_tower, answer(), HASTY)
    assert played.stderr == snapshot
    assert played.stdout.endswith(f"Resume it with: tower resume 1 --db '{HASTY}'\n")
    changes = run_sql(file, "SELECT change FROM changes ORDER BY version")
    assert [change for (change,) in changes] == ["9", "8", "5", "undo 1", "4"]
    assert run_sql(file, "SELECT id, moves, version FROM games") == [(1, "9,8,4", 5)]


def test_second_lock_is_reported_again(call_tower: Tower, file: Path) -> None:
    def answer() -> Iterator[str]:
        for free, locked in (("9", "8"), ("5", "4")):
            yield free
            with lock(file):
                yield locked

    lines = play_draft(call_tower, answer(), HASTY).stderr.splitlines()
    assert ["another program is using it" in line for line in lines] == [True, False, True, False]
    assert lines[-1].endswith("Resume it with: tower resume draft:9,8,5,4")


def test_moves_that_were_not_saved_are_shown_when_the_game_went_on_elsewhere(
    call_tower: Tower, file: Path
) -> None:
    def answer() -> Iterator[str]:
        yield "9"
        with lock(file):
            yield from ("8", "5")
        with closing(open_store(file)) as elsewhere:
            elsewhere.save(elsewhere.get(1), elsewhere.get(1).table.play(7))
        yield from ("4", "5", "quit")

    out = play_draft(call_tower, answer(), HASTY).stdout
    assert "(Your moves since then were not saved. This was your game: draft:9,8,5)" in out
    assert "(This game was continued elsewhere. The moves made there:)" in out
    assert out.endswith(f"Resume it with: tower resume 1 --db '{HASTY}'\n")
    assert run_sql(file, "SELECT moves FROM games") == [("9,7,5",)]


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def delete_game(file: Path) -> None:
    with closing(open_store(file)) as elsewhere:
        elsewhere.delete(1)


@pytest.mark.parametrize(("delete", "identity"), [(delete_folder, 1), (delete_game, 2)])
def test_game_that_is_deleted_meanwhile_is_saved_again(
    call_tower: Tower, tmp_path: Path, delete: Callable[[Path], None], identity: int
) -> None:
    file = tmp_path / "folder" / "games.db"

    def answer() -> Iterator[str]:
        yield "9"
        delete(file)
        yield from ("8", "quit")

    played = play_draft(call_tower, answer(), "folder/games.db")
    assert played.stderr == "tower: this game was deleted elsewhere; it is saved again\n"
    assert run_sql(file, "SELECT id, moves FROM games") == [(identity, "9,8")]


def test_game_is_saved_when_a_server_comes_back(
    call_tower: Tower, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        closed = Exception("server closed the connection unexpectedly\n\tThis probably means ...")
        raise OperationalError("SELECT", {}, closed, connection_invalidated=True)

    def answer() -> Iterator[str]:
        yield "9"
        with monkeypatch.context() as patch:
            patch.setattr(database, "change_game", fail)
            yield from ("8", "5", "4")
        yield "1"

    first, second = play_draft(call_tower, answer()).stderr.splitlines()
    assert "cannot be used: its server has gone away" in first
    assert "the database works again" in second
    assert run_sql(file, "SELECT id, moves FROM games") == [(1, "9,8,5,4,1")]


def test_connection_that_breaks_once_is_not_reported(
    call_tower: Tower, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, calls = Store.begin, []

    def begin_and_fail_once(self: Store, *args: object, **more: object) -> object:
        calls.append(args)
        begun = begin(self, *args, **more)  # type: ignore[arg-type]  # whatever the caller passes
        if len(calls) == 1:
            raise StoreError("it was done, but the answer was lost")
        return begun

    monkeypatch.setattr(Store, "begin", begin_and_fail_once)
    played = play_draft(call_tower, ["9", "8", "6"])
    assert (played.returncode, played.stderr, len(calls)) == (0, "", 2)
    assert run_sql(file, "SELECT id, moves FROM games") == [(1, "9,8,6")]


def test_game_that_is_damaged_meanwhile_goes_on_in_memory(call_tower: Tower, file: Path) -> None:
    def answer() -> Iterator[str]:
        yield "9"
        run_sql(file, "UPDATE games SET moves = '1,2,3', version = 3")
        yield from ("8", "quit")

    played = play_draft(call_tower, answer())
    assert played.stderr.startswith("tower: game 1 is damaged in the database: ")
    assert played.stderr.count("\n") == 1
    assert played.stdout.endswith("Resume it with: tower resume draft:9,8\n")


def test_read_only_database_can_be_read(
    call_tower: Tower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, access = "on a CD?.db", os.access
    play_draft(call_tower, ["9", "quit"], name)
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith(name) and access(path, mode)
    )
    assert "unfinished, 1 move" in call_tower("history", "--db", name).stdout
    resumed = call_tower("resume", "1", "--db", name, answers=["8", "quit"])
    check_played_in_memory(resumed, "it is read-only")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_damaged_game_cannot_be_resumed_but_others_can(
    call_tower: Tower, store: Store, file: Path
) -> None:
    for move in (9, 7):
        store_draft(store, move)
    run_sql(file, "UPDATE games SET moves = '1,2,3' WHERE id = 1")
    refused = call_tower("resume", "1", "--db", "games.db")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("tower: game 1 is damaged in the database: ")
    assert call_tower("resume", "2", "--db", "games.db", answers=["8", "quit"]).returncode == 0


# What a server says -------------------------------------------------------------------------------

FAILED = 'connection failed: connection to server at "::1", port 5432 failed: '


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (FAILED + "Connection refused\n\tIs the ...",
         "its server cannot be reached (connection refused)"),
        (FAILED + 'FATAL:  no such user: "ann"\nMultiple', 'its server says: no such user: "ann"'),
        (FAILED + 'FATAL:  database "x" does not exist',
         'its server says: database "x" does not exist'),
        ("connection timeout expired", "connection timeout expired"),
        ("permission denied for table games\nLINE 1", "permission denied for table games"),
        ("odd \x1b[2J", r"odd \x1b[2J"),
        ("", "it gives no reason"),
    ],
)  # fmt: skip
def test_message_of_a_server_becomes_part_of_a_sentence(
    store: Store, message: str, reason: str
) -> None:
    with pytest.raises(StoreError) as error, store.write():
        raise OperationalError("SELECT 1", {}, Exception(message))
    assert str(error.value) == f"the database {store.location.name} cannot be used: {reason}"


def test_psycopg_without_its_library_is_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ImportError("no pq wrapper available")

    monkeypatch.setattr(connection, "create_engine", fail)
    with pytest.raises(StoreError, match=r"cannot be used without psycopg: .*pip install "):
        open_store("postgresql://ann@host/games")
