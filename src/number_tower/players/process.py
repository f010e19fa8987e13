"""One run of a program that plays: it is asked by lines, and nothing that it does can hold us up.

Threads wait for its pipes, and the size of what is kept is limited. It has a session of its own, so that Ctrl-C at our
terminal does not reach it, and its whole process group is killed at the end.
"""

from __future__ import annotations

import errno
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from shutil import which
from threading import Thread

from number_tower.players import ForfeitError
from number_tower.text import format_path, format_text, format_value, pluralize

MAX_ANSWER_BYTES = 1 << 16
"""The longest line that a program may answer."""

GRACE = 0.5
"""Seconds that a program has to end by itself after its input was closed."""

_MAX_ERRORS = 4096
_POLL_SECONDS = 0.05
"""Seconds between checks whether the program is alive; a child process can keep its output open."""


class ProgramProcess:
    """One run of a command; all problems are raised as `ForfeitError`."""

    def __init__(self, command: str) -> None:
        self._process = _start_command(command)
        self._answer = b""
        self._errors = b""
        self._asking: Thread | None = None
        self._reading_errors = Thread(target=self._read_errors, daemon=True)
        self._reading_errors.start()

    def ask(
        self, question: str, seconds: float, waiting: Callable[[float], object] = lambda _: None
    ) -> str:
        """Write a question and return the line of the answer; `waiting` is called with the seconds so far."""
        started = time.monotonic()
        output = self._process.stdout
        if self._asking is not None and output and select.select([output], [], [], 0)[0]:
            if early := output.read(MAX_ANSWER_BYTES):
                raise ForfeitError(f"it wrote {_quote_first_line(early)} before it was asked")
            raise ForfeitError(self._describe_failure())
        self._asking = Thread(target=self._exchange, args=(question.encode("ascii"),), daemon=True)
        self._asking.start()
        waited = 0.0
        while self._asking.is_alive() and waited < seconds:
            waited = min(time.monotonic() - started, seconds)
            waiting(waited)
            self._asking.join(_POLL_SECONDS)
            if self._process.poll() is not None:
                self._asking.join(GRACE)
                break
        return self._check_answer(self._answer, seconds)

    def _check_answer(self, answer: bytes, seconds: float) -> str:
        """Return the one line of an answer, or say what is wrong with it."""
        first, end, more = answer.partition(b"\n")
        quoted = _quote_first_line(first)
        if more:
            second = _quote_first_line(more)
            raise ForfeitError(f"it answered with more than one line: {quoted}, then {second}")
        if end:
            return _decode(first)
        if len(answer) > MAX_ANSWER_BYTES:
            size = f"{MAX_ANSWER_BYTES // 1024} KiB"
            raise ForfeitError(f"it wrote {size} without an end of line: {quoted}")
        if self._process.poll() is None and self._asking and self._asking.is_alive():
            said = f"wrote {quoted} without an end of line" if answer else "gave no answer"
            raise ForfeitError(f"it {said} within {seconds:g} {pluralize('second', seconds)}")
        raise ForfeitError(self._describe_failure())

    def end(self, grace: float = GRACE) -> None:
        """Close its input, wait until it ends by itself within the grace time, and kill its process group."""
        try:
            if self._process.stdin and not (self._asking and self._asking.is_alive()):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        finally:
            # The group may be gone already; on macOS nobody may kill a group of zombies.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            for thread in (self._asking, self._reading_errors):
                if thread is not None:
                    thread.join(GRACE)
            self._process.__exit__(None, None, None)

    def _exchange(self, question: bytes) -> None:
        """Write a question, and read until the end of a line, of the output, or of what an answer may be."""
        process, self._answer = self._process, b""
        # It may have ended after an answer, or have been closed by `end`.
        with suppress(OSError, ValueError):
            while question and process.stdin:
                question = question[process.stdin.write(question) :]
        with suppress(OSError, ValueError):  # closed, since a child process held it open
            while b"\n" not in self._answer and len(self._answer) <= MAX_ANSWER_BYTES:
                data = process.stdout.read(MAX_ANSWER_BYTES) if process.stdout else b""
                if not data:
                    break
                self._answer += data

    def _read_errors(self) -> None:
        """Keep the end of its standard error."""
        with suppress(ValueError):  # closed, since a child process held it open
            while self._process.stderr and (data := self._process.stderr.read(_MAX_ERRORS)):
                self._errors = (self._errors + data)[-_MAX_ERRORS:]

    def _describe_failure(self) -> str:
        """Return how the program ended, or that it closed its output, with the last line of its standard error."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        code = self._process.returncode
        if code is None:
            told = "it closed its output instead of answering"
        else:
            how = f"exit code {code}"
            if code < 0:
                name = next((f", {known.name}" for known in signal.Signals if known == -code), "")
                how = f"signal {-code}{name}"
            told = f"it ended ({how}) instead of answering"
            self._reading_errors.join(GRACE)
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = [format_text(line.strip()) for line in lines if line.strip()][-1:]
        return ": ".join([told, *last])


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
