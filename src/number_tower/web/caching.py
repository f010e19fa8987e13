"""Answers that are remembered; a question that several ask at the same time is shared by `workers`."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

Answer = TypeVar("Answer")

_MOST = 512
MOST_BYTES = 32 * 1024 * 1024
"""Bytes that all answers and their questions may have together, pickled as they came from a worker process."""

_A_WHILE = 600.0
"""Seconds that an answer is kept which more time might have completed."""


class _Kept(NamedTuple):
    answer: object
    until: float | None
    size: int


class Answers:
    """The latest answers, as many as there is room for; trouble is never remembered."""

    def __init__(self, most: int = _MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """The size of all that is remembered."""
        return self._bytes

    async def to(self, question: Hashable, find: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer to a question, found now if it is not known."""
        kept = self._kept.get(question)
        if kept is not None and (kept.until is None or monotonic() < kept.until):
            self._kept.move_to_end(question)
            return cast("Answer", kept.answer)
        answer = await find()
        until = None if getattr(answer, "complete", True) else monotonic() + _A_WHILE
        self._remember(question, _Kept(answer, until, len(pickle.dumps((question, answer)))))
        return answer

    def _remember(self, question: Hashable, kept: _Kept) -> None:
        """Keep an answer in place of an earlier one, and drop the oldest while there are too many or too large ones."""
        earlier = self._kept.pop(question, None)
        self._kept[question] = kept
        self._bytes += kept.size - (0 if earlier is None else earlier.size)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1].size
