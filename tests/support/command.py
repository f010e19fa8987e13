"""The command under test, in this process, and recorded sessions and journeys.

A session is a call, its input, and every byte of its answers. A journey is several calls in one
folder, with all that they print: to add one, write its title and calls to a file of journeys.
`make golden` writes the answers anew; read the difference before you commit it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import (
    chdir,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from number_tower.solve import limits
from number_tower.terminal.cli.main import main
from support.clocks import SLOW
from support.signals import keep_signal_handlers

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests/data"
GOLDEN = ROOT / "tests/golden"
SESSIONS = GOLDEN / "sessions"
LOST = GOLDEN / "lost"
JOURNEYS = GOLDEN / "journeys"
EXAMPLES = ROOT / "examples"
DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d|T[\d:.]+Z)?")
KEY = re.compile(r"[0-9a-f]{32}")
TOWER = str(Path(sys.executable).with_name("tower"))

LIMITED = """
import resource, runpy, sys
sys.dont_write_bytecode = True
most = 1024 * int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program, the second argument, with all others.

None of its files may become larger than so many KiB.
"""


def write_script(path: Path, text: str) -> Path:
    """Write a script of the shell that can be called."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def load_example(name: str) -> ModuleType:
    """Return a script of `examples/` as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_environment(**more: str) -> dict[str, str]:
    """Return an environment in which the command behaves the same everywhere."""
    names = {"PATH", "HOME", "SYSTEMROOT"} & os.environ.keys()
    variables = {name: os.environ[name] for name in names}
    variables["PATH"] = os.pathsep.join([str(Path(TOWER).parent), variables.get("PATH", "")])
    own = {"NUMBER_TOWER_DB": "none", "NUMBER_TOWER_CONFIG": "none"}
    return {**variables, "PYTHONUTF8": "1", "TERM": "xterm-256color", **own, **more}


class CommandResult(NamedTuple):
    """The exit code of a program, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Tower = Callable[..., CommandResult]
"""`run_tower`, with or without arguments bound to it."""


def run_process(*call: str, typed: str = "", cwd: Path = ROOT, **variables: str) -> CommandResult:
    """Run a program as a process, to its end."""
    done = subprocess.run(
        call, input=typed, capture_output=True, text=True, cwd=cwd,
        env=plain_environment(**variables), timeout=SLOW, check=False,
    )  # fmt: skip
    return CommandResult(done.returncode, done.stdout, done.stderr)


def run_tower_with_small_files(
    kib: int, *call: str, typed: str = "", cwd: Path = ROOT, **variables: str
) -> CommandResult:
    """Run the command as a process, no file of which may become larger than `kib`."""
    call = (sys.executable, "-c", LIMITED, str(kib), TOWER, *call)
    return run_process(*call, typed=typed, cwd=cwd, PYTHONDONTWRITEBYTECODE="1", **variables)


def run_tower(
    *arguments: str,
    typed: str = "",
    answers: Iterable[str] | None = None,
    watch: Any = str,
    cwd: Path = ROOT,
    **environment: str,
) -> CommandResult:
    """Run the command in this process, with a pipe as its input, as click's `CliRunner` does.

    The input is a text, or else lines, which are taken one at a time: an iterator can do something
    between two answers. `watch` is called with the whole output whenever more of it can be read.
    Streams, environment, folder and signal handlers are restored afterwards.
    """
    variables = plain_environment(**environment)
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    out, err = _WatchedPipe(watch), BytesIO()
    with (
        keep_signal_handlers(),
        _replace_environment(variables),
        _open_file(typed) if answers is None else BufferedReader(_Lines(answers)) as file,
        patch.object(sys, "argv", [TOWER, *arguments]),
        patch.object(sys, "stdin", TextIOWrapper(file, encoding)),
        redirect_stdout(TextIOWrapper(out, encoding)) as stdout,
        redirect_stderr(TextIOWrapper(err, encoding, "backslashreplace")) as stderr,
        chdir(cwd),
    ):
        code = main(arguments)
        stdout.flush()
        stderr.flush()
        shown, complaint = out.getvalue().decode(), err.getvalue().decode()
    return CommandResult(code, shown, complaint)


@contextmanager
def _replace_environment(variables: dict[str, str]) -> Iterator[None]:
    try:
        with patch.dict(os.environ, variables, clear=True):
            time.tzset()
            yield
    finally:
        time.tzset()


class _WatchedPipe(BytesIO):
    def __init__(self, watch: Callable[[str], object]) -> None:
        super().__init__()
        self._watch = watch

    def write(self, data: ReadableBuffer) -> int:
        written = super().write(data)
        self._watch(self.getvalue().decode())
        return written


@contextmanager
def _open_file(text: str) -> Iterator[BufferedReader]:
    """Open a text as a file of the system, which the command may close by its number."""
    with TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        number = os.dup(file.fileno())
        try:
            with open(number, "rb", closefd=False) as stream:
                yield stream
        finally:
            with suppress(OSError):
                if os.path.samestat(os.fstat(number), os.fstat(file.fileno())):
                    os.close(number)


class _Lines(RawIOBase):
    """The reading end of a pipe into which a line is written only when it is waited for."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = (f"{line}\n".encode(errors="surrogateescape") for line in lines)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        line = next(self._lines, b"")
        memoryview(buffer)[: len(line)] = line
        return len(line)


def transcribe(tower: Tower, *calls: str) -> str:
    """Make some calls; return them with all that they print, for a snapshot."""
    return "\n".join(
        f"$ tower {call}\n{_format_result(tower(*shlex.split(call)))}" for call in calls
    )


def load_journeys() -> dict[str, dict[str, str]]:
    """Return the journeys of each file by their titles."""
    journeys = {}
    for path in sorted(JOURNEYS.glob("*.txt")):
        _, *parts = re.split(r"^== (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        journeys[path.stem] = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return journeys


def play_journey(journey: str, folder: Path) -> str:
    """Run the calls of a journey in an empty folder; return them with all that they print.

    `$ tower CALL < ANSWERS | FILTER` is run in this process, any other line by the shell.
    """
    files = {"NUMBER_TOWER_DB": "games.db", "NUMBER_TOWER_CONFIG": "config.toml"}
    variables = {name: str(folder / file) for name, file in files.items()}
    texts = []
    for line in re.findall(r"^\$ (.+)$", journey, re.MULTILINE):
        if line.partition(" ")[0] == "tower":
            words, _, filter_of_output = line.partition(" | ")
            call, _, answers = words.removeprefix("tower").partition(" < ")
            done = run_tower(
                *shlex.split(call), answers=shlex.split(answers), cwd=folder, **variables
            )
            if filter_of_output:
                shown = run_process("bash", "-c", filter_of_output, typed=done.stdout)
                done = done._replace(stdout=shown.stdout)
        else:
            folders = {"DATA": str(DATA), "EXAMPLES": str(EXAMPLES)}
            done = run_process("bash", "-c", line, cwd=folder, **folders)
        texts.append(f"$ {line}\n{_format_result(done)}")
    text = "\n".join(texts).replace(str(folder), "FOLDER").strip()
    return KEY.sub("KEY", DATE.sub("DATE", text))


def play_session(name: str) -> str:
    """Run a recorded call with its input, and return its output, errors and exit code."""
    call, _, typed = (SESSIONS / f"{name}.in").read_text(encoding="utf-8").partition("\n")
    return _record(call, typed)


def play_lost_games(game: str) -> str:
    """Lose a game against each level, as the lines of a file say, and return all answers."""
    lines = (LOST / f"{game}.in").read_text(encoding="utf-8").splitlines()
    answers = []
    for line in lines:
        call, _, moves = line.partition(" <")
        answers.append(f"$ {call}\n{_record(call, moves.lstrip().replace(' ', chr(10)))}")
    return "\n".join(answers)


def _record(call: str, typed: str) -> str:
    arguments = shlex.split(call)
    # Seconds of a search pass with looks at the clock, so that all machines come equally far.
    clock = patch.object(limits, "perf_counter", count(0, 0.01).__next__)
    with clock if "--seconds" in arguments else nullcontext():
        done = run_tower(*arguments, typed=typed)
    return _format_result(done)


def _format_result(done: CommandResult) -> str:
    complaints = "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return f"{done.stdout}{complaints}[exit {done.returncode}]\n"


def list_sessions() -> list[str]:
    return sorted(path.stem for path in SESSIONS.glob("*.in"))


if __name__ == "__main__":
    for name in list_sessions():
        (SESSIONS / f"{name}.out").write_text(play_session(name), encoding="utf-8")
    for path in LOST.glob("*.in"):
        path.with_suffix(".out").write_text(play_lost_games(path.stem), encoding="utf-8")
    for name, journeys in load_journeys().items():
        texts = []
        for title, journey in journeys.items():
            with TemporaryDirectory() as empty:
                texts.append(f"== {title}\n\n{play_journey(journey, Path(empty))}\n")
        (JOURNEYS / f"{name}.txt").write_text("\n\n".join(texts), encoding="utf-8")
