"""Health checks for monitors and proxies: whether the process answers, and whether games can be saved."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from number_tower import __version__
from number_tower.store.database import Writer, probe_write

WRITE_TIMEOUT = 3.0
"""Seconds after which a database that has not answered is failing."""

WRITE_INTERVAL = 1.0
"""Seconds for which the answer of one write counts, however often health is asked for."""

_log = logging.getLogger(__name__)

router = APIRouter()


class WriteCheck:
    """Checks whether the database takes writes, by a small one; there is never more than one at a time."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._began = float("-inf")
        self._probe: asyncio.Task[str | None] | None = None

    async def find_problem(self) -> str | None:
        """Return what is wrong in one sentence, or None, after `WRITE_TIMEOUT` seconds at most."""
        probe, now = self._probe, monotonic()
        if probe is None or (probe.done() and now - self._began >= WRITE_INTERVAL):
            self._began = now
            self._probe = probe = asyncio.create_task(self._write())
        await asyncio.wait([probe], timeout=self._began + WRITE_TIMEOUT - now)
        return probe.result() if probe.done() else "the database does not answer"

    async def _write(self) -> str | None:
        try:
            await asyncio.wrap_future(self._writer.submit(probe_write))
        except Exception as error:  # noqa: BLE001 - whatever it is, the database does not take writes
            _log.warning("the database does not take writes: %s", error)
            return "the database does not take writes; the log of the server says why"
        return None


@router.get("/health/live", include_in_schema=False)
async def report_live() -> Response:
    """Say that the process and its event loop answer. This is the cheapest answer there is."""
    return Response(b'{"status":"ok"}', media_type="application/json")


@router.get("/health", include_in_schema=False)
async def report_health(request: Request) -> JSONResponse:
    """Say whether games can be saved, and moves of other servers are heard; if not, why."""
    state = request.app.state
    checks = {
        "database": await state.writes.find_problem(),
        "news": None
        if state.listener.is_connected
        else "the server does not receive moves from other servers",
    }
    is_well = not any(checks.values())
    content = {
        "status": "ok" if is_well else "failing",
        "version": __version__,
        **{part: problem or "ok" for part, problem in checks.items()},
    }
    return JSONResponse(content, 200 if is_well else 503)
