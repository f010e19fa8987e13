"""Where and with what the measurements were made."""

from __future__ import annotations

import os
import platform
import shutil
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

COMPILER = shutil.which(os.environ.get("CC") or "cc")


def facts(packages: tuple[str, ...]) -> dict[str, str]:
    """Return what a reader needs to know to compare these measurements with others."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": f"{_find_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory",
        "system": platform.platform(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {version(name)}" for name in packages),
        "load before the run": f"{os.getloadavg()[0]:.1f}",
    }


def _find_processor() -> str:
    listed = Path("/proc/cpuinfo")
    for line in listed.read_text().splitlines() if listed.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
