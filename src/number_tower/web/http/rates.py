"""Rate limits: a client has a bucket of tokens, and a request costs the price of its route.

A client is a browser, by its cookie, or else an address. All browsers at one address share a bucket
of their own, because a client can invent cookies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from time import monotonic
from typing import Any

from fastapi import Depends, HTTPException
from starlette.requests import HTTPConnection, Request

from number_tower.support.text import format_duration
from number_tower.web.http.middleware import identify_address, identify_client

RATE = 100
"""Tokens that a bucket gains each second."""

BURST = 6000
"""Tokens of a full bucket."""

BROWSERS_PER_ADDRESS = 10
"""Size of an address's bucket, in buckets of one browser."""

MAX_CLIENTS = 50_000
"""Buckets in memory; the least recently used one is forgotten first."""

# Prices in tokens ---------------------------------------------------------------------------------

REQUEST = 1
"""Any request; health and static files cost nothing."""

THINKING = 40
"""Analyses, reviews, hints, puzzles, lessons, pictures, own rules."""

NEW_GAME = 50
"""A new game or a new class."""

WRONG_CODE = 300
"""A wrong short code, charged to the address; a right one always works."""


class RateLimiter:
    """A bucket of tokens for each client, whose state is the time at which it is full again."""

    def __init__(
        self, rate: float = RATE, burst: float = BURST, clock: Callable[[], float] = monotonic
    ) -> None:
        self._rate = rate
        self._fill_time = burst / rate
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def spend(self, tokens: float, shares: Mapping[str, int]) -> float:
        """Spend tokens of clients by their shares; if one has too few, return how long to wait.

        A request that is refused costs nothing.
        """
        now = self._clock()
        after = {
            client: max(self._full_at.get(client, 0.0), now) + tokens / (self._rate * share)
            for client, share in shares.items()
        }
        wait = max(after.values()) - now - self._fill_time
        if wait > 1e-6:  # sums of fractions may be off by less
            return wait
        for client, full_at in after.items():
            self._full_at.pop(client, None)
            self._full_at[client] = full_at
        while len(self._full_at) > MAX_CLIENTS:
            del self._full_at[next(iter(self._full_at))]
        return 0.0


def price(tokens: int) -> Any:
    """Return a dependency of a route: its requests cost tokens of the browser or the address."""

    async def spend_tokens(request: Request) -> None:
        charge(request, tokens)

    return Depends(spend_tokens)


def charge(request: HTTPConnection, tokens: int) -> None:
    """Let the browser pay for a request, or else the address; refuse it if they have too little."""
    client, address = identify_client(request.scope), identify_address(request.scope)
    shares = {client: 1}
    if client != address:
        shares[f"browsers at {address}"] = BROWSERS_PER_ADDRESS
    _spend(request, tokens, shares, "Too many requests at once.")


def charge_wrong_code(request: HTTPConnection) -> None:
    """Charge the address for a code that was wrong."""
    _spend(request, WRONG_CODE, {identify_address(request.scope): 1}, "Too many wrong codes.")


def _spend(request: HTTPConnection, tokens: int, shares: Mapping[str, int], problem: str) -> None:
    limiter: RateLimiter | None = request.app.state.parts.limiter
    if limiter is not None and (wait := limiter.spend(tokens, shares)):
        raise make_refusal(problem, wait)


def make_refusal(problem: str, wait: float) -> HTTPException:
    """Return the refusal of a client that has asked for too much; it says when to ask again."""
    text = f"{problem} Please try again in {format_duration(wait)}."
    return HTTPException(429, text, {"Retry-After": str(ceil(wait))})
