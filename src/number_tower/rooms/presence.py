"""Whether a player is here, away or gone: judged by when the player was last seen."""

from __future__ import annotations

from typing import Literal, NamedTuple

from number_tower.rooms.room import Room

Presence = Literal["here", "away", "gone"]

SEEN_EVERY = 20.0
"""Seconds after which a player with an open page is seen again."""

AWAY_AFTER = 45.0
"""Seconds without a sign after which a player is away; with a hidden page, at once."""

GONE_AFTER = 90.0
"""Seconds without a sign after which a player is gone; a hidden page may send one a minute."""


class Sighting(NamedTuple):
    """When a player was last seen, in seconds since 1970, and whether the page was hidden then."""

    at: float
    hidden: bool = False


class RoomPresence(NamedTuple):
    """Where both players are, and for how many seconds the player to move has been gone."""

    seats: tuple[Presence, Presence]
    gone_for: float = 0.0


def judge_presence(sighting: Sighting | None, now: float) -> Presence:
    """Say where a player is who was seen so; one who was never seen is gone."""
    if sighting is None or now - sighting.at >= GONE_AFTER:
        return "gone"
    return "away" if sighting.hidden or now - sighting.at >= AWAY_AFTER else "here"


def mark_presence(room: Room, presence: RoomPresence | None) -> str:
    """Return a text that changes when players come or go, or when a game can be claimed."""
    if presence is None:
        return ""
    may_claim = room.may_claim({1 - room.table.game.to_move}, presence.gone_for)
    return " ".join([*presence.seats, "claim"] if may_claim else presence.seats)
