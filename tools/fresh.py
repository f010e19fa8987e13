"""Try `make play` and `make play-web` as a newcomer: in a copy of the project, nothing set up."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests/golden"
ADDRESS = re.compile(r"http://\S+")
LEAN = {"PIP_NO_COMPILE": "0"}
"""Has pip leave the compiling to whoever imports a module: most are not imported here. (It reads
this option inverted.)
"""


def main() -> None:
    """Try both; say what works, or fail."""
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        copy_project(copy)
        own = {"NUMBER_TOWER_DB": f"{folder}/games.db", "NUMBER_TOWER_CONFIG": "none", **LEAN}
        environment = {**os.environ, **own}
        typed = "draft\n" + (GOLDEN / "draft.moves").read_text()
        said = run("make", "-s", "play", cwd=copy, env=environment, typed=typed)
        if not said.endswith((GOLDEN / "draft.txt").read_text()):
            sys.exit(f"make play said, instead of tests/golden/draft.txt:\n{said}")
        print("make play works in a fresh copy")
        visit_server("make", "-s", "play-web", "SERVE=--port 0", cwd=copy, environment=environment)
        print("make play-web works in a fresh copy")


def copy_project(copy: Path) -> list[str]:
    """Copy what git knows and what it would take in; return the names of the files."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", "-z")
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    return names


def visit_server(*call: str, cwd: Path, environment: dict[str, str]) -> None:
    """Start a server with a command, make a game in it, and stop it; exit if any of it fails."""
    serving = subprocess.Popen(
        call, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, process_group=0
    )
    name = " ".join(call)
    try:
        address = None
        for line in serving.stdout or ():
            address = ADDRESS.search(line)
            if address is not None:
                break
        if address is None:
            sys.exit(f"{name} printed no address")
        page = _get(address[0])
        room = _get(f"{address[0]}/new", b"game=draft&opponent=table")
        if "Number Tower" not in page or "tower" not in room:
            sys.exit(f"{name} shows no game")
    finally:
        os.killpg(serving.pid, signal.SIGINT)
        code = serving.wait(30)
    if code not in {0, 130, -signal.SIGINT}:
        sys.exit(f"{name} ended with {code}")


def _get(address: str, form: bytes | None = None) -> str:
    with urlopen(Request(address, form), timeout=30) as answer:
        return str(answer.read().decode())


def run(
    *call: str, cwd: Path = ROOT, env: dict[str, str] | None = None, typed: str | None = None
) -> str:
    """Run a command that must go well; return what it prints."""
    done = subprocess.run(
        call, cwd=cwd, env=env, input=typed, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
