"""Event streams: how many may be open, and how all of them end when the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from random import randint

from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from number_tower.web.http.middleware import identify_address

MAX_STREAMS_PER_ADDRESS = 1500
"""Streams of one address; a school has one address for all its pupils."""

MAX_STREAMS = 5000

_RECONNECT = (1000, 3000)
"""Milliseconds until a browser reconnects when the server ends its stream, spread at random."""

_STOPPING = PlainTextResponse(
    "The server is stopping. Every game is saved.", 503, {"Retry-After": "5"}
)
_ALL_IN_USE = PlainTextResponse(
    "Too many people are following games on this server. Reload the page to see each move.",
    503,
    {"Retry-After": "10"},
)


class StreamRegistry:
    """The tasks that serve the open streams, with the addresses of their clients."""

    def __init__(self, *, limited: bool = True) -> None:
        self._limited = limited
        self._addresses: dict[asyncio.Task[object], str] = {}
        self.ended = False

    def __len__(self) -> int:
        return len(self._addresses)

    def find_refusal(self, address: str) -> PlainTextResponse | None:
        """Return the answer to an address that may not have another stream now."""
        if self.ended:
            return _STOPPING
        own = list(self._addresses.values()).count(address)
        is_full = len(self) >= MAX_STREAMS or own >= MAX_STREAMS_PER_ADDRESS
        return _ALL_IN_USE if self._limited and is_full else None

    def add(self, task: asyncio.Task[object], address: str) -> None:
        """Count a stream until the task that serves it is done."""
        self._addresses[task] = address

    def remove(self, task: asyncio.Task[object]) -> None:
        """Forget a stream."""
        del self._addresses[task]

    def end(self) -> None:
        """End all streams: they never end by themselves, and a server that stops waits for them."""
        self.ended = True
        for task in self._addresses:
            task.cancel()


class EventStream(StreamingResponse):
    """Server-sent events that are encoded once for all followers, unlike FastAPI's own class.

    It is counted while it is open. If the server ends it, the browser is told when to reconnect.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterable[bytes], streams: StreamRegistry) -> None:
        super().__init__(events, headers={"X-Accel-Buffering": "no"})
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, unless there are too many streams."""
        scope["is_stream"] = True  # nobody measures for how long it is open
        address = identify_address(scope)
        if refusal := self._streams.find_refusal(address):
            await refusal(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - an app is always run by a task
        has_begun = is_complete = False

        async def track_send(message: Message) -> None:
            nonlocal has_begun, is_complete
            has_begun = True
            is_complete = not message.get("more_body", True)
            await send(message)

        self._streams.add(task, address)
        try:
            await super().__call__(scope, receive, track_send)
        except asyncio.CancelledError:
            if not self._streams.ended:
                raise
            task.uncancel()
            if not has_begun:
                await _STOPPING(scope, receive, send)
            elif not is_complete:
                hint = b"retry: %d\n\n" % randint(*_RECONNECT)  # noqa: S311 - it only spreads them
                await send({"type": "http.response.body", "body": hint, "more_body": False})
        finally:
            self._streams.remove(task)

    async def stream_response(self, send: Send) -> None:
        """Send every event; unlike Starlette's method, hold none while waiting for the next."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        async for event in self.body_iterator:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            del event
        await send({"type": "http.response.body", "body": b"", "more_body": False})
