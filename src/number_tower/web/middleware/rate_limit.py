"""Reject clients that send too many requests: token buckets per address, in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.text import format_count
from number_tower.web.errors import Problem, send_problem
from number_tower.web.limits import MAX_CLIENTS
from number_tower.web.middleware import HttpMiddleware, identify_client

MAX_CONCURRENT = 40
"""Questions of one address that may wait for an answer: a class asks together, and the queue is fair to others."""

_CONCURRENT_RETRY = 2.0
_ROUNDING = 1e-6
"""Seconds by which sums of fractions may be off."""


class RateLimit(NamedTuple):
    """A limit for one kind of request: a burst of requests at once, and a rate per second after that.

    The state of a client's bucket is one number, the time at which it is full again; before its first use, that is any
    time in the past.
    """

    name: str
    """In the metrics."""
    rate: float
    burst: int
    words: str

    def take(self, full: float, now: float) -> tuple[float, float]:
        """Take one: return when the bucket is full after that, and 0; if it is empty, what it was and the wait."""
        after = max(full, now) + 1 / self.rate
        wait = after - now - self.burst / self.rate
        return (full, wait) if wait > _ROUNDING else (after, 0.0)


READ_LIMIT = RateLimit("looking", 200, 2000, "Too many requests at once.")
PAGE_LIMIT = RateLimit("showing", 100, 1000, "Too many pages at once.")
ACTION_LIMIT = RateLimit("acting", 50, 200, "Too many moves at once.")
CREATE_LIMIT = RateLimit("creating", 2, 60, "Too many new games at once.")
COMPUTE_LIMIT = RateLimit("thinking", 5, 60, "Too many questions at once.")
HANDOVER_LIMIT = RateLimit("taking", 1, 10, "Too many tries to move a seat.")
RATE_LIMITS = (READ_LIMIT, PAGE_LIMIT, ACTION_LIMIT, CREATE_LIMIT, COMPUTE_LIMIT, HANDOVER_LIMIT)

_ROUTES: tuple[tuple[str, str, RateLimit | None], ...] = (
    ("*", r"/health(?:/live|/ready)?", None),
    ("*", r"/(?:g|api/games)/[^/]+/take(?:/.*)?", HANDOVER_LIMIT),
    ("*", r"/(?:g|api/games)/[^/]+/hint", COMPUTE_LIMIT),
    ("POST", r"/new|/analysis/play|/api/games", CREATE_LIMIT),
    ("*", r"/(?:analysis|puzzles?|learn/[^/]+|games/[^/]+|api/(?:analyse|review|puzzles(?:/.*)?))", COMPUTE_LIMIT),
    ("*", r"/rules(?:/verdict)?", COMPUTE_LIMIT),
    ("GET", r"/(?:static|api|openapi\.json)(?:/.*)?|/[gw]/[^/]+/events", READ_LIMIT),
    ("GET", r".*", PAGE_LIMIT),
    ("HEAD", r".*", PAGE_LIMIT),
    ("*", r".*", ACTION_LIMIT),
)
"""The limits by method and path; the first that fits counts."""

_MATCHERS = tuple((method, re.compile(path, re.DOTALL).fullmatch, limit) for method, path, limit in _ROUTES)


def find_limit(method: str, path: str) -> RateLimit | None:
    """Return the limit of a request; None if there is none."""
    path = path.rstrip("/")
    return next(limit for known, fits, limit in _MATCHERS if known in {method, "*"} and fits(path))


class RateLimiter:
    """The buckets of all clients; those of the least recent client are forgotten first."""

    def __init__(self, max_buckets: int = MAX_CLIENTS, clock: Callable[[], float] = monotonic) -> None:
        self._max_buckets = max_buckets
        self._clock = clock
        self._full: dict[tuple[str, str], float] = {}

    def take(self, client: str, limit: RateLimit) -> float:
        """Count a request; return 0 if it is allowed, else the seconds after which it would be."""
        key = (client, limit.name)
        full, wait = limit.take(self._full.pop(key, 0.0), self._clock())
        if len(self._full) >= self._max_buckets:
            del self._full[next(iter(self._full))]
        self._full[key] = full
        return wait


class RateLimitMiddleware(HttpMiddleware):
    """Rejects clients that send too many requests, or have too many questions waiting."""

    def __init__(self, app: ASGIApp, rates: RateLimiter | None = None) -> None:
        super().__init__(app)
        self._rates = RateLimiter() if rates is None else rates
        self._computing: Counter[str] = Counter()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = find_limit(scope["method"], scope["path"])
        if limit is None:
            await self._app(scope, receive, send)
            return
        client = identify_client(scope)
        wait = self._rates.take(client, limit)
        if limit is COMPUTE_LIMIT and not wait and self._computing[client] >= MAX_CONCURRENT:
            wait = _CONCURRENT_RETRY
        if wait:
            await send_problem(make_rate_problem(limit.words, wait, limit.name), scope, receive, send)
            return
        self._computing[client] += limit is COMPUTE_LIMIT
        try:
            await self._app(scope, receive, send)
        finally:
            self._computing[client] -= limit is COMPUTE_LIMIT
            if not self._computing[client]:
                del self._computing[client]


def make_rate_problem(words: str, wait: float, limit: str) -> Problem:
    """Return the refusal of a client that sends too many requests; it says when to send the next one."""
    seconds = ceil(wait)
    detail = f"{words} Please try again in {format_count(seconds, 'second')}."
    return Problem(429, "too_many", detail, headers={"Retry-After": str(seconds)}, limit=limit)
