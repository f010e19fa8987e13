"""Debian packages for the tests, where this user may get them. Progress goes to stderr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def install_package(name: str) -> bool:
    """Install a package on the system; say whether that went well."""
    apt = _update_lists()
    return apt is not None and run_command(*apt, "install", "-y", "--no-install-recommends", name)


def unpack_package(name: str, folder: Path) -> bool:
    """Unpack the files of a package into a folder; nothing is installed, and no service is started."""
    apt = _update_lists()
    dpkg = shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        return False
    with TemporaryDirectory(prefix="tower-packages-") as downloads:
        if not run_command(*apt, "download", name, folder=downloads):
            return False
        return all(
            run_command(dpkg, "--extract", str(each), str(folder))
            for each in Path(downloads).glob("*.deb")
        )


def _update_lists() -> tuple[str, ...] | None:
    """Bring the lists of packages up to date; return how apt-get is called, or None if this user may not."""
    apt = shutil.which("apt-get")
    if apt is None:
        report("There is no apt-get to get Debian's packages with.")
        return None
    sudo = () if _is_root() else ("sudo", "-n")
    if sudo and not run_command(*sudo, "true"):
        report("Only root could get Debian's packages.")
        return None
    call = (*sudo, "env", "DEBIAN_FRONTEND=noninteractive", apt, "-o", "DPkg::Lock::Timeout=300")
    run_command(*call, "update")
    return call


def run_command(*call: str, folder: str | None = None) -> bool:
    """Run a command that tells of its progress, on stderr; say whether it went well."""
    try:
        done = subprocess.run(  # noqa: S603 - a call of ours
            call, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=900, check=False, cwd=folder
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """Let one process at a time get something; those that waited find it."""
    try:
        from fcntl import LOCK_EX, flock  # noqa: PLC0415 - Windows has none
    except ImportError:
        yield
        return
    with file.open("w") as lock:
        flock(lock, LOCK_EX)
        yield


def report(words: str) -> None:
    """Say something about the progress."""
    print(words, file=sys.stderr, flush=True)


def _is_root() -> bool:
    return getattr(os, "geteuid", lambda: 1)() == 0
