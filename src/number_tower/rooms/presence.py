"""Presence: whether a player is here, away or gone, judged by when the player was last seen."""

from __future__ import annotations

from typing import Literal, NamedTuple

from number_tower.rooms.room import Room

Presence = Literal["here", "away", "gone"]

SEEN_EVERY = 20.0
"""Interval in seconds at which an open page reports its player."""

AWAY_AFTER = 45.0
"""A player is away after this many seconds without a report; with a hidden page, at once."""

GONE_AFTER = 90.0
"""A player is gone after this many seconds without a report; hidden pages report once a minute."""


class Sighting(NamedTuple):
    """When a player was last seen, in seconds since 1970, and whether the page was hidden then."""

    at: float
    hidden: bool = False


class RoomPresence(NamedTuple):
    """The presence of both players, and the seconds for which the player to move has been gone."""

    seats: tuple[Presence, Presence]
    gone_for: float = 0.0


def judge_presence(sighting: Sighting | None, now: float) -> Presence:
    """Return a player's presence; a player who was never seen is gone."""
    if sighting is None or now - sighting.at >= GONE_AFTER:
        return "gone"
    return "away" if sighting.hidden or now - sighting.at >= AWAY_AFTER else "here"


def mark_presence(room: Room, presence: RoomPresence | None) -> str:
    """Return a text that changes when players come or go, or when a game can be claimed."""
    if presence is None:
        return ""
    may_claim = room.may_claim({1 - room.table.game.to_move}, presence.gone_for)
    return " ".join([*presence.seats, "claim"] if may_claim else presence.seats)
