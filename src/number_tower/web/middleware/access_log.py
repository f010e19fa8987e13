"""Log every request, and set up the log: one line per event, without secrets that would open a seat."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_network
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING, Any, TextIO

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from number_tower.web.errors import Problem, describe_failure, send_problem
from number_tower.web.middleware import CURRENT_CLIENT, HttpMiddleware, identify_client
from number_tower.web.settings import Settings, parse_address

if TYPE_CHECKING:
    from number_tower.web.metrics import Metrics  # the library is optional

_log = logging.getLogger(__name__)
_encode_json = json.JSONEncoder(default=str).encode

_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,}(?![A-Za-z0-9_-])")
_SHORTEST_SECRET = len("[parameters: ")
_PARAMETERS = re.compile(r"\[parameters: .*", re.DOTALL)
_CAUSE = "\nThe above exception was the direct cause"
_KNOWN_PREFIXES = {
    f"/{word}"
    for word in (
        "g", "w", "api", "new", "join", "class", "wall", "rules", "analysis", "puzzle", "puzzles", "games", "learn",
        "share", "static",
    )
}  # fmt: skip
_QUIET_PATHS = ("/static/", "/health")
"""Paths of which only failures are logged."""

CLIENT_GONE = 499
"""Status in the log (as in nginx) of a request whose client left before it had sent all of it."""


def configure_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Send all log records to one stream, in one format."""
    stream = stream or sys.stderr
    form = settings.log or ("text" if stream is not None and stream.isatty() else "json")
    handler: logging.Handler = (
        logging.NullHandler() if stream is None else logging.StreamHandler(stream)
    )
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(
        handlers=[handler], level=logging.WARNING if settings.quiet else logging.INFO, force=True
    )
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = logging.logThreads = logging.logProcesses = (
        logging.logMultiprocessing
    ) = False
    for talkative in ("uvicorn", "asyncio", "httpx", "httpx2", "sqlalchemy", "alembic"):
        logging.getLogger(talkative).setLevel(logging.WARNING)


def log_event(event: str, **fields: object) -> None:
    """Log an event with its fields."""
    _log.info(event, extra={"fields": fields})


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line for a program."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said = remove_secrets(record.getMessage())
        line = {"time": at.replace("+00:00", "Z"), "level": record.levelname.lower(), "event": said}
        line |= getattr(record, "fields", {})
        if record.name != __name__:
            line["by"] = record.name
        if record.exc_info:
            line["traceback"] = remove_secrets(self.formatException(record.exc_info))
        return _encode_json(line)


class TextFormatter(logging.Formatter):
    """One line that a person reads, and what went wrong below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line for a person."""
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields: dict[str, Any] = getattr(record, "fields", {})
        if {"method", "route", "status", "ms"} <= fields.keys():
            said = "{method:<4} {route}  {status}  {ms} ms".format_map(fields)
        else:
            said = " ".join(
                [
                    remove_secrets(record.getMessage()),
                    *(f"{key}={value}" for key, value in fields.items()),
                ]
            )
        grave = f"{record.levelname.lower()}: " if record.levelno > logging.INFO else ""
        trouble = (
            "\n" + remove_secrets(self.formatException(record.exc_info)) if record.exc_info else ""
        )
        return f"{at}  {grave}{said}{trouble}"


def remove_secrets(text: str) -> str:
    """Leave out of a text what could be the token of a seat, or what was written to a database."""
    if len(text) < _SHORTEST_SECRET:
        return text
    pieces = text.split(_CAUSE)
    cut = (_PARAMETERS.sub("[parameters: ...]", piece) for piece in pieces)
    return _TOKEN.sub("[...]", _CAUSE.join(cut))


def get_route(scope: Scope) -> str:
    """Return which address a request was for, with names where it has secrets: a path may be a key."""
    first = f"/{scope['path'].split('/')[1]}" if "/" in scope["path"] else ""
    found = getattr(scope.get("route"), "path", None)
    if isinstance(found, str):
        # A router that was included with a prefix does not tell its routes.
        return f"{first}{found}" if first == "/api" and not found.startswith("/api") else found
    if scope["path"] == "/" or first not in _KNOWN_PREFIXES:
        return "/" if scope["path"] == "/" else "(nothing)"
    return first if scope["path"] == first else f"{first}/..."


@lru_cache(maxsize=4096)
def shorten_address(host: str) -> str:
    """Return the network of an address, so that the log does not tell one household from the next."""
    address = parse_address(host)
    if address is None:
        return "unknown"
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))


class AccessLogMiddleware(HttpMiddleware):
    """Gives each request an id, logs and counts it, and answers with a problem if it fails unexpectedly."""

    def __init__(self, app: ASGIApp, metrics: Metrics | None = None) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        request_id, status, size, client_left = f"{getrandbits(64):016x}", 0, 0, False
        id_header = (b"x-request-id", request_id.encode())
        CURRENT_CLIENT.set(identify_client(scope))

        async def track_receive() -> Message:
            nonlocal client_left
            message = await receive()
            client_left = client_left or (message["type"] == "http.disconnect" and not status)
            return message

        async def track_send(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), id_header]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, track_receive, track_send)
        except (
            ClientDisconnect
        ):  # the client closed the connection before it had sent the whole request
            client_left = client_left or not status
        except asyncio.CancelledError:
            if not ("app" in scope and getattr(scope["app"].state, "draining", False)):
                raise  # otherwise the server stops, and has cancelled a request that took too long
        except Exception:  # noqa: BLE001 - every error that nothing else handles
            fields = {"id": request_id, "method": scope["method"][:10], "route": get_route(scope)}
            _log.exception("a request failed", extra={"fields": fields})
            if not status:
                problem = Problem(500, "error", describe_failure(request_id))
                await send_problem(problem, scope, receive, track_send)
        finally:
            final_status = CLIENT_GONE if client_left else status
            seconds = perf_counter() - began
            if self._metrics is not None:
                self._metrics.count_request(
                    scope["method"], get_route(scope), final_status, seconds
                )
            _log_request(request_id, scope, final_status, size, seconds)


def _log_request(request_id: str, scope: Scope, status: int, size: int, seconds: float) -> None:
    level = logging.WARNING if status >= 500 else logging.INFO
    if not _log.isEnabledFor(level) or (status < 400 and scope["path"].startswith(_QUIET_PATHS)):
        return
    fields = {
        "id": request_id,
        "method": scope["method"][:10],
        "route": get_route(scope),
        "status": status or None,
        "ms": round(seconds * 1000, 1),
        "bytes": size,
        "client": shorten_address(scope["client"][0]) if scope.get("client") else "here",
    }
    _log.log(level, "request", extra={"fields": fields})
