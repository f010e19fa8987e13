"""Run one command, and end every process that it started: on request, and when the requesting process has ended.

This file is run as a script, by a bare Python that does not load this package, so that it starts quickly. On Linux it
adopts all orphans among its descendants (`PR_SET_CHILD_SUBREAPER`), so that even a process that cleared its
environment, made a session of its own or became a daemon is found. Elsewhere only the command's own process group is
ended.

The first argument is the file descriptor of a connection to the requesting process. That process sends a request (see
`pack_request`) and receives lines of text:

    started PID      the command runs, in a session of its own, with our standard streams
    failed ERRNO     it cannot be run
    ended STATUS     it has ended, with this exit code, or minus this signal
    running          it has not ended yet: the answer to any further byte
    clean            every descendant is gone

As soon as the connection is closed for writing, all descendants are killed. The kernel closes it when the other
process ends, even if that is killed.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

TYPE_CHECKING = False  # `typing`, `signal` and `contextlib` would take as long to load as Python itself
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn
else:
    import _signal as signal

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <linux/prctl.h>."""

_LENGTH = 8
_MAX_KILL_SECONDS = 5.0
_PAUSE = 0.002
_HANDLED = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the supervisor, the command and its descendants."""

_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")
"""Signals that Python ignores; they are reset for the command."""


class _EndError(Exception):
    """A signal asked us to end."""


def pack_request(words: Sequence[bytes], environment: Mapping[bytes, bytes]) -> bytes:
    """Return the request to run a command: its length, the number of words, the words, and the environment."""
    variables = (b"%b=%b" % variable for variable in environment.items())
    body = b"\0".join([b"%d" % len(words), *words, *variables])
    return len(body).to_bytes(_LENGTH, "big") + body


def unpack_request(body: bytes) -> tuple[list[bytes], dict[bytes, bytes]]:
    """Return the words and the environment of a request without its length."""
    count, *parts = body.split(b"\0")
    words, variables = parts[: int(count)], parts[int(count) :]
    return words, dict(variable.split(b"=", 1) for variable in variables)


def main(connection: int) -> None:
    """Run one command until the connection is closed, then kill its remaining processes."""
    os.set_inheritable(connection, False)  # noqa: FBT003 - it takes no keyword
    adopts = _adopt_orphans()
    handled = [number for name in _HANDLED if signal.getsignal(number := getattr(signal, name)) != signal.SIG_IGN]
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in handled:
        signal.signal(number, _raise_end)
    pid = 0
    try:
        request = _receive_request(connection)
        if request is None:
            return
        pid = _start(*request, connection)
        _release_streams()
        if pid:
            _wait(connection, pid, woken)
    except _EndError:
        pass
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_IGN)
        if _kill_all(pid, connection) and (adopts or sys.platform != "linux"):
            _send(connection, b"clean\n")


def _raise_end(*_: object) -> NoReturn:
    raise _EndError


def _adopt_orphans() -> bool:
    """Become the parent of all orphaned descendants; return whether the system supports it."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


# The conversation ------------------------------------------------------------------------------------------------


def _receive_request(connection: int) -> tuple[list[bytes], dict[bytes, bytes]] | None:
    """Return the words and the environment of a request; None if the connection ends before."""
    try:
        with open(connection, "rb", closefd=False) as stream:
            size = int.from_bytes(stream.read(_LENGTH), "big")
            body = stream.read(size)
    except ConnectionError:
        return None
    return unpack_request(body) if size and len(body) == size else None


def _is_open(connection: int) -> bool:
    """Discard what was received; return whether the connection has neither ended nor been reset."""
    try:
        return bool(os.read(connection, 1 << 12))
    except ConnectionError:
        return False


def _send(connection: int, line: bytes) -> None:
    """Send a line; ignore a closed connection."""
    _attempt(os.write, connection, line)


def _attempt(call: Callable[..., object], *arguments: object) -> None:
    """Call a function of the system and ignore its errors: a process or connection may be gone."""
    try:  # noqa: SIM105 - without `contextlib`
        call(*arguments)
    except OSError:
        pass


# The command -----------------------------------------------------------------------------------------------------


def _start(words: list[bytes], environment: dict[bytes, bytes], connection: int) -> int:
    """Start the command and report it; return its process id, or 0 if it cannot be run."""
    failed, fails = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        _send(connection, b"failed %d\n" % (error.errno or 0))
        return 0
    if pid == 0:
        _exec_command(words, environment, fails)
    os.close(fails)
    problem = os.read(failed, 16)
    os.close(failed)
    if problem:
        os.waitpid(pid, 0)
    _send(connection, b"failed %b\n" % problem if problem else b"started %d\n" % pid)
    return 0 if problem else pid


def _exec_command(words: list[bytes], environment: dict[bytes, bytes], fails: int) -> NoReturn:
    """In the new process: execute the command, or report why it cannot be executed."""
    problem = 0
    try:
        signal.set_wakeup_fd(-1)
        for name in _IGNORED_BY_PYTHON:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.setsid()
        os.execvpe(words[0], words, environment)  # noqa: S606 - to run what the player names is what is asked for
    except OSError as error:
        problem = error.errno or 0
    finally:
        os.write(fails, b"%d" % problem)
        os._exit(127)


def _release_streams() -> None:
    """Close our copies of the command's streams, so that they end when the command closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)


def _wait(connection: int, pid: int, woken: int) -> None:
    """Report the end of the command, and wait until the connection is closed."""
    events = select.poll()
    events.register(connection, select.POLLIN)
    events.register(woken, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in events.poll()]
        if woken in ready:
            os.read(woken, 1 << 12)
            _reap(pid, connection)
        if connection in ready:
            if not _is_open(connection):
                return
            _reap(pid, connection)
            _send(connection, b"running\n")


def _reap(pid: int, connection: int) -> bool:
    """Reap all children that have ended; return whether any are left."""
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if ended == 0:
            return True
        if ended == pid:
            _send(connection, b"ended %d\n" % os.waitstatus_to_exitcode(status))


# The end ---------------------------------------------------------------------------------------------------------


def _kill_all(pid: int, connection: int) -> bool:
    """Kill the command and all its descendants until none is left; return whether none is.

    All are stopped before any is killed: a process that is stopped cannot start others meanwhile.
    """
    deadline = time.monotonic() + _MAX_KILL_SECONDS
    while _reap(pid, connection):
        if time.monotonic() > deadline:
            return False
        if pid:
            _attempt(os.killpg, pid, signal.SIGKILL)
        stopped: set[int] = set()
        while (new := set(_find_descendants()) - stopped) and time.monotonic() < deadline:
            _signal_each(new, signal.SIGSTOP)
            stopped |= new
        _signal_each(stopped, signal.SIGKILL)
        time.sleep(_PAUSE)
    return True


def _signal_each(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        _attempt(os.kill, pid, number)


def _find_descendants() -> Iterator[int]:
    """Yield all descendants of this process, where there is `/proc`."""
    below: dict[int, list[int]] = {}
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                parent = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        below.setdefault(parent, []).append(pid)
    waiting = below.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += below.get(pid, [])


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # there is nothing to clean up
