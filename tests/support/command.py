"""Recorded sessions: what the command was asked and given, and every byte that it answered.

`make golden` writes the answers anew; read the difference before you keep it.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
import subprocess
import sys
import time
import traceback
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import NoReturn
from unittest.mock import patch

from number_tower import Game, Rules
from number_tower.solve import limits, solve
from number_tower.terminal.cli.main import create_parser, main
from support.clocks import SLOW
from support.forking import Forked

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests/data"
GOLDEN = ROOT / "tests/golden"
SESSIONS = GOLDEN / "sessions"
LOST = GOLDEN / "lost"
EXAMPLES = ROOT / "examples"
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
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "SYSTEMROOT") if key in os.environ}
    kept["PATH"] = os.pathsep.join([str(Path(TOWER).parent), kept.get("PATH", "")])
    own = {"NUMBER_TOWER_DB": "none", "NUMBER_TOWER_CONFIG": "none"}
    return {**kept, "PYTHONUTF8": "1", "TERM": "xterm-256color", **own, **more}


def run_tower_with_small_files(
    kib: int, *call: str, typed: str = "", cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may become larger than so much.

    Python's own cache is left alone there.
    """
    call = (sys.executable, "-c", LIMITED, str(kib), TOWER, *call)
    with Forked(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=cwd,
        env=plain_environment(PYTHONDONTWRITEBYTECODE="1", **environment),
    ) as running:  # fmt: skip
        shown, complaint = running.communicate(typed, timeout=SLOW)
    return subprocess.CompletedProcess(call, running.returncode, shown, complaint)


def run_tower(
    *arguments: str, typed: str = "", cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with a pipe as input, in a fork of this process, which has all imported."""
    if not hasattr(os, "fork"):
        return subprocess.run(
            [TOWER, *arguments], input=typed, capture_output=True, text=True, encoding="utf-8",
            cwd=cwd, env=plain_environment(**environment), timeout=SLOW, check=False,
        )  # fmt: skip
    _load_everything()
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(typed.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            _become_tower(
                (given.fileno(), out.fileno(), err.fileno()),
                arguments,
                cwd,
                plain_environment(**environment),
            )
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(TextIOWrapper(file, encoding="utf-8").read())
    return subprocess.CompletedProcess([TOWER, *arguments], code, *texts)


@cache
def _load_everything() -> None:
    """Load once what every fork would load: the commands, the database, the compiled searches."""
    create_parser()
    for name in (
        "number_tower.store.games",
        "alembic.command",
        "sqlalchemy.dialects.sqlite",
        "rich.progress",
    ):
        import_module(name)
    solve(Game(Rules(blocks=range(1, 5), towers="own", fit="descending", target=9, stuck="skips")))


def _become_tower(
    files: tuple[int, int, int], arguments: tuple[str, ...], cwd: Path, environment: dict[str, str]
) -> NoReturn:
    """Run the command in this process, as an interpreter would that had just started, and end."""
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        encoding = environment.get("PYTHONIOENCODING", "utf-8")
        sys.stdin, sys.stdout, sys.stderr = (
            # A stream stays open as long as the process.
            open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
            for number, mode, errors in (
                (0, "r", "strict"),
                (1, "w", "strict"),
                (2, "w", "backslashreplace"),
            )
        )
        signal.alarm(SLOW)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        os.chdir(cwd)
        sys.argv = [TOWER, *arguments]
        code = main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def play_session(name: str) -> str:
    """Hold a session as its file describes it, and return all that it answered.

    Seconds that are given for a search pass with looks at the clock: all machines come equally far,
    and nobody waits.
    """
    call, _, typed = (SESSIONS / f"{name}.in").read_text(encoding="utf-8").partition("\n")
    return _hold(call, typed)


def play_lost_games(game: str) -> str:
    """Lose a game against each level, as the lines of a file say, and return all answers."""
    lines = (LOST / f"{game}.in").read_text(encoding="utf-8").splitlines()
    calls = [line.partition(" <") for line in lines]
    return "\n".join(
        f"$ {call}\n{_hold(call, typed.replace(' ', chr(10)).lstrip())}" for call, _, typed in calls
    )


def _hold(call: str, typed: str) -> str:
    arguments = shlex.split(call)
    clock = patch.object(limits, "perf_counter", count(0, 0.01).__next__)
    with clock if "--seconds" in arguments else nullcontext():
        done = run_tower(*arguments, typed=typed)
    complaints = "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return f"{done.stdout}{complaints}[exit {done.returncode}]\n"


def list_sessions() -> list[str]:
    return sorted(path.stem for path in SESSIONS.glob("*.in"))


if __name__ == "__main__":
    for each in list_sessions():
        (SESSIONS / f"{each}.out").write_text(play_session(each), encoding="utf-8")
    for path in LOST.glob("*.in"):
        path.with_suffix(".out").write_text(play_lost_games(path.stem), encoding="utf-8")
