"""`make play` as somebody uses it who presses Ctrl-C.

The terminal tells make, the shell and the program at once.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment

CTRL_C = b"\x03"


@pytest.fixture(name="clone")
def prepared_clone(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, in which everything seems to be set up."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements").mkdir()
    for path in (ROOT / "requirements").glob("*.txt"):
        (tmp_path / "requirements" / path.name).touch()
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name, target in (("tower", TOWER), ("python", shutil.which("python3") or "python3")):
        (binaries / name).write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
        (binaries / name).chmod(0o755)
    for name in (".play", ".web"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


@pytest.mark.parametrize("typed", [[], ["2", "9"]], ids=["in the menu", "in a game"])
def test_ctrl_c_leaves_no_error_of_make(clone: Path, typed: list[str]) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(clone)
        # This process becomes make.
        os.execvpe(  # noqa: S606
            "make", ["make", "play"], plain_environment(LC_ALL="C", TERM="dumb")
        )
    seen = read_until(terminal, "Which game? ")
    for answer in typed:
        os.write(terminal, f"{answer}\n".encode())
        seen += read_until(terminal, "wish to place: ")
    os.write(terminal, CTRL_C)
    seen += read_until(terminal, None)
    os.waitpid(child, 0)
    os.close(terminal)
    assert "***" not in seen
    assert ("Resume it with: " if typed else "tower: stopped") in seen


def run_make(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = plain_environment(LC_ALL="C")
    return subprocess.run(
        ["make", *arguments],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )


def test_a_lock_that_does_not_fit_ends_with_what_to_do(clone: Path) -> None:
    """Nothing is installed without its hashes by itself; here pip refuses everything."""
    (clone / ".venv/.play").unlink()
    script = "#!/bin/sh\ncase $1 in --version) echo Python 3.99 ;; *) exit 1 ;; esac\n"
    (clone / ".venv/bin/python").write_text(script)
    done = run_make(clone, "play")
    assert done.returncode == 2
    assert "requirements/play.txt could not be installed" in done.stderr
    assert "this is Python 3.99" in done.stderr
    assert "make play LOCKED=no" in done.stderr
    assert not (clone / ".venv/.play").exists()


@pytest.mark.parametrize("target", [".play", ".web", ".dev", ".bench"])
def test_every_environment_is_installed_from_a_lock_with_hashes(clone: Path, target: str) -> None:
    for name in (".play", ".web"):
        (clone / ".venv" / name).unlink()
    shown = run_make(clone, "-n", f".venv/{target}").stdout
    installs = re.findall(r"-m pip .*? install (.*?)(?: &&| ;|$)", shown, re.MULTILINE)
    assert any(f"-r requirements/{target[1:]}.txt" in install for install in installs)
    for install in installs:
        assert ("--require-hashes" in install) != (
            install == "--no-deps --no-build-isolation --editable ."
        )


def read_until(terminal: int, text: str | None) -> str:
    """Read what a terminal shows until a text appears, or until Ctrl-C has ended its program.

    Where that takes long it is pressed again: Python overlooks one between showing a prompt and
    reading.
    """
    seen, deadline = "", time.monotonic() + SLOW
    while text is None or text not in seen:
        if time.monotonic() > deadline:
            pytest.fail(f"never saw {text!r} in {seen!r}")
        if not select.select([terminal], [], [], 10)[0]:
            os.write(terminal, b"" if text else CTRL_C)
            continue
        try:
            more = os.read(terminal, 65536).decode()
        except OSError:
            break
        if not more:
            break
        seen += more
    return seen
