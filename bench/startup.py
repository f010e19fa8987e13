"""How long the command takes to answer, against the interpreter's own start.

The goals are part of the design: every answer within 12 times `python -c pass`, and the first frame
of the full-screen app within 1.5 times that of a Textual app with one widget.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import NamedTuple

TOWER = str(Path(sys.executable).with_name("tower"))


class Work(NamedTuple):
    """Something to start, and what to wait for: its end, if nothing."""

    name: str
    command: list[str]
    awaited: bytes = b""


class StartError(Exception):
    """The command did not do what was to be measured."""


NOTHING = Work("python -c pass", [sys.executable, "-c", "pass"])
STARTS = [
    Work("tower --version", [TOWER, "--version"]),
    Work("tower play draft, first prompt", [TOWER, "play", "draft"], b"wish to place: "),
    Work("tower play climb, first prompt", [TOWER, "play", "climb"], b"on the tower: "),
    Work("tower, first prompt", [TOWER], b"Which game? "),
]


ONE_WIDGET = """
from textual.app import App
from textual.widgets import Static
class OneWidget(App):
    def compose(self):
        yield Static("summit")
OneWidget().run()
"""
FRAME = b"summit"
"""What is on the first frame of both."""

LEAST_APP = Work(
    "a Textual app with one widget, first frame", [sys.executable, "-c", ONE_WIDGET], FRAME
)
APP = Work("tower, first frame of the app", [TOWER], FRAME)


def measure_frame(work: Work) -> float:
    """Start an app in a terminal of its own, and wait for its first frame."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 132, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "NUMBER_TOWER_DB": "none"}
    start = time.perf_counter()
    with subprocess.Popen(
        work.command, stdin=far, stdout=far, stderr=far, env=environment
    ) as process:
        os.close(far)
        seen = b""
        while work.awaited not in seen:
            seen += os.read(near, 65536)
        took = time.perf_counter() - start
        process.kill()
    os.close(near)
    return took


def measure_start(work: Work) -> float:
    """Start a command once, and wait for its answer or for its end."""
    start = time.perf_counter()
    with subprocess.Popen(
        work.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        seen = b""
        while not (work.awaited and seen.endswith(work.awaited)):
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                break
            seen += more
        if not work.awaited:
            process.wait()
        took = time.perf_counter() - start
        process.kill()
    if process.returncode > 0 or not seen.endswith(work.awaited):
        raise StartError(work.name)
    return took
