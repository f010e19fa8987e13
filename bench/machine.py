"""Where and with what the measurements were made."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from others import compiler

PACKAGES = ("number-tower", "numba", "numpy", "open_spiel", "rustworkx")


def facts(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return what a reader needs to know to compare these measurements with others."""
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_memory()} of memory",
        "system": platform.platform(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in packages),
        "C compiler": _compiler(),
        "load before the run": f"{os.getloadavg()[0]:.1f}"
        if hasattr(os, "getloadavg")
        else "not known",
    }


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return "an unknown amount"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not here)"


def _compiler() -> str:
    found = compiler()
    if found is None:
        return "none"
    return subprocess.run(
        [found, "--version"], check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]
