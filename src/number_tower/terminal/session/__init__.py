"""Play at one machine, however it is shown: opponents, matches, and the database that every change is saved in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from number_tower.table import Table

if TYPE_CHECKING:
    from number_tower.session.opponents import Opponents


def seat_players(table: Table, opponents: Opponents | None, person: str | None = None) -> Table:
    """Return the table with these opponents; without any, people play both seats of a game that is not over."""
    if opponents is not None:
        return opponents.seat(table, person)
    return table if table.outcome is not None else replace(table, automatic=(False, False))
