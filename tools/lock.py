"""Write the files in requirements/: exact versions with hashes, for all systems and Pythons that are supported.

A version that is locked stays as long as pyproject.toml admits it; `--upgrade` takes the newest of everything. All
files agree with dev.txt, which has the packages of every extra.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
LOWEST_PYTHON = "3.11"

PROJECT = "pyproject.toml"
LOCKS: dict[str, tuple[str, ...]] = {
    "dev": (PROJECT, "--all-extras", "--group", "dev"),
    "bench": ("--group", "bench"),
    "build": ("--group", "build"),
    "base": (PROJECT,),
    "play": (PROJECT, "--extra", "tui"),
    "web": (PROJECT, "--extra", "tui", "--extra", "web"),
    "container": (PROJECT, "--extra", "postgres", "--extra", "web"),
}
"""What each file is made from. The first is resolved freely, and all others have its versions."""

HEADER = "make lock"
OPTIONS = (
    "--universal", "--python-version", LOWEST_PYTHON, "--generate-hashes", "--no-emit-index-url", "--no-config",
    "--custom-compile-command", HEADER, "--quiet",
)  # fmt: skip


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    first = next(iter(LOCKS))
    for name, sources in LOCKS.items():
        file = f"requirements/{name}.txt"
        agree = () if name == first else ("--constraints", f"requirements/{first}.txt")
        call = ("-m", "uv", "pip", "compile", *sources, *OPTIONS, *agree, *sys.argv[1:], "--output-file", file)
        subprocess.run((sys.executable, *call), cwd=ROOT, check=True)  # noqa: S603 - uv, with our own arguments
        print(file)


if __name__ == "__main__":
    main()
