"""Secrets by which seats are held. The database holds only their digests."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Credentials:
    """The secrets that come with one request: the token of a seat, and the secrets in the browser's cookies."""

    token: str | None = None
    browsers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.token or self.browsers)

    @classmethod
    def of(cls, given: Credentials | str | None) -> Credentials:
        """Return credentials as they are; a plain string is the token of a seat."""
        return given if isinstance(given, Credentials) else cls(given)

    @property
    def token_digests(self) -> list[str]:
        """The digest of the token, if there is one."""
        return [digest_secret(self.token)] if self.token else []

    @property
    def browser_digests(self) -> list[str]:
        """The digests of the browser's secrets."""
        return [digest_secret(secret) for secret in self.browsers]


def digest_secret(secret: str) -> str:
    """Return what the database holds of a secret."""
    return sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


def match_digest(stored: str | None, given: Iterable[str]) -> bool:
    """Say whether one of some digests is the stored one; how long it takes does not tell how much of it is right."""
    return stored is not None and any(compare_digest(stored, digest) for digest in given)
