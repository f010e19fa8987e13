"""Limits of what is stored: new rooms per address, and the size of the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from fastapi import HTTPException
from starlette.requests import Request

from number_tower.support.text import format_count
from number_tower.web.http.middleware import identify_address
from number_tower.web.http.rates import RateLimiter, make_refusal
from number_tower.web.parts import get_parts
from number_tower.web.settings import format_size

DAY = 24 * 60 * 60
MAX_ROOMS_PER_DAY = 1_000
"""New rooms from one address: a school behind one address needs 500."""

MEASURE_INTERVAL = 5.0
"""When a room is requested after this many seconds, the database is measured again."""

FULL = "This server has no space for new games right now. Games that have started can continue."
_RETRY_FULL = {"Retry-After": "3600"}
"""Old rooms are deleted every hour."""

_NEARLY_FULL = 0.9
"""From this part of its maximum size, a database is nearly full."""

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
        now = self._clock()
        if self._max_size is not None and now - self._measured_at >= MEASURE_INTERVAL:
            self._measured_at = now
            size = await asyncio.to_thread(self._measure)
            level = ""
            if size >= _NEARLY_FULL * self._max_size:
                level = "full" if size >= self._max_size else "nearly full"
            # The log says only when it changes how full the database is.
            if level != self._level:
                state = f"is {level}" if level else "has space again"
                used = f"{format_size(size)} of {format_size(self._max_size)}"
                _log.warning("the database %s: %s used", state, used)
            self._level = level
        if self._level == "full":
            raise HTTPException(507, FULL, _RETRY_FULL)
        if self._max_rooms is not None and (wait := self._rooms.spend(rooms, {address: 1})):
            limit = format_count(self._max_rooms, "new game")
            raise make_refusal(f"One address can start at most {limit} a day.", wait)


async def admit_room(request: Request) -> None:
    """Admit one new room; a dependency of the routes that open one."""
    await get_parts(request).quota.admit(identify_address(request.scope))
