"""Health: whether the process answers (`/health/live`), and whether it can serve games (`/health/ready`, `/health`)."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from number_tower import __version__
from number_tower.store.scribe import probe_write
from number_tower.store.trouble import PUBLIC_REASONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.datastructures import State

    from number_tower.store.scribe import Scribe

PATIENCE = 3.0
"""Seconds after which a database that has not answered is failing."""

RECENT = 5.0
"""Seconds for which a successful write shows that the database takes writes."""

RETRY = 1.0
"""Seconds between two attempts to write to a database that fails."""

WORST_LAG = 5.0
"""Seconds of event-loop lag from which on the server is not ready."""

LAG_WINDOW = 15.0
"""Seconds for which such a lag counts."""

_NO_STORE = {"Cache-Control": "no-store"}

_log = logging.getLogger(__name__)

router = APIRouter()


class WriteCheck:
    """Tells whether the database takes writes.

    The server's own writes count. If there was none lately, or the last one failed, a small one is made through the
    same writer. There is never more than one on its way, however many ask.
    """

    def __init__(self, scribe: Scribe, patience: float = PATIENCE, clock: Callable[[], float] = monotonic) -> None:
        self._scribe = scribe
        self._patience = patience
        self._clock = clock
        self._probe: asyncio.Task[str | None] | None = None
        self._begun = float("-inf")
        self._logged: str | None = None

    async def find_problem(self) -> str | None:
        """Return what is wrong in one sentence; None if nothing is. It takes `patience` seconds at most."""
        probe = self._probe
        if probe is None or probe.done():
            if self._is_recent():
                self._note(None)
                return None
            if probe is None or self._clock() - self._begun >= RETRY:
                self._begun = self._clock()
                self._probe = probe = asyncio.create_task(self._write())
        await asyncio.wait([probe], timeout=max(0.0, self._begun + self._patience - self._clock()))
        if probe.done():
            return probe.result()
        return f"the database has not answered for {self._clock() - self._begun:.0f} seconds"

    def _is_recent(self) -> bool:
        scribe = self._scribe
        return scribe.succeeded_at > max(scribe.failed_at, self._clock() - RECENT)

    async def _write(self) -> str | None:
        try:
            await asyncio.wrap_future(self._scribe.write(probe_write))
        except Exception as error:  # noqa: BLE001 - whatever it is, the database does not take writes
            self._note(str(error) or type(error).__name__)
            return describe_publicly(error)
        self._note(None)
        return None

    def _note(self, problem: str | None) -> None:
        """Log a problem once, with all that is known of it, and its end."""
        if problem != self._logged:
            if problem is None:
                _log.warning("the database takes writes again")
            else:
                _log.warning("the database does not take writes: %s", problem)
            self._logged = problem


def describe_publicly(error: Exception) -> str:
    """Return what is wrong with a database without naming a path, an address or a user."""
    reason = str(error).rpartition("cannot be used: ")[2]
    for known in PUBLIC_REASONS:
        if reason == known or reason.startswith(f"{known} ("):
            return f"the database cannot be used: {known}"
    return "the database cannot be used; the log of the server says why"


class Check(NamedTuple):
    """One condition of readiness; `problem` is None if it holds. A detail is told, and makes nothing fail."""

    name: str
    problem: str | None
    is_detail: bool = False


async def check_readiness(state: State) -> list[Check]:
    """Check everything that a server needs to serve games. A server that drains makes no more writes."""
    checks = [
        Check("draining", "the server is stopping" if getattr(state, "draining", False) else None),
        Check("event_loop", _find_lag(state)),
        Check("news", _find_lost_news(state)),
        Check("rooms", _find_stale_rooms(state)),
        Check("quota", _find_full_quota(state), is_detail=True),
    ]
    if checks[0].problem is None:
        checks.insert(1, Check("write", await state.writes.find_problem()))
    return checks


def _find_lag(state: State) -> str | None:
    lag = state.watchdog.worst_lag(LAG_WINDOW)
    return None if lag < WORST_LAG else f"the event loop was stuck for {lag:.0f} seconds"


def _find_lost_news(state: State) -> str | None:
    hears = getattr(state.listener, "hearing", True)
    return None if hears else "the server does not hear of moves that are made at other servers"


def _find_stale_rooms(state: State) -> str | None:
    is_fine = getattr(state.lobby, "stale_for", None) is None
    return None if is_fine else "games may be shown as they were a while ago"


def _find_full_quota(state: State) -> str | None:
    is_full = getattr(getattr(state, "quota", None), "full", False)
    return "the database has reached its size limit; no new games can be started" if is_full else None


@router.get("/health/live", include_in_schema=False)
async def live() -> Response:
    """Say that the process and its event loop answer. This is the cheapest answer there is."""
    return Response(b'{"status":"ok"}', media_type="application/json", headers=_NO_STORE)


@router.get("/health/ready", include_in_schema=False)
async def ready(request: Request) -> JSONResponse:
    """Say whether the server should be sent requests, and which condition does not hold."""
    checks = await check_readiness(request.app.state)
    is_ready = all(check.problem is None or check.is_detail for check in checks)
    content = {
        "status": "ready" if is_ready else "not ready",
        "checks": {check.name: check.problem or "ok" for check in checks},
    }
    return JSONResponse(content, 200 if is_ready else 503, _NO_STORE)


@router.get("/health", include_in_schema=False)
async def health(request: Request) -> JSONResponse:
    """Say whether games can be saved, and if not, why."""
    state = request.app.state
    problem = await state.writes.find_problem()
    content = {
        "status": "ok" if problem is None else "failing",
        "version": __version__,
        "database": problem or "ok",
        "thinkers": state.settings.thinkers,
    }
    return JSONResponse(content, 200 if problem is None else 503, _NO_STORE)
