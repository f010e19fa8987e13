"""A program behind pipes: asked one line, it answers with one line in time, and nothing of it stays behind.

Nothing that it does can hold us up: every pipe is read and written only while it is ready, within the time for one
answer, and only so much is kept of what it says. It leads a session of its own, so that Ctrl-C at our terminal is not
meant for it, and a supervisor ends all that it started, even if we are killed. It carries a mark in its environment as
well, by which its processes are found should the supervisor itself be killed, wherever there is `/proc`.
"""

from __future__ import annotations

import errno
import os
import selectors
import shlex
import signal
import time
from contextlib import suppress
from shutil import which
from typing import TYPE_CHECKING

from number_tower.players.command import MARK, Command
from number_tower.players.player import Forfeit
from number_tower.showing import shown, shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_ANSWER = 1 << 16
"""Bytes that nobody needs for one number."""

GRACE = 0.5
"""Seconds that a program has to leave by itself once its input has ended."""

_CHUNK = 1 << 16
_KEPT_COMPLAINTS = 4096
_LOOK = 0.05  # seconds between looks whether it is alive: a child of it can hold its output open
_PAUSE = 0.002
_MOST_SECONDS_TO_KILL = 2.0


class Process:
    """One run of a command; whatever is wrong with it is a `Forfeit`."""

    def __init__(self, command: str) -> None:
        self._token = os.urandom(16).hex()
        self._command = _started(command, {**os.environ, MARK: f"{os.environ.get(MARK, '')}:{self._token}"})
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in self._command.streams)
        for stream in self._command.streams:
            os.set_blocking(stream.fileno(), False)
        self._unsent = memoryview(b"")
        self._heard = b""
        self._complaints = b""
        self._asked = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._hear)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._note)

    def ask(self, question: bytes, seconds: float, waiting: Callable[[float], object] = lambda _: None) -> bytes:
        """Write a question and return the line that answers it, without its end; `waiting` is told how long."""
        deadline = time.monotonic() + seconds
        if self._asked and self._hear():
            raise Forfeit(f"it wrote {_quoted(self._heard)} before it was asked")
        self._asked = True
        self._unsent = memoryview(question)
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._tell)
        while b"\n" not in self._heard:
            left = max(0.0, deadline - time.monotonic())
            waiting(seconds - left)
            for key, _ in self._selector.select(min(left, _LOOK)):
                key.data()
            if self._command.poll() is not None:
                self._hear_last_words()
            elif not left and b"\n" not in self._heard:
                raise Forfeit(self._silence(seconds))
        if self._unsent:
            raise Forfeit(f"it wrote {_quoted(self._heard)} before it had read the question")
        answer, _, more = self._heard.partition(b"\n")
        if more:
            raise Forfeit(f"it answered with more than one line: {_quoted(answer)}, then {_quoted(more)}")
        self._heard = b""
        return answer

    def end(self, grace: float = GRACE) -> None:
        """End its input, let it leave by itself while the grace lasts, and end all that is left of it."""
        try:
            self._let_it_leave(grace)
        finally:
            self._kill()
            self._selector.close()
            self._command.close()

    # What a pipe that is ready asks for ----------------------------------------------------------------------

    def _tell(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise Forfeit(self._failure("it closed its input before it had read the question")) from None
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _hear(self) -> bool:
        """Take in what it says, and say whether there was anything."""
        try:
            said = os.read(self._stdout, LONGEST_ANSWER + 1 - len(self._heard))
        except BlockingIOError:
            return False
        if not said:
            raise Forfeit(self._failure("it closed its output instead of answering"))
        self._heard += said
        if len(self._heard) > LONGEST_ANSWER and b"\n" not in self._heard:
            raise Forfeit(f"it wrote {LONGEST_ANSWER // 1024} KiB without an end of line: {_quoted(self._heard)}")
        return True

    def _note(self) -> bool:
        """Keep the last of its complaints, and say whether there can be more."""
        try:
            said = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not said:
            with suppress(KeyError):
                self._selector.unregister(self._stderr)
        self._complaints = (self._complaints + said)[-_KEPT_COMPLAINTS:]
        return bool(said)

    # What went wrong -----------------------------------------------------------------------------------------

    def _hear_last_words(self) -> None:
        """Read on after its death: its answer may be there, but the end of its output need not ever come."""
        while b"\n" not in self._heard:
            if not self._hear():
                raise Forfeit(self._failure(""))

    def _silence(self, seconds: float) -> str:
        time_given = f"within {seconds:g} second{'' if seconds == 1 else 's'}"
        if self._heard:
            return f"it wrote {_quoted(self._heard)} without an end of line {time_given}"
        return f"it gave no answer {time_given}"

    def _failure(self, otherwise: str) -> str:
        """Say how it ended and what it complained of last; or something else, if it goes on."""
        self._command.wait(GRACE)
        code = self._command.check()
        for _ in range(64):  # a child can complain for ever
            if not self._note():
                break
        lines = self._complaints.decode("utf-8", "replace").split("\n")
        last = next((f": {shown_text(line.strip())}" for line in reversed(lines) if line.strip()), "")
        if code is None:
            return f"{otherwise}{last}"
        how = f"exit code {code}" if code >= 0 else _signal(-code)
        return f"it ended ({how}) instead of answering{last}"

    # The end -------------------------------------------------------------------------------------------------

    def _let_it_leave(self, grace: float) -> None:
        """Close its input and wait for it to end; what it still says is read, so that it can end, and forgotten."""
        with suppress(KeyError):
            self._selector.unregister(self._stdin)
        self._command.streams[0].close()
        deadline = time.monotonic() + grace
        while self._command.poll() is None and self._selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(min(left, _LOOK)):
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
        deadline = time.monotonic() + _MOST_SECONDS_TO_KILL
        misses = 0
        while misses < 2 and time.monotonic() < deadline:
            misses = 0 if self._strike() else misses + 1
            if misses < 2:
                time.sleep(_PAUSE)

    def _strike(self) -> bool:
        """Kill its group, and whatever carries its mark; say whether anything does."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._command.pid, signal.SIGKILL)
        found = list(_marked(self._token.encode()))
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)


def _started(command: str, environment: dict[str, str]) -> Command:
    problem = obstacle(command)
    if problem is not None:
        raise Forfeit(f"it cannot be started: {problem}")
    words = shlex.split(command)
    try:
        return Command(words, environment)
    except (OSError, ValueError) as trouble:
        raise Forfeit(f"it cannot be started: {_obstacle(words[0], trouble)}") from None


def obstacle(command: str) -> str | None:
    """Say why a command cannot be started, as far as that can be seen without starting it."""
    if os.name != "posix":
        return "programs can play on Linux and macOS only"
    try:
        program = next(iter(shlex.split(command)), "")
    except ValueError:
        return f"a quotation is not closed in {shown_text(command)}"
    if not program:
        return "the command is empty"
    if which(program) is not None:
        return None
    found = "/" in program and os.path.exists(program)
    return _obstacle(program, OSError(errno.EACCES if found else errno.ENOENT, "cannot be run"))


def _obstacle(program: str, trouble: Exception) -> str:
    """Say why a program cannot be started, and what would help."""
    name = shown_path(program)
    if not isinstance(trouble, OSError):
        return "its command has a character that no command can have"
    if trouble.errno == errno.ENOENT:
        return _missing(program)
    if trouble.errno == errno.ENOEXEC:
        return f"the first line of {name} does not say what runs it, as #!/usr/bin/env python3 does"
    if os.path.isdir(program):
        return f"{name} is a directory"
    if os.path.exists(program) and not os.access(program, os.X_OK):
        return f"{name} is not executable: chmod +x {shown_path(shlex.quote(program))}"
    return f"{name}: {trouble.strerror}"


def _missing(program: str) -> str:
    name = shown_path(program)
    if "/" not in program:
        return f"there is no program {name}" + (f", but a file: ./{name}" if os.path.exists(program) else "")
    if os.path.exists(program):
        return f"the first line of {name} names a program that is not there"
    return f"there is no file {name}"


def _marked(token: bytes) -> Iterator[int]:
    """Find the processes that were started with a mark, all over the machine."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            if token in environment.read():
                yield int(pid)


def _quoted(said: bytes) -> str:
    """Show the first line of what a program wrote, in quotes."""
    return shown(text(said.partition(b"\n")[0]))


def text(said: bytes) -> str:
    """Read what a program wrote, without the space around it; bytes that are no text stay to be seen."""
    try:
        return said.decode("utf-8").strip()
    except UnicodeDecodeError:
        return said.decode("latin-1").strip()


def _signal(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
