"""Games taken from one database to another: a record a line, with what a store knows beside it under `kept`.

Nothing is believed that can be checked: a line may come from a stranger. What is taken in a second time counts once,
and a game that went on elsewhere goes on here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqlalchemy import select

from number_tower import catalogue
from number_tower.changes import Change, moves_after
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.record import RecordError, document
from number_tower.record.line import with_rulebook
from number_tower.store import games as keeping
from number_tower.store import matches, practice
from number_tower.store.foreign import read_key, read_rulebook, read_seats, rulebook_written
from number_tower.store.history import Unreadable, Wanted, all_of
from number_tower.store.kept import Kept, Seats, is_time, now
from number_tower.store.opening import one_at_a_time
from number_tower.store.practice import Attempt
from number_tower.store.schema import games
from number_tower.store.trouble import StoreError, detect_damage
from number_tower.table import Table, TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store.games import Store

_KEYS = {"key", "players", "seed", "log", "times", "rulebook", "match"}


_AT_ONCE = 200
"""Games that are written in one piece."""


class TransferError(ValueError):
    """A line that cannot be taken in: its number, and why."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class Line(NamedTuple):
    """A game, or a puzzle that was tried, as it goes to another machine."""

    text: str
    is_game: bool = True


class Taken(NamedTuple):
    """What came of taking lines in: how many games are new, went on, were known; and which lines differ from here."""

    new: int
    went_on: int
    known: int
    differ: tuple[int, ...]
    puzzles: int


# Out -----------------------------------------------------------------------------------------------------------------


def exported(connection: Connection, wanted: Wanted) -> Iterator[Line | Unreadable]:
    """Give the games that are wanted, a line each; with all games, also the puzzles that were tried."""
    for game in all_of(connection, wanted):
        if isinstance(game, Unreadable):
            yield game
            continue
        try:
            with detect_damage(f"match m{game.part and game.part.match}"):
                line = _line(connection, game)
        except StoreError as damaged:
            yield Unreadable(game.id, f"game {game.id}: {damaged}")
        else:
            yield Line(line)
    if wanted == Wanted():
        for number, attempt in enumerate(practice.attempts(connection), 1):
            try:
                with detect_damage(f"puzzle {number}"):
                    puzzle = document.written({"number_tower": document.FORMAT, "puzzle": attempt.written()})
            except StoreError as damaged:
                yield Unreadable(number, str(damaged))
            else:
                yield Line(puzzle, is_game=False)


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


class Arrived(NamedTuple):
    """A game from another machine, and the match that it is part of, if it is."""

    game: Kept
    match: matches.Foreign | None = None


def taken_in(store: Store, lines: Iterable[str]) -> Taken:
    """Take in all the games and puzzles that lines hold; if one of them is wrong, nothing.

    Everything is read before anything is written, and it is written a few hundred games at a time: nobody waits long.
    """
    arrived = tuple(_read_all(lines))
    came: Counter[str] = Counter()
    differ = []
    for start in range(0, len(arrived), _AT_ONCE):
        with store.writing() as connection:
            one_at_a_time(connection)
            for number, each in arrived[start : start + _AT_ONCE]:
                came[result := _kept(connection, each)] += 1
                if result == "differs":
                    differ.append(number)
    return Taken(came["new"], came["went on"], came["known"], tuple(differ), came["puzzle"])


def _read_all(lines: Iterable[str]) -> Iterator[tuple[int, Arrived | Attempt]]:
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            try:
                yield number, _read(text, seen)
            except (RecordError, catalogue.CatalogueError, ValueError) as wrong:
                raise TransferError(number, str(wrong)) from None


def _read(text: str, seen: Counter[str]) -> Arrived | Attempt:
    if not text.startswith("{"):
        return Arrived(_unknown(*with_rulebook(text), _key(text, seen)))
    content = document.parsed(text, "puzzle")
    if "puzzle" in content:
        return practice.read(content["puzzle"])
    given = content.get("kept")
    if given is None or (isinstance(given, dict) and given.keys() == {"key"}):
        table = document.table_of(content)
        book = catalogue.rulebook_for(table.rulebook, table.game.rules)
        return Arrived(_unknown(table, book, _key(text, seen) if given is None else read_key(given["key"])))
    known = _known(given)
    book_given = read_rulebook(known["rulebook"])
    game = _game(document.table_of(content, book_given), known, book_given)
    return Arrived(game, None if known["match"] is None else matches.read(known["match"], game.table))


def _kept(connection: Connection, arrived: Arrived | Attempt) -> str:
    """Keep what arrived, unless it is kept already; a game that is further on than here goes on."""
    if isinstance(arrived, Attempt):
        return "puzzle" if practice.add(connection, arrived) else "nothing"
    game, match = arrived
    found = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
    if found is None:
        part = None if match is None else match.place(connection)
        if match is not None and (part is None or keeping.identity_of(connection, part) is not None):
            return "differs"
        keeping.add(connection, replace(game, part=part))
        return "new"
    try:
        here = keeping.load(connection, found, lock=True)
    except keeping.NoSuchGame:
        return _kept(connection, arrived)
    return _gone_on(connection, here, game)


def _gone_on(connection: Connection, here: Kept, game: Kept) -> str:
    """Go on with a game that is kept, if it went on elsewhere from where it stands here."""
    if _what_it_is(here.table) != _what_it_is(game.table):
        return "differs"
    ours, theirs = here.table.log, game.table.log
    if ours[: len(theirs)] == theirs:
        return "known"
    if theirs[: len(ours)] == ours:
        keeping.write(connection, replace(here, seats=game.seats), game.table, game.times[1:])
        return "went on"
    return "differs"


def _what_it_is(table: Table) -> tuple[object, ...]:
    return table.rulebook, table.game.rules, table.game.first, table.hidden


def _key(text: str, seen: Counter[str]) -> str:
    """Make a key for a record that has none: the same line again is the same game, unless side by side."""
    seen[text] += 1
    return sha256(f"{seen[text]} {text}".encode()).hexdigest()[:32]


def _unknown(table: Table, book: Rulebook, key: str) -> Kept:
    """Make a game of a record of which no more is known."""
    return Kept(0, key, table, book, Seats(), (now(),) * (table.version + 1))


def _known(given: object) -> dict[str, Any]:
    if not isinstance(given, dict) or given.keys() != _KEYS:
        raise RecordError("kept", f"expected {', '.join(sorted(_KEYS))}")
    return cast("dict[str, Any]", given)


def _game(table: Table, known: Mapping[str, Any], book: Rulebook | None) -> Kept:
    log = _log(table, known["log"])
    times = known["times"]
    if not isinstance(times, list) or len(times) != len(log) + 1 or not all(map(is_time, times)):
        raise RecordError("kept.times", "expected when the game began, and when each change was made")
    found = book or catalogue.rulebook_for(table.rulebook, table.game.rules)
    if found.name != table.rulebook or found.options_of(table.game.rules) is None:
        raise RecordError("kept.rulebook", "expected the rule file of this game")
    seats = read_seats(known["players"], known["seed"])
    table = replace(table, log=log, automatic=seats.automatic)
    return Kept(0, read_key(known["key"]), table, found, seats, tuple(times))


def _log(table: Table, given: object) -> tuple[Change, ...]:
    """Read a log, and do again all that it says was done."""
    if not isinstance(given, list) or not all(isinstance(entry, str) for entry in given):
        raise RecordError("kept.log", "expected a list of changes")
    log = tuple(map(Change.read, given))
    again = Table(Game(table.game.rules, table.game.first))
    try:
        for change in log:
            again = _done(again, change)
    except (MoveError, TableError) as wrong:
        raise RecordError("kept.log", str(wrong)) from None
    if (again.game.moves, again.declared) != (table.game.moves, table.declared):
        raise RecordError("kept.log", "the changes do not lead to the moves and the result")
    return log


def _done(table: Table, change: Change) -> Table:
    match change.kind:
        case "place":
            return table.play(change.number)
        case "undo":
            moves = moves_after((*table.log, change))
            if table.declared is not None:
                raise TableError("nothing is taken back once a result was declared")
            return replace(table, game=Game(table.game.rules, table.game.first, moves), log=(*table.log, change))
        case declaration:
            return table.declare(declaration, change.number)
