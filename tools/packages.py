"""Install or unpack Debian packages for the tests, if this user may. Progress goes to stderr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def install_package(name: str) -> bool:
    """Install a package on the system; return whether it worked."""
    apt = _update_lists()
    return bool(apt) and run_command(*apt, "install", "-y", "--no-install-recommends", name)


def unpack_package(name: str, folder: Path) -> bool:
    """Unpack the files of a package into a folder, without starting a service."""
    apt = _update_lists()
    with TemporaryDirectory(prefix="tower-packages-") as downloads:
        if not apt or not run_command(*apt, "download", name, folder=downloads):
            return False
        packages = Path(downloads).glob("*.deb")
        return all(
            run_command("dpkg-deb", "--extract", str(package), str(folder)) for package in packages
        )


def _update_lists() -> tuple[str, ...]:
    """Update the lists of packages; return the call of apt-get, empty if this user may not."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        report("Only root can get packages, and only where there is apt-get.")
        return ()
    call = ("env", "DEBIAN_FRONTEND=noninteractive", apt, "-o", "DPkg::Lock::Timeout=300")
    run_command(*call, "update")
    return call


def run_command(*call: str, folder: str | None = None) -> bool:
    """Run a command whose output goes to stderr; return whether it worked."""
    try:
        done = subprocess.run(
            call, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=900, check=False, cwd=folder
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def report(message: str) -> None:
    """Print a message about the progress."""
    print(message, file=sys.stderr, flush=True)
