"""Games and rule files as rows of the database, and as parts of stored or exported documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from secrets import token_hex
from typing import Any, NamedTuple, cast, get_args

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.game import Game
from number_tower.engine.record import RecordError
from number_tower.engine.rules import Rules
from number_tower.engine.table import Change, Declaration, Table, TableError, replay_moves
from number_tower.store import DamagedError
from number_tower.store.connection import WRONG_VALUES, detect_damage
from number_tower.store.schema import rulebooks
from number_tower.support.text import format_text, format_value
from number_tower.words.voice import get_voice

MAX_TEXT = 1000
"""Characters of a command or path that are stored."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_KEY = re.compile(r"[0-9a-f]{32}")


class Seats(NamedTuple):
    """Who chooses the moves in each seat, and the seed: a person (None), a level, or a program."""

    players: tuple[str | None, str | None] = (None, None)
    seed: int | None = None

    @property
    def automatic(self) -> tuple[bool, bool]:
        """The seats that a computer plays."""
        return self.players[0] is not None, self.players[1] is not None


class MatchSlot(NamedTuple):
    """Which game of which match a game is, counting from 1."""

    match: int
    number: int

    def __str__(self) -> str:
        return f"m{self.match} game {self.number}"


@dataclass(frozen=True)
class StoredGame:
    """A game in the database: every copy has the same `key`, but an `id` of its own.

    Examples:
        >>> from number_tower.store import open_store
        >>> store = open_store("games.db")
        >>> saved = store.begin(nt.Table(nt.Game()))
        >>> saved.table.version, len(saved.times), saved.seats.automatic
        (0, 1, (False, False))
        >>> saved = store.change(saved.id, 0, nt.Change("place", 9))
        >>> saved.started <= saved.changed
        True
        >>> store.close()

        `start` and `advance` make games that are not stored, such as those that are imported:

        >>> game = StoredGame.start(nt.Table(nt.Game()), saved.seats)
        >>> game.advance(game.table.play(9)).table.game.moves
        (9,)
    """

    id: int
    key: str
    table: Table
    seats: Seats
    times: tuple[str, ...]
    """When it began, and when each change was made."""

    slot: MatchSlot | None = None
    with_values: bool = False
    """Whether the players saw the value of every move."""

    def __post_init__(self) -> None:
        check_key(self.key)
        if len(self.times) != 1 + self.table.version:
            raise TableError("expected when the game began, and when each change was made")

    @classmethod
    def start(
        cls, table: Table, seats: Seats, key: str | None = None, *, with_values: bool = False
    ) -> StoredGame:
        """Return a game that is not stored yet; all changes so far count as made now."""
        times = (format_now(),) * (1 + table.version)
        return cls(0, key or token_hex(16), table, seats, times, with_values=with_values)

    @property
    def started(self) -> str:
        """When the game began."""
        return self.times[0]

    @property
    def changed(self) -> str:
        """When the last change was made."""
        return self.times[-1]

    def advance(self, table: Table, times: tuple[str, ...] | None = None) -> StoredGame:
        """Return the game with a changed table, changed now, or with the times of all changes."""
        if times is None:
            times = (*self.times[1:], *[format_now()] * (table.version - self.table.version))
        return replace(self, table=table, times=(self.started, *times))


# Values -------------------------------------------------------------------------------------------


def format_now() -> str:
    """Return the current time in its stored form."""
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """Write a time in UTC, in a form that sorts as text."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def is_timestamp(value: object) -> bool:
    """Say whether a value is a time as it is stored, and one that every clock can show."""
    if not isinstance(value, str) or _TIME.fullmatch(value) is None:
        return False
    try:
        return 1970 <= datetime.fromisoformat(value).year < 9999
    except ValueError:
        return False


def check_times(times: Iterable[object]) -> None:
    """Check times that were read; those that this program makes need no check."""
    if not all(map(is_timestamp, times)):
        raise TableError("expected times such as 2026-11-19T20:15:00.000000Z")


def sanitize_text(text: str) -> str:
    """Return printable text of limited length, which every database accepts.

    A command-line argument may contain any bytes.
    """
    return format_text(text.encode("utf-8", "backslashreplace").decode(), MAX_TEXT)


# Games as rows ------------------------------------------------------------------------------------


def make_row(game: StoredGame) -> dict[str, Any]:
    """Return the columns of a game, except its rule file and its accuracy."""
    table, seats = game.table, game.seats
    first, second = table.names or get_voice(table.book).players
    name_1, name_2 = table.names or (None, None)
    seat_1, seat_2 = (player and sanitize_text(player) for player in seats.players)
    return {
        **make_changing_columns(game),
        "key": game.key,
        "rulebook": table.rulebook,
        "rules": json.dumps(table.game.rules.to_dict()),
        "first": table.game.first + 1,
        "hidden": table.hidden,
        # Casefolded, so that a search finds a player in upper or lower case.
        "player_1": first.casefold(),
        "player_2": second.casefold(),
        "name_1": name_1,
        "name_2": name_2,
        "seat_1": seat_1,
        "seat_2": seat_2,
        "seed": None if seats.seed is None else str(seats.seed),
        "started": game.started,
        "match": game.slot and game.slot.match,
        "number": game.slot and game.slot.number,
    }


def make_changing_columns(game: StoredGame) -> dict[str, Any]:
    """Return the columns that change while a game is played."""
    return {
        **_make_result_columns(game.table),
        "changed": game.changed,
        "with_values": game.with_values,
    }


def _make_result_columns(table: Table) -> dict[str, Any]:
    outcome = table.outcome
    return {
        "moves": ",".join(map(str, table.game.moves)),
        "winner": None if outcome is None or outcome.winner is None else outcome.winner + 1,
        "reason": None if outcome is None else outcome.reason,
        "version": table.version,
    }


def read_game(
    row: Mapping[Any, Any], changes: Sequence[tuple[str, str]], book: Rulebook | None
) -> StoredGame:
    """Build a game from its row and its changes with their times.

    If the row is damaged, this raises one of `WRONG_VALUES`.
    """
    log = tuple(Change.from_text(text) for text, _ in changes)
    times = (row["started"], *(at for _, at in changes))
    rules = Rules.from_dict(json.loads(row["rules"]))
    seed = None if row["seed"] is None else int(row["seed"])
    seats = parse_seats((row["seat_1"], row["seat_2"]), seed)
    table = Table(
        Game(rules, row["first"] - 1, replay_moves(log)),
        names=None if row["name_1"] is None else (row["name_1"], row["name_2"]),
        hidden=row["hidden"],
        book=book or catalogue.find_rulebook(row["rulebook"], rules),
    )
    if log and log[-1].kind in get_args(Declaration):
        table = table.declare(cast("Declaration", log[-1].kind), log[-1].number)
    table = replace(table, log=log, automatic=seats.automatic)
    if any(row[column] != value for column, value in _make_result_columns(table).items()):
        raise TableError("its changes do not lead to its moves and result")
    slot = None if row["match"] is None else MatchSlot(row["match"], row["number"])
    check_times(times)
    return StoredGame(row["id"], row["key"], table, seats, times, slot, row["with_values"])


# Rule files ---------------------------------------------------------------------------------------


def store_rulebook(connection: Connection, book: Rulebook) -> int | None:
    """Store a rule file once, and return its id; None for a game of the catalogue.

    It is locked against deletion until the transaction ends, so that the game that uses it can be
    stored.
    """
    row = serialize_rulebook(book)
    if row is None:
        return None
    name_and_source = f"{row['name']}\n{row['source']}\n"
    digest = sha256(name_and_source.encode() + book.content).hexdigest()
    query = select(rulebooks.c.id).where(rulebooks.c.digest == digest)
    query = query.with_for_update(read=True, key_share=True)
    identity: int | None = connection.execute(query).scalar()
    if identity is None:
        # Another process may store it at the same time; then use its row.
        with suppress(IntegrityError), connection.begin_nested():
            connection.execute(insert(rulebooks).values(digest=digest, **row))
        identity = connection.execute(query).scalar_one()
    return identity


def load_rulebook(connection: Connection, identity: int | None) -> Rulebook | None:
    """Return a rule file by its id; None for a game of the catalogue."""
    if identity is None:
        return None
    row = connection.execute(select(rulebooks).where(rulebooks.c.id == identity)).one_or_none()
    if row is None:
        raise DamagedError(f"rule file {identity} is missing from the database")
    with detect_damage(f"rule file {identity}"):
        return _parse_rulebook(row.content, row.name, row.source)


@lru_cache(maxsize=20)
def _parse_rulebook(content: str, name: str, source: str) -> Rulebook:
    """Parse a rule file once for all its games: a rulebook takes three times the file's size."""
    return catalogue.parse_rulebook(content.encode(), name, source)


# Documents ----------------------------------------------------------------------------------------


@contextmanager
def expect(key: str, expected: str) -> Iterator[None]:
    """Turn an error in a document's values into a RecordError that says what was expected."""
    try:
        yield
    except RecordError:
        # Also a ValueError, but with a more precise message.
        raise
    except WRONG_VALUES:
        raise RecordError(key, f"expected {expected}") from None


def serialize_choice(choice: GameChoice) -> dict[str, object]:
    """Return which game was chosen, with its rule file if it has one."""
    return {
        "name": choice.book.name,
        "rules": choice.rules.to_dict(),
        "rulebook": serialize_rulebook(choice.book),
    }


def parse_choice(document: Mapping[str, Any]) -> GameChoice:
    """Return which game was chosen, as `serialize_choice` wrote it."""
    rules, book = Rules.from_dict(document["rules"]), parse_rulebook(document["rulebook"])
    if not document["name"].isprintable():
        raise ValueError("expected games by name")
    return GameChoice(book or catalogue.find_rulebook(document["name"], rules), rules)


def serialize_rulebook(book: Rulebook) -> dict[str, str] | None:
    """Return the name, source and text of a player's own rule file; None for the catalogue's."""
    if not book.content or book.source in catalogue.list_names():
        return None
    return {
        "name": book.name,
        "source": sanitize_text(book.source),
        "content": book.content.decode("utf-8-sig"),
    }


def parse_rulebook(document: Any) -> Rulebook | None:
    """Return the rule file of a document, if it has one."""
    if document is None:
        return None
    name, source, content = document["name"], document["source"], document["content"]
    if sanitize_text(source) != source:
        raise ValueError("expected the printable source of a rule file")
    return _parse_rulebook(content, name, source)


def check_key(key: object) -> None:
    """Refuse a value that is not the key of a game, match or attempt."""
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        raise RecordError("key", f"expected 32 hexadecimal digits; got {format_value(key)}")


def parse_seats(players: Any, seed: object) -> Seats:
    """Return the players' specifications and seed."""
    first, second = players
    for player in (first, second):
        # The space makes an empty name differ, so it is refused too.
        if player is not None and sanitize_text(player or " ") != player:
            raise ValueError("expected players, each a level, a program, or null")
    if seed is not None and type(seed) is not int:
        raise ValueError("expected a whole number or null as seed")
    return Seats((first, second), seed)
