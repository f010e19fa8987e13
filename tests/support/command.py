"""Recorded sessions: what was asked of the command and typed into it, and every byte that it answered.

`make golden` writes the answers anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from support.clocks import SLOW

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests/data"
GOLDEN = ROOT / "tests/golden"
SESSIONS = GOLDEN / "sessions"
TOWER = str(Path(sys.executable).with_name("tower"))


def plain_environment(**more: str) -> dict[str, str]:
    """Return an environment in which the command behaves the same everywhere."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "SYSTEMROOT") if key in os.environ}
    kept["PATH"] = os.pathsep.join([str(Path(TOWER).parent), kept.get("PATH", "")])
    return {**kept, "PYTHONUTF8": "1", "TERM": "xterm-256color", "NUMBER_TOWER_DB": "none", **more}


def limited(
    kib: int, *call: str, typed: str = "", cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may become larger than so much; Python's own cache is left alone there."""
    return subprocess.run(
        ["bash", "-c", 'ulimit -f "$0" && exec "$@"', str(kib), TOWER, *call],
        input=typed, capture_output=True, text=True, cwd=cwd,
        env=plain_environment(PYTHONDONTWRITEBYTECODE="1", **environment), timeout=SLOW, check=False,
    )  # fmt: skip


def tower(*arguments: str, typed: str = "", cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command with something piped into it."""
    return subprocess.run(
        [TOWER, *arguments],
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=plain_environment(**environment),
        timeout=SLOW,
        check=False,
    )


def session(name: str) -> str:
    """Hold a session as its file describes it, and return all that it answered."""
    call, _, typed = (SESSIONS / f"{name}.in").read_text(encoding="utf-8").partition("\n")
    arguments = call.split(" ", 1) if call.startswith(("replay ", "resume ")) else shlex.split(call)
    done = tower(*arguments, typed=typed)
    complaints = "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return f"{done.stdout}{complaints}[exit {done.returncode}]\n"


def names() -> list[str]:
    return sorted(path.stem for path in SESSIONS.glob("*.in"))


if __name__ == "__main__":
    for each in names():
        (SESSIONS / f"{each}.out").write_text(session(each), encoding="utf-8")
