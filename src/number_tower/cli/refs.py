"""What a REF stands for: a game in the database by its id, a game as one line, or a file with its record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from number_tower.cli.autosave import LazyStore
from number_tower.cli.errors import DAMAGED_RECORD, NO_DATABASE, WRONG_CALL, CommandError
from number_tower.text import format_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TypeVar

    from number_tower.catalogue import Rulebook
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame
    from number_tower.table import Table

    Found = TypeVar("Found")


class FoundGame(NamedTuple):
    """A table that was referred to, its rulebook, and how it is kept if it was found in the database."""

    table: Table
    book: Rulebook
    kept: StoredGame | None = None


def is_game_id(ref: str) -> bool:
    """Say whether a REF is an id; a file with such a name can be written ./12."""
    return ref.isascii() and ref.isdigit() and len(ref) < 10


def is_match_id(ref: str) -> bool:
    """Say whether a REF is the id of a match, such as m3."""
    return ref[:1] in {"m", "M"} and is_game_id(ref[1:])


def find_game(asked: Namespace, ref: str, otherwise: str | None = None) -> FoundGame:
    """Find what a REF stands for; `otherwise` is said if it stands for nothing."""
    if is_game_id(ref):
        kept = query_store(LazyStore(asked.db), lambda store: store.get(int(ref)), f"game {int(ref)}")
        return FoundGame(kept.table, kept.book, kept)
    if is_match_id(ref) and not os.path.exists(ref):
        raise CommandError(
            WRONG_CALL, f"{ref} is a match; expected one of its games (see: tower history), or resume {ref}"
        )
    from number_tower import record  # noqa: PLC0415 - only records need it

    try:
        table = record.read(ref)
    except record.NoRecordError as missing:
        problem = otherwise or str(missing).replace("is neither a file nor", "is neither a game's id, a file, nor")
        raise CommandError(WRONG_CALL, problem) from None
    except record.RecordError as damaged:
        raise CommandError(DAMAGED_RECORD, f"the record cannot be read: {damaged}") from None
    return FoundGame(table, table.book)


def query_store(shelf: LazyStore, look: Callable[[Store], Found], what: str, *, make: bool = False) -> Found:
    """Look for something in the database; say so if it is not there, or why it cannot be looked for.

    A database that does not exist yet is not made by looking for something in it, unless `make` says so.
    """
    from number_tower.store import (
        GameNotFoundError,
        StoreError,
    )

    if shelf.missing and not make:
        raise CommandError(WRONG_CALL, f"there is no {format_text(what)}: nothing is kept in {shelf.name} yet")
    try:
        return look(shelf.open())
    except GameNotFoundError:
        listed = f"tower history{shelf.db_option}"
        raise CommandError(
            WRONG_CALL, f"there is no {format_text(what)} in {shelf.name}; to see what there is: {listed}"
        ) from None
    except StoreError as trouble:
        raise CommandError(NO_DATABASE, f"{trouble}.") from None
    finally:
        shelf.close()


def find_resumable(asked: Namespace) -> FoundGame | StoredMatch:
    """Find what `resume` goes on with: what was left last, or what is referred to; a match with any game of it."""
    if asked.ref is not None and is_match_id(asked.ref):
        return _load_match(asked, int(asked.ref[1:]))
    found = _find_last_unfinished(asked) if asked.ref is None else _find_saved_copy(asked, find_game(asked, asked.ref))
    if isinstance(found, int):
        return _load_match(asked, found)
    if found.kept is None or found.kept.slot is None or found.table.outcome is not None:
        return found
    match = _load_match(asked, found.kept.slot.match)
    return match if match.current is not None and match.current.id == found.kept.id else found


def _find_saved_copy(asked: Namespace, found: FoundGame) -> FoundGame:
    """Go on with a game in a file as the database knows it, if it stands there as it does in the file."""
    from number_tower import record  # noqa: PLC0415 - loaded already
    from number_tower.cli.autosave import choose_store  # noqa: PLC0415 - likewise

    shelved = choose_store(asked)
    key = None if found.kept is not None else record.read_key(asked.ref)
    if key is None or shelved is None or shelved.missing:
        return found
    from number_tower.store import StoreError  # noqa: PLC0415 - only where the database is asked for

    try:
        kept = shelved.open().find_by_key(key)
    except StoreError:
        return found
    finally:
        shelved.close()
    return found if kept is None or kept.table != found.table else FoundGame(kept.table, kept.book, kept)


def _load_match(asked: Namespace, identity: int) -> StoredMatch:
    from number_tower.store import matches  # noqa: PLC0415 - only where the database is asked for

    return query_store(LazyStore(asked.db), lambda store: matches.get_match(store, identity), f"match m{identity}")


def _find_last_unfinished(asked: Namespace) -> FoundGame | int:
    """Find the game that was left last before its end, or the id of the match that was left between two games."""
    from number_tower.store import matches  # noqa: PLC0415 - only where the database is asked for

    shelf = LazyStore(asked.db)
    what = "unfinished game"
    game, match = query_store(
        shelf, lambda store: (store.find_unfinished(), matches.find_unfinished_match(store)), what
    )
    if match is not None and (game is None or match.changed > game.changed):
        return match.id
    if game is None:
        raise CommandError(WRONG_CALL, "there is no unfinished game to go on with; to begin one: tower play GAME")
    return FoundGame(game.table, game.book, game)
