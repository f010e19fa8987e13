"""Limit the number of open event streams, and end all of them when the server stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from random import randint

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from number_tower.web.errors import Problem, send_problem
from number_tower.web.middleware import HttpMiddleware
from number_tower.web.middleware.accounts import Account, list_accounts, subtract_counts
from number_tower.web.middleware.rate_limit import make_rate_problem

MAX_STREAMS_PER_CLIENT = 400
MAX_STREAMS = 5000
RETRY_SECONDS = 10
"""Seconds after which a client that was rejected may try again."""

_RECONNECT = (1000, 3000)
"""Milliseconds until a browser reconnects when the server ends its stream; random, so that not all come at once."""

_LIMIT = "streams"
_STOPPING = Problem(
    503,
    "stopping",
    "The server is stopping. Every game is saved.",
    headers={"Retry-After": "5"},
    limit=_LIMIT,
)
_ALL_IN_USE = Problem(
    503,
    "busy",
    "Too many people are following games on this server. Reload the page to see each move.",
    headers={"Retry-After": str(RETRY_SECONDS)},
    limit=_LIMIT,
)


class StreamRegistry:
    """The open streams and their clients."""

    def __init__(self, *, limited: bool = True) -> None:
        self._limited = limited
        self._counts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[object]] = set()
        self.ended = False

    def __len__(self) -> int:
        return len(self._tasks)

    def check(self, accounts: Sequence[Account]) -> Problem | None:
        """Return why a client may not have another stream; None if it may."""
        if self.ended:
            return _STOPPING
        is_over = any(
            self._counts[each.name] >= MAX_STREAMS_PER_CLIENT * each.share for each in accounts
        )
        if self._limited and is_over:
            words = "Too many of your pages are following games."
            return make_rate_problem(words, RETRY_SECONDS, _LIMIT)
        return _ALL_IN_USE if self._limited and len(self) >= MAX_STREAMS else None

    def begin(self, accounts: Sequence[Account], task: asyncio.Task[object]) -> None:
        """Count a stream that a task serves."""
        self._counts.update(each.name for each in accounts)
        self._tasks.add(task)

    def finish(self, accounts: Sequence[Account], task: asyncio.Task[object]) -> None:
        """Forget a stream."""
        subtract_counts(self._counts, (each.name for each in accounts))
        self._tasks.discard(task)

    def end(self) -> None:
        """End all streams: a server that stops would wait for them, and they never end by themselves."""
        self.ended = True
        for task in self._tasks:
            task.cancel()


class StreamLimitMiddleware(HttpMiddleware):
    """Counts event streams, and tells browsers when to reconnect if the server ends one."""

    def __init__(self, app: ASGIApp, streams: StreamRegistry) -> None:
        super().__init__(app)
        self._streams = streams

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        accounts = list_accounts(scope)
        if problem := self._streams.check(accounts):
            await send_problem(problem, scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - an app is always run by a task
        has_begun = is_complete = False

        async def track_send(message: Message) -> None:
            nonlocal has_begun, is_complete
            has_begun = True
            is_complete = message["type"] == "http.response.body" and not message.get(
                "more_body", False
            )
            await send(message)

        self._streams.begin(accounts, task)
        try:
            await self._app(scope, receive, track_send)
        except asyncio.CancelledError:
            if not self._streams.ended:
                raise
            task.uncancel()
            if not has_begun:
                await send_problem(_STOPPING._replace(limit=""), scope, receive, send)
            elif not is_complete:
                hint = b"retry: %d\n\n" % randint(*_RECONNECT)  # noqa: S311 - it only spreads them
                await send({"type": "http.response.body", "body": hint, "more_body": False})
        finally:
            self._streams.finish(accounts, task)
