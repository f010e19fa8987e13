"""Players' own rule files in a database: stored once, shared in memory, and deleted when nothing uses them."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from sqlalchemy import delete, exists, func, or_, select

from number_tower import catalogue
from number_tower.store import kept as keeping
from number_tower.store.schema import games, matches, rulebooks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement, Connection

    from number_tower.catalogue import Rulebook

DELETED_AT_ONCE = 100

_CONCURRENT_MATCHES = 1_000
"""Matches that may be inserted while one transaction is open: their ids need not be committed in order."""

_shared: WeakValueDictionary[str, Rulebook] = WeakValueDictionary()


def is_stored(book: Rulebook) -> bool:
    """Say whether a database keeps the text of a rulebook: only of files that are not part of the catalogue."""
    return bool(book.content) and book.source not in catalogue.names()


def compute_digest(book: Rulebook) -> str:
    """Return what identifies a rule file: its name, its source and its text."""
    return sha256(f"{book.name}\n{keeping.storable(book.source)}\n".encode() + book.content).hexdigest()


def share_rulebook(book: Rulebook) -> Rulebook:
    """Return the rulebook in memory that was made of the same rule file, or this one if it is the first.

    A parsed file takes three times its size, and many rooms may be played by the same one.
    """
    return _shared.setdefault(compute_digest(book), book) if is_stored(book) else book


def find_shared(digest: str) -> Rulebook | None:
    """Return the rulebook in memory that has this digest, if there is one."""
    return _shared.get(digest)


class Unused(NamedTuple):
    """Rule files that nothing used when they were looked for, and the newest match at that time."""

    ids: list[int]
    newest_match: int


def find_unused(connection: Connection) -> Unused:
    """Return the rule files that no game and no match uses."""
    ids = set(connection.execute(select(rulebooks.c.id).where(~_in_game())).scalars())
    newest = connection.execute(select(func.max(matches.c.id))).scalar() or 0
    if ids:
        ids -= _in_matches(connection.execute(_MATCHES_WITH_FILES).scalars())
    return Unused(sorted(ids), newest)


def delete_unused(connection: Connection, ids: Collection[int], newest_match: int) -> int:
    """Delete those of some rule files that are still unused; return how many.

    A transaction that begins a game holds a lock on its rule file (see `games.book_kept`). A locked one is left alone,
    and games that were begun since the files were found are visible here.
    """
    locked = select(rulebooks.c.id).where(rulebooks.c.id.in_(ids)).with_for_update(skip_locked=True)
    found = set(connection.execute(locked).scalars())
    unused = set(connection.execute(select(rulebooks.c.id).where(rulebooks.c.id.in_(found), ~_in_game())).scalars())
    recent = _MATCHES_WITH_FILES.where(matches.c.id > newest_match - _CONCURRENT_MATCHES)
    unused -= _in_matches(connection.execute(recent).scalars())
    connection.execute(delete(rulebooks).where(rulebooks.c.id.in_(unused)))
    return len(unused)


def _in_game() -> ColumnElement[bool]:
    return exists().where(games.c.book == rulebooks.c.id)


_BOOK = re.compile(r'"book": ([0-9]{1,18})')
_MATCHES_WITH_FILES = select(matches.c.games).where(
    or_(*(matches.c.games.like(f'%"book": {digit}%') for digit in range(1, 10)))
)
"""What is played in the matches that name a rule file of their own, as JSON."""


def _in_matches(texts: Iterable[str]) -> set[int]:
    """Return the rule files that matches name, also for games that have not begun, and where a match is damaged."""
    return {int(number) for text in texts for number in _BOOK.findall(text)}
