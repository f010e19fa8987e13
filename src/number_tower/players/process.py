"""Start a command under a supervisor, which ends everything that the command started, even if we are killed."""

from __future__ import annotations

import errno
import marshal
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which

from number_tower.players import ForfeitError
from number_tower.players.supervisor import attempt, list_processes, signal_each
from number_tower.text import format_path, format_text

MARK_VARIABLE = "NUMBER_TOWER_BOT"
"""The environment variable with the marks of a program; a program that starts others adds its mark."""

SUPERVISOR = Path(__file__).with_name("supervisor.py")

_MAX_SUPERVISOR_SECONDS = 60.0
"""Seconds to start or end a command by its supervisor: far more than it needs."""

_MAX_KILL_SECONDS = 2.0
_PAUSE = 0.002


def start_command(command: str) -> SupervisedCommand:
    """Start a command; a `ForfeitError` says why it cannot be started."""
    problem = find_obstacle(command)
    if problem is not None:
        raise ForfeitError(f"it cannot be started: {problem}")
    words = shlex.split(command)
    try:
        return SupervisedCommand(words)
    except (OSError, ValueError) as error:
        raise ForfeitError(f"it cannot be started: {_explain_error(words[0], error)}") from None


def find_obstacle(command: str) -> str | None:
    """Return why a command cannot be started, as far as that can be known without starting it."""
    if os.name != "posix":
        return "programs can play on Linux and macOS only"
    try:
        program = next(iter(shlex.split(command)), "")
    except ValueError:
        return f"a quotation mark is missing in {format_text(command)}"
    if not program:
        return "the command is empty"
    if which(program) is not None:
        return None
    exists = "/" in program and os.path.exists(program)
    return _explain_error(
        program, OSError(errno.EACCES if exists else errno.ENOENT, "cannot be run")
    )


def _explain_error(program: str, error: Exception) -> str:
    """Return why a program cannot be started, and what would help."""
    name = format_path(program)
    if not isinstance(error, OSError):
        return "its command has a character that no command can have"
    if error.errno == errno.ENOENT:
        return _explain_missing(program)
    if error.errno == errno.ENOEXEC:
        return f"the first line of {name} must say which program runs it, such as #!/usr/bin/env python3"
    if os.path.isdir(program):
        return f"{name} is a directory"
    if os.path.exists(program) and not os.access(program, os.X_OK):
        return f"{name} is not executable: chmod +x {format_path(shlex.quote(program))}"
    return f"{name}: {error.strerror}"


def _explain_missing(program: str) -> str:
    name = format_path(program)
    if "/" not in program:
        return f"there is no program {name}" + (
            f", but a file: ./{name}" if os.path.exists(program) else ""
        )
    if os.path.exists(program):
        return f"the first line of {name} names a program that does not exist"
    return f"there is no file {name}"


class SupervisedCommand:
    """A running command whose standard streams are pipes; its supervisor ends everything that it started.

    The supervisor passes our environment on and keeps none of the streams open, so that the command sees the same as
    without a supervisor. See `supervisor` for the protocol. All processes of a command have a mark in their
    environment, by which they are found even if their supervisor was killed, where there is `/proc`.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.returncode: int | None = None
        self.pid = 0
        self._is_clean = self._is_disconnected = False
        self._received = b""
        self._token = os.urandom(16).hex().encode()
        request = _encode_request(words, self._token)
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
                env={name: value for name, value in os.environ.items() if name != MARK_VARIABLE},
            )
        streams = self._supervisor.stdin, self._supervisor.stdout, self._supervisor.stderr
        self.streams = [stream for stream in streams if stream is not None]
        """Its standard input, output and error."""
        try:
            self._start(request)
        except BaseException:
            self.end()
            raise

    def poll(self) -> int | None:
        """Return its exit code, or minus the signal that ended it; None while it runs."""
        self._receive(0.0)
        return self.returncode

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, for `seconds` at most."""
        deadline = time.monotonic() + seconds
        while self.returncode is None and (left := deadline - time.monotonic()) > 0:
            self._receive(left)

    def check(self) -> int | None:
        """Return the same as `poll`, but wait for the answer of the supervisor, which may be busy."""
        with suppress(OSError):
            self._connection.sendall(b"?")
            deadline = time.monotonic() + _MAX_SUPERVISOR_SECONDS
            while self.returncode is None:
                if self._receive(max(0.0, deadline - time.monotonic())) in {"running", ""}:
                    break
        return self.returncode

    def end(self) -> None:
        """End it and everything that it started, and close its streams."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _MAX_SUPERVISOR_SECONDS
        while not self._is_disconnected and (left := deadline - time.monotonic()) > 0:
            self._receive(left)
        try:
            self._supervisor.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if self.pid and not self._is_clean:
            self._kill_marked()
        self._connection.close()
        for stream in self.streams:
            stream.close()

    def _kill_marked(self) -> None:
        """Kill its process group and all processes with its mark.

        A process shows no environment while it starts another program, so two searches have to find nothing.
        """
        deadline = time.monotonic() + _MAX_KILL_SECONDS
        misses = 0
        while misses < 2 and time.monotonic() < deadline:
            attempt(os.killpg, self.pid, signal.SIGKILL)
            pids = list(_find_marked(self._token))
            signal_each(pids, signal.SIGKILL)
            misses = 0 if pids else misses + 1
            time.sleep(_PAUSE)

    def _start(self, request: bytes) -> None:
        """Let the supervisor start the command; an `OSError` says why it cannot."""
        with suppress(ConnectionError):
            self._connection.sendall(request)
        word, _, number = self._receive(_MAX_SUPERVISOR_SECONDS).partition(" ")
        if word == "failed":
            raise OSError(int(number), os.strerror(int(number)))
        if word != "started":
            raise OSError(errno.EIO, "the process that supervises it does not start")
        self.pid = int(number)

    def _receive(self, seconds: float) -> str:
        """Handle the next line from the supervisor and return it; return "" if none comes in time."""
        while b"\n" not in self._received:
            if self._is_disconnected or not select.select([self._connection], [], [], seconds)[0]:
                return ""
            try:
                data = self._connection.recv(1 << 12)
            except ConnectionError:
                data = b""
            self._received += data
            if not data:
                self._is_disconnected = True
                if self.pid and self.returncode is None:
                    self.returncode = self._supervisor.wait()
        received, _, self._received = self._received.partition(b"\n")
        line = received.decode("ascii")
        word, _, number = line.partition(" ")
        if word == "ended":
            self.returncode = int(number)
        elif word == "clean":
            self._is_clean = True
        return line


def _encode_request(words: Sequence[str], token: bytes) -> bytes:
    """Return the request to run a command; a `ValueError` for a character that no command can have."""
    encoded = [os.fsencode(word) for word in words]
    if any(b"\0" in word for word in encoded):
        raise ValueError("embedded null byte")
    variable = MARK_VARIABLE.encode()
    return marshal.dumps(
        (encoded, {**os.environb, variable: os.environb.get(variable, b"") + b":" + token})
    )


def _find_marked(token: bytes) -> Iterator[int]:
    """Yield the processes whose environment has a mark."""
    for pid in list_processes():
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            if token in environment.read():
                yield pid
