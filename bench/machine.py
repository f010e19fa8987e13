"""Where and with what the measurements were made."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("number-tower", "numba", "numpy", "open_spiel", "rustworkx", "networkx")
COMPILER = shutil.which(os.environ.get("CC") or "cc")


def facts(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return what a reader needs to know to compare these measurements with others."""
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": f"{_find_processor()}, {os.cpu_count()} cores, {_measure_memory()} of memory",
        "system": platform.platform(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {_find_version(name)}" for name in packages),
        "C compiler": _find_compiler(),
        "load before the run": f"{os.getloadavg()[0]:.1f}",
    }


def _find_processor() -> str:
    listed = Path("/proc/cpuinfo")
    for line in listed.read_text().splitlines() if listed.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _measure_memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB"


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not here)"


def _find_compiler() -> str:
    if COMPILER is None:
        return "none"
    call = [COMPILER, "--version"]
    said = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    return said.splitlines()[0]
