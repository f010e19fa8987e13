"""What `tower db` does: say where games are kept, and bring the place up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.failure import FINISHED, NO_DATABASE, Failure
from number_tower.cli.refs import sought
from number_tower.cli.screen import Screen
from number_tower.cli.storing import Shelf
from number_tower.store.games import counted
from number_tower.store.opening import engine_at, upgrade
from number_tower.store.places import is_none
from number_tower.store.schema import NEWEST
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from argparse import Namespace


def answer(asked: Namespace) -> int:
    """Say where games are kept, and how many; or take on the newest form."""
    screen = Screen()
    if asked.action is None and is_none(asked.db):
        screen.show("Games are not kept (NUMBER_TOWER_DB or --db says none).\n")
        return FINISHED
    shelf = Shelf(asked.db)
    if asked.action == "upgrade":
        screen.show(_upgraded(shelf))
    elif shelf.absent:
        screen.show(f"Games will be kept in {shelf.name}, from the first move that is made.\n")
    else:
        kept = sought(shelf, counted, "game")
        screen.show(f"Games are kept in {shelf.name} (form {NEWEST}).\n")
        screen.show(
            f"{_number(kept.games, 'game')} ({kept.unfinished:,} unfinished), {_number(kept.matches, 'match')}, "
            f"{_number(kept.puzzles, 'puzzle')} tried.\n"
        )
    return FINISHED


def _upgraded(shelf: Shelf) -> str:
    try:
        engine = engine_at(shelf.place)
        before, after = upgrade(engine, shelf.place)
        engine.dispose()
    except StoreError as trouble:
        raise Failure(NO_DATABASE, f"{trouble}.") from None
    if before == after:
        return f"{shelf.name} is up to date (form {after}).\n"
    made = "has got its tables" if before is None else f"is brought from form {before}"
    return f"{shelf.name} {made}, and is up to date (form {after}).\n"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"
