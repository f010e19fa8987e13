"""A browser for the tests and the screenshots: find one that starts, or get one.

In this order: the one that NUMBER_TOWER_BROWSER names, and then no other; the system's Chromium or
Chrome; Playwright's own download; Debian's package, where it may be installed. A headless shell is
preferred: it needs a third less CPU time than a whole browser. The path is printed, and everything
else goes to stderr.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from packages import install_package, report, run_command

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "NUMBER_TOWER_BROWSER"
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
PLACES = (
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
DOWNLOADED = {"chrome-headless-shell", "chrome-headless-shell.exe", "headless_shell"}
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")
"""What lets a browser start in a container and as root; it visits no pages but ours."""

_PLAYWRIGHT = (sys.executable, "-m", "playwright", "install")
_BUILD = "chromium-headless-shell"


class NoBrowserError(Exception):
    """There is no browser, and none can be had; what to do about it."""


def get() -> str:
    """Return the path of a browser that starts, and get one first if there is none."""
    path = find()
    if path is None:
        report("No browser is installed. Trying Playwright's own download ...")
        if run_command(*_PLAYWRIGHT, _BUILD):
            path = _first_that_starts(_downloaded())
    if path is None:
        report("Trying Debian's package ...")
        if install_package("chromium-headless-shell") or install_package("chromium"):
            path = _first_that_starts(_on_the_system())
    if path is None:
        raise NoBrowserError(
            "No browser was found, and none can be had here. "
            f"Install Chromium or Chrome, or name one: {VARIABLE}=PATH"
        )
    return path


def find() -> str | None:
    """Return the path of a browser that is there and starts."""
    if named := os.environ.get(VARIABLE):
        if not starts(named):
            raise NoBrowserError(
                f"{VARIABLE} names {named}, which does not start. Name another, or unset it."
            )
        return named
    return _first_that_starts(_on_the_system()) or _first_that_starts(_downloaded())


def starts(path: str) -> bool:
    """Say whether a browser shows a blank page; one that tells its version may still not start."""
    with TemporaryDirectory(prefix="tower-browser-", ignore_cleanup_errors=True) as profile:
        options = (*FLAGS, "--headless", f"--user-data-dir={profile}", "--dump-dom")
        try:
            call = (path, *options, "about:blank")
            shown = subprocess.run(
                call, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return shown.returncode == 0 and b"<body" in shown.stdout


def _on_the_system() -> Iterator[str]:
    yield from filter(None, map(shutil.which, NAMES))
    yield from filter(os.path.exists, PLACES)


def _downloaded() -> Iterator[str]:
    """Find what Playwright has downloaded before: it tells where it would put it."""
    call = (*_PLAYWRIGHT, "--dry-run", _BUILD)
    told = subprocess.run(call, capture_output=True, text=True, check=False).stdout
    for folder in re.findall(r"Install location: *(.+)", told):
        for path in sorted(Path(folder).rglob("*")):
            if path.name in DOWNLOADED and path.is_file():
                yield str(path)


def _first_that_starts(paths: Iterator[str]) -> str | None:
    for path in paths:
        if starts(path):
            return path
        report(f"{path} is there, but does not start.")
    return None


def main() -> int:
    """Print the path of a browser, or say that there is none."""
    try:
        print(get())
    except NoBrowserError as trouble:
        report(str(trouble))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
