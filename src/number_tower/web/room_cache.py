"""Rooms in memory: new ones, a bounded cache of open ones, and a task that keeps it equal to the database."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from time import monotonic
from typing import Literal, NamedTuple

from number_tower.catalogue import Rulebook
from number_tower.room import Room, Seat
from number_tower.store import StoreError, rows
from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.store.rows import Seats
from number_tower.table import Table, check_player_names
from number_tower.voice import SPECTATOR, Reader, Voice, get_voice
from number_tower.web import view
from number_tower.web.tasks import FALLBACK_LEVEL

MAX_ROOMS = 4_096
MAX_CACHE_BYTES = 64 * 1024 * 1024
"""Memory that all rooms may take together, as `estimate_size` says."""

_ROOM = 7_700
"""Bytes of a room without any change (measured: 5,300 and 700 for its place in the cache)."""

_CHANGE = 560
"""Bytes of a change, its time, its places in moves, movers and log, and the position after it (measured: about 520)."""

_MASKS, _MASK = 2, 100
"""Masks that rules may cache for each change, and the bytes of one beside its bits."""

_RULE_FILE = 4
"""How many times its own size a rule file takes: as bytes, as parsed text, and as templates (measured: 3.1)."""

_MAX_RUN = 5.0
"""Seconds after which a comparison that has not ended counts as failing."""

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_log = logging.getLogger(__name__)


class NewRoom(NamedTuple):
    """A game to be played, and with whom: a person at the same table, the computer, or the first who has the link."""

    table: Table
    opponent: Literal["table", "computer", "link"] = "table"
    level: str | None = None
    names: tuple[str | None, str | None] = (None, None)
    best_of: int | None = None
    hints: bool = True

    @property
    def players(self) -> Seats:
        """Who chooses the moves in each seat."""
        return (
            Seats((None, self.level or FALLBACK_LEVEL)) if self.opponent == "computer" else Seats()
        )

    def make_room(self) -> Room:
        """Return the room, with its creator in the first seat."""
        usual = get_voice(self.table.book).players
        level = self.players.players[1]
        names = (
            self.names[0] or usual[0],
            self.names[1] or (usual[1] if level is None else level.capitalize()),
        )
        chosen = self.table.names or (check_player_names(names) if names != usual else None)
        table = replace(self.table, names=chosen, automatic=self.players.automatic)
        kinds: dict[str, Literal["person", "computer", "free"]]
        kinds = {"table": "person", "computer": "computer", "link": "free"}
        first, second = chosen or usual
        seats = Seat("person", first), Seat(kinds[self.opponent], second)
        return Room(table, seats, best_of=self.best_of, hints=self.hints)


@dataclass(frozen=True)
class CachedRoom(StoredRoom):
    """A room with its encoded state, which is made once for all clients; only `said` differs between readers."""

    remark: str = ""
    """What a computer says about its last move, such as that it could not be sure."""
    on_growth: Callable[[CachedRoom, int], None] | None = field(
        default=None, compare=False, repr=False
    )
    """Called with the number of bytes whenever a part of the state is encoded, so that a cache can count them."""
    _encoded: dict[Reader | None, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The event for each reader; under None, what all of them begin with."""

    @property
    def voice(self) -> Voice:
        """The voice of the room's rulebook."""
        return get_voice(self.game.table.book)

    @property
    def is_for_two(self) -> bool:
        """Whether two people play here, or will, each with a seat of their own."""
        return (
            all(seat.kind != "computer" for seat in self.room.seats)
            and self.tokens[0] != self.tokens[1]
        )

    @property
    def is_attended(self) -> bool:
        """Whether another player or a teacher is shown where its players are."""
        return self.is_for_two or self.class_link is not None

    @property
    def turn_began(self) -> float:
        """When the player to move could first have moved, in seconds since 1970: after the last event in the room."""
        return datetime.fromisoformat(max(self.game.changed, self.touched)).timestamp()

    def find_reader(self, credentials: Credentials | str | None) -> Reader:
        """Return as whom the holder of credentials reads."""
        return Reader.of_seats(self.find_seats(credentials))

    def encode_state(self, reader: Reader = SPECTATOR) -> bytes:
        """Return the public state as JSON, in words for a reader."""
        return self.encode_event(reader).partition(b"data: ")[2].removesuffix(b"\n\n")

    def encode_event(self, reader: Reader = SPECTATOR) -> bytes:
        """Return the public state as a server-sent event, in words for a reader."""
        if reader not in self._encoded:
            said = _encode_json(view.tell_last_change(self.room.table, reader))
            self._remember(reader, b'%s,"said":%s}\n\n' % (self._encode_shared(), said))
        return self._encoded[reader]

    def _encode_shared(self) -> bytes:
        """Return what every event begins with: all that does not depend on the reader."""
        if None not in self._encoded:
            state = _encode_json(
                view.describe_room(self.room, self.game.seats, self.tag, self.remark)
            )
            self._remember(
                None,
                b"event: state\nid: %s\ndata: %s" % (self.tag.encode(), state.removesuffix(b"}")),
            )
        return self._encoded[None]

    def _remember(self, reader: Reader | None, encoded: bytes) -> None:
        self._encoded[reader] = encoded
        if self.on_growth is not None:
            self.on_growth(self, len(encoded))


def _encode_json(value: object) -> bytes:
    return _encoder.encode(value).encode()


def estimate_size(room: StoredRoom) -> int:
    """Estimate the bytes that a room takes, without its rule file and encoded state; rather too many."""
    table = room.room.table
    blocks = len(table.game.rules.blocks)
    masks = _MASKS * (blocks // 8 + _MASK)
    return _ROOM + 8 * blocks + table.version * (_CHANGE + masks) + 16 * len(room.room.winners)


class RoomCache(OrderedDict[int, CachedRoom]):
    """Rooms by id, least recently used first; these are evicted when there are too many or too large ones.

    Rooms with the same rule file share its text, the parsed rulebook and the voice, so it is counted once. At least one
    room is kept, however large it is.
    """

    def __init__(self, max_rooms: int = MAX_ROOMS, max_bytes: int = MAX_CACHE_BYTES) -> None:
        super().__init__()
        self._max_rooms = max_rooms
        self._max_bytes = max_bytes
        self._ids: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._rulebook_uses: Counter[int] = Counter()
        self.bytes = 0
        """The memory that all rooms take, as estimated."""

    def find(self, address: str) -> CachedRoom | None:
        """Return a room by one of its addresses, and count it as used; None if it is not here."""
        room_id = self._ids.get(address)
        return None if room_id is None else self.touch(room_id)

    def touch(self, room_id: int) -> CachedRoom:
        """Return a room by its id, and count it as used."""
        self.move_to_end(room_id)
        return self[room_id]

    def add(self, stored: StoredRoom, remark: str = "") -> CachedRoom:
        """Add a room, or replace it; evict others if there are too many."""
        self.remove(stored.id)
        values = {each.name: getattr(stored, each.name) for each in fields(StoredRoom)}
        room = self[stored.id] = CachedRoom(**values, remark=remark, on_growth=self._grow)
        self._ids[room.address] = self._ids[room.watch] = room.id
        self._sizes[room.id] = size = estimate_size(room)
        self.bytes += size + self._count_rulebook(room.game.table.book, 1)
        self._evict()
        return room

    def remove(self, room_id: int) -> None:
        """Remove a room, if it is here."""
        room = self.pop(room_id, None)
        if room is not None:
            del self._ids[room.address], self._ids[room.watch]
            self.bytes -= self._sizes.pop(room_id) + self._count_rulebook(room.game.table.book, -1)

    def _count_rulebook(self, book: Rulebook, change: int) -> int:
        """Count a room more or less that uses a rulebook; return the bytes of the file if it is the first or last."""
        key = id(book)
        uses = self._rulebook_uses[key]
        self._rulebook_uses[key] += change
        if not self._rulebook_uses[key]:
            del self._rulebook_uses[key]
        is_first_or_last = not uses or not uses + change
        return _RULE_FILE * len(book.content) if is_first_or_last and rows.is_custom(book) else 0

    def _grow(self, room: CachedRoom, size: int) -> None:
        """Count what was encoded of a room, if this state of it is still in the cache."""
        if self.get(room.id) is room:
            self._sizes[room.id] += size
            self.bytes += size
            self.move_to_end(room.id)
            self._evict()

    def _evict(self) -> None:
        while len(self) > self._max_rooms or (self.bytes > self._max_bytes and len(self) > 1):
            self.remove(next(iter(self)))


class ReconcileTiming(NamedTuple):
    """How often rooms are compared with the database, in seconds; tests use shorter times."""

    interval: float = 15.0
    """Between two comparisons of all rooms in memory: a lost notice is made up for after this time."""
    first_retry: float = 0.1
    """After the first failure, and for rooms that are being changed at this moment."""
    max_retry: float = 5.0
    """Between two attempts at most; the pause doubles after each failure."""
    state_timeout: float = 2.0
    """For which a request waits for a state that its client has seen and that this server does not find."""


DEFAULT_TIMING = ReconcileTiming()


class Reconciler:
    """A background task that compares rooms with the database.

    A room is marked when it may have changed, and stays marked until a comparison has succeeded. All rooms that are
    marked while a comparison runs are compared together by the next one, so the number of queries does not grow with
    the number of notices. It belongs to one event loop.
    """

    def __init__(
        self,
        compare: Callable[[set[int]], Awaitable[set[int]]],
        list_rooms: Callable[[], Iterable[int]],
        timing: ReconcileTiming,
    ) -> None:
        """Call `compare` with the marked rooms; it returns those to compare again soon, or raises to be called again.

        `list_rooms` returns those that are compared regularly.
        """
        self._compare = compare
        self._list_rooms = list_rooms
        self._timing = timing
        self._marked: set[int] = set()
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._run())
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
        """Compare these rooms as soon as possible, until it succeeds."""
        self._marked.update(rooms)
        self._wake.set()

    async def close(self) -> None:
        """Stop comparing."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        next_check = monotonic() + self._timing.interval
        pause = self._timing.first_retry
        while True:
            if not self._marked:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, next_check - monotonic())):
                        await self._wake.wait()
            self._wake.clear()
            if monotonic() >= next_check:
                self._marked.update(self._list_rooms())
                next_check = monotonic() + self._timing.interval
            if not self._marked or await self._compare_marked():
                pause = self._timing.first_retry
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, self._timing.max_retry)

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
                _log.warning(
                    "rooms cannot be compared with the database, trying again: %s",
                    error,
                    exc_info=unexpected,
                )
            return False
        finally:
            self._running_since = None
        if self._failing_since is not None:
            _log.warning("rooms are compared with the database again")
            self._failing_since = None
        if again:
            asyncio.get_running_loop().call_later(self._timing.first_retry, self.mark, again)
        return True
