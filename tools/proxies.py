"""Find the reverse proxies that deploy/ has configurations for, for the tests, or get them.

Missing ones are unpacked from Debian's packages into the virtual environment, where this user may
download them. Nothing is installed on the system, since the package would start a web server. A
proxy that cannot be downloaded is no error: its tests are skipped, and say so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from packages import report, unpack_package

FOLDER = Path(sys.prefix, "proxies")
PACKAGES = {"nginx": ("nginx", "nginx-core", "nginx-light"), "caddy": ("caddy",)}
"""The packages that may hold each proxy; which one does depends on the distribution."""

PLACES = ("/usr/sbin", "/usr/local/sbin")
_VERSION = {"nginx": "-v", "caddy": "version"}


def find(name: str) -> str | None:
    """Return the path of an installed proxy that starts, or None."""
    places = (*PLACES, FOLDER / "usr/sbin", FOLDER / "usr/bin")
    paths = [shutil.which(name), *(f"{place}/{name}" for place in places)]
    return next((path for path in paths if path and _starts(path, _VERSION[name])), None)


def get(name: str) -> str | None:
    """Return the path of a proxy, which is unpacked first if needed, or None."""
    if path := find(name):
        return path
    report(f"{name} is not installed. Trying Debian's package ...")
    for package in PACKAGES[name]:
        if unpack_package(package, FOLDER) and (path := find(name)):
            return path
    return None


def _starts(path: str, option: str) -> bool:
    try:
        done = subprocess.run(
            (path, option), capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> int:
    """Print the path of each proxy, or report that it cannot be downloaded."""
    for name in PACKAGES:
        if path := get(name):
            print(path)
        else:
            report(f"{name} cannot be downloaded here; the tests of its configuration are skipped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
