"""Quotas for new rooms: how many and how large ones an address may open a day, and how large the database may become.

Daily quotas are counted in memory, in each process by itself, as rate limits are. The size of the database is measured
in the background, and refuses nothing but new rooms: games that have begun go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import contextmanager, nullcontext
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.store.maintenance import measure_size
from number_tower.store.rows import is_custom
from number_tower.web.errors import ProblemError
from number_tower.web.middleware.client_context import identify_client
from number_tower.web.middleware.rate_limit import MAX_CLIENTS
from number_tower.web.settings import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import Request

    from number_tower.store.database import Store
    from number_tower.web.lobby import NewRoom

_log = logging.getLogger(__name__)

DAY = 24 * 60 * 60
MAX_ROOMS_PER_DAY = 1_000
"""New rooms from one address: a school behind one address needs 500."""

MAX_BYTES_PER_DAY = 64 * 1024 * 1024
"""Disk space that the new rooms of one address may take: 500 with the largest rule file, and many more without."""

MEASURE_INTERVAL = 5.0
"""Seconds between two measurements of the database."""

RETRY_FULL = 3600
"""Seconds after which a room may be asked for again where the database is full: old rooms are deleted every hour."""

_NEARLY = 0.9
"""Part of its size from which a database is nearly full."""

_MARGIN = 0.02
"""Part of its size by which a database has to shrink until it is no longer full: else every move would be logged."""

_ROOM = 1_500
"""Bytes of a new room on the disk beside its rules, rule file and record (measured: 720 to 1,350 in SQLite)."""

_CHANGE = 65
"""Bytes of a change on the disk (measured: 61 in SQLite)."""


class QuotaError(ProblemError):
    """A new room that is refused, and when to try again."""

    def __init__(self, status: int, reason: str, detail: str, retry_after: float) -> None:
        super().__init__(status, reason, detail)
        self.headers = {"Retry-After": str(ceil(retry_after))}


def estimate_cost(wish: NewRoom) -> int:
    """Estimate the bytes that a new room takes on the disk: a fixed part, its rules, its rule file and its record."""
    table = wish.table
    rules = sum(len(f"{key}{value}") for key, value in table.game.rules.written().items())
    written = len(wish.book.content) if is_custom(wish.book) else 0
    moves = sum(len(str(block)) + 1 for block in table.game.moves)
    return _ROOM + 2 * rules + written + moves + _CHANGE * table.version


class _Usage(NamedTuple):
    """What an address has used in the day that began at some time."""

    began: float
    rooms: int = 0
    size: int = 0


class DailyQuota:
    """Counts new rooms and their bytes by address; a day begins with the first room after the last day.

    At most `most_clients` addresses are counted; the one that opened a room least recently is forgotten first.
    """

    def __init__(
        self,
        rooms: int = MAX_ROOMS_PER_DAY,
        size: int = MAX_BYTES_PER_DAY,
        most_clients: int = MAX_CLIENTS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._rooms = rooms
        self._size = size
        self._most_clients = most_clients
        self._clock = clock
        self._used: OrderedDict[str, _Usage] = OrderedDict()

    def __len__(self) -> int:
        return len(self._used)

    @contextmanager
    def admit(self, who: str, size: int) -> Iterator[None]:
        """Count a room of an address while it is opened; if that fails, it does not count.

        It is counted before, so that many requests at once cannot exceed the quota. One that is cancelled counts,
        since its room may be there.
        """
        began = self._reserve(who, size)
        try:
            yield
        except Exception:
            self._release(who, size, began)
            raise

    def _reserve(self, who: str, size: int) -> float:
        """Count a room, or raise what says when there may be another; return when the day began."""
        now = self._clock()
        used = self._used.get(who)
        if used is None or now >= used.began + DAY:
            used = _Usage(now)
        wait = used.began + DAY - now
        if used.rooms >= self._rooms:
            most = f"One address may start {self._rooms:,} new games a day here, and all of them are used up"
            raise QuotaError(429, "quota", f"{most}. {_format_wait(wait)}", wait)
        if used.size + size > self._size:
            most = f"One address may fill {format_size(self._size)} with new games a day here, and this one is too much"
            raise QuotaError(429, "quota", f"{most}. {_format_wait(wait)}", wait)
        self._used[who] = _Usage(used.began, used.rooms + 1, used.size + size)
        self._used.move_to_end(who)
        if len(self._used) > self._most_clients:
            self._used.popitem(last=False)
        return used.began

    def _release(self, who: str, size: int, began: float) -> None:
        used = self._used.get(who)
        if used is not None and used.began == began:
            self._used[who] = _Usage(began, used.rooms - 1, used.size - size)


class DatabaseLimit:
    """Knows whether a database has reached the size that it may have; measured now and then, never by a request."""

    def __init__(self, store: Store, most: int | None, measure: Callable[[Store], int] = measure_size) -> None:
        self._store = store
        self._most = most
        self._measure = measure
        self._size = 0
        self._added = 0
        self._level = 0.0
        self._failing = False

    @property
    def full(self) -> bool:
        """Whether the database is as large as it may be, with the rooms opened since it was measured."""
        if self._most is None:
            return False
        return self._level == 1.0 or self._size + self._added >= self._most

    def add(self, size: int) -> None:
        """Count a room that was opened since the last measurement."""
        self._added += size

    async def watch(self, seconds: float = MEASURE_INTERVAL) -> None:
        """Measure the database again and again."""
        while self._most is not None:
            await asyncio.sleep(seconds)
            await self.measure()

    async def measure(self) -> None:
        """Measure the database, and log when it becomes nearly full, full, or no longer so."""
        if self._most is None:
            return
        try:
            size = await asyncio.to_thread(self._measure, self._store)
        except Exception as trouble:  # noqa: BLE001 - whatever it is, without measuring again, a full database would go unnoticed
            if not self._failing:
                _log.warning("the size of the database could not be measured: %s", trouble)
            self._failing = True
            return
        self._failing = False
        self._size, self._added = size, 0
        self._log_change(size, self._most)

    def _log_change(self, size: int, most: int) -> None:
        """Log what has changed since the last measurement."""
        reached = next((level for level in (1.0, _NEARLY) if size >= level * most), 0.0)
        if reached < self._level and size >= (self._level - _MARGIN) * most:
            return
        if reached == self._level:
            return
        used = f"{format_size(size)} of {format_size(most)}"
        if reached == 1.0:
            _log.error("the database is full (%s): new games are refused, games that have begun go on", used)
        elif reached > self._level:
            _log.warning("the database is nearly full (%s)", used)
        elif self._level == 1.0:
            _log.warning("the database has space again (%s): new games can be started", used)
        self._level = reached


class Quota:
    """All that a new room has to keep within: the quota of an address, if there is one, and the database's size."""

    def __init__(self, database: DatabaseLimit, daily: DailyQuota | None) -> None:
        self.database = database
        self._daily = daily

    @property
    def full(self) -> bool:
        """Whether no room can be opened, since the database is as large as it may be."""
        return self.database.full

    @contextmanager
    def admit(self, who: str, size: int) -> Iterator[None]:
        """Count a room while it is opened, or refuse it."""
        if self.full:
            message = "This server has no space for new games just now. Games that have begun can go on."
            raise QuotaError(507, "full", message, RETRY_FULL)
        if self._daily is None:
            yield
        else:
            with self._daily.admit(who, size):
                yield
        self.database.add(size)


@contextmanager
def admit_room(request: Request, wish: NewRoom) -> Iterator[None]:
    """Open a room within this: it is counted for the address that the request comes from, or refused.

    An app that was put together without a quota refuses nothing.
    """
    quota: Quota | None = getattr(request.app.state, "quota", None)
    with nullcontext() if quota is None else quota.admit(identify_client(request.scope), estimate_cost(wish)):
        yield


def _format_wait(seconds: float) -> str:
    """Say when to try again, in the largest unit that fits."""
    units = ((3600, "hour"), (60, "minute"))
    size, unit = next((each for each in units if seconds > each[0]), (1, "second"))
    number = ceil(seconds / size)
    return f"Try again in {number} {unit}{'' if number == 1 else 's'}."
