"""Questions that pages ask of the worker processes: remembered, limited, and with words where there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from number_tower.solve.limits import NotSolved
from number_tower.web.caching import Answers
from number_tower.web.thinking import Busy, GaveUp

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from fastapi import Request

    from number_tower.web.thinking import Thinkers

T = TypeVar("T")


class Unanswered(Exception):  # noqa: N818 - named for what it says
    """There is no answer now; the words say why, and `later` whether it is worth asking again."""

    def __init__(self, words: str, *, later: bool) -> None:
        super().__init__(words)
        self.words = words
        self.later = later

    @property
    def status(self) -> int:
        """The status of a page that has nothing else to show."""
        return 503 if self.later else 200


async def asked(request: Request, question: Hashable, task: Callable[..., T], *args: object, seconds: float) -> T:
    """Ask a worker process, unless the answer is remembered."""
    state = request.app.state
    if not hasattr(state, "answers"):
        state.answers = Answers()
    answers: Answers = state.answers
    thinkers: Thinkers = state.thinkers

    async def find() -> T:
        return await thinkers.ask(task, *args, seconds=seconds)

    try:
        return await answers.to((task.__name__, question), find)
    except Busy:
        words = "Many people are asking just now. Please load this page again in a moment."
        raise Unanswered(words, later=True) from None
    except (GaveUp, NotSolved):
        words = "This could not be worked out in the time and memory there is, and a guess would be no help."
        raise Unanswered(words, later=False) from None
