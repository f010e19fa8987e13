"""Settings of a server, and the readers of its options; nothing is read from the environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from number_tower.blocks import parse_number
from number_tower.errors import NumberTowerError
from number_tower.store import Location
from number_tower.text import format_value
from number_tower.web.middleware import parse_address

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
    """Days after the last event in a room for which it is kept; None: for ever, unless at most one move was made."""
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
            # A proxy may rename the host; the network that it protects is not open to DNS rebinding.
            return frozenset({"*"})
        given = {
            "localhost",
            self.host.lower().removesuffix("."),
            *self.machine_names,
            *self.host_names,
        }
        if self.public_url is not None:
            given.add((urlsplit(self.public_url).hostname or "").removesuffix("."))
        return frozenset(given - {""})

    def is_proxy(self, host: str) -> bool:
        """Return whether an address is that of a trusted proxy."""
        address = parse_address(host)
        return address is not None and any(address in network for network in self._proxy_networks)

    @cached_property
    def _proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(each) for each in self.proxy)

    def uses_secure_cookies(self, scheme: str) -> bool:
        """Return whether the cookies of a page that was loaded by this scheme are for https only."""
        return scheme == "https" or (self.public_url or "").startswith("https://")

    def get_origin(self, scheme: str, host: str) -> str:
        """Return the origin of links for others, given the scheme and host by which this visitor came."""
        if self.public_url is not None:
            return self.public_url
        if self.lan is not None and _is_loopback(host):
            return self.lan
        return f"{scheme}://{host}"

    def is_local_only(self, host: str) -> bool:
        """Return whether links for a visitor who came by this host work on this machine only."""
        return self.public_url is None and self.lan is None and _is_loopback(host)


def get_default_workers() -> int:
    """Return the default number of worker processes: all cores but one, which serves, and few on a large machine."""
    return max(1, min((os.cpu_count() or 1) - 1, _MAX_DEFAULT_WORKERS))


def parse_proxies(given: str) -> tuple[str, ...]:
    """Read the addresses of reverse proxies, with commas between."""
    found = tuple(part.strip() for part in given.split(","))
    for part in found:
        try:
            ip_network(part) if "/" in part else ip_address(part)
        except ValueError:
            expected = "expected addresses or networks with commas between, such as 10.0.0.5 or 172.16.0.0/12"
            raise SettingError(f"{expected}; got {format_value(part)}") from None
    return found


def parse_host_names(given: list[str]) -> tuple[str, ...]:
    """Read the names of a server, with commas between; the option may be given several times."""
    names = tuple(
        part.strip().lower().removesuffix(".") for each in given for part in each.split(",")
    )
    for name in names:
        if len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
            raise SettingError(
                f"expected names such as tower.example.org, without port; got {format_value(name)}"
            )
    return names


def parse_public_url(given: str) -> str:
    """Read the address by which people know the server."""
    if not _PUBLIC_URL.fullmatch(given):
        raise SettingError(
            f"expected an address such as https://tower.example.org; got {format_value(given)}"
        )
    return given.rstrip("/").lower()


def parse_metrics_address(given: str) -> MetricsAddress:
    """Read `PORT`, `HOST:PORT` or `[IPV6]:PORT`; without a host, only this machine can read the metrics."""
    found = _METRICS_ADDRESS.fullmatch(given)
    if found is None or int(found["port"]) > 65_535:
        expected = "expected a port, or an address and a port, such as 9100 or 127.0.0.1:9100"
        raise SettingError(f"{expected}; got {format_value(given)}")
    return MetricsAddress(found["host"] or found["ipv6"] or HOST, int(found["port"]))


def parse_days(given: str) -> int:
    """Read for how many days rooms are kept."""
    number = parse_number(given)
    if not number or number > MAX_KEEP_DAYS:
        raise SettingError(
            f"expected a number of days from 1 to {MAX_KEEP_DAYS:,}, such as 90; got {format_value(given)}"
        )
    return number


def parse_size(given: str) -> int | None:
    """Read how many bytes a database may have: a number with K, M, G or T for powers of 1,024; None for no limit."""
    if given.lower() == "none":
        return None
    size = 0
    if (found := _SIZE.fullmatch(given)) is not None:
        size = int(float(found[1]) * 1024 ** (1 + "KMGT".index(found[2].upper())))
    if size < 1024**2:
        raise SettingError(
            f"expected a size of 1M or more, such as 500M or 4G, or none; got {format_value(given)}"
        )
    return size


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
