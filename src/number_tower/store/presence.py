"""Sightings of players in a database, by which servers know of players who are at another server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from number_tower.presence import Sighting
from number_tower.store.rooms import notify_servers
from number_tower.store.rows import format_time
from number_tower.store.schema import presence, rooms
from number_tower.store.seats import SeatKey

NOTICE = "presence"
"""What other servers are told instead of a room's tag: its players have come or gone, and nothing else has changed."""


def store_sightings(
    connection: Connection, sightings: Mapping[SeatKey, Sighting], announced: Collection[int]
) -> None:
    """Store the newest sightings of players, by room and seat, and notify other servers of some rooms."""
    found = connection.execute(
        select(rooms.c.id).where(rooms.c.id.in_({room for room, _ in sightings}))
    )
    existing = set(found.scalars())
    rows = [
        {
            "room": room,
            "seat": seat,
            "seen": format_time(datetime.fromtimestamp(sighting.until, UTC)),
            "hidden": sighting.hidden,
        }
        for (room, seat), sighting in sorted(sightings.items())
        if room in existing
    ]
    if rows:
        add = (
            postgresql.insert(presence)
            if connection.dialect.name == "postgresql"
            else sqlite.insert(presence)
        )
        newest = {"seen": add.excluded.seen, "hidden": add.excluded.hidden}
        with (
            suppress(IntegrityError),
            connection.begin_nested(),
        ):  # a room may have just been deleted
            connection.execute(
                add.on_conflict_do_update(index_elements=["room", "seat"], set_=newest), rows
            )
    for room in sorted(announced):
        notify_servers(connection, room, NOTICE)


def load_sightings(connection: Connection, some: Collection[int]) -> dict[SeatKey, Sighting]:
    """Return the stored sightings of the players in some rooms, by room and seat."""
    rows = connection.execute(select(presence).where(presence.c.room.in_(some)))
    return {
        (row.room, row.seat): Sighting(
            datetime.fromisoformat(row.seen).timestamp(), bool(row.hidden)
        )
        for row in rows
    }
