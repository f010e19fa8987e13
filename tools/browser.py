"""Find a browser that starts, for the tests and the screenshots, or install one.

If NUMBER_TOWER_BROWSER names one, no other is used. Otherwise it is, in this order: the system's
Chromium or Chrome; Playwright's own download; Debian's package, where this user may install it. A
headless shell is preferred: it needs a third less CPU time than a whole browser. The path goes to
stdout, and everything else to stderr.
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
"""These let a browser start in a container and as root; it visits only our pages."""

_PLAYWRIGHT = (sys.executable, "-m", "playwright", "install")
_BUILD = "chromium-headless-shell"


class NoBrowserError(Exception):
    """There is no browser, and none can be installed; the message says what to do."""


def get() -> str:
    """Return the path of a browser that starts; install one if there is none."""
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
            "No browser was found, and none could be installed. "
            f"Install Chromium or Chrome, or name one: {VARIABLE}=PATH"
        )
    return path


def find() -> str | None:
    """Return the path of an installed browser that starts, or None."""
    if named := os.environ.get(VARIABLE):
        if not starts(named):
            raise NoBrowserError(
                f"{VARIABLE} names {named}, which does not start. Name another, or unset it."
            )
        return named
    return _first_that_starts(_on_the_system()) or _first_that_starts(_downloaded())


def starts(path: str) -> bool:
    """Return whether a browser shows a blank page; one that only tells its version may not."""
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
    """List the browsers that Playwright has downloaded; it prints the folders of its downloads."""
    call = (*_PLAYWRIGHT, "--dry-run", _BUILD)
    plan = subprocess.run(call, capture_output=True, text=True, check=False).stdout
    for folder in re.findall(r"Install location: *(.+)", plan):
        for path in sorted(Path(folder).rglob("*")):
            if path.name in DOWNLOADED and path.is_file():
                yield str(path)


def _first_that_starts(paths: Iterator[str]) -> str | None:
    for path in paths:
        if starts(path):
            return path
        report(f"{path} is installed, but does not start.")
    return None


def main() -> int:
    """Print the path of a browser, or report that there is none."""
    try:
        print(get())
    except NoBrowserError as error:
        report(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
