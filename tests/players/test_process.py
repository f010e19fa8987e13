"""Every process that a bot started ends with the game: whatever it did to hide, and however the game ended."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from number_tower import Game, Rules
from number_tower.players import ForfeitError
from number_tower.players import process as command
from number_tower.players.program import Program
from support.clocks import SLOW

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="hidden processes can be found on Linux only"
)

GAME = Game(Rules(supply="own", towers="own", fit="descending", target=15), moves=(8, 9))

BOT = """\
import json, os, signal, sys, time

way, marker = sys.argv[1:]
SLEEP = [sys.executable, "-IS", "-c", "import time; time.sleep(3600)", marker + "-child"]


def become_a_sleeper(environment):
    os.execve(SLEEP[0], SLEEP, environment)


def fork():
    if os.fork():
        os._exit(0)


if os.fork() == 0:
    if "daemon" in way:
        fork()
    if "session" in way:
        os.setsid()
        fork()
    elif "group" in way:
        os.setpgid(0, 0)
    if "deaf" in way:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if "crowd" in way:
        for _ in range(3):
            os.fork()
    for stream in range(3):
        os.close(stream)
    become_a_sleeper({} if "cleared" in way else dict(os.environ))
for line in sys.stdin:
    if "silent" in way:
        time.sleep(3600)
    print(json.loads(line)["legal"][0], flush=True)
"""
WAYS = [
    "plain",
    "cleared",
    "cleared group",
    "cleared session",
    "cleared daemon",
    "cleared daemon session deaf",
    "cleared daemon session crowd",
]


@pytest.fixture
def marker() -> Iterator[str]:
    """A word by which the processes of this test are found in the list of all; afterwards there is none left."""
    word = f"bot-{os.urandom(8).hex()}"
    yield word
    left = running(word)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.fixture
def bot(tmp_path: Path, marker: str) -> Callable[[str], str]:
    """Write a bot, and return the command that starts it with a child that hides in some way."""
    path = tmp_path / "bot.py"
    path.write_text(BOT)
    return lambda way: shlex.join([sys.executable, "-IS", str(path), way, marker])


def running(marker: str) -> list[int]:
    """The processes with a word among their arguments; the dead have no arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is sure to come."""
    deadline = time.monotonic() + SLOW
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# A game that ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_no_child_outlives_a_game(bot: Callable[[str], str], marker: str, way: str) -> None:
    program = Program(bot(way), patience=SLOW)
    assert program.choose(GAME) in GAME.legal
    until(lambda: len(running(f"{marker}-child")) == (8 if "crowd" in way else 1))
    program.close()
    assert not running(marker)


def test_no_child_outlives_a_forfeit(bot: Callable[[str], str], marker: str) -> None:
    progress: list[int] = []

    def leave_when_the_child_is_there(_: object) -> None:
        if running(f"{marker}-child"):
            progress.append(1)
            raise ForfeitError("it is enough")

    program = Program(
        f"sh -c {shlex.quote(bot('cleared daemon session') + ' & sleep 3600')}",
        patience=SLOW,
        progress=leave_when_the_child_is_there,
    )
    with pytest.raises(ForfeitError, match="it is enough"):
        program.choose(GAME)
    assert progress
    assert not running(marker)


def test_a_child_that_outlives_its_bot_is_ended_with_the_game(
    bot: Callable[[str], str], marker: str
) -> None:
    program = Program(
        f"sh -c {shlex.quote(bot('cleared daemon session') + ' & read line; echo 5')}",
        patience=SLOW,
    )
    assert program.choose(GAME) == 5
    until(lambda: len(running(f"{marker}-child")) == 1)
    with pytest.raises(ForfeitError, match="it ended"):
        program.choose(GAME)
    assert not running(marker)


# A command that is ended -------------------------------------------------------------------------------------------


@pytest.fixture
def tower(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command in a session of its own, as a terminal would."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-m", "number_tower", *words]
        process = subprocess.Popen(
            arguments,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


ENDS = {
    "killed": signal.SIGKILL,
    "interrupted": signal.SIGINT,
    "told to end": signal.SIGTERM,
    "hung up": signal.SIGHUP,
}


@pytest.mark.parametrize("how", ENDS.values(), ids=ENDS)
def test_no_bot_outlives_the_command(
    bot: Callable[[str], str],
    marker: str,
    tower: Callable[..., subprocess.Popen[bytes]],
    how: signal.Signals,
) -> None:
    playing = tower(
        "play",
        "draft",
        "--vs",
        bot("silent cleared daemon session"),
        "--vs",
        "perfect",
        "--patience",
        "3600",
    )
    until(lambda: len(running(f"{marker}-child")) == 1)
    playing.send_signal(how)
    playing.wait(SLOW)
    until(lambda: not running(marker))


def test_no_bot_outlives_an_arena_that_is_killed(
    bot: Callable[[str], str], marker: str, tower: Callable[..., subprocess.Popen[bytes]]
) -> None:
    contest = tower(
        "arena",
        "draft",
        "--players",
        f"random,{bot('silent cleared session')}",
        "--jobs",
        "2",
        "--patience",
        "3600",
    )
    until(lambda: len(running(f"{marker}-child")) == 2)
    contest.kill()
    contest.wait(SLOW)
    until(lambda: not running(marker))


# The supervisor itself ---------------------------------------------------------------------------------------------


def test_a_bot_that_ends_its_supervisor_forfeits_and_is_ended(tmp_path: Path, marker: str) -> None:
    path = tmp_path / "bot.sh"
    path.write_text("read line; kill -9 $PPID; while :; do sleep 60; done")
    with pytest.raises(ForfeitError, match=r"it ended \(signal 9, SIGKILL\) instead of answering"):
        Program(f"sh {path} {marker}", patience=SLOW).choose(GAME)
    until(lambda: not running(marker))


def test_a_supervisor_that_is_told_to_end_takes_the_bot_with_it(
    bot: Callable[[str], str], marker: str
) -> None:
    running_bot = command.SupervisedCommand(shlex.split(bot("cleared daemon session")))
    until(lambda: len(running(f"{marker}-child")) == 1)
    status = Path(f"/proc/{running_bot.pid}/stat").read_text()
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGTERM)
    running_bot.end()
    assert not running(marker)


def test_where_orphans_cannot_be_adopted_marks_and_the_group_are_used(
    bot: Callable[[str], str], marker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = command.SUPERVISOR.read_text()
    assert "\n_SUBREAPER = 36\n" in source
    (tmp_path / "supervisor.py").write_text(
        source.replace("\n_SUBREAPER = 36\n", "\n_SUBREAPER = -1\n")
    )
    monkeypatch.setattr(command, "SUPERVISOR", tmp_path / "supervisor.py")
    for way in ("cleared", "daemon session"):
        program = Program(bot(way), patience=SLOW)
        assert program.choose(GAME) in GAME.legal
        until(lambda: len(running(f"{marker}-child")) == 1)
        program.close()
        until(lambda: not running(marker))


def test_a_supervisor_that_does_not_start_is_a_forfeit(
    bot: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SUPERVISOR", tmp_path / "nothing.py")
    with pytest.raises(ForfeitError, match="the process that supervises it does not start"):
        Program(bot("plain")).choose(GAME)


def test_a_command_sees_its_own_signals_directory_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOK", "x=y\nz \udcff")
    monkeypatch.setenv("EMPTY", "")
    script = (
        "import os, sys; print(os.getcwd(), ascii(os.environ['BOOK']), ascii(os.environ['EMPTY']), ascii(sys.argv));"
        "status = open('/proc/self/status').read();"
        "masks = [line.split()[1] for line in status.splitlines() if line.startswith(('SigIgn', 'SigBlk'))];"
        "print([int(mask, 16) % (1 << 31) for mask in masks])"  # above are signals of the C library's own
    )

    def seen_by(start: Callable[[list[str]], bytes]) -> bytes:
        return start([sys.executable, "-IS", "-c", script, "", "a b", "\udcff\n"])

    def supervised(words: list[str]) -> bytes:
        running_command = command.SupervisedCommand(words)
        running_command.wait(SLOW)
        assert running_command.returncode == 0
        said = os.read(running_command.streams[1].fileno(), 1 << 16)
        running_command.end()
        return said

    assert seen_by(supervised) == seen_by(
        lambda words: subprocess.run(words, capture_output=True, check=True).stdout
    )
