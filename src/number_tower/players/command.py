"""A command that runs under a supervisor, so that nothing of it stays behind; see `supervisor`."""

from __future__ import annotations

import errno
import os
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.players.supervisor import pack_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "NUMBER_TOWER_BOT"
"""What a program and all that it starts have in their environment; one that runs others in turn adds to it."""

SUPERVISOR = Path(__file__).with_name("supervisor.py")

_MOST_SECONDS = 60.0
"""Seconds that a supervisor may take to start a command, and to end it: far more than it needs."""


class Command:
    """A running command: its standard streams are pipes, and all that it starts ends with it.

    The supervisor passes our environment on, and has none of the bot's streams open while the command runs: so what
    the command sees is the same as without one.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self.pid = 0
        self._clean = self._gone = False
        self._heard = b""
        request = _pack(words, environment)
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._supervisor = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", str(SUPERVISOR), str(theirs.fileno())],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
                env={name: value for name, value in os.environ.items() if name != MARK},
            )
        streams = self._supervisor.stdin, self._supervisor.stdout, self._supervisor.stderr
        self.streams = [stream for stream in streams if stream is not None]
        """Its standard input, output and error."""
        try:
            self._begin(request)
        except BaseException:
            self.end()
            self.close()
            raise

    def poll(self) -> int | None:
        """Return how it has ended: its exit code, or minus a signal; None while it runs."""
        self._hear(0.0)
        return self.returncode

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, for so many seconds at most."""
        deadline = time.monotonic() + seconds
        while self.returncode is None and (left := deadline - time.monotonic()) > 0:
            self._hear(left)

    def check(self) -> int | None:
        """Return how it has ended, or None, as its supervisor sees it now: that may be busy with other things."""
        with suppress(OSError):
            self._connection.sendall(b"?")
            deadline = time.monotonic() + _MOST_SECONDS
            while self.returncode is None and self._hear(max(0.0, deadline - time.monotonic())) not in {"running", ""}:
                pass
        return self.returncode

    def end(self) -> bool:
        """End it and all that it started; say whether nothing can be left."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _MOST_SECONDS
        while not self._gone and (left := deadline - time.monotonic()) > 0:
            self._hear(left)
        try:
            self._supervisor.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        return self._clean

    def close(self) -> None:
        """Close all that is open."""
        self._connection.close()
        for stream in self.streams:
            stream.close()

    # The conversation with the supervisor ------------------------------------------------------------------

    def _begin(self, request: bytes) -> None:
        """Have the command started; an `OSError` says why it cannot be."""
        with suppress(ConnectionError):
            self._connection.sendall(request)
        word, _, number = self._hear(_MOST_SECONDS).partition(" ")
        if word == "failed":
            raise OSError(int(number), os.strerror(int(number)))
        if word != "started":
            raise OSError(errno.EIO, "the process that is to watch over it does not start")
        self.pid = int(number)

    def _hear(self, seconds: float) -> str:
        """Take in the next line from the supervisor; return it, or nothing if there is none in time."""
        while b"\n" not in self._heard:
            if self._gone or not select.select([self._connection], [], [], seconds)[0]:
                return ""
            try:
                said = self._connection.recv(1 << 12)
            except ConnectionError:
                said = b""
            self._heard += said
            if not said:
                self._gone = True
                if self.pid and self.returncode is None:
                    self.returncode = self._supervisor.wait()
        line, _, self._heard = self._heard.partition(b"\n")
        word, _, number = line.decode("ascii").partition(" ")
        if word == "ended":
            self.returncode = int(number)
        elif word == "clean":
            self._clean = True
        return line.decode("ascii")


def _pack(words: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Return the request to run a command; a `ValueError` if that has a character that no command can have."""
    encoded = [os.fsencode(word) for word in words]
    if any(b"\0" in word for word in encoded):
        raise ValueError("embedded null byte")
    return pack_request(encoded, {os.fsencode(name): os.fsencode(value) for name, value in environment.items()})
