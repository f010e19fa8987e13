"""A cache of rooms that is bounded by their number and by the memory that they take."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.store import StoreError
from number_tower.store.rows import is_custom
from number_tower.voice import get_voice
from number_tower.web.cached_room import CachedRoom

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.store.rooms import StoredRoom

MAX_ROOMS = 4_096


"""Rooms that are remembered; others are looked up when they are asked for."""


MAX_CACHE_BYTES = 64 * 1024 * 1024


"""Memory that all of them may take together, as estimated by `estimate_size`."""


_ROOM = 6_000


"""Bytes of a room with a game in which nothing was done (measured: 4,100 and 700 for its place in the cache)."""


_CHANGE = 560


"""Bytes of a change, its time, its places in moves, movers and log, and the position after it (measured: about 520)."""


_MASKS, _MASK = 2, 100


"""Masks that rules may remember for each change, and the bytes of one beside its bits."""


_RULE_FILE = 4


"""How many times its own size a rule file takes: as bytes, as parsed text, and as templates (measured: 3.1)."""


def estimate_size(kept: StoredRoom) -> int:
    """Estimate the bytes that a room takes, without its rule file and what is encoded of it; rather too many."""
    table = kept.room.table
    blocks = len(table.game.rules.blocks)
    masks = _MASKS * (blocks // 8 + _MASK)
    return _ROOM + 8 * blocks + table.version * (_CHANGE + masks) + 16 * len(kept.room.winners)


class RoomCache(Mapping[int, CachedRoom]):
    """Rooms by their ids, the least recently used first; those are forgotten when there are too many.

    Rooms that are played by the same rule file share its text, the parsed rulebook and the voice, and it is counted
    once. What is encoded of a room is counted when that is done. At least one room is kept, however large it is.
    """

    def __init__(self, most: int = MAX_ROOMS, most_bytes: int = MAX_CACHE_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._rooms: OrderedDict[int, CachedRoom] = OrderedDict()
        self._ids: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._users: Counter[int] = Counter()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """The memory that all rooms take, as far as it can be estimated."""
        return self._bytes

    def __getitem__(self, identity: int) -> CachedRoom:
        return self._rooms[identity]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rooms)

    def __len__(self) -> int:
        return len(self._rooms)

    def find(self, address: str) -> CachedRoom | None:
        """Return a room by one of its addresses, and count it as used; None if it is not here."""
        identity = self._ids.get(address)
        if identity is None:
            return None
        self._rooms.move_to_end(identity)
        return self._rooms[identity]

    def add(self, kept: StoredRoom, remark: str = "") -> CachedRoom:
        """Remember a room in place of what was known of it; forget others if there are too many."""
        self.remove(kept.id)
        known = CachedRoom(kept, get_voice(kept.game.book), remark, partial(self._grow, kept))
        self._rooms[kept.id] = known
        self._ids[kept.address] = self._ids[kept.watch] = kept.id
        self._sizes[kept.id] = size = estimate_size(kept)
        self._bytes += size + self._count_user(kept.game.book)
        self._shrink()
        return known

    def touch(self, identity: int) -> CachedRoom:
        """Return a room by its id, and count it as used."""
        self._rooms.move_to_end(identity)
        return self._rooms[identity]

    def remove(self, identity: int) -> CachedRoom | None:
        """Forget a room; return what was known of it, if anything was."""
        known = self._rooms.pop(identity, None)
        if known is None:
            return None
        del self._ids[known.address], self._ids[known.watch]
        self._bytes -= self._sizes.pop(identity) + self._discount_user(known.game.book)
        return known

    def _count_user(self, book: Rulebook) -> int:
        """Count a room that is played by a rulebook; return the bytes that this adds: those of the first."""
        self._users[id(book)] += 1
        return _measure_book(book) if self._users[id(book)] == 1 else 0

    def _discount_user(self, book: Rulebook) -> int:
        """Count a room less that is played by a rulebook; return the bytes that this frees: those of the last."""
        self._users[id(book)] -= 1
        if self._users[id(book)]:
            return 0
        del self._users[id(book)]
        return _measure_book(book)

    def _grow(self, kept: StoredRoom, size: int) -> None:
        """Count what was encoded of a room, if it is still the state that is remembered."""
        if kept.id in self._rooms and self._rooms[kept.id].kept_room is kept:
            self._sizes[kept.id] += size
            self._bytes += size
            self._shrink(kept.id)

    def _shrink(self, used: int | None = None) -> None:
        """Forget rooms until the rest is few and small enough, the one in use last."""
        if used is not None:
            self._rooms.move_to_end(used)
        while len(self._rooms) > self._most or (self._bytes > self._most_bytes and len(self._rooms) > 1):
            self.remove(next(iter(self._rooms)))


def _measure_book(book: Rulebook) -> int:
    return _RULE_FILE * len(book.content) if is_custom(book) else 0


_log = logging.getLogger(__name__)


_MAX_RUN = 5.0


"""Seconds after which a comparison that has not ended counts as failing."""


class ReconcileTiming(NamedTuple):
    """How often rooms are compared, in seconds; tests use shorter times."""

    interval: float = 15.0
    """Between two comparisons of all rooms in use without any news: a lost notice is made up for after this time."""
    first_retry: float = 0.1
    """Before rooms that are being changed at this moment are compared again, and after the first failure."""
    max_retry: float = 5.0
    """Between two attempts at most: after each failure the pause is twice as long."""
    state_timeout: float = 2.0
    """For which a request waits for a state that its client has seen and that this server does not find."""


DEFAULT_TIMING = ReconcileTiming()


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
        timing: ReconcileTiming = DEFAULT_TIMING,
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
        return now - running if running is not None and now - running > _MAX_RUN else None

    def mark(self, rooms: Iterable[int]) -> None:
        """Compare these rooms with the database as soon as possible, until it succeeds."""
        self._marked.update(rooms)
        self._wake.set()
        self._start()

    def note_use(self, room: int, *, fresh: bool = False) -> None:
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
        next_check = monotonic() + self._timing.interval
        pause = self._timing.first_retry
        while not self._closed:
            if not self._marked:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, next_check - monotonic())):
                        await self._wake.wait()
            self._wake.clear()
            if monotonic() >= next_check:
                self._mark_rooms_in_use()
                next_check = monotonic() + self._timing.interval
            if not self._marked:
                continue
            if await self._compare_marked():
                pause = self._timing.first_retry
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, self._timing.max_retry)

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
                _log.warning("rooms cannot be compared with the database, trying again: %s", error, exc_info=unexpected)
            return False
        finally:
            self._running_since = None
        if self._failing_since is not None:
            _log.warning("rooms are compared with the database again")
            self._failing_since = None
        if again:
            asyncio.get_running_loop().call_later(self._timing.first_retry, self.mark, again)
        return True
