"""The connections of the server: how many there may be, and which are closed when there is no room.

uvicorn does not bound them by address. Without a bound, one address can take all of them.
"""

from __future__ import annotations

import logging
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING

from number_tower.web.rates import client

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from number_tower.web.http_connection import HttpConnection

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

_log = logging.getLogger(__name__)


class _Address:
    """The connections of one address: how many, and which of them are idle, the idlest first."""

    __slots__ = ("count", "exempt", "idle", "name")

    def __init__(self, name: str, *, exempt: bool) -> None:
        self.name = name
        self.exempt = exempt
        self.count = 0
        self.idle: dict[HttpConnection, None] = {}

    @property
    def rank(self) -> int:
        """The place in the order in which addresses lose connections: proxies carry many clients and come last."""
        return 0 if self.exempt else self.count


class ConnectionRegistry:
    """Count the connections, make room for new ones, and check all of them for slow clients.

    A connection is idle while the server owes it no answer: before its request has arrived completely, and after the
    answer. If there is no room, the connection that has been idle for the longest is closed: that of the same address
    if this address has its full number, else that of the address with the most connections. Only if there is none, the
    new connection is refused. All operations take constant time (`max` looks at the distinct numbers of connections,
    at most 110 for 6,000 connections).
    """

    def __init__(
        self,
        total: int | None = MAX_CONNECTIONS,
        per_address: int | None = MAX_PER_ADDRESS,
        is_proxy: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._total = total
        self._per_address = per_address
        self.is_proxy = is_proxy
        self.clock = clock
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
            self._timer = connection.loop.call_later(SWEEP_INTERVAL / _SWEEP_PARTS, self._sweep, connection.loop)
        name = "proxy" if connection.from_proxy else client({"client": connection.client})
        address = self._addresses.get(name) or _Address(name, exempt=connection.from_proxy)
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
        self._timer = loop.call_later(SWEEP_INTERVAL / _SWEEP_PARTS, self._sweep, loop) if self._open else None

    def _make_room(self, address: _Address) -> bool:
        if self._per_address is not None and not address.exempt and address.count >= self._per_address:
            self._warn(f"one address has {address.count} connections")
            return self._evict(address)
        if self._total is not None and self._count >= self._total:
            self._warn(f"all {self._total} connections are in use")
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
