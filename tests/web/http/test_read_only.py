"""A server in a read-only file system except for its data and its temporary folder.

It is set up as in deploy/compose.yaml.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from serving import Server
from support.clocks import SLOW
from support.command import ROOT

READ_ONLY = r"""
for place in "$1" "$2"; do mount --bind "$place" "$place" || exit 99; done
while read -r _ place _ flags _; do
  case $place in "$1" | "$2" | /dev | /dev/* | /proc | /proc/* | /sys | /sys/*) continue ;; esac
  same=$(echo "$flags" | tr , '\n' |
    grep -xE 'nosuid|nodev|noexec|noatime|nodiratime|relatime' | tr '\n' ,)
  mount -o "remount,bind,${same}ro" "$place" || exit 99
done < /proc/self/mounts
export TMPDIR="$2" HOME="$1" PYTHONDONTWRITEBYTECODE=1
shift 2
exec "$@"
"""
"""Runs a command that can write to two folders and to memory alone: /dev/shm, /proc, /sys."""


def enclose(data: Path, temporary: Path, *call: str) -> list[str]:
    """Return the call that runs another with a file system that is read-only for it alone."""
    shell = ["unshare", "--mount", "--map-root-user", "sh", "-c", READ_ONLY, "sh"]
    return [*shell, str(data), str(temporary), *call]


def run_enclosed(folders: tuple[Path, Path], *call: str) -> subprocess.CompletedProcess[str]:
    enclosed = enclose(*folders, *call)
    return subprocess.run(enclosed, capture_output=True, text=True, timeout=SLOW, check=False)


@pytest.fixture(name="folders")
def writable_folders(tmp_path: Path) -> tuple[Path, Path]:
    """The two writable folders, where this system lets us make all others read-only."""
    folders = tmp_path / "data", tmp_path / "tmp"
    for folder in folders:
        folder.mkdir()
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("only Linux has file systems of one process")
    done = run_enclosed(folders, "true")
    if done.returncode:
        pytest.skip(f"this user may not make a read-only file system here: {done.stderr.strip()}")
    return folders


@pytest.fixture(name="server")
def enclosed_server(folders: tuple[Path, Path]) -> Iterator[Server]:
    def start(call: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(enclose(*folders, *call), **options)

    server = Server(folders[0] / "games.db", (), popen=start)
    server.launch()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("folder", [ROOT, Path("/etc"), Path("/usr")], ids=str)
def test_no_other_folder_can_be_written(folders: tuple[Path, Path], folder: Path) -> None:
    """The test would be worth nothing otherwise."""
    write = 'touch "$1/allowed" && touch "$2/number-tower-test"'
    done = run_enclosed(folders, "sh", "-c", write, "sh", str(folders[0]), str(folder))
    assert (folders[0] / "allowed").exists()
    assert done.returncode != 0
    assert "Read-only file system" in done.stderr


def test_server_plays_thinks_and_saves(server: Server) -> None:
    with httpx2.Client(base_url=server.url, timeout=SLOW) as client:
        assert client.post("/api/games", json={"game": "draft"}).json()["address"]
        analysis = client.post("/api/analyse", json={"record": "draft:9,8"}).json()
        assert analysis["verdict"], "a worker process answers"
        assert client.get("/health").json()["database"] == "ok"
    assert Path(server.database).stat().st_size > 0
    assert not re.search(" ERROR |Traceback", server.log)
