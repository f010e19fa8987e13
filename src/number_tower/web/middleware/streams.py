"""Streams that stay open: no more than a server can hold, and all of them ended when it stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import randint
from typing import TYPE_CHECKING

from number_tower.web.errors import RefusedRequest, render_plain, send_refusal
from number_tower.web.middleware.client_context import identify_client
from number_tower.web.middleware.rate_limit import make_rate_refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from number_tower.web.errors import RefusalRenderer

MAX_STREAMS_PER_CLIENT = 400
MAX_STREAMS = 5000
RETRY_SECONDS = 10
"""Seconds after which whoever found no room may ask again."""

_RECONNECT = (1000, 3000)
"""Milliseconds until a browser reconnects when the server ends its stream; random, so that not all come at once."""

_STOPPING = RefusedRequest(503, "stopping", "The server is stopping; every game is kept.", {"Retry-After": "5"})


class StreamRegistry:
    """The streams that are open, and whose they are."""

    def __init__(
        self, most: int = MAX_STREAMS, most_of_one: int = MAX_STREAMS_PER_CLIENT, *, limited: bool = True
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._limited = limited
        self._counts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[object]] = set()
        self.ended = False

    def __len__(self) -> int:
        return self._counts.total()

    def check(self, who: str) -> RefusedRequest | None:
        """Say why somebody may not have one more; None if they may."""
        if self.ended:
            return _STOPPING
        if self._limited and self._counts[who] >= self._most_of_one:
            return make_rate_refusal("From your address, too many pages follow games already.", RETRY_SECONDS)
        if self._limited and len(self) >= self._most:
            words = "More people follow games here than the server has room for. Reload the page to see each move."
            return RefusedRequest(503, "busy", words, {"Retry-After": str(RETRY_SECONDS)})
        return None

    def begin(self, who: str, task: asyncio.Task[object]) -> None:
        """Count a stream that a task serves."""
        self._counts[who] += 1
        self._tasks.add(task)

    def finish(self, who: str, task: asyncio.Task[object]) -> None:
        """Forget a stream."""
        self._counts[who] -= 1
        if not self._counts[who]:
            del self._counts[who]
        self._tasks.discard(task)

    def end(self) -> None:
        """End all of them: the server stops, and would wait for streams that never end by themselves."""
        self.ended = True
        for task in self._tasks:
            task.cancel()


class StreamLimitMiddleware:
    """Counts the streams that come this way, and gives a last word to those that the server ends."""

    def __init__(
        self,
        app: ASGIApp,
        streams: StreamRegistry,
        telling: RefusalRenderer = render_plain,
        on_refusal: Callable[[str], object] | None = None,
    ) -> None:
        self._app = app
        self._streams = streams
        self._telling = telling
        self._on_refusal = on_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass; one for a stream, if there is room."""
        if scope["type"] != "http" or not scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        who = identify_client(scope)
        if refusal := self._streams.check(who):
            if self._on_refusal is not None:
                self._on_refusal("streams")
            await send_refusal(self._telling, refusal, scope, receive, send)
            return
        await self._run_stream(who, scope, receive, send)

    async def _run_stream(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
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
                await send_refusal(self._telling, _STOPPING, scope, receive, send)
            elif not complete:
                hint = b"retry: %d\n\n" % randint(*_RECONNECT)  # noqa: S311 - it only spreads them
                await send({"type": "http.response.body", "body": hint, "more_body": False})
        finally:
            self._streams.finish(who, task)
