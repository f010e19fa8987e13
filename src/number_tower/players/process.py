"""One run of a program that plays: it is asked by lines, and nothing that it does can hold us up.

Its pipes are read and written only when they are ready, and the size of what is kept is limited. It has a session of
its own, so that Ctrl-C at our terminal does not reach it, and its whole process group is killed at the end.
"""

from __future__ import annotations

import errno
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from shutil import which

from number_tower.players import ForfeitError
from number_tower.text import format_path, format_text, format_value, pluralize

MAX_ANSWER_BYTES = 1 << 16
"""The longest line that a program may answer."""

GRACE = 0.5
"""Seconds that a program has to end by itself after its input was closed."""

_CHUNK = 1 << 16
_MAX_ERRORS = 4096
_POLL_SECONDS = 0.05
"""Seconds between checks whether the program is alive; a child process can keep its output open."""


class ProgramProcess:
    """One run of a command; all problems are raised as `ForfeitError`."""

    def __init__(self, command: str) -> None:
        self._process = _start_command(command)
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._unsent = memoryview(b"")
        self._output = b""
        self._errors = b""
        self._was_asked = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_output)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_errors)

    def ask(
        self, question: str, seconds: float, waiting: Callable[[float], object] = lambda _: None
    ) -> str:
        """Write a question and return the line of the answer; `waiting` is called with the seconds so far."""
        deadline = time.monotonic() + seconds
        if self._was_asked and self._read_output():
            raise ForfeitError(f"it wrote {_quote_first_line(self._output)} before it was asked")
        self._was_asked = True
        self._unsent = memoryview(question.encode("ascii"))
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write_input)
        while b"\n" not in self._output:
            left = max(0.0, deadline - time.monotonic())
            waiting(seconds - left)
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                key.data()
            if self._process.poll() is not None:
                self._read_rest()
            elif not left and b"\n" not in self._output:
                said = "gave no answer"
                if self._output:
                    said = f"wrote {_quote_first_line(self._output)} without an end of line"
                raise ForfeitError(f"it {said} within {seconds:g} {pluralize('second', seconds)}")
        if self._unsent:
            raise ForfeitError(
                f"it wrote {_quote_first_line(self._output)} before it had read the question"
            )
        answer, _, more = self._output.partition(b"\n")
        if more:
            first, second = _quote_first_line(answer), _quote_first_line(more)
            raise ForfeitError(f"it answered with more than one line: {first}, then {second}")
        self._output = b""
        return _decode(answer)

    def end(self, grace: float = GRACE) -> None:
        """Close its input, wait until it ends by itself within the grace time, and kill its process group."""
        try:
            self._wait_for_exit(grace)
        finally:
            # The group may be gone already; on macOS nobody may kill a group of zombies.
            with self._process, self._selector, suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _write_input(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise ForfeitError(
                self._describe_failure("it closed its input before it had read the question")
            ) from None
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read_output(self) -> bool:
        """Read from its output, and return whether there was anything."""
        try:
            data = os.read(self._stdout, MAX_ANSWER_BYTES + 1 - len(self._output))
        except BlockingIOError:
            return False
        if not data:
            raise ForfeitError(self._describe_failure("it closed its output instead of answering"))
        self._output += data
        if len(self._output) > MAX_ANSWER_BYTES and b"\n" not in self._output:
            size = f"{MAX_ANSWER_BYTES // 1024} KiB"
            raise ForfeitError(
                f"it wrote {size} without an end of line: {_quote_first_line(self._output)}"
            )
        return True

    def _read_errors(self) -> bool:
        """Keep the end of its standard error, and return whether there can be more."""
        try:
            data = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            with suppress(KeyError):
                self._selector.unregister(self._stderr)
        self._errors = (self._errors + data)[-_MAX_ERRORS:]
        return bool(data)

    def _read_rest(self) -> None:
        """Read what a program that has ended left: its answer may be there, but its output may never be closed."""
        while b"\n" not in self._output:
            if not self._read_output():
                raise ForfeitError(self._describe_failure(""))

    def _describe_failure(self, otherwise: str) -> str:
        """Return how the program ended, or `otherwise` if it runs, with the last line of its standard error."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        code = self._process.returncode
        for _ in range(64):  # a child process may write for ever
            if not self._read_errors():
                break
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next(
            (f": {format_text(line.strip())}" for line in reversed(lines) if line.strip()), ""
        )
        if code is None:
            return f"{otherwise}{last}"
        if code >= 0:
            how = f"exit code {code}"
        else:
            name = next((f", {known.name}" for known in signal.Signals if known == -code), "")
            how = f"signal {-code}{name}"
        return f"it ended ({how}) instead of answering{last}"

    def _wait_for_exit(self, grace: float) -> None:
        """Close its input and wait; output is read and discarded, so that the program is not blocked by it."""
        with suppress(KeyError):
            self._selector.unregister(self._stdin)
        if self._process.stdin:
            self._process.stdin.close()
        deadline = time.monotonic() + grace
        while self._process.poll() is None and self._selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                with suppress(BlockingIOError):
                    if not os.read(key.fd, _CHUNK):
                        self._selector.unregister(key.fd)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))


def _quote_first_line(data: bytes) -> str:
    return format_value(_decode(data.partition(b"\n")[0]))


def _decode(data: bytes) -> str:
    """Decode what a program wrote and strip it; bytes that are not UTF-8 stay visible."""
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError:
        return data.decode("latin-1").strip()


def _start_command(command: str) -> subprocess.Popen[bytes]:
    problem = find_obstacle(command)
    if problem is None:
        words = shlex.split(command)
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(  # noqa: S603 - the user names the command
                words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError) as error:
            problem = _explain_error(words[0], error)
    raise ForfeitError(f"it cannot be started: {problem}")


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
