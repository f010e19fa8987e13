"""The log of the server: one line for each request and event, without secrets that would open a seat."""

from __future__ import annotations

import logging
import re
from ipaddress import ip_network

from number_tower.web.middleware import parse_address

_QUIET_PATHS = ("/static/", "/health")
"""Paths of which only failures are logged."""

_BEFORE_SECRETS = {"g", "w", "games", "class", "wall", "take", "teach"}
"""Parts of a path that are followed by an address or a code, by which a seat could be taken."""

_WORD = re.compile(r"[a-z._-]{0,20}")
_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,}(?![A-Za-z0-9_-])")
_PARAMETERS = re.compile(r"\[parameters: .*?\)\]", re.DOTALL)


def configure_logging(*, quiet: bool = False) -> None:
    """Write all log records to standard error, those of uvicorn among them."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(mask_request)
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)
    for talkative in ("uvicorn", "asyncio", "httpx", "httpx2", "sqlalchemy", "alembic"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(level)


class SafeFormatter(logging.Formatter):
    """Leaves out what could be the token of a seat, and what was written to a database."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, with its traceback if it has one."""
        return _TOKEN.sub("[...]", _PARAMETERS.sub("[parameters: ...]", super().format(record)))


def mask_request(record: logging.LogRecord) -> bool:
    """Leave out of uvicorn's lines about requests who the client is and what opens a seat."""
    if record.name == "uvicorn.access" and isinstance(record.args, tuple):
        client, method, path, version, status = record.args
        if str(path).startswith(_QUIET_PATHS) and int(str(status)) < 400:
            return False
        host = str(client).rpartition(":")[0]
        record.args = shorten_address(host), method, mask_path(str(path)), version, status
    return True


def mask_path(path: str) -> str:
    """Return a path without its query, and with dots for addresses, codes and whatever may be one."""
    parts = path.partition("?")[0].split("/")
    masked = [
        part if before not in _BEFORE_SECRETS and _WORD.fullmatch(part) else "..."
        for before, part in zip(["", *parts], parts, strict=False)
    ]
    return "/".join(masked)


def shorten_address(host: str) -> str:
    """Return the network of an address, so that the log does not tell one household from the next."""
    address = parse_address(host.strip("[]"))
    if address is None:
        return "unknown"
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))
