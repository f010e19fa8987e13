"""Games kept in a database, from their first move, whatever happens; one store for the terminal and the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from number_tower.store.games import Store


def open_store(where: str | None = None) -> Store:
    """Open the database that is meant: a file, `postgresql://...`, or, without a word, the usual one."""
    from number_tower.store.games import Store  # noqa: PLC0415 - the database's library is loaded when it is needed
    from number_tower.store.places import WrongPlace, find  # noqa: PLC0415 - likewise

    place = find(where)
    if place is None:
        raise WrongPlace("expected a database; got none")
    return Store(place)
