"""IP addresses as they count: IPv4 ones as they are, of IPv6 the network of a household."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


@lru_cache(maxsize=4096)
def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address without its zone, or return None.

    An IPv4 peer of a socket that listens on both kinds of networks has an IPv6 address that contains its own.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=4096)
def group_address(host: str) -> str:
    """Return an IPv4 address, or the network of an IPv6 address: one household has 2**64 of these."""
    address = parse_address(host)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return host[:64] if address is None else str(address)
