"""What can go wrong with a database: one clear sentence, and the game goes on in memory."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from number_tower import Game, Table
from number_tower.engine import catalogue, record
from number_tower.store import StoreError, connection, database
from number_tower.store.database import Store
from number_tower.store.schema import NEWEST
from number_tower.support.installation import format_install_command
from support.clocks import SLOW
from support.command import TOWER, plain_environment, run_tower, run_tower_with_small_files
from support.forking import Forked
from support.stores import Command, open_store, run_sql

DRAFT = catalogue.load("draft")
IN_MEMORY = "You can continue; `save game.json` saves the game to a file"


class Trouble(NamedTuple):
    """A database that cannot be used: what it is asked for by, and what is said of it."""

    asked_for: str
    said: str


Making = Callable[[Path], Trouble]


def unusable(file: Path, reason: str) -> Trouble:
    return Trouble(str(file), f"the database {file} cannot be used: {reason}")


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


# Databases that cannot be used --------------------------------------------------------------------


def full(_: Path) -> Trouble:
    return unusable(Path("/dev/full"), "the disk is full")


def read_only(folder: Path) -> Trouble:
    file = folder / "games.db"
    open_store(file).close()
    run_sql(file, "PRAGMA journal_mode = DELETE")
    return unusable(file, "it is read-only")._replace(
        asked_for=f"sqlite:///file:{file}?mode=ro&uri=true"
    )


def of_a_newer_form(folder: Path) -> Trouble:
    file = folder / "games.db"
    open_store(file).close()
    run_sql(file, "UPDATE alembic_version SET version_num = '9999'")
    newer = (
        f"it has a newer version (9999) than this Number Tower knows ({NEWEST}); "
        "update Number Tower"
    )
    return unusable(file, newer)


def no_database(folder: Path) -> Trouble:
    file = folder / "letter.txt"
    file.write_text("Dear Ann,\n" * 100)
    return unusable(file, "it is not a database file")


def damaged(folder: Path) -> Trouble:
    file = folder / "games.db"
    open_store(file).close()
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 4000)
    return unusable(file, "it is damaged")


def of_somebody_else(folder: Path) -> Trouble:
    file = folder / "addresses.db"
    run_sql(file, "CREATE TABLE addresses (name TEXT)")
    return unusable(file, "it is not a database of Number Tower")


def migrated_by_somebody_else(folder: Path) -> Trouble:
    file = folder / "addresses.db"
    run_sql(file, "CREATE TABLE alembic_version (version_num TEXT)")
    run_sql(file, "INSERT INTO alembic_version VALUES ('1975ea83b712')")
    return unusable(file, "it is not a database of Number Tower")


def a_folder(folder: Path) -> Trouble:
    file = folder / "games"
    file.mkdir()
    return unusable(file, "it is a folder; expected a file")


def in_a_file(folder: Path) -> Trouble:
    (folder / "file").write_text("no folder")
    return unusable(folder / "file" / "games.db", f"{folder / 'file'} is not a folder")


def unreachable(_: Path) -> Trouble:
    reason = "its server cannot be reached (connection refused)"
    url = "postgresql://nobody@127.0.0.1:1/x"
    return Trouble(url, f"the database {url} cannot be used: {reason}")


def without_psycopg(_: Path) -> Trouble:
    sys.modules["psycopg"] = None  # type: ignore[assignment]  # as if it were not installed
    url = "postgresql://nobody@127.0.0.1:1/x"
    return Trouble(
        url,
        f"the database {url} cannot be used without psycopg: {format_install_command('postgres')}",
    )


TROUBLES: list[Making] = [
    read_only, of_a_newer_form, no_database, damaged, of_somebody_else, migrated_by_somebody_else,
    a_folder, in_a_file, unreachable, without_psycopg,
]  # fmt: skip
if os.path.exists("/dev/full"):
    TROUBLES.append(full)


@pytest.fixture(params=TROUBLES)
def trouble(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Trouble:
    monkeypatch.setitem(sys.modules, "psycopg", psycopg)
    making: Making = request.param
    made = making(tmp_path)
    monkeypatch.setenv("NUMBER_TOWER_DB", made.asked_for)
    return made


def test_the_game_goes_on_in_memory_and_says_so_once(play: Command, trouble: Trouble) -> None:
    left = play("play", "draft", answers=["9", "8", "5", "quit"])
    assert left.err == f"tower: {trouble.said}. {IN_MEMORY}\n"
    assert left.out.endswith("Resume it with: tower resume draft:9,8,5\n")
    assert left.code == 0
    assert left.out == play("play", "draft", "--no-save", answers=["9", "8", "5", "quit"]).out, (
        "all else is as ever"
    )


def test_what_cannot_be_kept_can_be_saved_and_gone_on_with(
    play: Command, trouble: Trouble, tmp_path: Path
) -> None:
    saved = play("play", "draft", answers=["9", "8", "save game.json", "5", "quit"])
    assert "Game saved to game.json. Every new move is saved there too.\n" in saved.out
    assert saved.out.endswith("Resume it with: tower resume game.json\n")
    assert record.read(str(tmp_path / "game.json")).game.moves == (9, 8, 5)
    resumed = play("resume", "game.json", answers=["7"])
    assert (resumed.code, resumed.err) == (0, f"tower: {trouble.said}. {IN_MEMORY}\n")
    assert "Player 2! You have built a tower of exactly 15 units" in resumed.out
    assert record.read(str(tmp_path / "game.json")).outcome == (1, "exact")


@pytest.mark.parametrize(
    "trouble",
    [each for each in TROUBLES if each not in (full, read_only, in_a_file)],
    indirect=True,
)
def test_a_command_that_needs_the_database_ends_in_one_sentence(
    play: Command, trouble: Trouble
) -> None:
    for call in (
        ("review", "--replay", "1"),
        ("resume",),
        ("resume", "1"),
        ("review", "1"),
        ("solve", "1"),
    ):
        assert play(*call) == (1, "", f"tower: {trouble.said}\n")


def test_the_command_itself_does_all_that(tmp_path: Path) -> None:
    trouble = no_database(tmp_path)
    call = {"NUMBER_TOWER_DB": trouble.asked_for}
    saved = run_tower("play", "draft", typed="9\n8\nsave game.json\nquit\n", cwd=tmp_path, **call)
    assert (saved.returncode, saved.stderr) == (0, f"tower: {trouble.said}. {IN_MEMORY}\n")
    assert saved.stdout.endswith("Resume it with: tower resume game.json\n")
    resumed = run_tower("resume", "game.json", typed="6\n", cwd=tmp_path, **call)
    assert (resumed.returncode, resumed.stderr) == (0, f"tower: {trouble.said}. {IN_MEMORY}\n")
    sought = run_tower("review", "--replay", "1", cwd=tmp_path, **call)
    assert (sought.returncode, sought.stdout, sought.stderr) == (1, "", f"tower: {trouble.said}\n")


def test_a_game_that_ends_in_memory_ends_as_any_other(play: Command, tmp_path: Path) -> None:
    trouble = no_database(tmp_path)
    done = play("play", "draft", "--db", trouble.asked_for, answers=["9", "8", "6"])
    assert (done.code, done.err) == (0, f"tower: {trouble.said}. {IN_MEMORY}\n")
    ended = play("play", "draft", "--db", trouble.asked_for, answers=["9", "8"])
    assert ended.code == 1
    assert ended.err.endswith("Resume it with: tower resume draft:9,8\n")


@pytest.mark.parametrize(
    "making", [no_database, of_somebody_else, migrated_by_somebody_else, of_a_newer_form]
)
def test_the_file_of_somebody_else_is_never_touched(
    play: Command, tmp_path: Path, making: Making
) -> None:
    file = Path(making(tmp_path).asked_for)
    before = file.read_bytes()
    play("play", "draft", "--db", str(file), answers=["9", "8"])
    play("resume", "--db", str(file))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="folders have other permissions there")
def test_a_folder_that_may_not_be_written_to(play: Command, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    said = unusable(
        folder / "games.db", "it cannot be opened; perhaps you may not write there"
    ).said
    done = play("play", "draft", "--db", str(folder / "games.db"), answers=["9", "8", "quit"])
    assert (done.code, done.err) == (0, f"tower: {said}. {IN_MEMORY}\n")
    deeper = play(
        "play", "draft", "--db", str(folder / "deeper" / "games.db"), answers=["9", "quit"]
    )
    assert "cannot be used: Permission denied. The game goes on" in deeper.err


@pytest.mark.skipif(sys.platform == "win32", reason="files have other permissions there")
def test_a_file_that_may_not_be_written_to(play: Command, tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    play("play", "draft", "--db", str(file), answers=["9", "8", "quit"])
    file.chmod(0o444)
    if os.access(file, os.W_OK):
        pytest.skip("this user may write everywhere")
    done = play("resume", "--db", str(file), answers=["5", "quit"])
    assert (done.code, done.err) == (
        0,
        f"tower: {unusable(file, 'it is read-only').said}. {IN_MEMORY}\n",
    )
    assert done.out.endswith("Resume it with: tower resume draft:9,8,5\n")


@pytest.mark.skipif(sys.platform != "linux", reason="there is such a folder")
def test_a_folder_of_the_system(play: Command) -> None:
    file = Path("/sys/games.db")
    said = unusable(file, "it cannot be opened; perhaps you may not write there").said
    done = play("play", "draft", "--db", str(file), answers=["9", "8", "quit"])
    assert (done.code, done.err) == (0, f"tower: {said}. {IN_MEMORY}\n")


def test_no_room_for_a_database_at_all(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    done = run_tower_with_small_files(
        20, "play", "draft", typed="9\n8\nquit\n", NUMBER_TOWER_DB=str(file)
    )
    assert (done.returncode, done.stderr) == (
        0,
        f"tower: {unusable(file, 'reading or writing it failed').said}. {IN_MEMORY}\n",
    )
    assert done.stdout.endswith("Resume it with: tower resume draft:9,8\n")


def test_little_room_is_made_do_with(tmp_path: Path) -> None:
    """What is written ahead soon has no room; put away, it leaves as much again."""
    file = tmp_path / "games.db"
    open_store(file).close()
    moves = [*map(str, range(1, 31))]
    done = run_tower_with_small_files(
        file.stat().st_size // 1024 + 12,
        "play",
        "climb",
        typed="\n".join(moves),
        NUMBER_TOWER_DB=str(file),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert run_sql(file, "SELECT moves, reason FROM games") == [(",".join(moves), "stuck")]


def test_a_disk_that_becomes_full(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    begun = store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)
    store.close()

    @event.listens_for(store.engine, "connect")
    def no_more_room(connection: sqlite3.Connection, _: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for _ in range(10_000):
            store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)

    with pytest.raises(StoreError, match=r"games.db cannot be used: the disk is full$"):
        fill()
    assert store.get(begun.id) == begun
    store.close()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep everybody else from writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_database_that_another_program_keeps_locked(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "games.db"
    open_store(file).close()
    run_sql(file, f"PRAGMA journal_mode = {mode}")
    with locked(file):
        done = run_tower(
            "play",
            "draft",
            typed="9\n8\n5\nquit\n",
            NUMBER_TOWER_DB=f"sqlite:///{file}?timeout=0.1",
        )
    assert (
        done.stderr == f"tower: {unusable(file, 'another program is using it').said}. {IN_MEMORY}\n"
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        "Game not saved. Resume it with: tower resume draft:9,8,5",
    )


def test_a_lock_that_is_let_go_of_in_time_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    open_store(file).close()
    with locked(file):
        playing = Forked(
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


def test_a_game_is_caught_up_with_when_the_database_can_be_used_again(
    tmp_path: Path, play: Command
) -> None:
    file = tmp_path / "games.db"

    def answers() -> Iterator[str]:
        yield "9"
        with locked(file):
            yield from ("8", "5", "undo")
        yield from ("4", "quit")

    done = play("play", "draft", "--db", f"sqlite:///{file}?timeout=0.1", answers=answers())
    said = unusable(file, "another program is using it").said
    assert done.err == (
        f"tower: {said}. {IN_MEMORY}\ntower: the database works again, "
        "and this game is saved there\n"
    )
    assert done.out.endswith(
        f"Resume it with: tower resume 1 --db 'sqlite:///{file}?timeout=0.1'\n"
    )
    assert run_sql(file, "SELECT change FROM changes ORDER BY version") == [
        ("9",),
        ("8",),
        ("5",),
        ("undo 1",),
        ("4",),
    ]
    assert run_sql(file, "SELECT id, moves, version FROM games") == [(1, "9,8,4", 5)]


def test_a_game_that_never_got_into_the_database_gets_there_later(
    tmp_path: Path, play: Command
) -> None:
    file = tmp_path / "games.db"
    open_store(file).close()

    def answers() -> Iterator[str]:
        with locked(file):
            yield from ("9", "8")
        yield "6"

    done = play("play", "draft", "--db", f"sqlite:///{file}?timeout=0.1", answers=answers())
    assert (done.code, len(done.err.splitlines())) == (0, 2)
    assert run_sql(file, "SELECT moves, reason FROM games") == [("9,8,6", "exact")]


def test_trouble_that_comes_back_is_told_again(tmp_path: Path, play: Command) -> None:
    file = tmp_path / "games.db"

    def answers() -> Iterator[str]:
        for typed in (("9", "8"), ("5", "4")):
            yield typed[0]
            with locked(file):
                yield typed[1]

    done = play("play", "draft", "--db", f"sqlite:///{file}?timeout=0.1", answers=answers())
    assert [line.count("another program is using it") for line in done.err.splitlines()] == [
        1,
        0,
        1,
        0,
    ]
    assert done.err.endswith("Resume it with: tower resume draft:9,8,5,4\n")


def test_what_was_played_here_is_shown_when_it_went_on_elsewhere_meanwhile(
    tmp_path: Path, play: Command
) -> None:
    file = tmp_path / "games.db"

    def answers() -> Iterator[str]:
        yield "9"
        with locked(file):
            yield from ("8", "5")
        elsewhere = open_store(file)
        elsewhere.save(elsewhere.get(1), elsewhere.get(1).table.play(7))
        elsewhere.close()
        yield from ("4", "5", "quit")

    done = play("play", "draft", "--db", f"sqlite:///{file}?timeout=0.1", answers=answers())
    assert "(Your moves since then were not saved. This was your game: draft:9,8,5)" in done.out
    assert "(This game was continued elsewhere. The moves made there:)" in done.out
    assert done.out.endswith(
        f"Resume it with: tower resume 1 --db 'sqlite:///{file}?timeout=0.1'\n"
    )
    assert run_sql(file, "SELECT moves FROM games") == [("9,7,5",)]


def test_a_folder_that_goes_away_in_the_middle_is_made_anew(tmp_path: Path, play: Command) -> None:
    file = tmp_path / "folder" / "games.db"

    def answers() -> Iterator[str]:
        yield "9"
        shutil.rmtree(file.parent)
        yield from ("8", "quit")

    done = play("play", "draft", "--db", str(file), answers=answers())
    assert done.err == "tower: this game was deleted elsewhere; it is saved again\n"
    assert run_sql(file, "SELECT moves FROM games") == [("9,8",)]


def test_a_game_that_is_forgotten_elsewhere_is_kept_anew(tmp_path: Path, play: Command) -> None:
    file = tmp_path / "games.db"

    def answers() -> Iterator[str]:
        yield "9"
        elsewhere = open_store(file)
        elsewhere.delete(1)
        elsewhere.close()
        yield from ("8", "quit")

    done = play("play", "draft", "--db", str(file), answers=answers())
    assert done.err == "tower: this game was deleted elsewhere; it is saved again\n"
    assert run_sql(file, "SELECT id, moves FROM games") == [(2, "9,8")]


def test_a_server_that_goes_away_and_comes_back(
    tmp_path: Path, play: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "games.db"

    def away(*_: object, **__: object) -> None:
        closed = Exception("server closed the connection unexpectedly\n\tThis probably means ...")
        raise OperationalError("SELECT", {}, closed, connection_invalidated=True)

    def answers() -> Iterator[str]:
        yield "9"
        with monkeypatch.context() as patched:
            patched.setattr(database, "change_game", away)
            yield from ("8", "5", "4")
        yield "1"

    done = play("play", "draft", "--db", str(file), answers=answers())
    said = unusable(file, "its server has gone away").said
    assert done.err == (
        f"tower: {said}. {IN_MEMORY}\ntower: the database works again, "
        "and this game is saved there\n"
    )
    assert run_sql(file, "SELECT id, moves FROM games") == [(1, "9,8,5,4,1")]


def test_a_connection_that_breaks_once_is_not_worth_a_word(
    tmp_path: Path, play: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "games.db"
    begin, tries = Store.begin, []

    def breaking(self: Store, *given: object, **more: object) -> object:
        tries.append(given)
        kept = begin(self, *given, **more)  # type: ignore[arg-type]  # whatever it is given
        if len(tries) == 1:
            raise StoreError("it was done, but nobody was told")
        return kept

    monkeypatch.setattr(Store, "begin", breaking)
    done = play("play", "draft", "--db", str(file), answers=["9", "8", "6"])
    assert (done.code, done.err, len(tries)) == (0, "", 2)
    assert run_sql(file, "SELECT id, moves FROM games") == [(1, "9,8,6")], "and it is kept once"


def test_a_game_that_was_changed_and_damaged_elsewhere_goes_on_in_memory(
    tmp_path: Path, play: Command
) -> None:
    file = tmp_path / "games.db"

    def answers() -> Iterator[str]:
        yield "9"
        run_sql(file, "UPDATE games SET moves = '1,2,3', version = 3")
        yield from ("8", "quit")

    done = play("play", "draft", "--db", str(file), answers=answers())
    problem = "game 1 is damaged in the database: its changes do not lead to its moves and result"
    assert done.err == f"tower: {problem}. {IN_MEMORY}\n"
    assert done.out.endswith("Resume it with: tower resume draft:9,8\n")


def test_a_database_that_cannot_be_written_can_be_read(
    tmp_path: Path, play: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "on a CD?.db"
    play("play", "draft", "--db", str(file), answers=["9", "quit"])
    writable = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: str(path) != str(file) and writable(path, mode)
    )
    assert "unfinished, 1 move" in play("history", "--db", str(file)).out
    done = play("resume", "1", "--db", str(file), answers=["8", "quit"])
    assert done.err == f"tower: {unusable(file, 'it is read-only').said}. {IN_MEMORY}\n"
    assert {path.name for path in tmp_path.iterdir()} == {file.name}


def test_a_damaged_game_cannot_be_resumed_but_others_can(play: Command, tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    store = open_store(file)
    for moves in ((9,), (7,)):
        store.begin(Table(Game(DRAFT.rules, moves=moves), "draft"), DRAFT)
    store.close()
    run_sql(file, "UPDATE games SET moves = '1,2,3' WHERE id = 1")
    problem = "game 1 is damaged in the database: its changes do not lead to its moves and result"
    assert play("resume", "1", "--db", str(file)) == (1, "", f"tower: {problem}\n")
    assert play("resume", "2", "--db", str(file), answers=["8", "quit"]).code == 0


# What a server says -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            (
                'connection failed: connection to server at "10.0.0.1", port 5432 failed: '
                "Connection refused\n\tIs the ..."
            ),
            "its server cannot be reached (connection refused)",
        ),
        (
            (
                'connection failed: connection to server at "::1", port 5432 failed: '
                'FATAL:  no such user: "ann"\nMultiple'
            ),
            'its server says: no such user: "ann"',
        ),
        (
            (
                'connection failed: connection to server at "::1", port 5432 failed: '
                'FATAL:  database "x" does not exist'
            ),
            'its server says: database "x" does not exist',
        ),
        ("connection timeout expired", "connection timeout expired"),
        ("permission denied for table games\nLINE 1", "permission denied for table games"),
        ("odd \x1b[2J", r"odd \x1b[2J"),
        ("", "it gives no reason"),
    ],
)
def test_what_a_server_says_becomes_part_of_a_sentence(
    tmp_path: Path, message: str, said: str
) -> None:
    store = open_store(tmp_path / "games.db")
    with pytest.raises(StoreError) as trouble, store.write():
        raise OperationalError("SELECT 1", {}, Exception(message))
    assert str(trouble.value) == f"the database {tmp_path / 'games.db'} cannot be used: {said}"


def test_half_of_psycopg_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_wrapper(*_: object, **__: object) -> None:
        raise ImportError("no pq wrapper available")

    monkeypatch.setattr(connection, "create_engine", no_wrapper)
    with pytest.raises(StoreError, match=r"cannot be used without psycopg: .*pip install "):
        open_store("postgresql://ann@host/games")
