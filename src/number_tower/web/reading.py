"""The quick reader of requests, with the bounds that it lacks: on a request's head, and on the time that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

MOST_HEAD = 64 * 1024
"""Bytes that the line and the headers of a request may have."""

SLOWEST = 30.0
"""Seconds that they may take to arrive."""

_SAID = b"The headers of this request are too large."
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_SAID), _SAID)
)


class Bounded(HttpToolsProtocol):
    """Reads requests; hangs up on one whose head does not end."""

    _unfinished = False
    _size = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(SLOWEST, self._hang_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._unfinished = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that its head is complete."""
        self._unfinished = False
        self._size = 0
        if self._timer is not None:
            self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read on, unless it is too much or takes too long."""
        super().data_received(data)
        if not self._unfinished:
            return
        self._size += len(data)
        if self._size > MOST_HEAD:
            if getattr(self.cycle, "response_complete", True):
                self.transport.write(_TOO_LARGE)
            self._hang_up()
        elif self._timer is None:
            self._timer = self.loop.call_later(SLOWEST, self._hang_up)

    def _hang_up(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
