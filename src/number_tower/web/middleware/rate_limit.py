"""How often one address may ask for what: buckets that fill by themselves, in memory, and few enough to bound it."""

from __future__ import annotations

import re
from collections import Counter
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.web.errors import RefusedRequest, render_plain, send_refusal
from number_tower.web.middleware.client_context import identify_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from number_tower.web.errors import RefusalRenderer

MAX_CONCURRENT = 40


"""Questions of one address that may wait for an answer: a class asks together, and the queue is fair to others."""


_CONCURRENT_RETRY = 2.0


MAX_CLIENTS = 50_000


"""Buckets that are remembered; whoever asked least recently is forgotten first."""


class Bucket(NamedTuple):
    """So many at once, and so many a second after that.

    All there is to know of a client's bucket is one number, the time at which it is full again; before it was ever
    used, that is any time in the past.
    """

    rate: float
    burst: int

    def take(self, full: float, now: float) -> tuple[float, float]:
        """Take one: return when the bucket is full after that, and 0; if it is empty, what it was and the wait."""
        after = max(full, now) + 1 / self.rate
        wait = after - now - self.burst / self.rate
        return (full, wait) if wait > _ROUNDING else (after, 0.0)


_ROUNDING = 1e-6


"""Seconds by which sums of fractions may be off."""


class RateLimit(NamedTuple):
    """Something that can be asked for too often."""

    name: str
    bucket: Bucket
    words: str


READ_LIMIT = RateLimit("looking", Bucket(200, 2000), "So many requests at once are more than this server can answer.")


PAGE_LIMIT = RateLimit("showing", Bucket(100, 1000), "So many pages at once are more than this server can turn.")


ACTION_LIMIT = RateLimit("acting", Bucket(50, 200), "So many moves at once are more than a whole class makes.")


CREATE_LIMIT = RateLimit("creating", Bucket(2, 60), "So many new games at once are more than a whole class plays.")


COMPUTE_LIMIT = RateLimit(
    "thinking", Bucket(5, 60), "So many questions at once are more than this server can think about."
)


HANDOVER_LIMIT = RateLimit("taking", Bucket(1, 10), "Codes that move a seat can be tried only now and then.")


RATE_LIMITS = (READ_LIMIT, PAGE_LIMIT, ACTION_LIMIT, CREATE_LIMIT, COMPUTE_LIMIT, HANDOVER_LIMIT)


_ROUTES: tuple[tuple[str, str, RateLimit | None], ...] = (
    ("*", r"/health(?:/live|/ready)?", None),
    ("*", r"/(?:g|api/games)/[^/]+/take(?:/.*)?", HANDOVER_LIMIT),
    ("*", r"/(?:g|api/games)/[^/]+/hint", COMPUTE_LIMIT),
    ("POST", r"/new|/analysis/play|/api/games", CREATE_LIMIT),
    ("*", r"/(?:analysis|puzzles?|learn/[^/]+|games/[^/]+|api/(?:analyse|review|puzzles(?:/.*)?))", COMPUTE_LIMIT),
    ("GET", r"/(?:static|api|openapi\.json)(?:/.*)?|/[gw]/[^/]+/events", READ_LIMIT),
    ("GET", r".*", PAGE_LIMIT),
    ("HEAD", r".*", PAGE_LIMIT),
    ("*", r".*", ACTION_LIMIT),
)


"""What is asked for, by method and path; the first that fits counts."""


_MATCHERS = tuple((method, re.compile(path, re.DOTALL).fullmatch, kind) for method, path, kind in _ROUTES)


def find_limit(method: str, path: str) -> RateLimit | None:
    """Return what a request asks for; None if it may be asked for at any rate."""
    path = path.rstrip("/")
    return next(kind for known, fits, kind in _MATCHERS if known in {method, "*"} and fits(path))


class RateLimiter:
    """The buckets of all clients."""

    def __init__(self, most: int = MAX_CLIENTS, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._full: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._full)

    def take(self, who: str, kind: RateLimit) -> float:
        """Let somebody ask for something once; return 0, or the seconds after which it may be."""
        now = self._clock()
        key = (who, kind.name)
        full, wait = kind.bucket.take(self._full.pop(key, 0.0), now)
        if len(self._full) >= self._most:
            del self._full[next(iter(self._full))]
        self._full[key] = full
        return wait


class RateLimitMiddleware:
    """Refuses whoever asks too often, or wants too much thought about at the same time."""

    def __init__(
        self,
        app: ASGIApp,
        rates: RateLimiter | None = None,
        telling: RefusalRenderer = render_plain,
        on_refusal: Callable[[str], object] | None = None,
    ) -> None:
        self._app = app
        self._rates = RateLimiter() if rates is None else rates
        self._telling = telling
        self._on_refusal = on_refusal
        self._computing: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or say when it may come again."""
        kind = find_limit(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if kind is None:
            await self._app(scope, receive, send)
            return
        who = identify_client(scope)
        wait = self._rates.take(who, kind) or (
            _CONCURRENT_RETRY if kind is COMPUTE_LIMIT and self._computing[who] >= MAX_CONCURRENT else 0
        )
        if wait:
            if self._on_refusal is not None:
                self._on_refusal(kind.name)
            await send_refusal(self._telling, make_rate_refusal(kind.words, wait), scope, receive, send)
        elif kind is COMPUTE_LIMIT:
            await self._run_counted(who, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _run_counted(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._computing[who] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._computing[who] -= 1
            if not self._computing[who]:
                del self._computing[who]


def make_rate_refusal(words: str, wait: float) -> RefusedRequest:
    """Refuse whoever asks too often, in words, and say when to ask again."""
    seconds = ceil(wait)
    again = f"Wait {seconds} second{'' if seconds == 1 else 's'}, and try again."
    return RefusedRequest(429, "too_many", f"{words} {again}", {"Retry-After": str(seconds)})
