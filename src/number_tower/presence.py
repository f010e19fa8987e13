"""Whether a player is here, away or gone: judged by when the player was last seen."""

from __future__ import annotations

from typing import Literal, NamedTuple

Presence = Literal["here", "away", "gone"]

AWAY_AFTER = 10.0
"""Seconds without a sign of a player after which the player is away; at once, if the page is hidden."""

GONE_AFTER = 90.0
"""Seconds without a sign after which the player is gone: a hidden page may speak up only once a minute."""


class Sighting(NamedTuple):
    """Until when a player was seen, in seconds since 1970, and whether the page was hidden then.

    While a page is open the time lies ahead, so that it need not be renewed all the time.
    """

    until: float
    hidden: bool = False


class RoomPresence(NamedTuple):
    """Where the players of both seats are, and for how many seconds the player to move has been gone."""

    seats: tuple[Presence, Presence]
    gone_for: float = 0.0


def judge_presence(sighting: Sighting | None, now: float) -> Presence:
    """Say where a player is who was seen so; one who was never seen is gone."""
    if sighting is None or now - sighting.until >= GONE_AFTER:
        return "gone"
    return "away" if sighting.hidden or now - sighting.until >= AWAY_AFTER else "here"


def find_newest(*sightings: Sighting | None) -> Sighting | None:
    """Return the newest of some sightings; None if there is none."""
    return max(
        (each for each in sightings if each is not None), key=lambda each: each.until, default=None
    )
