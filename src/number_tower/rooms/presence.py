"""Whether a player is here, away or gone: judged by when the player was last seen."""

from __future__ import annotations

from typing import Literal, NamedTuple

Presence = Literal["here", "away", "gone"]

SEEN_EVERY = 20.0
"""Seconds after which a player with an open page is seen again."""

AWAY_AFTER = 45.0
"""Seconds without a sign of a player after which the player is away; at once, if the page is hidden."""

GONE_AFTER = 90.0
"""Seconds without a sign after which the player is gone: a hidden page may speak up only once a minute."""


class Sighting(NamedTuple):
    """When a player was last seen, in seconds since 1970, and whether the page was hidden then."""

    at: float
    hidden: bool = False


class RoomPresence(NamedTuple):
    """Where the players of both seats are, and for how many seconds the player to move has been gone."""

    seats: tuple[Presence, Presence]
    gone_for: float = 0.0


def judge_presence(sighting: Sighting | None, now: float) -> Presence:
    """Say where a player is who was seen so; one who was never seen is gone."""
    if sighting is None or now - sighting.at >= GONE_AFTER:
        return "gone"
    return "away" if sighting.hidden or now - sighting.at >= AWAY_AFTER else "here"
