"""The player's database as commands use it, and how a REF finds a game in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from number_tower import store
from number_tower.engine import catalogue, record
from number_tower.support.text import format_text
from number_tower.terminal.cli import CommandError
from number_tower.terminal.session.database import GameDatabase

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TypeVar

    from number_tower.engine.table import Table
    from number_tower.store.database import Store
    from number_tower.store.rows import StoredGame

    Found = TypeVar("Found")


class LazyStore(GameDatabase):
    """The database of a call."""

    def query(self, look_up: Callable[[Store], Found], what: str, *, create: bool = False) -> Found:
        """Look something up, and close the database; `what` names it where it cannot be found.

        A database that does not exist yet is not created, unless `create` says so.
        """
        problem = f"there is no {format_text(what)}"
        if self.missing and not create:
            raise CommandError(f"{problem}: nothing is saved in {self.name} yet")
        try:
            return look_up(self.open())
        except store.GameNotFoundError:
            listed = f"to list your games: tower history{self.db_option}"
            raise CommandError(f"{problem} in {self.name}; {listed}") from None
        finally:
            self.close()


def choose_store(args: Namespace) -> LazyStore | None:
    """Return the database that games are saved in; None if they are not to be saved."""
    return None if args.no_save or store.is_disabled(args.db) else LazyStore(args.db)


# Finding a game -----------------------------------------------------------------------------------


class FoundGame(NamedTuple):
    """A table, and its game in the database if it was found there."""

    table: Table
    saved: StoredGame | None = None


def is_game_id(ref: str) -> bool:
    """Say whether a REF is a game's id; a file with such a name can be written ./12."""
    return ref.isascii() and ref.isdigit() and len(ref) < 10


def is_match_id(ref: str) -> bool:
    """Say whether a REF is a match's id, such as m3."""
    return ref[:1] in {"m", "M"} and is_game_id(ref[1:])


def is_ref(text: str) -> bool:
    """Say whether a text stands for a game that was played, and not for one of the catalogue."""
    return is_game_id(text) or is_match_id(text) or ":" in text or os.path.exists(text)


def find_game(args: Namespace, ref: str | None) -> FoundGame:
    """Find a game by its id, as one line, or in a file; without a REF, the last game."""
    if ref is None:
        last = LazyStore(args.db).query(lambda database: database.find_last(), "game")
        if last is None:
            raise CommandError("there is no game yet; to play one: tower play GAME")
        return FoundGame(last.table, last)
    if is_game_id(ref):
        name = f"game {int(ref)}"
        saved = LazyStore(args.db).query(lambda database: database.get(int(ref)), name)
        return FoundGame(saved.table, saved)
    if is_match_id(ref) and not os.path.exists(ref):
        expected = "expected one of its games (see: tower history)"
        raise CommandError(f"{ref} is a match; {expected}, or resume {ref}")
    return FoundGame(record.read(ref))


def normalize_game_name(game: str | None) -> str | None:
    """Return the name in the database of a game that is given by its name or rule file."""
    if game is None or game.lower() in catalogue.list_names():
        return game and game.lower()
    return os.path.basename(game).removesuffix(".toml")
