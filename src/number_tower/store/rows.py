"""What the store keeps of a game beside its table: who chose the moves, when, and by which rule file."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args
from weakref import WeakValueDictionary

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from number_tower import catalogue
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.record import RecordError
from number_tower.rules import Rules, RulesError
from number_tower.store import StoreError
from number_tower.store.schema import rulebooks
from number_tower.table import Change, Declaration, Table, TableError, replay_moves
from number_tower.text import format_text, format_value
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook


def store_rulebook(connection: Connection, book: Rulebook) -> int | None:
    """Keep a rule file, once however many games are played by it; games of the catalogue need none.

    It stays locked against deletion until the game that is played by it is there.
    """
    if not is_custom(book):
        return None
    digest = compute_digest(book)
    same = select(rulebooks.c.id).where(rulebooks.c.digest == digest).with_for_update(read=True, key_share=True)
    found: int | None = connection.execute(same).scalar()
    if found is None:
        text, source = book.content.decode("utf-8-sig"), sanitize_text(book.source)
        row = {"digest": digest, "name": book.name, "source": source, "content": text}
        with suppress(IntegrityError), connection.begin_nested():
            connection.execute(insert(rulebooks).values(row))
        found = connection.execute(same).scalar_one()
    return found


def load_rulebook(connection: Connection, identity: int | None) -> Rulebook | None:
    """Return a rule file that was kept; None for a game of the catalogue."""
    if identity is None:
        return None
    mine = rulebooks.c.id == identity
    if (
        shared := find_shared_rulebook(connection.execute(select(rulebooks.c.digest).where(mine)).scalar() or "")
    ) is not None:
        return shared
    row = connection.execute(select(rulebooks).where(mine)).one_or_none()
    if row is None:
        raise StoreError(f"rule file {identity} is missing from the database")
    try:
        return share_rulebook(catalogue.parse_rulebook(row.content.encode(), row.name, row.source))
    except (catalogue.CatalogueError, AttributeError, TypeError) as wrong:
        raise StoreError(f"rule file {identity} is damaged in the database: {wrong}") from None


MAX_TEXT = 1000


"""Characters of a command or path that are kept."""


_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


class DamagedRowError(ValueError):
    """Something in the database that cannot be what was written there, and why."""


class Seats(NamedTuple):
    """Who chooses the moves in each seat: a person (None), a level of the computer, or a program; and their seed."""

    players: tuple[str | None, str | None] = (None, None)
    seed: int | None = None

    @property
    def automatic(self) -> tuple[bool, bool]:
        """Which seats are played by a computer."""
        return self.players[0] is not None, self.players[1] is not None


class MatchSlot(NamedTuple):
    """Which game of which match a game is, counting from 1."""

    match: int
    number: int

    def __str__(self) -> str:
        return f"m{self.match} game {self.number}"


@dataclass(frozen=True)
class StoredGame:
    """A game as the store keeps it; `key` is the same on every machine that it is taken to, `id` is not."""

    id: int
    key: str
    table: Table
    book: Rulebook
    seats: Seats
    times: tuple[str, ...]
    """When it began, and when each change was made."""

    slot: MatchSlot | None = None

    @property
    def started(self) -> str:
        """When the game began."""
        return self.times[0]

    @property
    def changed(self) -> str:
        """When the last change was made."""
        return self.times[-1]

    def advance(self, table: Table, at: str) -> StoredGame:
        """Return what is kept once the table has changed."""
        return self.with_times(table, (*self.times[1:], *[at] * (table.version - self.table.version)))

    def with_times(self, table: Table, times: tuple[str, ...]) -> StoredGame:
        """Return what is kept once the table has changed, with the time of every change."""
        return replace(self, table=table, times=(self.started, *times))


def format_now() -> str:
    """Return this moment: in UTC, and so that times sort as text."""
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """Write a time in UTC as the database does, so that times sort as text."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def is_timestamp(given: object) -> bool:
    """Say whether something is a time as the database writes it, and one that every clock can show."""
    if not isinstance(given, str) or _TIME.fullmatch(given) is None:
        return False
    try:
        return 1970 <= datetime.fromisoformat(given).year < 9999
    except ValueError:
        return False


def fold_names(table: Table, book: Rulebook) -> tuple[str, str]:
    """Return what the players are called, as it is searched for: upper and lower case are the same."""
    first, second = table.names or Voice(book).players
    return first.casefold(), second.casefold()


def make_setup_columns(table: Table) -> dict[str, Any]:
    """Return the columns that say what a game is, before anything is done in it."""
    names = table.names or (None, None)
    return {
        "rulebook": table.rulebook,
        "rules": json.dumps(table.game.rules.written()),
        "first": table.game.first + 1,
        "hidden": table.hidden,
        "name_1": names[0],
        "name_2": names[1],
    }


def make_row(table: Table, book: Rulebook, seats: Seats) -> dict[str, Any]:
    """Return the columns of a game that a change leaves alone, but for who chooses the moves from now on."""
    called = fold_names(table, book)
    return {
        **make_setup_columns(table),
        "player_1": called[0],
        "player_2": called[1],
        **make_seat_columns(seats),
    }


def make_seat_columns(seats: Seats) -> dict[str, Any]:
    """Return the columns that say who chooses the moves."""
    one, other = (None if player is None else sanitize_text(player) for player in seats.players)
    return {"seat_1": one, "seat_2": other, "seed": None if seats.seed is None else str(seats.seed)}


def sanitize_text(text: str) -> str:
    """Return text as any database takes it, and any reader: what the system gives may hold what is no letter."""
    return format_text(text.encode("utf-8", "backslashreplace").decode(), MAX_TEXT)


def make_state_columns(table: Table) -> dict[str, Any]:
    """Return the columns of a game that a change changes; what was counted from the game before is void."""
    return {**_make_result_columns(table), **dict.fromkeys(("mattered_1", "kept_1", "mattered_2", "kept_2"))}


def _make_result_columns(table: Table) -> dict[str, Any]:
    outcome = table.outcome
    return {
        "moves": ",".join(map(str, table.game.moves)),
        "winner": None if outcome is None or outcome.winner is None else outcome.winner + 1,
        "reason": None if outcome is None else outcome.reason,
        "version": table.version,
    }


def read_game(
    row: Mapping[str, Any], changes: Iterable[tuple[str, str]], book: Rulebook | None, part: MatchSlot | None = None
) -> StoredGame:
    """Make a game of what the database holds, believing nothing that can be checked."""
    try:
        log, times = _read_log(changes)
        rules = Rules.read(json.loads(row["rules"]))
        book = book or catalogue.find_rulebook(row["rulebook"], rules)
        table = Table(
            Game(rules, row["first"] - 1, replay_moves(log)),
            names=None if row["name_1"] is None else (row["name_1"], row["name_2"]),
            hidden=row["hidden"],
            book=book,
        )
        seats = Seats((row["seat_1"], row["seat_2"]), None if row["seed"] is None else int(row["seed"]))
        if log and log[-1].kind in get_args(Declaration):
            table = table.declare(cast("Declaration", log[-1].kind), log[-1].number)
        table = replace(table, log=log, automatic=seats.automatic)
        if any(row[column] != value for column, value in _make_result_columns(table).items()):
            raise DamagedRowError("its changes do not lead to its moves and result")
        if not table.rulebook.isprintable() or not all(isinstance(seat, str | None) for seat in seats.players):
            raise DamagedRowError("expected a game and players by name")
        if not all(map(is_timestamp, (row["started"], row["changed"], *times))):
            raise DamagedRowError("one of its times is none")
    except (TypeError, AttributeError, RecursionError):
        raise DamagedRowError("one of its columns holds something else than was written there") from None
    except (MoveError, RulesError, TableError, ValueError) as wrong:
        raise DamagedRowError(format_text(str(wrong))) from None
    return StoredGame(row["id"], row["key"], table, book, seats, (row["started"], *times), part)


def _read_log(changes: Iterable[tuple[str, str]]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    entries = tuple(changes)
    return tuple(Change.read(text) for text, _ in entries), tuple(at for _, at in entries)


_KEY = re.compile(r"[0-9a-f]{32}")


def serialize_rulebook(book: Rulebook) -> dict[str, str] | None:
    """Return a rule file as it goes into a line; games of the catalogue need none."""
    if not book.content or book.source in catalogue.list_names():
        return None
    return {"name": book.name, "source": sanitize_text(book.source), "content": book.content.decode("utf-8-sig")}


def parse_key(given: object) -> str:
    """Return a key, if it is one."""
    if not isinstance(given, str) or _KEY.fullmatch(given) is None:
        raise RecordError("key", f"expected 32 hexadecimal digits; got {format_value(given)}")
    return given


def parse_seats(players: object, seed: object) -> Seats:
    """Return who chose the moves, if that can be."""
    if not isinstance(players, list) or len(players) != 2 or not all(map(_is_player, players)):
        raise RecordError("players", f"expected two, each a level, a program, or null; got {format_value(players)}")
    if seed is not None and type(seed) is not int:
        raise RecordError("seed", f"expected a whole number or null; got {format_value(seed)}")
    return Seats((players[0], players[1]), seed)


def _is_player(given: object) -> bool:
    return given is None or (isinstance(given, str) and given != "" and sanitize_text(given) == given)


def parse_rulebook(given: object) -> Rulebook | None:
    """Return a rule file that a line holds, if it holds one."""
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != {"name", "source", "content"}:
        raise RecordError("rulebook", "expected name, source and content")
    if not all(isinstance(value, str) for value in given.values()) or sanitize_text(given["source"]) != given["source"]:
        raise RecordError("rulebook", "expected name, source and content as text")
    return catalogue.parse_rulebook(given["content"].encode(), given["name"], given["source"])


"""Matches that may be inserted while one transaction is open: their ids need not be committed in order."""


_shared: WeakValueDictionary[str, Rulebook] = WeakValueDictionary()


def is_custom(book: Rulebook) -> bool:
    """Say whether a database keeps the text of a rulebook: only of files that are not part of the catalogue."""
    return bool(book.content) and book.source not in catalogue.list_names()


def compute_digest(book: Rulebook) -> str:
    """Return what identifies a rule file: its name, its source and its text."""
    return sha256(f"{book.name}\n{sanitize_text(book.source)}\n".encode() + book.content).hexdigest()


def share_rulebook(book: Rulebook) -> Rulebook:
    """Return the rulebook in memory that was made of the same rule file, or this one if it is the first.

    A parsed file takes three times its size, and many rooms may be played by the same one.
    """
    return _shared.setdefault(compute_digest(book), book) if is_custom(book) else book


def find_shared_rulebook(digest: str) -> Rulebook | None:
    """Return the rulebook in memory that has this digest, if there is one."""
    return _shared.get(digest)


"""What is played in the matches that name a rule file of their own, as JSON."""
