"""Health checks for monitors, and a watchdog of the event loop for the log and systemd.

`/health/live` says whether the process answers, `/health/ready` and `/health` whether it can serve games.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from traceback import walk_stack

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from number_tower import __version__
from number_tower.store.database import Writer, probe_write
from number_tower.store.engine import PUBLIC_REASONS
from number_tower.web.middleware.access_log import remove_secrets

WRITE_TIMEOUT = 3.0
"""Seconds after which a database that has not answered is failing."""

WRITE_MAX_AGE = 5.0
"""Seconds for which a successful write shows that the database takes writes."""

WRITE_RETRY = 1.0
"""Seconds between two attempts to write to a database that fails."""

MAX_LAG = 5.0
"""Seconds of event-loop lag from which on the server is not ready."""

LAG_WINDOW = 15.0
"""Seconds for which such a lag counts."""

STUCK_AFTER = 1.0
"""Seconds without a turn after which the event loop counts as stuck."""

BEAT_INTERVAL = 0.5
"""Seconds between two beats of the event loop, and between two checks by the watchdog."""

LAG_HISTORY = 60
"""Seconds for which the worst lag is known."""

_MAX_FRAMES = 30
_NO_NEWS = "the server does not receive moves from other servers"

_log = logging.getLogger(__name__)

router = APIRouter()


class WriteCheck:
    """Checks whether the database takes writes.

    The server's own writes count. If there was none lately, or the last one failed, a small one is made through the
    same writer. There is never more than one at a time, however many clients ask.
    """

    def __init__(
        self, writer: Writer, timeout: float = WRITE_TIMEOUT, clock: Callable[[], float] = monotonic
    ) -> None:
        self._writer = writer
        self._timeout = timeout
        self._clock = clock
        self._probe: asyncio.Task[str | None] | None = None
        self._began = float("-inf")
        self._logged: str | None = None

    async def find_problem(self) -> str | None:
        """Return what is wrong in one sentence; None if nothing is. It takes `timeout` seconds at most."""
        probe = self._probe
        if probe is None or probe.done():
            writer, now = self._writer, self._clock()
            if writer.succeeded_at > max(writer.failed_at, now - WRITE_MAX_AGE):
                self._log_change(None)
                return None
            if probe is None or now - self._began >= WRITE_RETRY:
                self._began = now
                self._probe = probe = asyncio.create_task(self._write())
        await asyncio.wait([probe], timeout=max(0.0, self._began + self._timeout - self._clock()))
        if probe.done():
            return probe.result()
        return f"the database has not answered for {self._clock() - self._began:.0f} seconds"

    async def _write(self) -> str | None:
        try:
            await asyncio.wrap_future(self._writer.submit(probe_write))
        except Exception as error:  # noqa: BLE001 - whatever it is, the database does not take writes
            self._log_change(str(error) or type(error).__name__)
            return describe_publicly(error)
        self._log_change(None)
        return None

    def _log_change(self, problem: str | None) -> None:
        """Log a problem once, with all details, and its end."""
        if problem != self._logged:
            self._logged = problem
            _log.warning(
                "the database %s",
                f"does not take writes: {problem}" if problem else "takes writes again",
            )


def describe_publicly(error: Exception) -> str:
    """Return what is wrong with a database without naming a path, an address or a user."""
    reason = str(error).rpartition("cannot be used: ")[2]
    for known in PUBLIC_REASONS:
        if reason == known or reason.startswith(f"{known} ("):
            return f"the database cannot be used: {known}"
    return "the database cannot be used; the log of the server says why"


@router.get("/health/live", include_in_schema=False)
async def report_live() -> Response:
    """Say that the process and its event loop answer. This is the cheapest answer there is."""
    return Response(b'{"status":"ok"}', media_type="application/json")


@router.get("/health/ready", include_in_schema=False)
async def report_ready(request: Request) -> JSONResponse:
    """Say whether the server should be sent requests, and which part does not work.

    A database that is full stops new games only, so the server is ready all the same. A server that drains makes no
    more writes.
    """
    state = request.app.state
    is_draining = getattr(state, "draining", False)
    lag = state.watchdog.worst_lag(LAG_WINDOW)
    is_full = state.lobby.quota.full
    problems = {
        "draining": "the server is stopping" if is_draining else None,
        **({} if is_draining else {"write": await state.writes.find_problem()}),
        "event_loop": f"the event loop was stuck for {lag:.0f} seconds" if lag >= MAX_LAG else None,
        "news": None if state.listener.is_connected else _NO_NEWS,
        "rooms": None if state.lobby.unsynced_for is None else "games may be out of date",
        "quota": "the database has reached its size limit; no new games can be started"
        if is_full
        else None,
    }
    is_ready = not any(problem for part, problem in problems.items() if part != "quota")
    content = {
        "status": "ready" if is_ready else "not ready",
        "checks": {part: problem or "ok" for part, problem in problems.items()},
    }
    return JSONResponse(content, 200 if is_ready else 503)


@router.get("/health", include_in_schema=False)
async def report_health(request: Request) -> JSONResponse:
    """Say whether games can be saved, and if not, why."""
    state = request.app.state
    problem = await state.writes.find_problem()
    content = {
        "status": "ok" if problem is None else "failing",
        "version": __version__,
        "database": problem or "ok",
        "thinkers": state.settings.workers,
    }
    return JSONResponse(content, 200 if problem is None else 503)


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
        is_ours = (
            microseconds.isdecimal() and int(microseconds) > 0 and pid in {None, str(os.getpid())}
        )
        return cls(address or None, int(microseconds) / 1e6 if is_ours else None)

    def send(self, state: str) -> None:
        """Send a state such as READY=1. It never waits and never fails: the games go on without systemd."""
        if self._address is None:
            return
        with (
            suppress(OSError, AttributeError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            sender.settimeout(0)
            sender.sendto(state.encode(), self._address)


class Watchdog:
    """Measures how late the event loop is.

    The loop beats every `BEAT_INTERVAL` seconds. A thread checks that the beats come. It works also while the loop is
    stuck; only C code that holds the interpreter delays it, and then it reports as soon as that ends.
    """

    def __init__(
        self, notifier: Notifier | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._notifier = notifier or Notifier()
        self._clock = clock
        self._due = clock() + BEAT_INTERVAL
        self._lags = deque([(float("-inf"), 0.0)], int(LAG_HISTORY / BEAT_INTERVAL))
        """The time and the lag of each beat."""
        self._is_stuck = False
        self._ended_after: float | None = None
        self._pinged_at = float("-inf")
        self._closed = threading.Event()
        self._loop_thread = threading.get_ident()

    def start(self) -> None:
        """Start watching the event loop of the calling thread."""
        self.beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    @property
    def lag(self) -> float:
        """Seconds by which the event loop is late now."""
        return max(0.0, self._clock() - self._due)

    def worst_lag(self, seconds: float = LAG_HISTORY) -> float:
        """Return the longest lag within the last seconds, at most a minute."""
        since = self._clock() - seconds
        return max(
            self.lag, *(lag for at, lag in self._lags.copy() if at >= since), 0.0
        )  # two threads read it

    def beat(self) -> None:
        """Note that the event loop turns, and come again."""
        now = self._clock()
        late = max(0.0, now - self._due)
        self._lags.append((now, late))
        if late > STUCK_AFTER:
            self._ended_after = late
        self._due = now + BEAT_INTERVAL
        if not self._closed.is_set():
            asyncio.get_running_loop().call_later(BEAT_INTERVAL, self.beat)

    def check(self) -> None:
        """Log where the loop is stuck, once, and when it turns again; while it turns, tell systemd so."""
        lag = self.lag
        ended_after, self._ended_after = self._ended_after, None
        if ended_after is not None:
            self._is_stuck = False
            _log.warning(
                "the event loop turns again", extra={"fields": {"seconds": round(ended_after, 2)}}
            )
        if lag > STUCK_AFTER:
            if not self._is_stuck:
                self._is_stuck = True
                fields = {"seconds": round(lag, 2), "stack": self._describe_stack()}
                _log.warning("the event loop is stuck", extra={"fields": fields})
            return
        expected = self._notifier.watchdog_seconds
        if (
            expected is not None and self._clock() - self._pinged_at >= expected / 4
        ):  # four times as often as expected
            self._pinged_at = self._clock()
            self._notifier.send("WATCHDOG=1")

    def _watch(self) -> None:
        while not self._closed.wait(BEAT_INTERVAL):
            self.check()

    def _describe_stack(self) -> str:
        """Return where the loop is in one line, the innermost call first: files and functions, and no values."""
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - a documented function
        calls = (
            [(call.f_code, line) for call, line in islice(walk_stack(frame), _MAX_FRAMES)]
            if frame
            else []
        )
        places = (
            ("/".join(Path(code.co_filename).parts[-3:]), line or "?", code.co_qualname)
            for code, line in calls
        )
        return remove_secrets(" < ".join(f"{file}:{line} {name}" for file, line, name in places))
