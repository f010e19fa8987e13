"""Reject clients that send too many requests: token buckets in memory, per seat or else per address."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil
from time import monotonic
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from number_tower.text import format_count
from number_tower.web.errors import Problem, ProblemError, send_problem
from number_tower.web.limits import MAX_CLIENTS
from number_tower.web.middleware import HttpMiddleware, identify_client
from number_tower.web.middleware.accounts import Account, list_accounts, subtract_counts

MAX_CONCURRENT = 40
"""Questions of one client that may wait for an answer; the queue is fair to others."""

_CONCURRENT_RETRY = 2.0
_ROUNDING = 1e-6
"""Seconds by which sums of fractions may be off."""

_REFUSED = {429, 503, 507}
"""Statuses of requests that were refused for what others, or the same client, have asked for before."""


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
    about: str = ""
    """Which requests are counted, for the how-to."""
    by_seat: bool = True
    """Whether a request of a seat's holder counts for the seat; what gives or guesses seats counts for the address."""

    def take(self, full: float, now: float) -> tuple[float, float]:
        """Take one: return when the bucket is full after that, and 0; if it is empty, what it was and the wait."""
        after = max(full, now) + 1 / self.rate
        wait = after - now - self.burst / self.rate
        return (full, wait) if wait > _ROUNDING else (after, 0.0)

    def multiply(self, share: int) -> RateLimit:
        """Return the limit for several clients together."""
        return (
            self if share == 1 else self._replace(rate=self.rate * share, burst=self.burst * share)
        )


READ_LIMIT = RateLimit(
    "looking",
    200,
    2000,
    "Too many requests at once.",
    "looking at games by the API, streams, files",
)
PAGE_LIMIT = RateLimit("showing", 100, 1000, "Too many pages at once.", "pages")
ACTION_LIMIT = RateLimit(
    "acting",
    50,
    200,
    "Too many moves at once.",
    "moves, answers, offers, taking a free seat, checks of your own rules",
)
COMPUTE_LIMIT = RateLimit(
    "thinking",
    5,
    60,
    "Too many questions at once.",
    "analysis, reviews, hints, puzzles, lessons, pictures, own rules",
)
CREATE_LIMIT = RateLimit(
    "creating", 2, 60, "Too many new games at once.", "new games", by_seat=False
)
HANDOVER_LIMIT = RateLimit(
    "taking", 1, 10, "Too many tries to move a seat.", "moving a seat by its code", by_seat=False
)
CODE_LIMIT = RateLimit(
    "codes",
    20 / 60,
    20,
    "Too many wrong codes.",
    "wrong short codes; a right one always works",
    by_seat=False,
)
RATE_LIMITS = (
    READ_LIMIT,
    PAGE_LIMIT,
    ACTION_LIMIT,
    COMPUTE_LIMIT,
    CREATE_LIMIT,
    HANDOVER_LIMIT,
    CODE_LIMIT,
)

_ROUTES: tuple[tuple[str, str, RateLimit | None], ...] = (
    ("*", r"/health(?:/live|/ready)?", None),
    ("*", r"/(?:g|api/games)/[^/]+/take(?:/.*)?", HANDOVER_LIMIT),
    ("*", r"/(?:g|api/games)/[^/]+/hint", COMPUTE_LIMIT),
    ("POST", r"/new|/class/new|/analysis/play|/api/games", CREATE_LIMIT),
    (
        "POST",
        r"/puzzles?|/learn/[^/]+",
        ACTION_LIMIT,
    ),  # the page that follows is computed, not the answer
    (
        "*",
        r"/(?:analysis|share(?:\.[a-z]+)?|puzzles?|learn/[^/]+|games/[^/]+|api/(?:analyse|review|puzzles(?:/.*)?))",
        COMPUTE_LIMIT,
    ),
    ("*", r"/rules(?:/verdict)?", COMPUTE_LIMIT),
    ("GET", r"/(?:static|api|openapi\.json)(?:/.*)?|/.+/events", READ_LIMIT),
    ("GET", r".*", PAGE_LIMIT),
    ("HEAD", r".*", PAGE_LIMIT),
    ("*", r".*", ACTION_LIMIT),
)
"""The limits by method and path; the first that fits counts."""

_MATCHERS = tuple(
    (method, re.compile(path, re.DOTALL).fullmatch, limit) for method, path, limit in _ROUTES
)


def find_limit(method: str, path: str) -> RateLimit | None:
    """Return the limit of a request; None if there is none."""
    path = path.rstrip("/")
    return next(limit for known, fits, limit in _MATCHERS if known in {method, "*"} and fits(path))


class RateLimiter:
    """The buckets of all clients; those of the least recent client are forgotten first."""

    def __init__(
        self, max_buckets: int = MAX_CLIENTS, clock: Callable[[], float] = monotonic
    ) -> None:
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

    def give_back(self, client: str, limit: RateLimit) -> None:
        """Count a request as not made."""
        key = (client, limit.name)
        if key in self._full:
            self._full[key] -= 1 / limit.rate

    def take_all(self, accounts: Sequence[Account], limit: RateLimit) -> float:
        """Count a request for several accounts, or for none of them if it exceeds the limit of one."""
        for number, account in enumerate(accounts):
            if wait := self.take(account.name, limit.multiply(account.share)):
                self.give_all_back(accounts[:number], limit)
                return wait
        return 0.0

    def give_all_back(self, accounts: Sequence[Account], limit: RateLimit) -> None:
        """Count a request as not made by any of these accounts."""
        for account in accounts:
            self.give_back(account.name, limit.multiply(account.share))


class RateLimitMiddleware(HttpMiddleware):
    """Rejects clients that send too many requests, or have too many questions waiting.

    A request that is refused, here or by another limit, or because the server is busy, does not use up the allowance.
    """

    def __init__(self, app: ASGIApp, rates: RateLimiter | None = None) -> None:
        super().__init__(app)
        self._rates = RateLimiter() if rates is None else rates
        self._computing: Counter[str] = Counter()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = find_limit(scope["method"], scope["path"])
        if limit is None:
            await self._app(scope, receive, send)
            return
        accounts = list_accounts(scope, by_seat=limit.by_seat)
        computing = accounts if limit is COMPUTE_LIMIT else ()
        is_crowded = any(
            self._computing[each.name] >= MAX_CONCURRENT * each.share for each in computing
        )
        wait = _CONCURRENT_RETRY if is_crowded else self._rates.take_all(accounts, limit)
        if wait:
            await send_problem(
                make_rate_problem(limit.words, wait, limit.name), scope, receive, send
            )
            return
        status = 0

        async def track_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._computing.update(each.name for each in computing)
        try:
            await self._app(scope, receive, track_status)
        finally:
            if status in _REFUSED:
                self._rates.give_all_back(accounts, limit)
            subtract_counts(self._computing, (each.name for each in computing))


class TooManyError(ProblemError):
    """Refuses a client that has failed at something too often; the headers say when to try again."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status, problem.reason, problem.detail)
        self.problem = problem
        self.headers = problem.headers


def count_failure(request: HTTPConnection, limit: RateLimit) -> None:
    """Count something that a client tried and that failed, such as a wrong code; raise if that were too many."""
    rates: RateLimiter | None = getattr(request.app.state, "rates", None)
    if rates is not None and (wait := rates.take(identify_client(request.scope), limit)):
        raise TooManyError(make_rate_problem(limit.words, wait, limit.name))


def make_rate_problem(words: str, wait: float, limit: str) -> Problem:
    """Return the refusal of a client that sends too many requests; it says when to send the next one."""
    seconds = ceil(wait)
    detail = f"{words} Please try again in {format_count(seconds, 'second')}."
    return Problem(429, "too_many", detail, headers={"Retry-After": str(seconds)}, limit=limit)
