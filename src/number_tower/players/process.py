"""One run of a program that plays: it is asked by lines, and cannot block us whatever it does.

Threads read and write its pipes, and what they keep is limited in size. The program has a session
of its own, so Ctrl-C at our terminal does not reach it. Its process group is killed at the end.
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
from threading import Lock, Thread

from number_tower.players import ForfeitError
from number_tower.support.text import format_path, format_text, format_value, pluralize

MAX_ANSWER_BYTES = 1 << 16
"""The longest line that a program may answer."""

GRACE = 0.5
"""Seconds that a program has to end by itself after its input was closed."""

_MAX_ERRORS = 4096
_POLL_SECONDS = 0.05
"""Seconds between checks whether the program is alive; a child process can keep its output open."""


class ProgramProcess:
    """One run of a command, started by its first question; all problems are `ForfeitError`s."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._problem = ""
        """Why the command cannot be started."""
        self._ended = False
        self._starting = Lock()
        self._answer = b""
        self._errors = b""
        self._asking: Thread | None = None
        self._reading_errors: Thread | None = None

    def ask(
        self, question: str, seconds: float, waiting: Callable[[float], object] = lambda _: None
    ) -> str:
        """Write a question and return the line of the answer; `waiting` gets the seconds so far."""
        started = time.monotonic()
        if self._process is None:
            # Signal handlers raise in the main thread only. So this thread always gets to note the
            # process that it has started, and `end` finds it.
            starter = Thread(target=self._start)
            starter.start()
            starter.join()
        process = self._process
        if process is None:
            raise ForfeitError(f"it cannot be started: {self._problem}")
        output = process.stdout
        if self._asking is not None and output and select.select([output], [], [], 0)[0]:
            if early := output.read(MAX_ANSWER_BYTES):
                raise ForfeitError(f"it wrote {_quote_first_line(early)} before it was asked")
            raise ForfeitError(self._describe_failure(process))
        encoded = question.encode("ascii")
        self._asking = Thread(target=self._exchange, args=(process, encoded), daemon=True)
        self._asking.start()
        waited = 0.0
        while self._asking.is_alive() and waited < seconds:
            waited = min(time.monotonic() - started, seconds)
            waiting(waited)
            self._asking.join(_POLL_SECONDS)
            if process.poll() is not None:
                self._asking.join(GRACE)
                break
        return self._check_answer(process, self._answer, seconds)

    def _start(self) -> None:
        """Start the command, unless it was ended before; or note why it cannot be started."""
        self._problem = find_obstacle(self._command) or ""
        if self._problem:
            return
        words, pipe = shlex.split(self._command), subprocess.PIPE
        with self._starting:
            if self._ended:
                return
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the user names the command
                    words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
                )
            except (OSError, ValueError) as error:
                self._problem = _explain_error(words[0], error)
                return
        self._reading_errors = Thread(target=self._read_errors, args=(self._process,), daemon=True)
        self._reading_errors.start()

    def _check_answer(self, process: subprocess.Popen[bytes], answer: bytes, seconds: float) -> str:
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
        if process.poll() is None and self._asking and self._asking.is_alive():
            said = f"wrote {quoted} without an end of line" if answer else "gave no answer"
            raise ForfeitError(f"it {said} within {seconds:g} {pluralize('second', seconds)}")
        raise ForfeitError(self._describe_failure(process))

    def end(self, grace: float = GRACE) -> None:
        """Close its input, wait `grace` seconds for it to end, and kill its process group."""
        # If it is being started right now, wait for that.
        with self._starting:
            self._ended = True
        process = self._process
        if process is None:
            return
        try:
            if process.stdin and not (self._asking and self._asking.is_alive()):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace)
        finally:
            # The group may be gone already; on macOS nobody may kill a group of zombies.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            for thread in (self._asking, self._reading_errors):
                if thread is not None:
                    thread.join(GRACE)
            process.__exit__(None, None, None)

    def _exchange(self, process: subprocess.Popen[bytes], question: bytes) -> None:
        """Write a question, and read a line, or until the output ends or is too long."""
        self._answer = b""
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

    def _read_errors(self, process: subprocess.Popen[bytes]) -> None:
        """Keep the end of its standard error."""
        with suppress(ValueError):  # closed, since a child process held it open
            while process.stderr and (data := process.stderr.read(_MAX_ERRORS)):
                self._errors = (self._errors + data)[-_MAX_ERRORS:]

    def _describe_failure(self, process: subprocess.Popen[bytes]) -> str:
        """Return how the program failed, with the last line of its standard error."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        code = process.returncode
        if code is None:
            told = "it closed its output instead of answering"
        else:
            how = f"exit code {code}"
            if code < 0:
                names = {number.value: f", {number.name}" for number in signal.Signals}
                how = f"signal {-code}{names.get(-code, '')}"
            told = f"it ended ({how}) instead of answering"
            if self._reading_errors is not None:
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
    code = errno.EACCES if exists else errno.ENOENT
    return _explain_error(program, OSError(code, "cannot be run"))


def _explain_error(program: str, error: Exception) -> str:
    """Return why a program cannot be started, and what would help."""
    name = format_path(program)
    if not isinstance(error, OSError):
        return "its command has a character that no command can have"
    if error.errno == errno.ENOENT:
        exists = os.path.exists(program)
        if "/" not in program:
            return f"there is no program {name}" + (f", but a file: ./{name}" if exists else "")
        if exists:
            return f"the first line of {name} names a program that does not exist"
        return f"there is no file {name}"
    if error.errno == errno.ENOEXEC:
        example = "#!/usr/bin/env python3"
        return f"the first line of {name} must say which program runs it, such as {example}"
    if os.path.isdir(program):
        return f"{name} is a directory"
    if os.path.exists(program) and not os.access(program, os.X_OK):
        return f"{name} is not executable: chmod +x {format_path(shlex.quote(program))}"
    return f"{name}: {error.strerror}"
