"""A cache of rooms that is bounded by their number and by the memory that they take."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from number_tower.store.rulebooks import is_stored
from number_tower.voice import get_voice
from number_tower.web.known import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.store.rooms import KeptRoom

MOST_ROOMS = 4_096
"""Rooms that are remembered; others are looked up when they are asked for."""

MOST_BYTES = 64 * 1024 * 1024
"""Memory that all of them may take together, as estimated by `estimate_size`."""

_ROOM = 6_000
"""Bytes of a room with a game in which nothing was done (measured: 4,100 and 700 for its place in the cache)."""

_CHANGE = 560
"""Bytes of a change, its time, its places in moves, movers and log, and the position after it (measured: about 520)."""

_MASKS, _MASK = 2, 100
"""Masks that rules may remember for each change, and the bytes of one beside its bits."""

_RULE_FILE = 4
"""How many times its own size a rule file takes: as bytes, as parsed text, and as templates (measured: 3.1)."""


def estimate_size(kept: KeptRoom) -> int:
    """Estimate the bytes that a room takes, without its rule file and what is encoded of it; rather too many."""
    table = kept.room.table
    blocks = len(table.game.rules.blocks)
    masks = _MASKS * (blocks // 8 + _MASK)
    return _ROOM + 8 * blocks + table.version * (_CHANGE + masks) + 16 * len(kept.room.winners)


class RoomCache(Mapping[int, Known]):
    """Rooms by their ids, the least recently used first; those are forgotten when there are too many.

    Rooms that are played by the same rule file share its text, the parsed rulebook and the voice, and it is counted
    once. What is encoded of a room is counted when that is done. At least one room is kept, however large it is.
    """

    def __init__(self, most: int = MOST_ROOMS, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._rooms: OrderedDict[int, Known] = OrderedDict()
        self._ids: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._users: Counter[int] = Counter()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """The memory that all rooms take, as far as it can be estimated."""
        return self._bytes

    def __getitem__(self, identity: int) -> Known:
        return self._rooms[identity]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rooms)

    def __len__(self) -> int:
        return len(self._rooms)

    def find(self, address: str) -> Known | None:
        """Return a room by one of its addresses, and count it as used; None if it is not here."""
        identity = self._ids.get(address)
        if identity is None:
            return None
        self._rooms.move_to_end(identity)
        return self._rooms[identity]

    def add(self, kept: KeptRoom, remark: str = "") -> Known:
        """Remember a room in place of what was known of it; forget others if there are too many."""
        self.remove(kept.id)
        known = Known(kept, get_voice(kept.game.book), remark, partial(self._grow, kept))
        self._rooms[kept.id] = known
        self._ids[kept.address] = self._ids[kept.watch] = kept.id
        self._sizes[kept.id] = size = estimate_size(kept)
        self._bytes += size + self._count_user(kept.game.book)
        self._shrink()
        return known

    def use(self, identity: int) -> Known:
        """Return a room by its id, and count it as used."""
        self._rooms.move_to_end(identity)
        return self._rooms[identity]

    def remove(self, identity: int) -> Known | None:
        """Forget a room; return what was known of it, if anything was."""
        known = self._rooms.pop(identity, None)
        if known is None:
            return None
        del self._ids[known.address], self._ids[known.watch]
        self._bytes -= self._sizes.pop(identity) + self._discount_user(known.kept.book)
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

    def _grow(self, kept: KeptRoom, size: int) -> None:
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
    return _RULE_FILE * len(book.content) if is_stored(book) else 0
