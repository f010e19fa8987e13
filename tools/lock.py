"""Write the files in requirements/: exact versions with hashes, for all systems and Pythons.

A locked version stays as long as pyproject.toml allows it; `--upgrade` takes the newest versions.
All files agree with dev.txt, which has the packages of every extra. A file includes others, and
does not repeat their lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
LOWEST_PYTHON = "3.11"
PROJECT = "pyproject.toml"


class Lock(NamedTuple):
    """What a file is made from, and the files that it includes."""

    sources: tuple[str, ...]
    includes: tuple[str, ...] = ()


ADAPTERS = ("--extra", "postgres", "--extra", "tui", "--extra", "web")

LOCKS = {
    "dev": Lock((PROJECT, "--all-extras", "--group", "dev"), ("test",)),
    "test": Lock((PROJECT, *ADAPTERS, "--extra", "mcp", "--group", "test"), ("web",)),
    "bench": Lock(("--group", "bench")),
    "build": Lock(("--group", "build")),
    "base": Lock((PROJECT,)),
    "play": Lock((PROJECT, "--extra", "tui"), ("base",)),
    "container": Lock((PROJECT, "--extra", "postgres", "--extra", "web"), ("base",)),
    "web": Lock((PROJECT, *ADAPTERS), ("play", "container")),
}
"""The first is resolved freely; all others take its versions."""

HEADER = "# Written by `make lock`.\n"
ENTRY = re.compile(r"^[^\s#-].*\n(?:[ \t]+.*\n)*", re.MULTILINE)
"""A package with its version and its hashes."""

OPTIONS = (
    "--universal", "--python-version", LOWEST_PYTHON, "--generate-hashes", "--quiet",
    "--no-emit-index-url", "--no-config", "--no-header", "--no-annotate",
)  # fmt: skip


def list_entries(name: str) -> list[str]:
    """Return the packages of a file and of those that it includes."""
    file = FOLDER / f"{name}.txt"
    own = ENTRY.findall(file.read_text(encoding="utf-8")) if file.exists() else []
    return own + [entry for other in LOCKS[name].includes for entry in list_entries(other)]


def get_pin(entry: str) -> str:
    """Return the first line of an entry: the package, its version and its marker."""
    return entry.partition(" \\\n")[0]


def main() -> None:
    """Resolve everything, then write all files."""
    FOLDER.mkdir(exist_ok=True)
    entries: dict[str, list[str]] = {}
    with TemporaryDirectory() as folder:
        for name, lock in LOCKS.items():
            file = Path(folder, f"{name}.txt")
            file.write_text("".join(list_entries(name)), encoding="utf-8")  # the versions that stay
            call = [sys.executable, "-m", "uv", "pip", "compile", *lock.sources, *OPTIONS]
            if entries:
                call += ["--constraints", f"{folder}/{next(iter(LOCKS))}.txt"]
            call += [*sys.argv[1:], "--output-file", str(file)]
            subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            entries[name] = ENTRY.findall(file.read_text(encoding="utf-8"))
    for name, lock in LOCKS.items():
        included = {get_pin(entry) for other in lock.includes for entry in entries[other]}
        lines = [f"-r {other}.txt\n" for other in lock.includes]
        lines += [entry for entry in entries[name] if get_pin(entry) not in included]
        FOLDER.joinpath(f"{name}.txt").write_text(HEADER + "".join(lines), encoding="utf-8")
        print(f"requirements/{name}.txt")


if __name__ == "__main__":
    main()
