"""Games taken from one database to another: a record a line, with what a store knows beside it under `kept`.

Nothing is believed that can be checked: a line may come from a stranger. What is taken in a second time counts once,
and a game that went on elsewhere goes on here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from sqlalchemy import select

from number_tower import catalogue
from number_tower.changes import Change, Declaration, moves_after
from number_tower.record import RecordError, document
from number_tower.record.line import with_rulebook
from number_tower.store import games as keeping
from number_tower.store import matches, practice
from number_tower.store.foreign import is_time, read_key, read_rulebook, read_seats, rulebook_written
from number_tower.store.history import Unreadable, Wanted, all_of
from number_tower.store.kept import Kept, Part, Seats, now
from number_tower.store.schema import games

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store.games import Store
    from number_tower.table import Table

_KEYS = {"key", "players", "seed", "log", "times", "rulebook", "match"}


class TransferError(ValueError):
    """A line that cannot be taken in: its number, and why."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class Line(NamedTuple):
    """A game, or a puzzle that was tried, as it goes to another machine."""

    text: str
    is_game: bool = True


class Taken(NamedTuple):
    """What came of taking lines in: how many games are new, went on, were known, and went on differently here."""

    new: int
    went_on: int
    known: int
    differ: int
    puzzles: int


# Out -----------------------------------------------------------------------------------------------------------------


def exported(connection: Connection, wanted: Wanted) -> Iterator[Line | Unreadable]:
    """Give the games that are wanted, a line each; with all games, also the puzzles that were tried."""
    for game in all_of(connection, wanted):
        yield game if isinstance(game, Unreadable) else Line(_line(connection, game))
    if wanted == Wanted():
        for attempt in practice.attempts(connection):
            puzzle = {"number_tower": document.FORMAT, "puzzle": attempt.written()}
            yield Line(document.written(puzzle), is_game=False)


def _line(connection: Connection, game: Kept) -> str:
    known = {
        "key": game.key,
        "players": game.seats.players,
        "seed": game.seats.seed,
        "log": [change.written() for change in game.table.log],
        "times": game.times,
        "rulebook": rulebook_written(game.book),
        "match": None if game.part is None else matches.written(connection, game.part),
    }
    return document.written({**document.document(game.table), "kept": known})


# In ------------------------------------------------------------------------------------------------------------------


def taken_in(store: Store, lines: Iterable[str]) -> Taken:
    """Take in all the games and puzzles that lines hold, or, if one of them is wrong, nothing."""
    came: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    with store.writing() as connection:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text:
                continue
            try:
                came[_kept(connection, text, seen)] += 1
            except (RecordError, catalogue.CatalogueError, ValueError) as wrong:
                raise TransferError(number, str(wrong)) from None
    return Taken(came["new"], came["went on"], came["known"], came["differs"], came["puzzle"])


def _kept(connection: Connection, text: str, seen: Counter[str]) -> str:
    """Take one line in; say what came of it."""
    if not text.startswith("{"):
        table, book = with_rulebook(text)
        return _keep(connection, _unknown(table, book, text, seen))
    content = document.parsed(text, "puzzle")
    if "puzzle" in content:
        return "puzzle" if practice.add(connection, practice.read(content["puzzle"])) else "nothing"
    table = document.table_of(content)
    if content.get("kept") is None:
        return _keep(connection, _unknown(table, catalogue.rulebook_for(table.rulebook, table.game.rules), text, seen))
    known = _known(content["kept"])
    part = None if known["match"] is None else matches.read(connection, known["match"])
    return _keep(connection, _game(table, known, part))


def _keep(connection: Connection, game: Kept) -> str:
    """Keep a game, unless it is kept already; one that is further on than here goes on."""
    found = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
    if found is None:
        try:
            keeping.add(connection, game)
        except keeping.Begun:
            return "differs"
        return "new"
    here = keeping.load(connection, found, lock=True)
    ours, theirs = here.table.log, game.table.log
    if ours[: len(theirs)] == theirs:
        return "known"
    if theirs[: len(ours)] == ours:
        keeping.write(connection, here, game.table, game.times[1:])
        return "went on"
    return "differs"


def _unknown(table: Table, book: Rulebook, text: str, seen: Counter[str]) -> Kept:
    """Make a game of a record that comes from no store: the same line again is the same game, unless side by side."""
    seen[text] += 1
    key = sha256(f"{seen[text]} {text}".encode()).hexdigest()[:32]
    at = now()
    return Kept(0, key, table, book, Seats(), (at,) * (table.version + 1))


def _known(given: object) -> dict[str, Any]:
    if not isinstance(given, dict) or given.keys() != _KEYS:
        raise RecordError("kept", f"expected {', '.join(sorted(_KEYS))}")
    return cast("dict[str, Any]", given)


def _game(table: Table, known: Mapping[str, Any], part: Part | None) -> Kept:
    log = _log(table, known["log"])
    times = known["times"]
    if not isinstance(times, list) or len(times) != len(log) + 1 or not all(map(is_time, times)):
        raise RecordError("kept.times", "expected when the game began, and when each change was made")
    book = read_rulebook(known["rulebook"]) or catalogue.rulebook_for(table.rulebook, table.game.rules)
    if book.name != table.rulebook or book.options_of(table.game.rules) is None:
        raise RecordError("kept.rulebook", "expected the rule file of this game")
    seats = read_seats(known["players"], known["seed"])
    table = replace(table, log=log, automatic=seats.automatic)
    return Kept(0, read_key(known["key"]), table, book, seats, tuple(times), part)


def _log(table: Table, given: object) -> tuple[Change, ...]:
    if not isinstance(given, list) or not all(isinstance(entry, str) for entry in given):
        raise RecordError("kept.log", "expected a list of changes")
    log = tuple(map(Change.read, given))
    declared = [change for change in log if change.kind in get_args(Declaration)]
    straight = table.log[len(table.game.moves) :]
    same_ending = [change.kind for change in declared] == [change.kind for change in straight] and (
        not declared or (declared[-1] is log[-1] and (declared == list(straight) or declared[0].kind == "abandoned"))
    )
    if moves_after(log) != table.game.moves or not same_ending:
        raise RecordError("kept.log", "the changes do not lead to the moves and the result")
    return log
