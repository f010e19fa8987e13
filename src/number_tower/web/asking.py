"""Questions that pages ask of the worker processes: remembered, limited, and with words where there is no answer."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from number_tower.solve.limits import NotSolved
from number_tower.web import bounds, lines, tasks
from number_tower.web.caching import Answers
from number_tower.web.rates import client
from number_tower.web.workers import Asker, BusyError, GaveUpError, Lane

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Hashable

    from fastapi import Request
    from fastapi.responses import Response

    from number_tower.catalogue import Rulebook
    from number_tower.table import Table
    from number_tower.web.known import Known
    from number_tower.web.workers import Workers

T = TypeVar("T")

LONGEST_READ_HERE = 600
"""Characters of a record that is read at once: to replay a game of thousands of moves takes too long for that."""

RETRY = {"Retry-After": "5"}
"""The header of an answer that says: not now, but soon."""


class Unanswered(Exception):  # noqa: N818 - named for what it says
    """There is no answer now; the words say why, and `later` whether it is worth asking again."""

    def __init__(self, words: str, *, later: bool) -> None:
        super().__init__(words)
        self.words = words
        self.later = later

    @property
    def status(self) -> int:
        """The status of a page that lacks the answer."""
        return 503 if self.later else 200


async def asked(request: Request, question: Hashable, task: Callable[..., T], *args: object, seconds: float) -> T:
    """Ask a dear question for a client, unless the answer is remembered."""
    state = request.app.state
    if not hasattr(state, "answers"):
        state.answers = Answers()
    answers: Answers = state.answers
    workers: Workers = state.workers
    key = (task.__name__, question)

    async def find() -> T:
        async with _asking(request) as asker:
            return await workers.ask(task, *args, seconds=seconds, lane=Lane.DEAR, asker=asker, key=key)

    try:
        return await answers.to(key, find)
    except BusyError as busy:
        raise Unanswered(str(busy), later=True) from None
    except (GaveUpError, NotSolved):
        words = "This could not be worked out in the time and memory there is, and a guess would be no help."
        raise Unanswered(words, later=False) from None


async def read_record(request: Request, line: str) -> tuple[Table, Rulebook]:
    """Return the table that a record describes, and its rulebook; a long one is read in a worker process."""
    if not LONGEST_READ_HERE < len(line) <= bounds.LONGEST_LINE:
        return lines.read(line)
    workers: Workers = request.app.state.workers
    async with _asking(request) as asker:
        return await workers.ask(lines.read, line, asker=asker)


async def ask_for_hint(request: Request, known: Known, held: Collection[int], step: int) -> tasks.Hinted:
    """Ask for a hint in a room, for those who hold these seats of it."""
    workers: Workers = request.app.state.workers
    async with _asking(request, (known.kept_room.id, *sorted(held))) as asker:
        return await workers.ask(tasks.hinted, known.room.table, known.kept.book, step, asker=asker)


def with_retry(response: Response) -> Response:
    """Say when to try again, if a page lacks an answer because the server is busy."""
    if response.status_code == 503:
        response.headers.update(RETRY)
    return response


@asynccontextmanager
async def _asking(request: Request, seat: Hashable = None) -> AsyncGenerator[Asker]:
    """Have an asker who is gone when the client closes the connection."""
    gone = asyncio.create_task(_wait_for_disconnect(request))
    try:
        yield Asker(client(request.scope), seat, gone)
    finally:
        gone.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has closed the connection; the rest of a body that nobody reads is skipped."""
    with suppress(Exception):  # a body that cannot be read ends the connection as well
        while (await request.receive())["type"] != "http.disconnect":
            pass
