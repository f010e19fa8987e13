"""A pseudo-terminal with the command in it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from codecs import getincrementaldecoder

import pytest

from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A pseudo-terminal with the command in it, used by looking and typing."""

    rows = 24

    def __init__(self, *arguments: str, columns: int | None = None, **environment: str) -> None:
        self._near, far = pty.openpty()
        if columns is not None:
            termios.tcsetwinsize(self._near, (self.rows, columns))
        self._process = subprocess.Popen(
            [TOWER, *arguments], stdin=far, stdout=far, stderr=far, close_fds=True,
            start_new_session=True, cwd=ROOT, env=plain_environment(**environment),
        )  # fmt: skip
        os.close(far)
        self.seen = ""
        self._decoder = getincrementaldecoder("utf-8")()

    def until(self, text: str, *, seconds: float = SLOW) -> str:
        """Look until a text has appeared that was not there before."""
        start, deadline = len(self.seen), time.monotonic() + seconds
        while text not in self.seen[start:]:
            if not select.select([self._near], [], [], max(deadline - time.monotonic(), 0))[0]:
                pytest.fail(f"never saw {text!r} in {self.seen[start:]!r}")
            more = self._read()
            if not more:
                pytest.fail(f"the command ended before it said {text!r}: {self.seen[start:]!r}")
            self.seen += more
        return self.seen[start:]

    def answer(self, text: str, until: str) -> str:
        """Type a line, and look until a text appears after it."""
        self.type(f"{text}\n")
        return self.until(until)

    def quit_game(self) -> None:
        """Leave a game that is not over."""
        self.type("quit\ny\n")
        assert self.end() == 0

    def resize(self, columns: int, rows: int = 24) -> None:
        """Change the size of the terminal, as dragging its edge does."""
        termios.tcsetwinsize(self._near, (rows, columns))
        self._process.send_signal(signal.SIGWINCH)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        self._process.send_signal(number)

    def close(self, *, hang_up: bool = True) -> None:
        """Close the window while the command runs.

        A shell sends SIGHUP, unless the command was started to outlive it.
        """
        os.close(self._near)
        self._near = -1
        if hang_up:
            self._process.send_signal(signal.SIGHUP)

    def wait(self) -> int:
        """Wait for the end of a command whose window is closed."""
        return self._process.wait(timeout=SLOW)

    def type(self, text: str) -> None:
        os.write(self._near, text.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self, *, interrupt: bool = False) -> int:
        """Look until the command has ended; `interrupt` presses Ctrl-C until it does."""
        pressed, deadline = 0.0, time.monotonic() + SLOW
        while time.monotonic() < deadline:
            if interrupt and self._process.poll() is None and time.monotonic() > pressed + 0.1:
                pressed = time.monotonic()
                self._process.send_signal(signal.SIGINT)
            if select.select([self._near], [], [], 0.1)[0]:
                more = self._read()
                self.seen += more
                if not more:
                    break
        os.close(self._near)
        return self._process.wait(timeout=SLOW)

    def _read(self) -> str:
        try:
            return self._decoder.decode(os.read(self._near, 65536)).replace("\r\n", "\n")
        except OSError:
            return ""


class Window(Terminal):
    """A terminal of a given size, in which the full-screen app can be shown."""

    def __init__(self, size: tuple[int, int], *arguments: str, **environment: str) -> None:
        columns, self.rows = size
        super().__init__(*arguments, columns=columns, **environment)
