"""The files of a database: for their owner alone."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store import StoreError
from number_tower.store.database import Store
from support.stores import open_store, run_sql

DRAFT = catalogue.load_named("draft")


def begin(store: Store, count: int = 1) -> None:
    for _ in range(count):
        store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)


def mode(file: Path) -> str:
    return f"{stat.S_IMODE(file.stat().st_mode):o}"


# Permissions --------------------------------------------------------------------------------------

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
        with closing(open_store(file)) as store:
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
    open_store(file).close()
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    with closing(open_store(file)) as store:
        begin(store)
    assert (mode(file), mode(tmp_path)) == ("640", "755")


def test_a_database_that_may_only_be_read_is_not_made(tmp_path: Path) -> None:
    for made in ("ro", "rw"):
        with pytest.raises(StoreError):
            open_store(f"sqlite:///file:{tmp_path}/games.db?mode={made}&uri=true")
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
    with closing(open_store(file)) as store:
        begin(store)
        assert run_sql(file, "SELECT count(*) FROM games") == [(1,)]
