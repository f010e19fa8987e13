"""How often one address may ask for what: buckets that fill by themselves, in memory, and few enough to bound it."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.web.refusals import Refusal, plain, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from number_tower.web.refusals import Telling

MOST_AT_ONCE = 40
"""Questions of one address that may wait for an answer: a class asks together, and the queue is fair to others."""

_SHORTLY = 2.0

MOST_CLIENTS = 50_000
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


class Kind(NamedTuple):
    """Something that can be asked for too often."""

    name: str
    bucket: Bucket
    words: str


LOOKING = Kind("looking", Bucket(200, 2000), "So many requests at once are more than this server can answer.")
SHOWING = Kind("showing", Bucket(100, 1000), "So many pages at once are more than this server can turn.")
ACTING = Kind("acting", Bucket(50, 200), "So many moves at once are more than a whole class makes.")
CREATING = Kind("creating", Bucket(2, 60), "So many new games at once are more than a whole class plays.")
THINKING = Kind("thinking", Bucket(5, 60), "So many questions at once are more than this server can think about.")
TAKING = Kind("taking", Bucket(1, 10), "Codes that move a seat can be tried only now and then.")
KINDS = (LOOKING, SHOWING, ACTING, CREATING, THINKING, TAKING)

_TABLE: tuple[tuple[str, str, Kind | None], ...] = (
    ("*", r"/health(?:/live|/ready)?", None),
    ("*", r"/(?:g|api/games)/[^/]+/take(?:/.*)?", TAKING),
    ("*", r"/(?:g|api/games)/[^/]+/hint", THINKING),
    ("POST", r"/new|/analysis/play|/api/games", CREATING),
    ("*", r"/(?:analysis|puzzles?|learn/[^/]+|games/[^/]+|api/(?:analyse|review|puzzles(?:/.*)?))", THINKING),
    ("GET", r"/(?:static|api|openapi\.json)(?:/.*)?|/[gw]/[^/]+/events", LOOKING),
    ("GET", r".*", SHOWING),
    ("HEAD", r".*", SHOWING),
    ("*", r".*", ACTING),
)
"""What is asked for, by method and path; the first that fits counts."""

_MATCHERS = tuple((method, re.compile(path, re.DOTALL).fullmatch, kind) for method, path, kind in _TABLE)


def kind_of(method: str, path: str) -> Kind | None:
    """Return what a request asks for; None if it may be asked for at any rate."""
    path = path.rstrip("/")
    return next(kind for known, fits, kind in _MATCHERS if known in {method, "*"} and fits(path))


@lru_cache(maxsize=4096)
def _counted_as(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, 64), strict=False))
    return str(address)


def client(scope: Scope) -> str:
    """Return as whom an asker is counted: by address, where one household has 2**64 of them by all of these."""
    found = scope.get("client")
    return _counted_as(found[0]) if found else "here"


class Rates:
    """The buckets of all clients."""

    def __init__(self, most: int = MOST_CLIENTS, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._full: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, who: str, kind: Kind) -> float:
        """Let somebody ask for something once; return 0, or the seconds after which it may be."""
        now = self._clock()
        key = (who, kind.name)
        full, wait = kind.bucket.take(self._full.pop(key, 0.0), now)
        if len(self._full) >= self._most:
            del self._full[next(iter(self._full))]
        self._full[key] = full
        return wait


class Limited:
    """Refuses whoever asks too often, or wants too much thought about at the same time."""

    def __init__(
        self,
        app: ASGIApp,
        rates: Rates | None = None,
        telling: Telling = plain,
        on_refusal: Callable[[str], object] | None = None,
    ) -> None:
        self._app = app
        self._rates = Rates() if rates is None else rates
        self._telling = telling
        self._on_refusal = on_refusal
        self._thinking: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or say when it may come again."""
        kind = kind_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if kind is None:
            await self._app(scope, receive, send)
            return
        who = client(scope)
        wait = self._rates.wait(who, kind) or (
            _SHORTLY if kind is THINKING and self._thinking[who] >= MOST_AT_ONCE else 0
        )
        if wait:
            if self._on_refusal is not None:
                self._on_refusal(kind.name)
            await refuse(self._telling, too_often(kind.words, wait), scope, receive, send)
        elif kind is THINKING:
            await self._thought_about(who, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _thought_about(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._thinking[who] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._thinking[who] -= 1
            if not self._thinking[who]:
                del self._thinking[who]


def too_often(words: str, wait: float) -> Refusal:
    """Refuse whoever asks too often, in words, and say when to ask again."""
    seconds = ceil(wait)
    again = f"Wait {seconds} second{'' if seconds == 1 else 's'}, and try again."
    return Refusal(429, "too_many", f"{words} {again}", {"Retry-After": str(seconds)})
