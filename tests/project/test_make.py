"""`make play` as somebody uses it who presses Ctrl-C: the terminal tells make, the shell and the program at once."""

from __future__ import annotations

import os
import pty
import select
import shutil
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
        os.execvpe("make", ["make", "play"], plain_environment(LC_ALL="C", TERM="dumb"))  # noqa: S606 - make itself
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


def read_until(terminal: int, text: str | None) -> str:
    """Read what a terminal shows, until a text appears or, without one, until Ctrl-C has ended its program.

    Where that takes long it is pressed again: Python overlooks one between showing a prompt and reading.
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
