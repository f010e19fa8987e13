"""One HTTP connection: how slow its client may be, and how much it may send.

uvicorn has no such bounds. Without them, a client that sends or reads nothing holds its connection, and the memory
behind it, for ever.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from number_tower.web.guards import MOST_BODY
from number_tower.web.middleware.trusted_host import FROM_PROXY

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from number_tower.web.connections import ConnectionRegistry

MAX_HEAD = 64 * 1024
"""Bytes that the request line and the headers may have."""

HEAD_TIME = 30.0
"""Seconds in which they have to arrive."""

BODY_TIME = 60.0
"""Seconds in which a body has to arrive."""

BODY_RATE = 1024
"""Bytes a second that a body must have on average, after `BODY_GRACE` seconds."""

BODY_GRACE = 5.0

MAX_PIPELINED = 16
"""Requests that may wait on a connection for the answer to the one before."""

READ_TIME = 30.0
"""Seconds for which a client may leave an answer unread; streams included."""

CLOSE_TIME = 2.0
"""Seconds that a connection has to close once it is refused, or once the server stops and it has no request."""

_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


def _format_refusal(status: str, text: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\n"
    return f"{head}connection: close\r\n\r\n{text}".encode("ascii")


_HEAD_TOO_LARGE = _format_refusal(
    "431 Request Header Fields Too Large",
    f"The headers of this request are too large: expected at most {MAX_HEAD // 1024} KiB.",
)
_FULL = _format_refusal(
    "503 Service Unavailable\r\nretry-after: 5", "This server has no free connection. Try again in a few seconds."
)


class PipelineError(Exception):
    """More requests were sent than a client may have waiting; the parser stops and the connection is closed."""


class HttpConnection(HttpToolsProtocol):
    """One connection: reads requests and writes answers as uvicorn does, within the limits above."""

    def __init__(self, *args: Any, registry: ConnectionRegistry, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._registry = registry
        self.from_proxy = False
        self._refused = False
        self._unanswered: list[RequestResponseCycle] = []
        self._in_head = False
        self._head_size = 0
        self._head_since: float | None = None
        self._body_size = 0
        self._body_since: float | None = None
        self._unread = 0
        self._unread_since: float | None = None
        self._abort_at: float | None = None

    # Called by the transport ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Count the connection and wait for a request, or refuse it."""
        super().connection_made(transport)
        self.from_proxy = self.client is not None and self._registry.is_proxy(self.client[0])
        if self._registry.add(self):
            self._head_since = self._registry.clock()
        else:
            self._refuse()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell all requests that it is closed: uvicorn tells only the newest."""
        self._registry.remove(self)
        super().connection_lost(exc)
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        if self._refused:
            self.transport.close()  # the client has sent its request, so it reads the answer that is already there
            return
        super().data_received(data)
        if not self._in_head and (self.is_busy or self._body_since is not None):
            return
        self._head_size += len(data) if self._in_head else 0
        if self._head_size > MAX_HEAD:
            if getattr(self.cycle, "response_complete", True):
                self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()
        elif self._head_since is None:
            self._head_since = self._registry.clock()

    def resume_writing(self) -> None:
        """Go on with an answer, since the client has read what was written."""
        self._unread_since = None
        super().resume_writing()

    # Called by the parser and by the answer ---------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        self._in_head = True
        super().on_message_begin()
        if self.from_proxy:
            self.scope["extensions"] = {FROM_PROXY: {}}

    def on_headers_complete(self) -> None:
        """Pass the request on, and begin to read its body."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise PipelineError
        self._in_head = False
        self._head_size = 0
        self._head_since = None
        self._body_size = 0
        self._body_since = self._registry.clock()
        super().on_headers_complete()
        self._unanswered = [cycle for cycle in self._unanswered if not cycle.response_complete]
        self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Read a part of the body."""
        self._body_size += len(body)
        if self._body_size > MOST_BODY and self.cycle.response_complete:
            self.transport.abort()  # an answer was sent already, and nothing else bounds what follows
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete, and that the server owes an answer."""
        self._body_since = None
        super().on_message_complete()
        self._registry.set_idle(self, idle=not self.is_busy)

    def on_response_complete(self) -> None:
        """Wait for the next request, or go on with one that is here already."""
        super().on_response_complete()
        self._registry.set_idle(self, idle=not self.is_busy)

    # Called by the server ---------------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a complete request has no complete answer yet."""
        if self.pipeline:
            return True
        return self._body_since is None and not getattr(self.cycle, "response_complete", True)

    def shutdown(self) -> None:
        """Close the connection after the answer that it waits for; soon, if it waits for none."""
        super().shutdown()
        if not self.is_busy:
            self._abort_at = self._registry.clock() + CLOSE_TIME

    def check(self, now: float) -> None:
        """Close the connection if its client is too slow."""
        if (
            (self._abort_at is not None and now >= self._abort_at)
            or (self._head_since is not None and self._is_head_late(now))
            or (self._body_since is not None and self._is_body_late(now, self._body_since))
            or self._is_unread(now)
        ):
            self.abort()

    def abort(self) -> None:
        """Close the connection at once, and let the system drop what it holds for a client that does not read."""
        if (line := self.transport.get_extra_info("socket")) is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    def _is_head_late(self, now: float) -> bool:
        if self.flow.read_paused:
            self._head_since = now  # the server does not read, so the client is not to blame
        return self._head_since is not None and now - self._head_since >= HEAD_TIME

    def _is_body_late(self, now: float, since: float) -> bool:
        waits = self.cycle.waiting_for_100_continue and not self.cycle.response_complete
        if waits or self.flow.read_paused:
            self._body_since, self._body_size = now, 0
            return False
        elapsed = now - since
        return elapsed >= BODY_TIME or self._body_size < (elapsed - BODY_GRACE) * BODY_RATE

    def _is_unread(self, now: float) -> bool:
        """Return whether the client has not read anything for too long, and note how much waits to be read."""
        size = self.transport.get_write_buffer_size()
        if not size:
            self._unread_since = None
        elif self._unread_since is None or size < self._unread:
            self._unread_since = now
        elif now - self._unread_since >= READ_TIME:
            return True
        self._unread = size
        return False

    def _refuse(self) -> None:
        self._refused = True
        if not self._registry.can_explain():
            self.transport.abort()
            return
        self._abort_at = self._registry.clock() + CLOSE_TIME
        self.transport.write(_FULL)
        self.transport.write_eof()
