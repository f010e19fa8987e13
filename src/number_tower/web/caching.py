"""Answers that are remembered; a question that several ask at the same time is shared by `workers`."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

Answer = TypeVar("Answer")

_MOST = 512
_A_WHILE = 600.0
"""Seconds that an answer is kept which more time might have completed."""


class _Kept(NamedTuple):
    answer: object
    until: float | None


class Answers:
    """The latest answers, as many as there is room for; trouble is never remembered."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    async def to(self, question: Hashable, find: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer to a question, found now if it is not known."""
        kept = self._kept.get(question)
        if kept is not None and (kept.until is None or monotonic() < kept.until):
            self._kept.move_to_end(question)
            return cast("Answer", kept.answer)
        answer = await find()
        until = None if getattr(answer, "complete", True) else monotonic() + _A_WHILE
        self._kept[question] = _Kept(answer, until)
        self._kept.move_to_end(question)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return answer
