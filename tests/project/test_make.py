"""`make` ends without noise after Ctrl-C, and installs nothing without its hash."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import time
from pathlib import Path

import pytest

from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment, run_process, write_script

CTRL_C = b"\x03"
MARKS = (".play", ".web")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, in which everything seems to be set up."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    binaries = tmp_path / ".venv/bin"
    binaries.mkdir(parents=True)
    for name, target in (("tower", TOWER), ("python", shutil.which("python3"))):
        write_script(binaries / name, f'exec "{target}" "$@"')
    (tmp_path / "requirements").mkdir()
    locks = [f"requirements/{path.name}" for path in (ROOT / "requirements").glob("*.txt")]
    for name in ("pyproject.toml", *locks, *(f".venv/{mark}" for mark in MARKS)):
        (tmp_path / name).touch()
    return tmp_path


def read_until(terminal: int, text: str | None) -> str:
    """Read what a terminal shows until a text appears, or until Ctrl-C has ended its program.

    Ctrl-C is repeated after a while: Python overlooks one between showing a prompt and reading.
    """
    shown, deadline = "", time.monotonic() + SLOW
    while text is None or text not in shown:
        if time.monotonic() > deadline:
            pytest.fail(f"{text!r} is not in {shown!r}")
        if not select.select([terminal], [], [], 10)[0]:
            os.write(terminal, b"" if text else CTRL_C)
            continue
        try:
            output = os.read(terminal, 65536).decode()
        except OSError:
            break
        if not output:
            break
        shown += output
    return shown


@pytest.mark.parametrize(
    ("answers", "ending"),
    [([], "tower: stopped"), (["2", "9"], "Resume it with: ")],
    ids=["menu", "game"],
)
def test_make_play_ends_without_error_after_ctrl_c(
    clone: Path, answers: list[str], ending: str
) -> None:
    """The terminal interrupts make, the shell and the program at once."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(clone)
        # This process becomes make.
        os.execvpe(  # noqa: S606
            "make", ["make", "play"], plain_environment(LC_ALL="C", TERM="dumb")
        )
    shown = read_until(terminal, "Which game? ")
    for answer in answers:
        os.write(terminal, f"{answer}\n".encode())
        shown += read_until(terminal, "wish to place: ")
    os.write(terminal, CTRL_C)
    shown += read_until(terminal, None)
    os.waitpid(child, 0)
    os.close(terminal)
    assert "***" not in shown
    assert ending in shown


def test_lock_that_cannot_be_installed_ends_with_advice(clone: Path) -> None:
    """Nothing is installed without its hashes by itself; here pip refuses everything."""
    (clone / ".venv/.play").unlink()
    script = "case $1 in --version) echo Python 3.99 ;; *) exit 1 ;; esac"
    write_script(clone / ".venv/bin/python", script)
    done = run_process("make", "play", cwd=clone, LC_ALL="C")
    assert done.returncode == 2
    for word in ("requirements/play.txt", "3.99", "LOCKED=no"):
        assert word in done.stderr
    assert not (clone / ".venv/.play").exists()


@pytest.mark.parametrize("target", [".play", ".web", ".dev", ".bench"])
def test_environment_is_installed_from_a_lock_with_hashes(clone: Path, target: str) -> None:
    for mark in MARKS:
        (clone / ".venv" / mark).unlink()
    commands = run_process("make", "-n", f".venv/{target}", cwd=clone).stdout
    installs = re.findall(r"-m pip .*? install (.*?)(?: &&| ;|$)", commands, re.MULTILINE)
    assert any(f"-r requirements/{target[1:]}.txt" in install for install in installs)
    unhashed = {install for install in installs if "--require-hashes" not in install}
    assert unhashed == {"--no-deps --no-build-isolation --editable ."}
