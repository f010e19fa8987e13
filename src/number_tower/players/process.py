"""A program behind pipes: asked one line, it answers with one line in time, and nothing of it stays behind.

Nothing that it does can hold us up: every pipe is read and written only while it is ready, within the time for one
answer, and only so much is kept of what it says. It leads a session of its own, so that Ctrl-C at our terminal is not
meant for it, and a supervisor ends all that it started, even if we are killed. It carries a mark in its environment as
well, by which its processes are found should the supervisor itself be killed, wherever there is `/proc`.
"""

from __future__ import annotations

import errno
import os
import select
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from number_tower.players.base import ForfeitError
from number_tower.players.supervisor import pack_request
from number_tower.text import format_path, format_text, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_ANSWER_BYTES = 1 << 16


"""Bytes that nobody needs for one number."""


GRACE = 0.5


"""Seconds that a program has to leave by itself once its input has ended."""


_CHUNK = 1 << 16


_MAX_ERRORS = 4096


_POLL_SECONDS = 0.05  # seconds between looks whether it is alive: a child of it can hold its output open


_PAUSE = 0.002


_MAX_KILL_SECONDS = 2.0


class ProgramProcess:
    """One run of a command; whatever is wrong with it is a `Forfeit`."""

    def __init__(self, command: str) -> None:
        self._token = os.urandom(16).hex()
        self._command = _start_command(
            command, {**os.environ, MARK_VARIABLE: f"{os.environ.get(MARK_VARIABLE, '')}:{self._token}"}
        )
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in self._command.streams)
        for stream in self._command.streams:
            os.set_blocking(stream.fileno(), False)
        self._unsent = memoryview(b"")
        self._output = b""
        self._errors = b""
        self._asked = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_output)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_errors)

    def ask(self, question: bytes, seconds: float, waiting: Callable[[float], object] = lambda _: None) -> bytes:
        """Write a question and return the line that answers it, without its end; `waiting` is told how long."""
        deadline = time.monotonic() + seconds
        if self._asked and self._read_output():
            raise ForfeitError(f"it wrote {_quote_first_line(self._output)} before it was asked")
        self._asked = True
        self._unsent = memoryview(question)
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write_input)
        while b"\n" not in self._output:
            left = max(0.0, deadline - time.monotonic())
            waiting(seconds - left)
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                key.data()
            if self._command.poll() is not None:
                self._read_rest()
            elif not left and b"\n" not in self._output:
                raise ForfeitError(self._describe_timeout(seconds))
        if self._unsent:
            raise ForfeitError(f"it wrote {_quote_first_line(self._output)} before it had read the question")
        answer, _, more = self._output.partition(b"\n")
        if more:
            raise ForfeitError(
                f"it answered with more than one line: {_quote_first_line(answer)}, then {_quote_first_line(more)}"
            )
        self._output = b""
        return answer

    def end(self, grace: float = GRACE) -> None:
        """End its input, let it leave by itself while the grace lasts, and end all that is left of it."""
        try:
            self._wait_for_exit(grace)
        finally:
            self._kill()
            self._selector.close()
            self._command.close()

    # What a pipe that is ready asks for ----------------------------------------------------------------------

    def _write_input(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise ForfeitError(self._describe_failure("it closed its input before it had read the question")) from None
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read_output(self) -> bool:
        """Take in what it says, and say whether there was anything."""
        try:
            said = os.read(self._stdout, MAX_ANSWER_BYTES + 1 - len(self._output))
        except BlockingIOError:
            return False
        if not said:
            raise ForfeitError(self._describe_failure("it closed its output instead of answering"))
        self._output += said
        if len(self._output) > MAX_ANSWER_BYTES and b"\n" not in self._output:
            raise ForfeitError(
                f"it wrote {MAX_ANSWER_BYTES // 1024} KiB without an end of line: {_quote_first_line(self._output)}"
            )
        return True

    def _read_errors(self) -> bool:
        """Keep the last of its complaints, and say whether there can be more."""
        try:
            said = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not said:
            with suppress(KeyError):
                self._selector.unregister(self._stderr)
        self._errors = (self._errors + said)[-_MAX_ERRORS:]
        return bool(said)

    # What went wrong -----------------------------------------------------------------------------------------

    def _read_rest(self) -> None:
        """Read on after its death: its answer may be there, but the end of its output need not ever come."""
        while b"\n" not in self._output:
            if not self._read_output():
                raise ForfeitError(self._describe_failure(""))

    def _describe_timeout(self, seconds: float) -> str:
        time_given = f"within {seconds:g} second{'' if seconds == 1 else 's'}"
        if self._output:
            return f"it wrote {_quote_first_line(self._output)} without an end of line {time_given}"
        return f"it gave no answer {time_given}"

    def _describe_failure(self, otherwise: str) -> str:
        """Say how it ended and what it complained of last; or something else, if it goes on."""
        self._command.wait(GRACE)
        code = self._command.check()
        for _ in range(64):  # a child can complain for ever
            if not self._read_errors():
                break
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next((f": {format_text(line.strip())}" for line in reversed(lines) if line.strip()), "")
        if code is None:
            return f"{otherwise}{last}"
        how = f"exit code {code}" if code >= 0 else _format_signal(-code)
        return f"it ended ({how}) instead of answering{last}"

    # The end -------------------------------------------------------------------------------------------------

    def _wait_for_exit(self, grace: float) -> None:
        """Close its input and wait for it to end; what it still says is read, so that it can end, and forgotten."""
        with suppress(KeyError):
            self._selector.unregister(self._stdin)
        self._command.streams[0].close()
        deadline = time.monotonic() + grace
        while self._command.poll() is None and self._selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                with suppress(BlockingIOError):
                    if not os.read(key.fd, _CHUNK):
                        self._selector.unregister(key.fd)
        self._command.wait(deadline - time.monotonic())

    def _kill(self) -> None:
        """End it and its children: by its supervisor; if that cannot, again and again until they are gone.

        Two blows have to find nobody: a child that is just becoming another program shows no environment.
        """
        if self._command.end():
            return
        deadline = time.monotonic() + _MAX_KILL_SECONDS
        misses = 0
        while misses < 2 and time.monotonic() < deadline:
            misses = 0 if self._kill_marked() else misses + 1
            if misses < 2:
                time.sleep(_PAUSE)

    def _kill_marked(self) -> bool:
        """Kill its group, and whatever carries its mark; say whether anything does."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._command.pid, signal.SIGKILL)
        found = list(_find_marked(self._token.encode()))
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)


def _start_command(command: str, environment: dict[str, str]) -> SupervisedCommand:
    problem = find_obstacle(command)
    if problem is not None:
        raise ForfeitError(f"it cannot be started: {problem}")
    words = shlex.split(command)
    try:
        return SupervisedCommand(words, environment)
    except (OSError, ValueError) as trouble:
        raise ForfeitError(f"it cannot be started: {_explain_error(words[0], trouble)}") from None


def find_obstacle(command: str) -> str | None:
    """Say why a command cannot be started, as far as that can be seen without starting it."""
    if os.name != "posix":
        return "programs can play on Linux and macOS only"
    try:
        program = next(iter(shlex.split(command)), "")
    except ValueError:
        return f"a quotation is not closed in {format_text(command)}"
    if not program:
        return "the command is empty"
    if which(program) is not None:
        return None
    found = "/" in program and os.path.exists(program)
    return _explain_error(program, OSError(errno.EACCES if found else errno.ENOENT, "cannot be run"))


def _explain_error(program: str, trouble: Exception) -> str:
    """Say why a program cannot be started, and what would help."""
    name = format_path(program)
    if not isinstance(trouble, OSError):
        return "its command has a character that no command can have"
    if trouble.errno == errno.ENOENT:
        return _explain_missing(program)
    if trouble.errno == errno.ENOEXEC:
        return f"the first line of {name} does not say what runs it, as #!/usr/bin/env python3 does"
    if os.path.isdir(program):
        return f"{name} is a directory"
    if os.path.exists(program) and not os.access(program, os.X_OK):
        return f"{name} is not executable: chmod +x {format_path(shlex.quote(program))}"
    return f"{name}: {trouble.strerror}"


def _explain_missing(program: str) -> str:
    name = format_path(program)
    if "/" not in program:
        return f"there is no program {name}" + (f", but a file: ./{name}" if os.path.exists(program) else "")
    if os.path.exists(program):
        return f"the first line of {name} names a program that is not there"
    return f"there is no file {name}"


def _find_marked(token: bytes) -> Iterator[int]:
    """Find the processes that were started with a mark, all over the machine."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            if token in environment.read():
                yield int(pid)


def _quote_first_line(said: bytes) -> str:
    """Show the first line of what a program wrote, in quotes."""
    return format_value(decode_text(said.partition(b"\n")[0]))


def decode_text(said: bytes) -> str:
    """Read what a program wrote, without the space around it; bytes that are no text stay to be seen."""
    try:
        return said.decode("utf-8").strip()
    except UnicodeDecodeError:
        return said.decode("latin-1").strip()


def _format_signal(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


MARK_VARIABLE = "NUMBER_TOWER_BOT"


"""What a program and all that it starts have in their environment; one that runs others in turn adds to it."""


SUPERVISOR = Path(__file__).with_name("supervisor.py")


_MAX_SUPERVISOR_SECONDS = 60.0


"""Seconds that a supervisor may take to start a command, and to end it: far more than it needs."""


class SupervisedCommand:
    """A running command: its standard streams are pipes, and all that it starts ends with it.

    The supervisor passes our environment on, and has none of the bot's streams open while the command runs: so what
    the command sees is the same as without one.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self.pid = 0
        self._clean = self._is_disconnected = False
        self._received = b""
        request = _encode_request(words, environment)
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
            self.close()
            raise

    def poll(self) -> int | None:
        """Return how it has ended: its exit code, or minus a signal; None while it runs."""
        self._receive(0.0)
        return self.returncode

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, for so many seconds at most."""
        deadline = time.monotonic() + seconds
        while self.returncode is None and (left := deadline - time.monotonic()) > 0:
            self._receive(left)

    def check(self) -> int | None:
        """Return how it has ended, or None, as its supervisor sees it now: that may be busy with other things."""
        with suppress(OSError):
            self._connection.sendall(b"?")
            deadline = time.monotonic() + _MAX_SUPERVISOR_SECONDS
            while self.returncode is None and self._receive(max(0.0, deadline - time.monotonic())) not in {
                "running",
                "",
            }:
                pass
        return self.returncode

    def end(self) -> bool:
        """End it and all that it started; say whether nothing can be left."""
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
        return self._clean

    def close(self) -> None:
        """Close all that is open."""
        self._connection.close()
        for stream in self.streams:
            stream.close()

    # The conversation with the supervisor ------------------------------------------------------------------

    def _start(self, request: bytes) -> None:
        """Have the command started; an `OSError` says why it cannot be."""
        with suppress(ConnectionError):
            self._connection.sendall(request)
        word, _, number = self._receive(_MAX_SUPERVISOR_SECONDS).partition(" ")
        if word == "failed":
            raise OSError(int(number), os.strerror(int(number)))
        if word != "started":
            raise OSError(errno.EIO, "the process that is to watch over it does not start")
        self.pid = int(number)

    def _receive(self, seconds: float) -> str:
        """Take in the next line from the supervisor; return it, or nothing if there is none in time."""
        while b"\n" not in self._received:
            if self._is_disconnected or not select.select([self._connection], [], [], seconds)[0]:
                return ""
            try:
                said = self._connection.recv(1 << 12)
            except ConnectionError:
                said = b""
            self._received += said
            if not said:
                self._is_disconnected = True
                if self.pid and self.returncode is None:
                    self.returncode = self._supervisor.wait()
        line, _, self._received = self._received.partition(b"\n")
        word, _, number = line.decode("ascii").partition(" ")
        if word == "ended":
            self.returncode = int(number)
        elif word == "clean":
            self._clean = True
        return line.decode("ascii")


def _encode_request(words: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Return the request to run a command; a `ValueError` if that has a character that no command can have."""
    encoded = [os.fsencode(word) for word in words]
    if any(b"\0" in word for word in encoded):
        raise ValueError("embedded null byte")
    return pack_request(encoded, {os.fsencode(name): os.fsencode(value) for name, value in environment.items()})
