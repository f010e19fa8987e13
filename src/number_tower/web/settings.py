"""Settings of a server, and the readers of its options; nothing is read from the environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from number_tower.engine.blocks import parse_number
from number_tower.store import Location
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value
from number_tower.web.http.middleware import parse_address

HOST = "127.0.0.1"
PORT = 8000
LOOPBACK = ("127.0.0.1", "::1")
"""Where a reverse proxy is believed to be, unless told otherwise: on this machine."""

DEFAULT_MAX_DB = 4 * 1024**3
"""Bytes that a database may have, unless told otherwise."""

MAX_KEEP_DAYS = 36_500
"""Days for which rooms can be kept: a hundred years."""

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

_ANY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 - what it means to listen there is the subject here
_MAX_DEFAULT_WORKERS = 4
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_MAX_NAME_LENGTH = 253
_PUBLIC_URL = re.compile(
    r"https?://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?/?", re.IGNORECASE
)
_METRICS_ADDRESS = re.compile(
    r"(?:(?:(?P<host>[^:\[\]]+)|\[(?P<ipv6>[^\[\]]+)\]):)?(?P<port>[0-9]{1,5})"
)


class SettingError(NumberTowerError, ValueError):
    """Something that cannot be set so, and what would be right."""


class MetricsAddress(NamedTuple):
    """Where metrics are served."""

    host: str
    port: int


@dataclass(frozen=True)
class Settings:
    """How a server runs."""

    place: Location
    host: str = HOST
    port: int | None = None
    """None: the usual one, or the next that is free."""
    proxy: tuple[str, ...] = ()
    """Whose X-Forwarded headers are believed: addresses and networks."""
    public_url: str | None = None
    """The address by which people know the server, if it is not the one that they ask for."""
    host_names: tuple[str, ...] = ()
    """More names that the Host header of a request may have."""
    machine_names: tuple[str, ...] = ()
    """Names of this machine in its network, where other machines can reach the server."""
    limits: bool = True
    workers: int = 1
    quiet: bool = False
    metrics: MetricsAddress | None = None
    """Where metrics for Prometheus are served; None: nowhere."""
    keep_days: int | None = None
    """Days that a room is kept after its last event; None: for ever, if it has two moves."""
    max_db: int | None = DEFAULT_MAX_DB
    """Bytes of the database above which no room is opened; None: no limit."""
    lan: str | None = None
    """The address by which other machines nearby reach a server that listens everywhere."""

    @property
    def listens_everywhere(self) -> bool:
        """Whether other machines can reach it, by whatever address this one has."""
        return self.host in _ANY_ADDRESS

    @property
    def known_hosts(self) -> frozenset[str]:
        """The names that the Host header may have, besides IP addresses; `*` stands for any."""
        if self.proxy and not self.host_names:
            # A proxy may rename the host, and keeps DNS rebinding away from its network.
            return frozenset({"*"})
        names = {
            "localhost",
            self.host.lower().removesuffix("."),
            *self.machine_names,
            *self.host_names,
        }
        if self.public_url is not None:
            names.add((urlsplit(self.public_url).hostname or "").removesuffix("."))
        return frozenset(names - {""})

    def is_proxy(self, host: str) -> bool:
        """Return whether an address is that of a trusted proxy."""
        address = parse_address(host)
        return address is not None and any(address in network for network in self._proxy_networks)

    @cached_property
    def _proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(proxy) for proxy in self.proxy)

    def uses_secure_cookies(self, scheme: str) -> bool:
        """Return whether the cookies of a page loaded by this scheme are for https only."""
        return scheme == "https" or (self.public_url or "").startswith("https://")

    def get_origin(self, scheme: str, host: str) -> str:
        """Return the origin of links for others; this visitor came by this scheme and host."""
        if self.public_url is not None:
            return self.public_url
        if self.lan is not None and _is_loopback(host):
            return self.lan
        return f"{scheme}://{host}"

    def is_local_only(self, host: str) -> bool:
        """Return whether links for a visitor who came by this host work on this machine only."""
        return self.public_url is None and self.lan is None and _is_loopback(host)


def get_default_workers() -> int:
    """Return the default number of worker processes: all cores but one, and at most a few."""
    return max(1, min((os.cpu_count() or 1) - 1, _MAX_DEFAULT_WORKERS))


def parse_proxies(text: str) -> tuple[str, ...]:
    """Read the addresses of reverse proxies, with commas between."""
    proxies = tuple(part.strip() for part in text.split(","))
    for proxy in proxies:
        try:
            ip_network(proxy) if "/" in proxy else ip_address(proxy)
        except ValueError:
            expected = (
                "addresses or networks with commas between, such as 10.0.0.5 or 172.16.0.0/12"
            )
            raise _make_refusal(expected, proxy) from None
    return proxies


def parse_host_names(texts: list[str]) -> tuple[str, ...]:
    """Read the names of a server, with commas between; the option may be given several times."""
    names = tuple(name.strip().lower().removesuffix(".") for name in ",".join(texts).split(","))
    for name in names:
        if len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
            raise _make_refusal("names such as tower.example.org, without port", name)
    return names


def parse_public_url(text: str) -> str:
    """Read the address by which people know the server."""
    if not _PUBLIC_URL.fullmatch(text):
        raise _make_refusal("an address such as https://tower.example.org", text)
    return text.rstrip("/").lower()


def parse_metrics_address(text: str) -> MetricsAddress:
    """Read `PORT`, `HOST:PORT` or `[IPV6]:PORT`; without a host, it is this machine."""
    match = _METRICS_ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        expected = "a port, or an address and a port, such as 9100 or 127.0.0.1:9100"
        raise _make_refusal(expected, text)
    return MetricsAddress(match["host"] or match["ipv6"] or HOST, int(match["port"]))


def parse_days(text: str) -> int:
    """Read for how many days rooms are kept."""
    number = parse_number(text)
    if not number or number > MAX_KEEP_DAYS:
        raise _make_refusal(f"a number of days from 1 to {MAX_KEEP_DAYS:,}, such as 90", text)
    return number


def parse_size(text: str) -> int | None:
    """Read a size of the database such as 500M or 4G (powers of 1,024), or none."""
    if text.lower() == "none":
        return None
    match = _SIZE.fullmatch(text)
    size = (
        0 if match is None else int(float(match[1]) * 1024 ** (1 + "KMGT".index(match[2].upper())))
    )
    if size < 1024**2:
        raise _make_refusal("a size of 1M or more, such as 500M or 4G, or none", text)
    return size


def _make_refusal(expected: str, text: str) -> SettingError:
    return SettingError(f"expected {expected}; got {format_value(text)}")


def format_size(size: float) -> str:
    """Write a number of bytes in the largest unit of which there is at least one."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_UNITS[-1]}"


def _is_loopback(host: str) -> bool:
    """Say whether a Host header names this machine as only itself can call it."""
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name in {*LOOPBACK, "localhost"}
