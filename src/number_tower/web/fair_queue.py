"""A queue that is fair to the askers: each has its turn, however many entries the others have waiting.

An asker is a path, such as an address and a seat there. Turns go round over the addresses, and at each address over its
seats: who opens a hundred seats at one address has no more turns for that.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    Path = tuple[Hashable, ...]

Entry = TypeVar("Entry")

_REMEMBERED = 4_096
"""Askers whose last turn is remembered; those served longest ago are forgotten first."""


class QueueFullError(Exception):
    """There is no place in the queue for this asker's entry."""


class FairQueue(Generic[Entry]):
    """Waiting entries by asker; the asker whose last turn is longest ago is served first, with its oldest entry.

    An asker without a turn so far comes before all who had one, so that a newcomer waits for nobody's backlog. Among
    askers without a turn the first to arrive is served first.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: dict[Path, deque[Entry]] = {}  # in the order in which the askers began to wait
        self._turns: OrderedDict[Path, int] = OrderedDict()
        self._clock = count(1)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entries in self._waiting.values() for entry in entries)

    def push(self, asker: Path, entry: Entry) -> Entry | None:
        """Add an entry, and return the one that lost its place for it, if the queue was full.

        The entry is refused with `QueueFullError` if its asker has as many as one may have, or if the queue is full and
        nobody has more than the asker would have then.
        """
        if len(self._waiting.get(asker, ())) >= self._most_of_one:
            raise QueueFullError
        dropped = self._drop(asker) if len(self) >= self._most else None
        self._waiting.setdefault(asker, deque()).append(entry)
        return dropped

    def pop(self) -> Entry:
        """Take out the entry whose turn it is."""
        asker = min(self._waiting, key=lambda each: [self._turns.get(part, 0) for part in _parts(each)])
        entry = self._waiting[asker].popleft()
        self._forget_if_empty(asker)
        self.note_turn(asker)
        return entry

    def remove(self, asker: Path, entry: Entry) -> None:
        """Take out an entry that is no longer wanted; one that is not there is no error."""
        entries = self._waiting.get(asker, deque())
        if entry in entries:
            entries.remove(entry)
            self._forget_if_empty(asker)

    def note_turn(self, asker: Path) -> None:
        """Count a turn for an asker: also one that did not have to wait."""
        turn = next(self._clock)
        for part in _parts(asker):
            self._turns[part] = turn
            self._turns.move_to_end(part)
        while len(self._turns) > _REMEMBERED:
            self._turns.popitem(last=False)

    def _drop(self, asker: Path) -> Entry:
        """Take out the newest entry of those with the most: of an address if that has more, or else of a seat there."""
        counts = Counter(part for each, entries in self._waiting.items() for part in _parts(each) for _ in entries)
        for part in _parts(asker):
            rivals = [each for each in counts if len(each) == len(part) and each[:-1] == part[:-1]]
            largest = max(rivals, key=counts.__getitem__, default=part)
            if counts[largest] > counts[part] + 1:
                members = [each for each in self._waiting if each[: len(largest)] == largest]
                loser = max(reversed(members), key=lambda each: len(self._waiting[each]))
                dropped = self._waiting[loser].pop()
                self._forget_if_empty(loser)
                return dropped
        raise QueueFullError

    def _forget_if_empty(self, asker: Path) -> None:
        if not self._waiting[asker]:
            del self._waiting[asker]


def _parts(path: Path) -> list[Path]:
    """Return the beginnings of a path: the address, then the address with the seat."""
    return [path[: length + 1] for length in range(len(path))]
