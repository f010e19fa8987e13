"""How much may be stored: new rooms of one address, and the size of the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from fastapi import HTTPException
from starlette.requests import Request

from number_tower.text import format_count
from number_tower.web.middleware import identify_address
from number_tower.web.rates import RateLimiter, make_refusal
from number_tower.web.settings import format_size

DAY = 24 * 60 * 60
MAX_ROOMS_PER_DAY = 1_000
"""New rooms from one address: a school behind one address needs 500."""

MEASURE_INTERVAL = 5.0
"""Seconds after which the database is measured again, if a room is asked for."""

FULL = "This server has no space for new games right now. Games that have started can continue."
_RETRY_FULL = {"Retry-After": "3600"}
"""Old rooms are deleted every hour."""

_NEARLY_FULL = 0.9
"""Part of its size from which a database is nearly full."""

_log = logging.getLogger(__name__)


class StorageQuota:
    """Admits new rooms while the database is not full, and a number of one address a day."""

    def __init__(
        self,
        measure: Callable[[], int],
        max_size: int | None = None,
        max_rooms: int | None = MAX_ROOMS_PER_DAY,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._measure = measure
        self._max_size = max_size
        self._max_rooms = max_rooms
        self._rooms = RateLimiter((max_rooms or 1) / DAY, max_rooms or 1, clock)
        self._clock = clock
        self._measured_at = float("-inf")
        self._level = ""

    async def admit(self, address: str, rooms: int = 1) -> None:
        """Count new rooms of an address, or raise why there can be none."""
        if await self._is_full():
            raise HTTPException(507, FULL, _RETRY_FULL)
        if self._max_rooms is not None and (wait := self._rooms.spend(rooms, {address: 1})):
            most = format_count(self._max_rooms, "new game")
            raise make_refusal(f"One address can start at most {most} a day.", wait)

    async def _is_full(self) -> bool:
        now = self._clock()
        if self._max_size is not None and now - self._measured_at >= MEASURE_INTERVAL:
            self._measured_at = now
            self._note_size(await asyncio.to_thread(self._measure), self._max_size)
        return self._level == "full"

    def _note_size(self, size: int, max_size: int) -> None:
        """Note how full the database is, and log when that changes."""
        level = ""
        if size >= max_size:
            level = "full"
        elif size >= _NEARLY_FULL * max_size:
            level = "nearly full"
        if level != self._level:
            used = f"{format_size(size)} of {format_size(max_size)}"
            _log.warning(
                "the database %s: %s used", f"is {level}" if level else "has space again", used
            )
        self._level = level


async def admit_room(request: Request) -> None:
    """Admit one new room; a dependency of the routes that open one."""
    quota: StorageQuota = request.app.state.quota
    await quota.admit(identify_address(request.scope))
