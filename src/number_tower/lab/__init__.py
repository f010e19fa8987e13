"""The rule lab: measure whole spaces of rules exactly, rank the settings, and show them as maps."""

from __future__ import annotations
