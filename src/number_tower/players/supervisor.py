"""Run one command, and end every process that it started: on request, and when the requesting process has ended.

This file is run as a script, by a bare Python that does not load this package, so that it starts quickly. On Linux it
adopts all orphans among its descendants (`PR_SET_CHILD_SUBREAPER`), so that even a process that cleared its
environment, made a session of its own or became a daemon is found. Elsewhere only the command's own process group is
ended.

The first argument is the file descriptor of a connection to the requesting process. That process sends the
words of the command and its environment, as bytes in the format of `marshal`, and receives lines of text:

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
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = (
    False  # `typing`, `signal` and `contextlib` would take as long to load as Python itself
)
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Iterator
else:
    import _signal as signal

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <linux/prctl.h>."""

_MAX_KILL_SECONDS = 5.0
_PAUSE = 0.002
_HANDLED = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the supervisor, the command and its descendants."""


def main(connection: int) -> None:
    """Run one command until the connection is closed, then kill its remaining processes."""
    os.set_inheritable(connection, False)  # noqa: FBT003 - it takes no keyword
    adopts = sys.platform == "linux" and ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    handled = [
        number
        for name in _HANDLED
        if signal.getsignal(number := getattr(signal, name)) != signal.SIG_IGN
    ]
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    pid = 0
    try:
        request = _receive_request(connection)
        if request is None:
            return
        pid = _start(*request, connection)
        os.closerange(0, 3)  # so that the command's streams end when the command closes them
        if pid:
            _wait(connection, pid, woken)
    except KeyboardInterrupt:
        pass
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_IGN)
        if _kill_all(pid, connection) and (adopts or sys.platform != "linux"):
            _send(connection, b"clean\n")


# The conversation ------------------------------------------------------------------------------------------------


def _receive_request(connection: int) -> tuple[list[bytes], dict[bytes, bytes]] | None:
    """Return the words and the environment of a request; None if the connection ends before."""
    try:
        with open(connection, "rb", closefd=False) as stream:
            words, environment = marshal.load(stream)  # noqa: S302 - the requesting process is our own
    except (ConnectionError, EOFError):
        return None
    return words, environment


def _is_open(connection: int) -> bool:
    """Discard what was received; return whether the connection has neither ended nor been reset."""
    try:
        return bool(os.read(connection, 1 << 12))
    except ConnectionError:
        return False


def _send(connection: int, line: bytes) -> None:
    """Send a line; ignore a closed connection."""
    attempt(os.write, connection, line)


def attempt(call: Callable[..., object], *arguments: object) -> None:
    """Call a function of the system and ignore its errors: a process or connection may be gone."""
    try:  # noqa: SIM105 - without `contextlib`
        call(*arguments)
    except OSError:
        pass


# The command -----------------------------------------------------------------------------------------------------


def _start(words: list[bytes], environment: dict[bytes, bytes], connection: int) -> int:
    """Start the command and report it; return its process id, or 0 if it cannot be run."""
    ignored_by_python = signal.SIGPIPE, signal.SIGXFSZ
    try:
        pid = os.posix_spawnp(
            words[0], words, environment, setsid=True, setsigdef=ignored_by_python
        )
    except OSError as error:
        _send(connection, b"failed %d\n" % (error.errno or 0))
        return 0
    _send(connection, b"started %d\n" % pid)
    return pid


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
            attempt(os.killpg, pid, signal.SIGKILL)
        stopped: set[int] = set()
        while (new := set(_find_descendants()) - stopped) and time.monotonic() < deadline:
            signal_each(new, signal.SIGSTOP)
            stopped |= new
        signal_each(stopped, signal.SIGKILL)
        time.sleep(_PAUSE)
    return True


def signal_each(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes, some of which may be gone."""
    for pid in pids:
        attempt(os.kill, pid, number)


def _find_descendants() -> Iterator[int]:
    """Yield all descendants of this process, where there is `/proc`."""
    below: dict[int, list[int]] = {}
    for pid in list_processes():
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


def list_processes() -> list[int]:
    """Return all processes; none where there is no `/proc`."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # there is nothing to clean up
