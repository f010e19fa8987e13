"""What a REF stands for: a game in the database by its id, a game as one line, or a file with its record."""

from __future__ import annotations

import os
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
    from number_tower.store.matches import KeptMatch
    from number_tower.table import Table

    Found = TypeVar("Found")


class Referred(NamedTuple):
    """A table that was referred to, its rulebook, and how it is kept if it was found in the database."""

    table: Table
    book: Rulebook
    kept: Kept | None = None


def is_id(ref: str) -> bool:
    """Say whether a REF is an id; a file with such a name can be written ./12."""
    return ref.isascii() and ref.isdigit() and len(ref) < 10


def is_match(ref: str) -> bool:
    """Say whether a REF is the id of a match, such as m3."""
    return ref[:1] in {"m", "M"} and is_id(ref[1:])


def referred(asked: Namespace, ref: str, otherwise: str | None = None) -> Referred:
    """Find what a REF stands for; `otherwise` is said if it stands for nothing."""
    if is_id(ref):
        kept = sought(Shelf(asked.db), lambda store: store.get(int(ref)), f"game {int(ref)}")
        return Referred(kept.table, kept.book, kept)
    if is_match(ref) and not os.path.exists(ref):
        raise Failure(WRONG_CALL, f"{ref} is a match; expected one of its games (see: tower history), or resume {ref}")
    from number_tower import record  # noqa: PLC0415 - only records need it

    try:
        return Referred(*record.read(ref))
    except record.NoRecordError as missing:
        problem = otherwise or str(missing).replace("is neither a file nor", "is neither a game's id, a file, nor")
        raise Failure(WRONG_CALL, problem) from None
    except record.RecordError as damaged:
        raise Failure(DAMAGED_RECORD, f"the record cannot be read: {damaged}") from None


def sought(shelf: Shelf, look: Callable[[Store], Found], what: str, *, make: bool = False) -> Found:
    """Look for something in the database; say so if it is not there, or why it cannot be looked for.

    A database that does not exist yet is not made by looking for something in it, unless `make` says so.
    """
    from number_tower.store.games import NoSuchGame  # noqa: PLC0415 - only where the database is asked for
    from number_tower.store.trouble import StoreError  # noqa: PLC0415 - likewise

    if shelf.absent and not make:
        raise Failure(WRONG_CALL, f"there is no {shown_text(what)}: nothing is kept in {shelf.name} yet")
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


def to_go_on_with(asked: Namespace) -> Referred | KeptMatch:
    """Find what `resume` goes on with: what was left last, or what is referred to; a match with any game of it."""
    if asked.ref is not None and is_match(asked.ref):
        return _match(asked, int(asked.ref[1:]))
    found = _left_last(asked) if asked.ref is None else _recognised(asked, referred(asked, asked.ref))
    if isinstance(found, int):
        return _match(asked, found)
    if found.kept is None or found.kept.part is None or found.table.outcome is not None:
        return found
    match = _match(asked, found.kept.part.match)
    return match if match.current is not None and match.current.id == found.kept.id else found


def _recognised(asked: Namespace, found: Referred) -> Referred:
    """Go on with a game in a file as the database knows it, if it stands there as it does in the file."""
    from number_tower import record  # noqa: PLC0415 - loaded already
    from number_tower.cli.storing import shelf  # noqa: PLC0415 - likewise

    shelved = shelf(asked)
    key = None if found.kept is not None else record.key_in(asked.ref)
    if key is None or shelved is None or shelved.absent:
        return found
    from number_tower.store.trouble import StoreError  # noqa: PLC0415 - only where the database is asked for

    try:
        kept = shelved.open().known_by(key)
    except StoreError:
        return found
    finally:
        shelved.close()
    return found if kept is None or kept.table != found.table else Referred(kept.table, kept.book, kept)


def _match(asked: Namespace, identity: int) -> KeptMatch:
    from number_tower.store import matches  # noqa: PLC0415 - only where the database is asked for

    return sought(Shelf(asked.db), lambda store: matches.get(store, identity), f"match m{identity}")


def _left_last(asked: Namespace) -> Referred | int:
    """Find the game that was left last before its end, or the id of the match that was left between two games."""
    from number_tower.store import matches  # noqa: PLC0415 - only where the database is asked for

    shelf = Shelf(asked.db)
    what = "unfinished game"
    game, match = sought(shelf, lambda store: (store.unfinished(), matches.undecided(store)), what)
    if match is not None and (game is None or match.changed > game.changed):
        return match.id
    if game is None:
        raise Failure(WRONG_CALL, "there is no unfinished game to go on with; to begin one: tower play GAME")
    return Referred(game.table, game.book, game)
