"""The settings of a user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """The settings of a user; each may be left out."""

    name: str | None = None
    level: str | None = None
    app: bool | None = None
    colours: bool = True
    database: str | None = None


def load_config() -> Config:
    """Read the settings."""
    return Config()
