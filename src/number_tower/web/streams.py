"""Streams that stay open: no more than a server can hold, and all of them ended when it stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import randint
from typing import TYPE_CHECKING

from number_tower.web.rates import client, too_often
from number_tower.web.refusals import Refusal, plain, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from number_tower.web.refusals import Telling

MOST_OF_ONE = 400
MOST = 5000
RETRY = 10
"""Seconds after which whoever found no room may ask again."""

_RECONNECT = (1000, 3000)
"""Milliseconds until a browser reconnects when the server ends its stream; random, so that not all come at once."""

_STOPPING = Refusal(503, "stopping", "The server is stopping; every game is kept.", {"Retry-After": "5"})


class Streams:
    """The streams that are open, and whose they are."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE, *, limited: bool = True) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._limited = limited
        self._of: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[object]] = set()
        self.ended = False

    def __len__(self) -> int:
        return self._of.total()

    def refusal(self, who: str) -> Refusal | None:
        """Say why somebody may not have one more; None if they may."""
        if self.ended:
            return _STOPPING
        if self._limited and self._of[who] >= self._most_of_one:
            return too_often("From your address, too many pages follow games already.", RETRY)
        if self._limited and len(self) >= self._most:
            words = "More people follow games here than the server has room for. Reload the page to see each move."
            return Refusal(503, "busy", words, {"Retry-After": str(RETRY)})
        return None

    def begin(self, who: str, task: asyncio.Task[object]) -> None:
        """Count a stream that a task serves."""
        self._of[who] += 1
        self._tasks.add(task)

    def finish(self, who: str, task: asyncio.Task[object]) -> None:
        """Forget a stream."""
        self._of[who] -= 1
        if not self._of[who]:
            del self._of[who]
        self._tasks.discard(task)

    def end(self) -> None:
        """End all of them: the server stops, and would wait for streams that never end by themselves."""
        self.ended = True
        for task in self._tasks:
            task.cancel()


class Watched:
    """Counts the streams that come this way, and gives a last word to those that the server ends."""

    def __init__(self, app: ASGIApp, streams: Streams, telling: Telling = plain) -> None:
        self._app = app
        self._streams = streams
        self._telling = telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass; one for a stream, if there is room."""
        if scope["type"] != "http" or not scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        who = client(scope)
        if refusal := self._streams.refusal(who):
            await refuse(self._telling, refusal, scope, receive, send)
            return
        await self._followed(who, scope, receive, send)

    async def _followed(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - an app is always run by a task
        begun = complete = False

        async def sent(message: Message) -> None:
            nonlocal begun, complete
            begun = True
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        self._streams.begin(who, task)
        try:
            await self._app(scope, receive, sent)
        except asyncio.CancelledError:
            if not self._streams.ended:
                raise
            task.uncancel()
            if not begun:
                await refuse(self._telling, _STOPPING, scope, receive, send)
            elif not complete:
                hint = b"retry: %d\n\n" % randint(*_RECONNECT)  # noqa: S311 - it only spreads them
                await send({"type": "http.response.body", "body": hint, "more_body": False})
        finally:
            self._streams.finish(who, task)
