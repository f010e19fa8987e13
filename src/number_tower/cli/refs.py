"""What a REF stands for: a game in the database by its id, a game as one line, or a file with its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.cli.failure import DAMAGED_RECORD, NO_DATABASE, WRONG_CALL, Failure
from number_tower.cli.storing import Shelf
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TypeVar

    from number_tower.catalogue import Rulebook
    from number_tower.store.games import Store
    from number_tower.store.kept import Kept
    from number_tower.table import Table

    Found = TypeVar("Found")


class Referred(NamedTuple):
    """A table that was referred to, its rulebook, and how it is kept if it was found in the database."""

    table: Table
    book: Rulebook
    kept: Kept | None = None


def is_id(ref: str) -> bool:
    """Say whether a REF is an id; a file with such a name can be written ./12."""
    return ref.isascii() and ref.isdigit() and len(ref) < 16


def referred(asked: Namespace, ref: str, otherwise: str | None = None) -> Referred:
    """Find what a REF stands for; `otherwise` is said if it stands for nothing."""
    if is_id(ref):
        kept = sought(Shelf(asked.db), lambda store: store.get(int(ref)), f"game {int(ref)}")
        return Referred(kept.table, kept.book, kept)
    from number_tower import record  # noqa: PLC0415 - only records need it

    try:
        return Referred(*record.read(ref))
    except record.NoRecord as missing:
        raise Failure(WRONG_CALL, otherwise or str(missing)) from None
    except record.RecordError as damaged:
        raise Failure(DAMAGED_RECORD, f"the record cannot be read: {damaged}") from None


def sought(shelf: Shelf, look: Callable[[Store], Found], what: str) -> Found:
    """Look for something in the database; say so if it is not there, or why it cannot be looked for."""
    from number_tower.store.games import NoSuchGame  # noqa: PLC0415 - only where the database is asked for
    from number_tower.store.trouble import StoreError  # noqa: PLC0415 - likewise

    try:
        return look(shelf.open())
    except NoSuchGame:
        listed = f"tower history{shelf.options}"
        raise Failure(
            WRONG_CALL, f"there is no {shown_text(what)} in {shelf.name}; to see what there is: {listed}"
        ) from None
    except StoreError as trouble:
        raise Failure(NO_DATABASE, f"{trouble}.") from None
    finally:
        shelf.close()


def unfinished(asked: Namespace) -> Referred:
    """Find the game that was left last before its end."""
    kept = sought(Shelf(asked.db), lambda store: store.unfinished(), "unfinished game")
    if kept is None:
        raise Failure(WRONG_CALL, "there is no unfinished game to go on with; to begin one: tower play GAME")
    return Referred(kept.table, kept.book, kept)
