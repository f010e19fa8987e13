"""What the store keeps of a game beside its table: who chose the moves, when, and by which rule file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from number_tower import catalogue
from number_tower.changes import Change, Declaration, moves_after
from number_tower.game import Game
from number_tower.position import MoveError, Outcome
from number_tower.rules import Rules, RulesError
from number_tower.table import Table, TableError
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from number_tower.catalogue import Rulebook


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
        return replace(self, table=table, times=(*self.times, *[at] * (table.version - self.table.version)))


def now() -> str:
    """Return this moment: in UTC, and so that times sort as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


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
    seed = None if seats.seed is None else str(seats.seed)
    return {"seat_1": seats.players[0], "seat_2": seats.players[1], "seed": seed}


def state_of(table: Table) -> dict[str, Any]:
    """Return the columns of a game that a change changes; what was counted from the game before is void."""
    outcome = table.outcome
    return {
        "moves": ",".join(map(str, table.game.moves)),
        "winner": None if outcome is None or outcome.winner is None else outcome.winner + 1,
        "reason": None if outcome is None else outcome.reason,
        "version": table.version,
        **dict.fromkeys(("mattered_1", "kept_1", "mattered_2", "kept_2")),
    }


def read(
    row: Mapping[str, Any], changes: Iterable[tuple[str, str]], book: Rulebook | None, part: Part | None = None
) -> Kept:
    """Make a game of what the database holds, believing nothing that can be checked."""
    try:
        log, times = _log(changes)
        rules = Rules.read(json.loads(row["rules"]))
        moves = tuple(int(move) for move in row["moves"].split(",") if move)
        if moves_after(log) != moves or len(log) != row["version"]:
            raise Damaged("its changes do not lead to its moves")
        table = Table(
            Game(rules, row["first"] - 1, moves),
            row["rulebook"],
            None if row["name_1"] is None else (row["name_1"], row["name_2"]),
            hidden=row["hidden"],
        )
        seats = Seats((row["seat_1"], row["seat_2"]), None if row["seed"] is None else int(row["seed"]))
        table = replace(table, log=log, automatic=seats.automatic, declared=_declared(row))
    except (MoveError, RulesError, TableError, ValueError, TypeError) as wrong:
        raise Damaged(str(wrong)) from None
    found = book or catalogue.rulebook_for(table.rulebook, rules)
    return Kept(row["id"], row["key"], table, found, seats, (row["started"], *times), part)


def _log(changes: Iterable[tuple[str, str]]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    entries = tuple(changes)
    return tuple(Change.read(text) for text, _ in entries), tuple(at for _, at in entries)


def _declared(row: Mapping[str, Any]) -> Outcome | None:
    if row["reason"] not in get_args(Declaration):
        return None
    return Outcome(None if row["winner"] is None else row["winner"] - 1, row["reason"])
