"""The files of a database: for their owner alone, and noticed when they are deleted or replaced while in use."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import pytest

from number_tower import Game, Table, catalogue
from number_tower.store import StoreError
from number_tower.store.database import Store, count_contents
from support.clocks import SLOW
from support.command import TOWER, plain_environment, tower
from support.forking import Forked
from support.servers import Client, game_at_one_table, serving
from support.stores import by_hand, store_in

DRAFT = catalogue.load_named("draft")


def begin(store: Store, count: int = 1) -> None:
    for _ in range(count):
        store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)


def games_in(file: Path) -> int:
    """Count the games that another process finds."""
    count = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM games').fetchone())"
    done = subprocess.run(
        [sys.executable, "-c", count, str(file)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def mode(file: Path) -> str:
    return f"{stat.S_IMODE(file.stat().st_mode):o}"


# Permissions ----------------------------------------------------------------------------------------------------------

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="files that are open cannot be deleted there"
)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_a_new_database_is_for_its_owner_alone_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    file = tmp_path / "new" / "deep" / "games.db"
    before = os.umask(umask)
    try:
        with closing(store_in(file)) as store:
            begin(store)
            assert {part.name: mode(part) for part in file.parent.iterdir()} == {
                "games.db": "600",
                "games.db-wal": "600",
                "games.db-shm": "600",
            }
    finally:
        os.umask(before)
    assert [mode(file.parent), mode(file.parent.parent)] == ["700", "700"]


def test_an_existing_file_and_folder_keep_their_permissions(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    store_in(file).close()
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    with closing(store_in(file)) as store:
        begin(store)
    assert (mode(file), mode(tmp_path)) == ("640", "755")


def test_the_command_makes_a_private_file(tmp_path: Path) -> None:
    tower("play", "draft", "--db", "games.db", typed="9\nquit\n", cwd=tmp_path)
    assert mode(tmp_path / "games.db") == "600"


def test_a_database_that_may_only_be_read_is_not_made(tmp_path: Path) -> None:
    for made in ("ro", "rw"):
        with pytest.raises(StoreError):
            store_in(f"sqlite:///file:{tmp_path}/games.db?mode={made}&uri=true")
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_another_process_creates_at_this_moment_is_not_taken_for_a_read_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, access = tmp_path / "games.db", os.access

    def create_after_access(path: str, mode: int) -> bool:
        permitted = access(path, mode)
        file.touch()
        return permitted

    monkeypatch.setattr(os, "access", create_after_access)
    with closing(store_in(file)) as store:
        begin(store)
        assert count_contents(store).games == 1


# The log is deleted ---------------------------------------------------------------------------------------------------


def delete_log(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def delete_index(file: Path) -> None:
    Path(f"{file}-shm").unlink()


def delete_both(file: Path) -> None:
    delete_log(file)
    delete_index(file)


def rename_log(file: Path) -> None:
    Path(f"{file}-wal").rename(file.with_name("elsewhere"))


def empty_log_in_its_place(file: Path) -> None:
    """What a program leaves that opens the database after the log was deleted, and fails."""
    delete_log(file)
    Path(f"{file}-wal").touch()


LOSSES = [delete_log, delete_index, delete_both, rename_log, empty_log_in_its_place]
Loss = Callable[[Path], None]


@pytest.mark.parametrize("lose", LOSSES)
def test_what_was_saved_before_and_after_a_file_was_deleted_is_there(
    tmp_path: Path, lose: Loss
) -> None:
    file = tmp_path / "games.db"
    with closing(store_in(file)) as store:
        begin(store, 3)
        lose(file)
        begin(store, 2)
        assert count_contents(store).games == 5
        assert games_in(file) == 5, "another process sees all of them"
        lose(file)
        assert count_contents(store).games == 5, "reading notices it too"
    assert games_in(file) == 5
    assert by_hand(file, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_process_that_is_killed_after_its_next_write_loses_nothing(
    tmp_path: Path, lose: Loss
) -> None:
    file = tmp_path / "games.db"
    with playing(file) as child:
        child.ask("begin")
        lose(file)
        child.ask("begin")
        child.process.kill()
    assert games_in(file) == 2


@pytest.mark.parametrize("lose", LOSSES)
def test_a_file_that_is_deleted_before_the_end_is_saved_at_the_end(
    tmp_path: Path, lose: Loss
) -> None:
    file = tmp_path / "games.db"
    with closing(store_in(file)) as store:
        begin(store, 3)
        lose(file)
    assert games_in(file) == 3


def test_several_threads_that_write_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    start = Barrier(5)
    with closing(store_in(file, patience=SLOW)) as store, ThreadPoolExecutor(4) as threads:

        def write() -> None:
            start.wait()
            begin(store, 10)

        writers = [threads.submit(write) for _ in range(4)]
        start.wait()
        for _ in range(4):
            with store.read():
                pass
            Path(f"{file}-wal").unlink(missing_ok=True)
        for writer in writers:
            writer.result()
        assert count_contents(store).games == 40
    assert games_in(file) == 40
    assert by_hand(file, "PRAGMA integrity_check") == [("ok",)]


# Two processes --------------------------------------------------------------------------------------------------------

CHILD = """
import sys
from number_tower import Game, Table, catalogue
from number_tower.store import open_store
from number_tower.store.database import count_contents
book = catalogue.load_named("draft")
store = open_store(sys.argv[1])
count_contents(store)
print("ready", flush=True)
for line in sys.stdin:
    try:
        if line == "begin\\n":
            store.begin(Table(Game(book.rules, moves=(9,)), "draft"), book)
        print(count_contents(store).games, flush=True)
    except Exception as trouble:
        print(repr(trouble), flush=True)
store.close()
"""


class Child:
    """Another process that has the database open, and does what it is told."""

    def __init__(self, file: Path) -> None:
        self.process = Forked(
            [sys.executable, "-c", CHILD, str(file)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=plain_environment(),
        )  # fmt: skip
        assert self._read() == "ready"

    def ask(self, what: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def playing(file: Path) -> Iterator[Child]:
    child = Child(file)
    try:
        yield child
    finally:
        child.process.communicate()


@pytest.mark.parametrize("lose", [delete_log, rename_log, empty_log_in_its_place])
def test_two_processes_with_the_same_file_lose_nothing(tmp_path: Path, lose: Loss) -> None:
    file = tmp_path / "games.db"
    with closing(store_in(file)) as store, playing(file) as child:
        begin(store)
        assert child.ask("begin") == "2"
        lose(file)
        begin(store)  # this process notices first
        assert child.ask("begin") == "4"
        begin(store)
        assert (count_contents(store).games, child.ask("count")) == (5, "5")
        lose(file)
        assert child.ask("begin") == "6", "now the other one notices first"
        begin(store)
        assert (count_contents(store).games, child.ask("count")) == (7, "7")
    assert games_in(file) == 7
    assert by_hand(file, "PRAGMA integrity_check") == [("ok",)]


def test_a_process_that_notices_late_and_ends_last_damages_nothing(tmp_path: Path) -> None:
    """Its log is the deleted one, which must never be copied over what the other has written since."""
    file = tmp_path / "games.db"
    with playing(file) as child:
        with closing(store_in(file)) as store:
            begin(store, 3)
            delete_log(file)
            begin(store, 3)
        child.ask("count")
    assert games_in(file) == 6
    assert by_hand(file, "PRAGMA integrity_check") == [("ok",)]


# The file itself is replaced ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [0, 1])
def test_the_log_of_a_replaced_file_is_not_applied_to_the_new_one(
    tmp_path: Path, more: int
) -> None:
    """Neither when the next game is saved nor, without another game, at the end."""
    file, other = tmp_path / "games.db", tmp_path / "other.db"
    with closing(store_in(other)) as store:
        begin(store, 50)
    by_hand(other, "PRAGMA journal_mode = DELETE")
    with closing(store_in(file)) as store:
        begin(store, 3)
        other.replace(file)
        begin(store, more)
    assert games_in(file) == 50 + more
    assert by_hand(file, "PRAGMA integrity_check") == [("ok",)]


def test_a_log_that_cannot_be_saved_yet_is_kept_and_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    with closing(store_in(file, 0.2)) as store:
        begin(store, 3)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM games").fetchone()
            delete_log(file)
            with pytest.raises(
                StoreError,
                match="a file beside it was deleted or replaced, and another program is using",
            ):
                begin(store)
        begin(store)
    assert games_in(file) == 4


# A running server -----------------------------------------------------------------------------------------------------


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SLOW
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("ended", ["stop", "kill"])
def test_no_move_is_lost_when_the_log_is_deleted_under_a_server(tmp_path: Path, ended: str) -> None:
    file = tmp_path / "games.db"

    async def play(port: int) -> None:
        client = Client(port)
        seats = await game_at_one_table(client)
        for version, block in enumerate((1, 2, 3, 4)):
            if version == 2:
                delete_log(file)
            content = {"version": version, "block": block}
            await client.granted(f"{seats.path}/moves", seats.tokens[0], content)
        client.close()

    with serving(file) as (server,):
        asyncio.run(play(server.port))
        if ended == "kill":
            server.strike()
    with closing(store_in(file)) as store:
        assert store.get(1).table.game.moves == (1, 2, 3, 4)


def test_a_server_that_nobody_asks_notices_by_itself_and_logs_it(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    with serving(file) as (server,):
        asyncio.run(game(server.port))
        delete_log(file)
        wait_for(lambda: "was deleted while in use; nothing is lost" in server.said())
        server.strike()
    with closing(store_in(file)) as store:
        assert count_contents(store).games == 1


async def game(port: int) -> None:
    client = Client(port)
    await game_at_one_table(client)
    client.close()


def test_an_idle_game_in_the_terminal_saves_the_log_at_its_next_move(tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    child = Forked(
        [TOWER, "play", "draft"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=plain_environment(NUMBER_TOWER_DB=str(file)),
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write("9\n")
    child.stdin.flush()
    wait_for(lambda: Path(f"{file}-wal").exists() and by_hand_or_not(file) == [("9",)])
    delete_log(file)
    _, complaints = child.communicate("8\nquit\n", timeout=SLOW)
    assert complaints == ""
    assert by_hand(file, "SELECT moves FROM games") == [("9,8",)]


def by_hand_or_not(file: Path) -> list[tuple[object, ...]]:
    try:
        return by_hand(file, "SELECT moves FROM games")
    except sqlite3.OperationalError:
        return []
