"""The log of the server: a line for each request and event, without secrets that open a seat."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any, TypeVar

from starlette.types import Message, Receive, Scope, Send

from number_tower.web.http.middleware import HttpMiddleware, parse_address

SECRET_PARAMETERS = ("address", "watch", "code", "token")
"""Path parameters that give access to a seat."""

_WORD = re.compile(r"[a-z._-]{1,20}")
_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,}(?![A-Za-z0-9_-])")
_PARAMETERS = re.compile(r"\[parameters: .*?\)\]", re.DOTALL)

_access_log = logging.getLogger("number_tower.access")

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def configure_logging(*, quiet: bool = False) -> None:
    """Write all log records to standard error, those of uvicorn among them."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)
    for talkative in ("uvicorn", "asyncio", "httpx", "httpx2", "sqlalchemy", "alembic"):
        logging.getLogger(talkative).setLevel(logging.WARNING)


class SafeFormatter(logging.Formatter):
    """Leaves out what could be the token of a seat, and what was written to a database."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, with its traceback if it has one."""
        return _TOKEN.sub("[...]", _PARAMETERS.sub("[parameters: ...]", super().format(record)))


def log_failures_only(endpoint: Endpoint) -> Endpoint:
    """Leave the requests of a route out of the log, unless they fail."""
    endpoint.is_quiet = True  # type: ignore[attr-defined] # read by the middleware
    return endpoint


class LogMiddleware(HttpMiddleware):
    """Logs every request when its answer begins, but not who the client is or what opens a seat."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def log_start(message: Message) -> None:
            if message["type"] == "http.response.start":
                log_request(scope, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, log_start)
        except Exception:
            log_request(scope, 500)
            raise


def log_request(scope: Mapping[str, Any], status: int) -> None:
    """Log one request; its route says whether that is needed."""
    if status < 400 and getattr(scope.get("endpoint"), "is_quiet", False):
        return
    client = scope["client"][0] if scope.get("client") else ""
    _access_log.info(
        '%s - "%s %s HTTP/%s" %d',
        shorten_address(client),
        scope["method"],
        mask_path(scope["path"], scope["path_params"] if "endpoint" in scope else None),
        scope["http_version"],
        status,
    )


def mask_path(path: str, parameters: Mapping[str, str] | None) -> str:
    """Return a path with dots for addresses and codes; without parameters, no route has it."""
    parts = path.split("/")
    if parameters is None:
        # It may be a mistyped path, with a code anywhere but in its first word.
        secrets = set(parts[2:])
    else:
        secrets = {parameters[key] for key in SECRET_PARAMETERS if key in parameters}
    masked = []
    for part in parts:
        is_shown = not part or (_WORD.fullmatch(part) and part not in secrets)
        masked.append(part if is_shown else "...")
    return "/".join(masked)


def shorten_address(host: str) -> str:
    """Return the network of an address: the log does not tell one household from the next."""
    address = parse_address(host)
    if address is None:
        return "unknown"
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))
