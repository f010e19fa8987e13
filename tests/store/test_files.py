"""The files of a database are for their owner alone."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from number_tower.store import StoreError
from support.stores import open_store, run_sql, store_draft

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="files that are open cannot be deleted there"
)


def get_mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_new_database_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "new" / "deep"
    before = os.umask(umask)
    try:
        with closing(open_store(folder / "games.db")) as store:
            store_draft(store, 9)
            modes = {path.name: get_mode(path) for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"games.db": "600", "games.db-wal": "600", "games.db-shm": "600"}
    assert [get_mode(folder), get_mode(folder.parent)] == ["700", "700"]


def test_existing_file_and_folder_keep_their_permissions(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    with closing(open_store(file)) as store:
        store_draft(store, 9)
    assert (get_mode(file), get_mode(tmp_path)) == ("640", "755")


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_missing_database_that_may_only_be_opened_is_not_made(tmp_path: Path, mode: str) -> None:
    with pytest.raises(StoreError):
        open_store(f"sqlite:///file:{tmp_path}/games.db?mode={mode}&uri=true")
    assert list(tmp_path.iterdir()) == []


def test_database_that_another_process_creates_meanwhile_is_not_taken_for_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, access = tmp_path / "games.db", os.access

    def create_after_access(path: str, mode: int) -> bool:
        permitted = access(path, mode)
        file.touch()
        return permitted

    monkeypatch.setattr(os, "access", create_after_access)
    with closing(open_store(file)) as store:
        store_draft(store, 9)
        assert run_sql(file, "SELECT count(*) FROM games") == [(1,)]
