"""Limits of HTTP connections: how many there may be, and how slow their clients.

uvicorn has no such limits. Without them one address can take all connections, and a client that
sends or reads nothing holds its connection, and the memory behind it, forever. A protocol around
uvicorn's own enforces the limits.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from number_tower.web.http.middleware import HttpMiddleware, group_address

MAX_CONNECTIONS = 6000
"""Connections of all addresses together."""

MAX_PER_ADDRESS = 2000
"""Connections of one address, such as a school; trusted proxies are exempt."""

WAIT_TIME = 30.0
"""Seconds in which the head of a request has to arrive, from the connection or its first byte."""

READ_TIME = 30.0
"""Seconds for which a client may leave an answer unread; streams included."""

SWEEP_INTERVAL = 1.0
"""Seconds in which all connections are checked once for slow clients."""

_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

Peer = tuple[str, int]


class ConnectionRegistry:
    """All connections. If there are too many, the one that has been idle for the longest is closed.

    It is one of the same address if that has its full number, else one of the busiest address.
    """

    def __init__(
        self,
        total: float = MAX_CONNECTIONS,
        per_address: float = MAX_PER_ADDRESS,
        is_proxy: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.clock = clock
        self._total = total
        self._per_address = per_address
        self._is_proxy = is_proxy
        self._open: dict[Peer, Connection] = {}
        self._idle: dict[Connection, None] = {}
        """The connections to which the server owes no answer, the idlest first."""
        self._counts: Counter[str] = Counter()
        """Connections by address; those of proxies carry many clients, and are closed last."""

    def __len__(self) -> int:
        return len(self._open)

    def make_protocol(self, **options: Any) -> asyncio.Protocol:
        """Make the protocol of a connection, as uvicorn does."""
        return Connection(self, H11Protocol(**options))

    def find(self, peer: Peer | None) -> Connection | None:
        """Return the connection of a client by its address and port."""
        return None if peer is None else self._open.get((peer[0], peer[1]))

    def add(self, connection: Connection) -> None:
        """Count a new connection; if there are too many, close an idle one, or else the new one."""
        address = connection.address
        if self._counts[address] >= self._per_address:
            idle_here = [idle for idle in self._idle if idle.address == address]
            self._close_idlest(idle_here, connection)
        elif len(self) >= self._total:
            self._close_idlest(self._idle, connection)
        if connection.transport.is_closing():
            return
        self._open[connection.peer] = connection
        self._idle[connection] = None
        if not self._is_proxy(connection.peer[0]):
            self._counts[address] += 1

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed, or is about to be."""
        if self._open.get(connection.peer) is not connection:
            return
        del self._open[connection.peer]
        self._idle.pop(connection, None)
        if not self._is_proxy(connection.peer[0]):
            self._counts[connection.address] -= 1
            if not self._counts[connection.address]:
                del self._counts[connection.address]

    def set_idle(self, connection: Connection, *, idle: bool) -> None:
        """Note whether the server owes a connection an answer."""
        self._idle.pop(connection, None)
        if idle and self._open.get(connection.peer) is connection:
            self._idle[connection] = None

    async def sweep(self) -> None:
        """Close the connections of slow clients, again and again."""
        while True:
            await asyncio.sleep(SWEEP_INTERVAL)
            self.check()

    def abort(self) -> None:
        """Close all connections at once."""
        for connection in tuple(self._open.values()):
            connection.abort()

    def check(self) -> None:
        """Close the connections of clients that are too slow."""
        now = self.clock()
        for connection in tuple(self._open.values()):
            if connection.is_late(now):
                connection.abort()

    def _close_idlest(self, idle: Iterable[Connection], newcomer: Connection) -> None:
        closed = max(idle, key=lambda candidate: self._counts[candidate.address], default=newcomer)
        self.remove(closed)
        closed.abort()


class Connection(asyncio.Protocol):
    """Passes everything on to another protocol, and notes how slow the client is."""

    transport: asyncio.Transport
    peer: Peer
    address: str

    def __init__(self, registry: ConnectionRegistry, inner: asyncio.Protocol) -> None:
        self._registry = registry
        self._inner = inner
        self._is_busy = False
        self._waiting_since: float | None = registry.clock()
        self._unread = 0
        self._unread_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, which is one that writes, and wait for a request."""
        self.transport = transport
        host, port, *_ = transport.get_extra_info("peername") or ("gone", id(self))
        self.peer = str(host), port
        self.address = group_address(str(host))
        self._registry.add(self)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._registry.remove(self)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; the first one begins its time."""
        if self._waiting_since is None and not self._is_busy:
            self._waiting_since = self._registry.clock()
        self._inner.data_received(data)

    def eof_received(self) -> None:
        """Pass on that the client sends no more."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass on that much is waiting to be read by the client."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Note that the client has read what was written."""
        self._unread_since = None
        self._inner.resume_writing()

    def set_busy(self, *, busy: bool) -> None:
        """Note that an answer begins, or that it is complete."""
        self._is_busy = busy
        self._waiting_since = None
        self._registry.set_idle(self, idle=not busy)

    def is_late(self, now: float) -> bool:
        """Return whether the client has sent no request, or has read nothing, for too long."""
        size = self.transport.get_write_buffer_size()
        if not size:
            self._unread_since = None
        elif self._unread_since is None or size < self._unread:
            self._unread_since = now
        self._unread = size
        is_unread = self._unread_since is not None and now - self._unread_since >= READ_TIME
        return is_unread or (
            self._waiting_since is not None and now - self._waiting_since >= WAIT_TIME
        )

    def abort(self) -> None:
        """Close the connection at once, and let the system drop what the client has not read."""
        if (line := self.transport.get_extra_info("socket")) is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()


class ConnectionMiddleware(HttpMiddleware):
    """Keeps a connection from being closed for another one while a request is answered."""

    def __init__(self, app: ASGIApp, connections: ConnectionRegistry) -> None:
        super().__init__(app)
        self._connections = connections

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = self._connections.find(scope.get("client"))
        if connection is None:  # it was closed before its request began
            await self._app(scope, receive, send)
            return
        connection.set_busy(busy=True)
        try:
            await self._app(scope, receive, send)
        finally:
            connection.set_busy(busy=False)
