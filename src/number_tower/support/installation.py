"""How this program was installed, and the command that adds an optional part to it."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata, util
from pathlib import Path
from shlex import quote
from shutil import which
from urllib.parse import unquote, urlsplit

PACKAGE = "number-tower"


def format_install_command(extra: str) -> str:
    """Return the command that installs an extra here, from this program's clone or a package."""
    clone = find_clone()
    if clone is None:
        return f"{_find_installer()} {quote(f'{PACKAGE}[{extra}]')}"
    place = quote(f"{'.' if clone == Path.cwd() else clone}[{extra}]")
    if clone in Path(__file__).resolve().parents:  # the code is run where it lies in the clone
        return f"{_find_installer()} --editable {place}"
    return f"{_find_installer()} {place}"


def find_clone() -> Path | None:
    """Return the folder of the source code that this program was installed from.

    None for a published package.
    """
    beside = Path(__file__).resolve().parents[2]
    if _is_clone(beside):
        return beside
    try:
        text = metadata.distribution(PACKAGE).read_text("direct_url.json") or "{}"
        source = json.loads(text).get("url", "")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    parts = urlsplit(source)
    folder = Path(unquote(parts.path)) if parts.scheme == "file" else None
    return folder if folder is not None and _is_clone(folder) else None


def _is_clone(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file() and (folder / "src" / "number_tower").is_dir()


def _find_installer() -> str:
    """Return the command that installs into this environment, as short as it is found from here."""
    pip = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin", "pip")
    if util.find_spec("pip") is None:
        return f"uv pip install --python {quote(sys.executable)}"
    found = which("pip")
    if found is not None and Path(found).resolve().parent == pip.resolve().parent:
        return "pip install"
    # An environment without its own pip is reached through its Python.
    if not pip.exists():
        return f"{quote(sys.executable)} -m pip install"
    shown = pip.relative_to(Path.cwd()) if pip.is_relative_to(Path.cwd()) else pip
    return f"{quote(str(shown))} install"
