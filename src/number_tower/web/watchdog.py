"""Watch the event loop from a thread: measure its lag, log where it is stuck, and tell systemd that it turns."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from itertools import islice
from time import monotonic
from traceback import walk_stack
from typing import TYPE_CHECKING

from number_tower.web.logs import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

STUCK = 1.0
"""Seconds without a turn after which the event loop counts as stuck."""

INTERVAL = 0.5
"""Seconds between two beats of the event loop, and between two checks by the thread."""

WINDOW = 60
"""Seconds for which the worst lag is remembered."""

_MOST_FRAMES = 30

_log = logging.getLogger(__name__)


class Notifier:
    """Sends states to systemd, as sd_notify(3) does; without systemd it does nothing."""

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        self.watchdog_seconds = watchdog_seconds
        """How often systemd expects WATCHDOG=1; None if it does not."""
        self._address = f"\0{address[1:]}" if address and address.startswith("@") else address

    @classmethod
    def from_environment(cls) -> Notifier:
        """Read what systemd says, and remove it from the environment, so that child processes send nothing."""
        address = os.environ.pop("NOTIFY_SOCKET", None)
        microseconds = os.environ.pop("WATCHDOG_USEC", "")
        pid = os.environ.pop("WATCHDOG_PID", None)
        is_ours = microseconds.isdecimal() and int(microseconds) > 0 and pid in {None, str(os.getpid())}
        return cls(address or None, int(microseconds) / 1e6 if is_ours else None)

    def send(self, state: str) -> None:
        """Send a state such as READY=1. It never waits and never fails: the games go on without systemd."""
        if self._address is None:
            return
        with suppress(OSError, AttributeError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(0)
            sender.sendto(state.encode(), self._address)


class Watchdog:
    """Measures how late the event loop is.

    The loop beats every `interval` seconds. A thread checks that the beats come. It works also while the loop is stuck;
    only C code that holds the interpreter delays it, and then it reports as soon as that ends.
    """

    def __init__(
        self,
        notifier: Notifier | None = None,
        *,
        stuck: float = STUCK,
        interval: float = INTERVAL,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._notifier = notifier or Notifier()
        self._stuck = stuck
        self._interval = interval
        self._clock = clock
        self._due = clock() + interval
        self._seconds = [(float("-inf"), 0.0)] * WINDOW
        """The time and the worst lag of each of the last seconds; two threads read it, so its size is fixed."""
        self._is_stuck = False
        self._ended_after: float | None = None
        self._pinged_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._closed = threading.Event()
        self._loop_thread = threading.get_ident()

    def start(self) -> None:
        """Start watching the event loop of the calling thread."""
        self._loop_thread = threading.get_ident()
        self._due = self._clock()
        self.beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        if self._timer is not None:
            self._timer.cancel()

    @property
    def lag(self) -> float:
        """Seconds by which the event loop is late now."""
        return max(0.0, self._clock() - self._due)

    def worst_lag(self, seconds: float = WINDOW) -> float:
        """Return the longest lag within the last seconds, at most a minute."""
        since = self._clock() - seconds
        return max(self.lag, *(lag for at, lag in self._seconds if at >= since), 0.0)

    def beat(self) -> None:
        """Note that the event loop turns, and come again."""
        now = self._clock()
        late = max(0.0, now - self._due)
        place = int(now) % WINDOW
        at, worst = self._seconds[place]
        self._seconds[place] = (now, max(late, worst) if now - at < 2 else late)
        if late > self._stuck:
            self._ended_after = late
        self._due = now + self._interval
        if not self._closed.is_set():
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat)

    def check(self) -> None:
        """Log where the loop is stuck, once, and when it turns again; while it turns, tell systemd so."""
        lag = self.lag
        ended_after, self._ended_after = self._ended_after, None
        if ended_after is not None:
            self._is_stuck = False
            _log.warning("the event loop turns again", extra={"fields": {"seconds": round(ended_after, 2)}})
        if lag > self._stuck:
            if not self._is_stuck:
                self._is_stuck = True
                fields = {"seconds": round(lag, 2), "stack": self._describe_stack()}
                _log.warning("the event loop is stuck", extra={"fields": fields})
        else:
            self._ping()

    def _watch(self) -> None:
        while not self._closed.wait(self._interval):
            self.check()

    def _ping(self) -> None:
        """Send WATCHDOG=1, four times as often as systemd expects it."""
        expected = self._notifier.watchdog_seconds
        if expected is not None and self._clock() - self._pinged_at >= expected / 4:
            self._pinged_at = self._clock()
            self._notifier.send("WATCHDOG=1")

    def _describe_stack(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - a documented function
        return "" if frame is None else without_secrets(format_stack(frame))


def format_stack(frame: FrameType) -> str:
    """Return a stack in one line, the innermost call first; it names files and functions, and no values."""
    calls = [(call.f_code, line) for call, line in islice(walk_stack(frame), _MOST_FRAMES)]
    return " < ".join(f"{_shorten(code.co_filename)}:{line or '?'} {code.co_qualname}" for code, line in calls)


def _shorten(path: str) -> str:
    """Return the last three parts of a path, which tell one module from another."""
    return "/".join(path.replace("\\", "/").split("/")[-3:])
