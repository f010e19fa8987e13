"""Health checks for monitors and proxies: whether the process answers, and can save games."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from number_tower import __version__
from number_tower.web.http.log import log_failures_only

WRITE_TIMEOUT = 3.0
"""A database that has not answered after this many seconds counts as failing."""

WRITE_INTERVAL = 1.0
"""The result of one write is reused for this many seconds."""

_log = logging.getLogger(__name__)

router = APIRouter()


class WriteCheck:
    """Checks by a small write, at most one at a time, whether the database takes writes."""

    def __init__(self, write: Callable[[], Future[Any]]) -> None:
        self._write = write
        self._began = float("-inf")
        self._probe: asyncio.Task[str | None] | None = None

    async def find_problem(self) -> str | None:
        """Return what is wrong in one sentence, or None, after `WRITE_TIMEOUT` seconds at most."""
        probe, now = self._probe, monotonic()
        if probe is None or (probe.done() and now - self._began >= WRITE_INTERVAL):
            self._began = now
            self._probe = probe = asyncio.create_task(self._try_to_write())
        await asyncio.wait([probe], timeout=self._began + WRITE_TIMEOUT - now)
        return probe.result() if probe.done() else "the database does not answer"

    async def _try_to_write(self) -> str | None:
        try:
            await asyncio.wrap_future(self._write())
        except Exception as error:  # noqa: BLE001 - whatever it is
            _log.warning("the database does not take writes: %s", error)
            return "the database does not take writes; the log of the server says why"
        return None


@router.get("/health/live", include_in_schema=False)
@log_failures_only
async def report_live() -> Response:
    """Say that the process and its event loop answer. This is the cheapest answer there is."""
    return Response(b'{"status":"ok"}', media_type="application/json")


@router.get("/health", include_in_schema=False)
@log_failures_only
async def report_health(request: Request) -> JSONResponse:
    """Say whether games can be saved, and moves of other servers are heard; if not, why."""
    parts = request.app.state.parts
    database: str | None = await parts.writes.find_problem()
    news = "the server does not receive moves from other servers"
    is_well = database is None and parts.listener.is_connected
    content = {
        "status": "ok" if is_well else "failing",
        "version": __version__,
        "database": database or "ok",
        "news": "ok" if parts.listener.is_connected else news,
    }
    return JSONResponse(content, 200 if is_well else 503)
