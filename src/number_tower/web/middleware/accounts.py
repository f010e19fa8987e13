"""Under which names a request is counted: by the seat that its sender holds, or else by the sender's address.

A class behind one address then shares nothing but the address's ceiling. Only seats that are in memory count, so that
nothing is read for a request that may be refused: the first request after a restart is counted by its address.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from starlette.types import Scope

from number_tower.store.rooms import digest_secret
from number_tower.web.middleware import identify_client

SEATS_PER_ADDRESS = 10
"""How many times the limit of one client all seats at one address may use together."""

COOKIE_NAME = r"(?:__Host-)?browser-[0-9a-f]{8}"
SECRET = r"[A-Za-z0-9_-]{43}"  # noqa: S105 - a pattern
"""What the name and the value of a browser's cookie look like."""

_COOKIE = re.compile(rf"(?:^|[; ]){COOKIE_NAME}=({SECRET})(?=;|$)".encode())
_BEARER = re.compile(rb"bearer ([A-Za-z0-9_-]{1,128})", re.IGNORECASE)
_MAX_SECRETS = 8
"""Secrets of one request that are looked up; a browser has one, and a few after first visits in several tabs."""

SeatCheck = Callable[[str], bool]
"""Says whether the holder of a secret with this digest holds a seat, or a place in a class."""


class Account(NamedTuple):
    """A name under which requests are counted, and how many times the limit of one client it may use."""

    name: str
    share: int = 1


def list_accounts(scope: Scope, *, by_seat: bool = True) -> tuple[Account, ...]:
    """Return the accounts that a request uses: of the seat and of all seats at the address, or of the address alone."""
    client = identify_client(scope)
    seat = identify_seat(scope) if by_seat else None
    if seat is None:
        return (Account(client),)
    return Account(seat), Account(f"seats at {client}", SEATS_PER_ADDRESS)


def identify_seat(scope: Scope) -> str | None:
    """Return the digest of the secret by which the sender of a request holds a seat; None if it shows none."""
    checks: list[SeatCheck] = (
        getattr(scope["app"].state, "seat_checks", []) if "app" in scope else []
    )
    if not checks:
        return None
    digests = (digest_secret(secret) for secret in islice(_list_secrets(scope), _MAX_SECRETS))
    return next((digest for digest in digests if any(check(digest) for check in checks)), None)


def subtract_counts(counts: Counter[str], names: Iterable[str]) -> None:
    """Count each name once less, and forget those that are at zero; `Counter.__isub__` would look at all of them."""
    for name in names:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]


def _list_secrets(scope: Scope) -> Iterator[str]:
    for name, value in scope["headers"]:
        if name == b"authorization" and (token := _BEARER.fullmatch(value)):
            yield token[1].decode()
        elif name == b"cookie":
            yield from (found[1].decode() for found in _COOKIE.finditer(value))
