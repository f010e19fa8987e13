"""Reject requests with an unknown Host header."""

from __future__ import annotations

import re
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from number_tower.web.errors import Problem, send_problem
from number_tower.web.middleware import FROM_PROXY, HttpMiddleware
from number_tower.web.settings import LOOPBACK, Settings, parse_address

_MAX_HOST_LENGTH = 260
_HOST = re.compile(rb"([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?", re.IGNORECASE)
_FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
_MALFORMED = Problem(
    400,
    "bad_host",
    "The request has no valid host: expected a name such as tower.example.org.",
)


class TrustedHostMiddleware(HttpMiddleware):
    """Reject requests with an unknown Host header.

    With DNS rebinding, another site lets its own name point to this machine, and its pages then count as ours in the
    visitor's browser. Only the Host header tells: it still has the name of that site. An IP address in it is always
    accepted, since a name is needed for the attack.

    A request that a trusted proxy forwards may have any Host, because proxies may rename it, unless the operator listed
    the accepted names.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(app)
        self._names = settings.known_hosts
        self._proxied_names_checked = bool(settings.host_names)
        self._advice = _advise(settings)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with one well-formed, known Host header, or without any."""
        problem = self._check(scope)
        if problem is None:
            await self._app(scope, receive, send)
            return
        # The page with the problem must not use the header in its links.
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"host"]
        await send_problem(problem, scope, receive, send)

    def _check(self, scope: Scope) -> Problem | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not hosts:  # only programs leave it out: a browser always sends one
            return None
        name = (
            parse_host(hosts[0]) if len(hosts) == 1 and len(hosts[0]) <= _MAX_HOST_LENGTH else None
        )
        if name is None:
            return _MALFORMED
        if name in self._names or parse_address(name.strip("[]")) or self._is_forwarded(scope):
            return None
        words = f"This server does not know the name {name}. {self._advice}; or start it with --host-name {name}."
        return Problem(421, "unknown_host", words)

    def _is_forwarded(self, scope: Scope) -> bool:
        """Return whether a trusted proxy forwarded the request and may name the host as it likes.

        A browser on the proxy's machine has the proxy's address too, but does not send these headers by itself.
        """
        return (
            not self._proxied_names_checked
            and FROM_PROXY in scope.get("extensions", ())
            and any(name in _FORWARDED for name, _ in scope["headers"])
        )


@lru_cache(maxsize=1024)
def parse_host(value: bytes) -> str | None:
    """Return the name or address in a Host header, in lower case, without port and final dot; None if malformed."""
    found = _HOST.fullmatch(value)
    if found is None:
        return None
    return found[1].decode("ascii").lower().removesuffix(".") or None


def _advise(settings: Settings) -> str:
    """Say by which address the server can be opened.

    The address of this machine in its network is left out: the asker may be a page of another site.
    """
    if settings.public_url is not None:
        return f"Open {settings.public_url} instead"
    if settings.host in {*LOOPBACK, "localhost"}:
        return "Open it as localhost, or by its IP address"
    return "Open the address that `tower serve` showed when it started"
