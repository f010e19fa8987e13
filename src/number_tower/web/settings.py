"""What whoever runs a server decides; all of it comes from the call, and nothing from the environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from number_tower.blocks import whole_number
from number_tower.showing import shown

if TYPE_CHECKING:
    from number_tower.store.places import Place

HOST = "127.0.0.1"
PORT = 8000
NEAR = ("127.0.0.1", "::1")
"""Where a reverse proxy is believed to be, unless told otherwise: on this machine."""

MAX_DB = 4 * 1024**3
"""Bytes that a database may have, unless told otherwise."""

LONGEST_KEPT = 36_500
"""Days for which rooms can be kept: a hundred years."""

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - what it means to listen there is the subject here
_MOST_THINKERS = 4


class WrongSetting(ValueError):  # noqa: N818 - named for what it says
    """Something that cannot be set so, and what would be right."""


@dataclass(frozen=True)
class Settings:
    """How a server runs."""

    place: Place
    host: str = HOST
    port: int | None = None
    """None: the usual one, or the next that is free."""
    proxy: tuple[str, ...] = ()
    """Whose X-Forwarded headers are believed: addresses and networks."""
    public_url: str | None = None
    """The address by which people know the server, if it is not the one that they ask for."""
    limits: bool = True
    thinkers: int = 1
    secure: bool | None = None
    """Whether cookies are only sent by https; None: where that is how the page came."""
    log: Literal["json", "text"] | None = None
    """None: text on a terminal, JSON elsewhere."""
    quiet: bool = False
    keep_days: int | None = None
    """Days after the last event in a room for which it is kept; None: for ever, unless at most one move was made."""
    max_db: int | None = MAX_DB
    """Bytes of the database above which no room is opened; None: no limit."""
    lan: str | None = None
    """The address by which other machines nearby reach a server that listens everywhere."""

    @property
    def everywhere(self) -> bool:
        """Whether other machines can reach it, by whatever address this one has."""
        return self.host in _EVERYWHERE

    def secure_for(self, scheme: str) -> bool:
        """Say whether the cookies of a page that came so are for https only."""
        if self.secure is not None:
            return self.secure
        return scheme == "https" or (self.public_url or "").startswith("https://")

    def shown(self, scheme: str, host: str) -> str:
        """Return the address to write into links for others, given how this visitor came."""
        if self.public_url is not None:
            return self.public_url
        if self.lan is not None and _is_near(host):
            return self.lan
        return f"{scheme}://{host}"

    def only_here(self, host: str) -> bool:
        """Say whether nobody at another machine can open the links that a visitor gets who came by this host."""
        return self.public_url is None and self.lan is None and _is_near(host)


def usual_thinkers() -> int:
    """Return how many processes think, if nobody says: all cores but one, which serves; few even on a large machine."""
    return max(1, min((os.cpu_count() or 1) - 1, _MOST_THINKERS))


def trusted(given: str | None) -> tuple[str, ...]:
    """Read the addresses of reverse proxies, with commas between."""
    if given is None:
        return ()
    found = tuple(part.strip() for part in given.split(","))
    for part in found:
        try:
            ip_network(part) if "/" in part else ip_address(part)
        except ValueError:
            expected = "expected addresses or networks with commas between, such as 10.0.0.5 or 172.16.0.0/12"
            raise WrongSetting(f"{expected}; got {shown(part)}") from None
    return found


def public(given: str | None) -> str | None:
    """Read the address by which people know the server."""
    if given is None:
        return None
    try:
        parts = urlsplit(given)
        right = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    else:
        right = right and not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
    if not right or not given.isascii() or not given.isprintable() or " " in given:
        raise WrongSetting(f"expected an address such as https://tower.example.org; got {shown(given)}")
    return given.rstrip("/").lower()


def read_days(given: str | None) -> int | None:
    """Read for how many days rooms are kept."""
    if given is None:
        return None
    number = whole_number(given)
    if not number or number > LONGEST_KEPT:
        raise WrongSetting(f"expected a number of days from 1 to {LONGEST_KEPT:,}, such as 90; got {shown(given)}")
    return number


def read_size(given: str | None) -> int | None:
    """Read how many bytes a database may have: a number with K, M, G or T for powers of 1,024; None for no limit."""
    if given is None:
        return MAX_DB
    if given.lower() == "none":
        return None
    found = _SIZE.fullmatch(given)
    size = 0 if found is None else int(float(found[1]) * 1024 ** (1 + "KMGT".index(found[2].upper())))
    if size < 1024**2:
        raise WrongSetting(f"expected a size of 1M or more, such as 500M or 4G, or none; got {shown(given)}")
    return size


def format_size(size: float) -> str:
    """Write a number of bytes in the largest unit of which there is at least one."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_UNITS[-1]}"


def _is_near(host: str) -> bool:
    """Say whether a Host header names this machine as only itself can call it."""
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name in {*NEAR, "localhost"}
