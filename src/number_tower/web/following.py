"""A room as a stream of server-sent events: how it stands at once, and again after everything that happens there."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from fastapi.responses import StreamingResponse

from number_tower.store.rooms import parse_mark

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Send

    from number_tower.store.rooms import Moment
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


def newest_moment(seen: Moment | None, last_event_id: str | None) -> Moment | None:
    """Return the newest state that a client has seen, by its own word or by the last event that it got.

    A browser that loses a stream asks for it again at the same address, with the last event in a header.
    """
    last = parse_mark(last_event_id or "")
    return max((each for each in (seen, last) if each is not None), default=None)


def following(
    lobby: Lobby, address: str, *, first: bytes = b"", limit: int | None = None, seen: Moment | None = None
) -> Events:
    """Answer with a room as long as a client listens, or until so many events were sent; none before what was seen."""
    return Events(_written(lobby, address, first, limit, seen), headers={"X-Accel-Buffering": "no"})


async def _written(
    lobby: Lobby, address: str, first: bytes, limit: int | None, seen: Moment | None
) -> AsyncGenerator[bytes, None]:
    if first:
        yield first
    async with aclosing(lobby.stream(address, BEAT, seen)) as states:
        async for known in states:
            if known is None:
                yield _NOTHING
                continue
            yield known.event
            del known
            limit = None if limit is None else limit - 1
            if limit == 0:
                return
