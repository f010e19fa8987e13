"""How a match stands: that follows from its games, and is written down nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from number_tower.match import Match, MatchError
from number_tower.store.schema import games, matches
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection


def standing(connection: Connection, row: Mapping[Any, Any]) -> Match:
    """Return who won the games of a match, up to the first that is not over."""
    over = select(games.c.number, games.c.winner).where(games.c.match == row["id"], games.c.reason.is_not(None))
    entries = connection.execute(over).all()
    match = unplayed(row)
    try:
        winners = {entry.number: None if entry.winner is None else entry.winner - 1 for entry in entries}
        while not match.over and match.number in winners:
            match = match.after(winners[match.number])
    except (MatchError, TypeError) as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {wrong}") from None
    return match


def unplayed(row: Mapping[Any, Any]) -> Match:
    """Return a match as it was before its first game."""
    try:
        return Match(row["best_of"], row["first"] - 1)
    except (MatchError, TypeError) as wrong:
        raise StoreError(f"match m{row['id']} is damaged in the database: {wrong}") from None


def settle(connection: Connection, identity: int, at: str) -> None:
    """See whether a match is decided, now that one of its games is; whoever ends two of them at once waits."""
    row = connection.execute(select(matches).where(matches.c.id == identity).with_for_update()).mappings().one()
    values = {"finished": standing(connection, row).over, "changed": max(row["changed"], at)}
    connection.execute(update(matches).where(matches.c.id == identity).values(values))
