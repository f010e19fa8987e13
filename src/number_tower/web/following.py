"""A room as a stream of server-sent events: how it stands at once, and again after everything that happens there."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Send

    from number_tower.web.lobby import Lobby

BEAT = 20.0
"""Seconds of silence after which something is sent, so that nobody in between hangs up."""

COME_BACK = b"retry: 1000\n\n"
"""Tells a browser to try again soon if the stream breaks off."""

_NOTHING = b": nothing new\n\n"


class Events(StreamingResponse):
    """Events that are written once for all who listen: FastAPI's own way would make each of them anew for everybody."""

    media_type = "text/event-stream"

    async def stream_response(self, send: Send) -> None:
        """Send every event, and keep none in memory while there is no other, as Starlette's own way would."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for event in self.body_iterator:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            del event
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def following(lobby: Lobby, address: str, *, first: bytes = b"", limit: int | None = None) -> Events:
    """Answer with a room as long as somebody listens, or until so many events were sent."""
    return Events(_written(lobby, address, first, limit), headers={"X-Accel-Buffering": "no"})


async def _written(lobby: Lobby, address: str, first: bytes, limit: int | None) -> AsyncGenerator[bytes, None]:
    if first:
        yield first
    async with aclosing(lobby.stream(address, BEAT)) as states:
        async for known in states:
            if known is None:
                yield _NOTHING
                continue
            yield known.event
            del known
            limit = None if limit is None else limit - 1
            if limit == 0:
                return
