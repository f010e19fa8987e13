"""HTTP connections: how many there may be, how slow their clients may be, and how much they may send.

uvicorn has no such limits. Without them one address can take all connections, and a client that sends or reads nothing
holds its connection, and the memory behind it, for ever.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import ceil
from time import monotonic
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from number_tower.web.limits import MAX_BODY
from number_tower.web.middleware import FROM_PROXY, identify_client

MAX_CONNECTIONS = 6000
"""Connections of all addresses together."""

MAX_PER_ADDRESS = 2000
"""Connections of one address: a school has one for all of its pupils. Trusted proxies are exempt."""

SWEEP_INTERVAL = 1.0
"""Seconds in which all connections are checked once for slow clients."""

_SWEEP_PARTS = 10
"""Parts in which that is done, so that no request has to wait for thousands of checks."""

_MAX_REFUSED = 100
"""Refused connections that are kept open until their clients have read why."""

_WARN_INTERVAL = 60.0

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

_POLL_HANGUP: int = getattr(select, "POLLRDHUP", 0)
"""The event of a client that leaves; only Linux has it."""

_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

_log = logging.getLogger(__name__)


def _format_refusal(status: str, text: str) -> bytes:
    headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close"
    return f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n{text}".encode("ascii")


_HEAD_TOO_LARGE = _format_refusal(
    "431 Request Header Fields Too Large",
    f"The headers of this request are too large: expected at most {MAX_HEAD // 1024} KiB.",
)
_ALL_IN_USE = _format_refusal(
    "503 Service Unavailable\r\nretry-after: 5",
    "This server has no free connection. Try again in a few seconds.",
)


@dataclass(eq=False, slots=True)
class _Address:
    """The connections of one address: how many, and which of them are idle, the idlest first."""

    name: str
    exempt: bool
    count: int = 0
    idle: dict[HttpConnection, None] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """The place in the order in which addresses lose connections: proxies carry many clients and come last."""
        return 0 if self.exempt else self.count


@dataclass(eq=False)
class ConnectionRegistry:
    """Count the connections, make room for new ones, and check all of them for slow clients.

    A connection is idle while the server owes it no answer: before its request has arrived completely, and after the
    answer. If there is no room, the connection that has been idle for the longest is closed: that of the same address
    if this has its full number, else that of the address with the most connections. Only if there is none, the new one
    is refused. All operations take constant time (`max` looks at the distinct numbers, at most 110 for 6,000).
    """

    total: float = MAX_CONNECTIONS
    per_address: float = MAX_PER_ADDRESS
    is_proxy: Callable[[str], bool] = lambda _: False
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._count = 0
        self._addresses: dict[str, _Address] = {}
        self._ranks: dict[int, dict[_Address, None]] = {}  # the addresses with idle connections
        self._open: dict[HttpConnection, _Address | None] = {}  # None: refused
        self._unchecked: list[HttpConnection] = []
        self._part = 1
        self._timer: asyncio.TimerHandle | None = None
        self._warned: float | None = None

    def __len__(self) -> int:
        """Return how many connections are counted."""
        return self._count

    def add(self, connection: HttpConnection) -> bool:
        """Count a new, idle connection; return False if there is no room for it."""
        if self._timer is None:
            self._timer = connection.loop.call_later(
                SWEEP_INTERVAL / _SWEEP_PARTS, self._sweep, connection.loop
            )
        name = "proxy" if connection.from_proxy else identify_client({"client": connection.client})
        address = self._addresses.get(name) or _Address(name, connection.from_proxy)
        if not self._make_room(address):
            self._open[connection] = None
            return False
        self._unrank(address)
        address.count += 1
        address.idle[connection] = None
        self._rank(address)
        self._addresses[name] = address
        self._open[connection] = address
        self._count += 1
        return True

    def remove(self, connection: HttpConnection) -> None:
        """Forget a connection that is closed, or is about to be."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._unrank(address)
        address.count -= 1
        address.idle.pop(connection, None)
        self._rank(address)
        self._count -= 1
        if not address.count:
            del self._addresses[address.name]

    def set_idle(self, connection: HttpConnection, *, idle: bool) -> None:
        """Note whether the server owes a connection an answer."""
        address = self._open.get(connection)
        if address is None or idle == (connection in address.idle):
            return
        self._unrank(address)
        if idle:
            address.idle[connection] = None
        else:
            del address.idle[connection]
        self._rank(address)

    def can_explain(self) -> bool:
        """Return whether another refused connection may stay open until its client has read the answer."""
        return len(self._open) - self._count <= _MAX_REFUSED

    def check(self, part: Iterable[HttpConnection] | None = None) -> None:
        """Close the connections of clients that are too slow, of all or of a part of them."""
        now = self.clock()
        for connection in tuple(self._open) if part is None else part:
            if connection in self._open:
                connection.check(now)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check the next part of all connections, and come again while there are any."""
        if not self._unchecked:
            self._unchecked = list(self._open)
            self._part = ceil(len(self._unchecked) / _SWEEP_PARTS)
        self._unchecked, part = self._unchecked[: -self._part], self._unchecked[-self._part :]
        self.check(part)
        self._timer = (
            loop.call_later(SWEEP_INTERVAL / _SWEEP_PARTS, self._sweep, loop)
            if self._open
            else None
        )

    def _make_room(self, address: _Address) -> bool:
        if not address.exempt and address.count >= self.per_address:
            self._warn(f"one address has {address.count} connections")
            return self._evict(address)
        if self._count >= self.total:
            self._warn(f"all {self.total} connections are in use")
            return bool(self._ranks) and self._evict(next(iter(self._ranks[max(self._ranks)])))
        return True

    def _evict(self, address: _Address) -> bool:
        """Close the idlest connection of an address; return False if none is idle."""
        idlest = next(iter(address.idle), None)
        if idlest is None:
            return False
        self.remove(idlest)
        idlest.transport.abort()
        return True

    def _rank(self, address: _Address) -> None:
        if address.idle:
            self._ranks.setdefault(address.rank, {})[address] = None

    def _unrank(self, address: _Address) -> None:
        if address.idle:
            same = self._ranks[address.rank]
            del same[address]
            if not same:
                del self._ranks[address.rank]

    def _warn(self, problem: str) -> None:
        """Log that there is no room, at most once a minute: an attacker must not fill the log as well."""
        now = self.clock()
        if self._warned is None or now - self._warned >= _WARN_INTERVAL:
            self._warned = now
            _log.warning("%s: idle ones are closed for new ones", problem)


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
        if self._body_size > MAX_BODY and self.cycle.response_complete:
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
            or (_POLL_HANGUP and self.flow.read_paused and self._has_left())
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

    def _has_left(self) -> bool:
        """Return whether the client has closed the connection; while nothing is read, asyncio does not notice that."""
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket"), _POLL_HANGUP)
        return bool(poll.poll(0))

    def _refuse(self) -> None:
        self._refused = True
        if not self._registry.can_explain():
            self.transport.abort()
            return
        self._abort_at = self._registry.clock() + CLOSE_TIME
        self.transport.write(_ALL_IN_USE)
        self.transport.write_eof()
