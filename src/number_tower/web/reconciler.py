"""Comparing cached rooms with the database: after news, again until it succeeds, and regularly without news."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

_LOG = logging.getLogger(__name__)

_RUNNING_TOO_LONG = 5.0
"""Seconds after which a comparison that has not ended counts as failing."""


class Timing(NamedTuple):
    """How often rooms are compared, in seconds; tests use shorter times."""

    check: float = 15.0
    """Between two comparisons of all rooms in use without any news: a lost notice is made up for after this time."""
    again: float = 0.1
    """Before rooms that are being changed at this moment are compared again, and after the first failure."""
    longest_retry: float = 5.0
    """Between two attempts at most: after each failure the pause is twice as long."""
    wait: float = 2.0
    """For which a request waits for a state that its client has seen and that this server does not find."""


TIMING = Timing()


class Reconciler:
    """One background task that compares rooms as long as there are rooms to compare.

    A room is marked when it may have changed, and stays marked until a comparison has succeeded. All rooms that are
    marked while a comparison runs are compared together by the next one, so the number of queries does not grow with
    the number of notices. The task starts with the first use. It belongs to one event loop.
    """

    def __init__(
        self,
        compare: Callable[[set[int]], Awaitable[set[int]]],
        followed: Callable[[], Iterable[int]],
        timing: Timing = TIMING,
    ) -> None:
        """Call `compare` with the marked rooms; it returns those to compare again soon, or raises to be called again.

        `followed` returns the rooms that have streams: they are in use even if nobody asks for them.
        """
        self._compare = compare
        self._followed = followed
        self._timing = timing
        self._marked: set[int] = set()
        self._used: set[int] = set()
        self._used_before: set[int] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._failing_since: float | None = None
        self._running_since: float | None = None

    @property
    def failing_for(self) -> float | None:
        """Seconds for which comparing has failed or has not come to an end; None if it works."""
        now, running = monotonic(), self._running_since
        if self._failing_since is not None:
            return now - self._failing_since
        return now - running if running is not None and now - running > _RUNNING_TOO_LONG else None

    def mark(self, rooms: Iterable[int]) -> None:
        """Compare these rooms with the database as soon as possible, until it succeeds."""
        self._marked.update(rooms)
        self._wake.set()
        self._start()

    def use(self, room: int, *, fresh: bool = False) -> None:
        """Note that a room is shown: it is in use, and compared regularly.

        A room that was cached but not in use has not been compared for a while, so it is compared at once; a fresh one
        has just been read.
        """
        if room in self._used:
            return
        self._used.add(room)
        if not fresh and room not in self._used_before:
            self.mark((room,))
        self._start()

    async def close(self) -> None:
        """Compare nothing any more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _start(self) -> None:
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        next_check = monotonic() + self._timing.check
        pause = self._timing.again
        while not self._closed:
            if not self._marked:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, next_check - monotonic())):
                        await self._wake.wait()
            self._wake.clear()
            if monotonic() >= next_check:
                self._mark_rooms_in_use()
                next_check = monotonic() + self._timing.check
            if not self._marked:
                continue
            if await self._compare_marked():
                pause = self._timing.again
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, self._timing.longest_retry)

    def _mark_rooms_in_use(self) -> None:
        self._marked |= self._used
        self._marked.update(self._followed())
        self._used_before, self._used = self._used, set()

    async def _compare_marked(self) -> bool:
        """Compare all marked rooms; return whether it succeeded. If not, they stay marked."""
        rooms, self._marked = self._marked, set()
        self._running_since = monotonic()
        try:
            again = await self._compare(rooms)
        except Exception as error:  # noqa: BLE001 - whatever fails here has to be tried again
            self._marked |= rooms
            if self._failing_since is None:
                self._failing_since = self._running_since
                unexpected = None if isinstance(error, StoreError) else error
                _LOG.warning("rooms cannot be compared with the database, trying again: %s", error, exc_info=unexpected)
            return False
        finally:
            self._running_since = None
        if self._failing_since is not None:
            _LOG.warning("rooms are compared with the database again")
            self._failing_since = None
        if again:
            asyncio.get_running_loop().call_later(self._timing.again, self.mark, again)
        return True
