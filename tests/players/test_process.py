"""The process group of a bot ends with the game; the command itself may be stopped in any way."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.clocks import SLOW, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs play on Linux and macOS")

BOT = """\
import os, signal, sys, time
from pathlib import Path

here = Path(__file__).parent
if os.fork() == 0:
    time.sleep(3600)
question = sys.stdin.readline()
(here / f"{os.getpid()}.started").touch()
if "deaf" in sys.argv:
    time.sleep(3600)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("kind", "number", "code"),
    [("deaf", signal.SIGINT, 130), ("deaf", signal.SIGTERM, 130), ("fair", signal.SIGKILL, -9)],
)
def test_no_bot_outlives_an_arena_that_is_stopped(
    kind: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    """A killed command closes the input of its bots and can do no more: the fair bot ends then."""
    bot = tmp_path / "bot.py"
    bot.write_text(BOT)
    players = f"random,{shlex.join([sys.executable, '-IS', str(bot), kind])}"
    call = [sys.executable, "-m", "number_tower", "arena", "draft", "--players", players]
    with subprocess.Popen(
        [*call, "--jobs", "2", "--patience", "3600"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as contest:
        wait_until(lambda: len(list(tmp_path.glob("*.started"))) == 2)
        groups = [int(path.stem) for path in tmp_path.glob("*.started")]
        contest.send_signal(number)
        _, complaint = contest.communicate(timeout=SLOW)
    assert contest.returncode == code
    assert ("tower: stopped. 0 of 100 games are saved in" in complaint) is (code == 130)
    wait_until(lambda: all(map(is_gone, groups)))
