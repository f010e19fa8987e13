"""What the store keeps of a game beside its table: who chose the moves, when, and by which rule file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from number_tower import catalogue
from number_tower.changes import Change, Declaration, moves_after
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.rules import Rules, RulesError
from number_tower.showing import shown_text
from number_tower.table import Table, TableError
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from number_tower.catalogue import Rulebook


LONGEST_TEXT = 1000
"""Characters of a command or path that are kept."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


class Damaged(ValueError):  # noqa: N818 - named for what it says
    """Something in the database that cannot be what was written there, and why."""


class Seats(NamedTuple):
    """Who chooses the moves in each seat: a person (None), a level of the computer, or a program; and their seed."""

    players: tuple[str | None, str | None] = (None, None)
    seed: int | None = None

    @property
    def automatic(self) -> tuple[bool, bool]:
        """Which seats are played by a computer."""
        return self.players[0] is not None, self.players[1] is not None


class Part(NamedTuple):
    """Which game of which match a game is, counting from 1."""

    match: int
    number: int

    def __str__(self) -> str:
        return f"m{self.match} game {self.number}"


@dataclass(frozen=True)
class Kept:
    """A game as the store keeps it; `key` is the same on every machine that it is taken to, `id` is not."""

    id: int
    key: str
    table: Table
    book: Rulebook
    seats: Seats
    times: tuple[str, ...]
    """When it began, and when each change was made."""

    part: Part | None = None

    @property
    def started(self) -> str:
        """When the game began."""
        return self.times[0]

    @property
    def changed(self) -> str:
        """When the last change was made."""
        return self.times[-1]

    def now(self, table: Table, at: str) -> Kept:
        """Return what is kept once the table has changed."""
        return self.with_times(table, (*self.times[1:], *[at] * (table.version - self.table.version)))

    def with_times(self, table: Table, times: tuple[str, ...]) -> Kept:
        """Return what is kept once the table has changed, with the time of every change."""
        return replace(self, table=table, times=(self.started, *times))


def now() -> str:
    """Return this moment: in UTC, and so that times sort as text."""
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """Write a time in UTC as the database does, so that times sort as text."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def is_time(given: object) -> bool:
    """Say whether something is a time as the database writes it, and one that every clock can show."""
    if not isinstance(given, str) or _TIME.fullmatch(given) is None:
        return False
    try:
        return 1970 <= datetime.fromisoformat(given).year < 9999
    except ValueError:
        return False


def players(table: Table, book: Rulebook) -> tuple[str, str]:
    """Return what the players are called, as it is searched for: upper and lower case are the same."""
    first, second = table.names or Voice(book).players
    return first.casefold(), second.casefold()


def given(table: Table) -> dict[str, Any]:
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


def row_of(table: Table, book: Rulebook, seats: Seats) -> dict[str, Any]:
    """Return the columns of a game that a change leaves alone, but for who chooses the moves from now on."""
    called = players(table, book)
    return {
        **given(table),
        "player_1": called[0],
        "player_2": called[1],
        **seated(seats),
    }


def seated(seats: Seats) -> dict[str, Any]:
    """Return the columns that say who chooses the moves."""
    one, other = (None if player is None else storable(player) for player in seats.players)
    return {"seat_1": one, "seat_2": other, "seed": None if seats.seed is None else str(seats.seed)}


def storable(text: str) -> str:
    """Return text as any database takes it, and any reader: what the system gives may hold what is no letter."""
    return shown_text(text.encode("utf-8", "backslashreplace").decode(), LONGEST_TEXT)


def state_of(table: Table) -> dict[str, Any]:
    """Return the columns of a game that a change changes; what was counted from the game before is void."""
    return {**_standing(table), **dict.fromkeys(("mattered_1", "kept_1", "mattered_2", "kept_2"))}


def _standing(table: Table) -> dict[str, Any]:
    outcome = table.outcome
    return {
        "moves": ",".join(map(str, table.game.moves)),
        "winner": None if outcome is None or outcome.winner is None else outcome.winner + 1,
        "reason": None if outcome is None else outcome.reason,
        "version": table.version,
    }


def read(
    row: Mapping[str, Any], changes: Iterable[tuple[str, str]], book: Rulebook | None, part: Part | None = None
) -> Kept:
    """Make a game of what the database holds, believing nothing that can be checked."""
    try:
        log, times = _log(changes)
        rules = Rules.read(json.loads(row["rules"]))
        book = book or catalogue.rulebook_for(row["rulebook"], rules)
        table = Table(
            Game(rules, row["first"] - 1, moves_after(log)),
            names=None if row["name_1"] is None else (row["name_1"], row["name_2"]),
            hidden=row["hidden"],
            book=book,
        )
        seats = Seats((row["seat_1"], row["seat_2"]), None if row["seed"] is None else int(row["seed"]))
        if log and log[-1].kind in get_args(Declaration):
            table = table.declare(cast("Declaration", log[-1].kind), log[-1].number)
        table = replace(table, log=log, automatic=seats.automatic)
        if any(row[column] != value for column, value in _standing(table).items()):
            raise Damaged("its changes do not lead to its moves and result")
        if not table.rulebook.isprintable() or not all(isinstance(seat, str | None) for seat in seats.players):
            raise Damaged("expected a game and players by name")
        if not all(map(is_time, (row["started"], row["changed"], *times))):
            raise Damaged("one of its times is none")
    except (TypeError, AttributeError, RecursionError):
        raise Damaged("one of its columns holds something else than was written there") from None
    except (MoveError, RulesError, TableError, ValueError) as wrong:
        raise Damaged(shown_text(str(wrong))) from None
    return Kept(row["id"], row["key"], table, book, seats, (row["started"], *times), part)


def _log(changes: Iterable[tuple[str, str]]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    entries = tuple(changes)
    return tuple(Change.read(text) for text, _ in entries), tuple(at for _, at in entries)
