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
from number_tower import store as store_module
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.record import RecordError, json
from number_tower.record.line import from_line
from number_tower.store import StoreError, matches
from number_tower.store import games as keeping
from number_tower.store import puzzles as practice
from number_tower.store.engine import detect_damage, lock_bulk_writes
from number_tower.store.games import DamagedEntry, GameFilter, load_matching_games
from number_tower.store.puzzles import PuzzleAttempt
from number_tower.store.rows import (
    Seats,
    StoredGame,
    format_now,
    is_timestamp,
    parse_key,
    parse_rulebook,
    parse_seats,
    serialize_rulebook,
)
from number_tower.store.schema import games
from number_tower.table import Change, Table, TableError, replay_moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store.database import Store

_KEYS = {"key", "players", "seed", "log", "times", "rulebook", "match"}


_GAMES_PER_TRANSACTION = 200
"""Games that are written in one piece."""


class TransferError(ValueError):
    """A line that cannot be taken in: its number, and why."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class ExportedLine(NamedTuple):
    """A game, or a puzzle that was tried, as it goes to another machine."""

    text: str
    is_game: bool = True


class ImportResult(NamedTuple):
    """What came of taking lines in: how many games are new, went on, were known; and which lines differ from here."""

    new: int
    continued: int
    known: int
    differ: tuple[int, ...]
    puzzles: int


# Out -----------------------------------------------------------------------------------------------------------------


def export_games(connection: Connection, wanted: GameFilter) -> Iterator[ExportedLine | DamagedEntry]:
    """Give the games that are wanted, a line each; with all games, also the puzzles that were tried."""
    for game in load_matching_games(connection, wanted):
        if isinstance(game, DamagedEntry):
            yield game
            continue
        try:
            with detect_damage(f"match m{game.slot and game.slot.match}"):
                line = _format_line(connection, game)
        except StoreError as damaged:
            yield DamagedEntry(game.id, f"game {game.id}: {damaged}")
        else:
            yield ExportedLine(line)
    if wanted == GameFilter():
        for number, attempt in enumerate(practice.load_attempts(connection), 1):
            try:
                with detect_damage(f"puzzle {number}"):
                    puzzle = json.format_document({"number_tower": json.FORMAT, "puzzle": attempt.to_dict()})
            except StoreError as damaged:
                yield DamagedEntry(number, str(damaged))
            else:
                yield ExportedLine(puzzle, is_game=False)


def _format_line(connection: Connection, game: StoredGame) -> str:
    known = {
        "key": game.key,
        "players": game.seats.players,
        "seed": game.seats.seed,
        "log": [change.written() for change in game.table.log],
        "times": game.times,
        "rulebook": serialize_rulebook(game.book),
        "match": None if game.slot is None else matches.serialize_match(connection, game.slot),
    }
    return json.format_document({**json.make_document(game.table), "kept": known})


# In ------------------------------------------------------------------------------------------------------------------


class ImportedGame(NamedTuple):
    """A game from another machine, and the match that it is part of, if it is."""

    game: StoredGame
    match: matches.ImportedMatch | None = None


def import_games(store: Store, lines: Iterable[str]) -> ImportResult:
    """Take in all the games and puzzles that lines hold; if one of them is wrong, nothing.

    Everything is read before anything is written, and it is written a few hundred games at a time: nobody waits long.
    """
    arrived = tuple(_parse_lines(lines))
    came: Counter[str] = Counter()
    differ = []
    for start in range(0, len(arrived), _GAMES_PER_TRANSACTION):
        with store.write() as connection:
            lock_bulk_writes(connection)
            for number, each in arrived[start : start + _GAMES_PER_TRANSACTION]:
                came[result := _store_entry(connection, each)] += 1
                if result == "differs":
                    differ.append(number)
    return ImportResult(came["new"], came["went on"], came["known"], tuple(differ), came["puzzle"])


def _parse_lines(lines: Iterable[str]) -> Iterator[tuple[int, ImportedGame | PuzzleAttempt]]:
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            try:
                yield number, _parse_line(text, seen)
            except (RecordError, catalogue.CatalogueError, ValueError) as wrong:
                raise TransferError(number, str(wrong)) from None


def _parse_line(text: str, seen: Counter[str]) -> ImportedGame | PuzzleAttempt:
    if not text.startswith("{"):
        table = from_line(text)
        return ImportedGame(_make_game(table, table.book, _make_key(text, seen)))
    content = json.parse_document(text, "puzzle")
    if "puzzle" in content:
        return practice.parse_attempt(content["puzzle"])
    given = content.get("kept")
    if given is None or (isinstance(given, dict) and given.keys() == {"key"}):
        table = json.read_document(content)
        key = _make_key(text, seen) if given is None else parse_key(given["key"])
        return ImportedGame(_make_game(table, table.book, key))
    known = _check_keys(given)
    book_given = parse_rulebook(known["rulebook"])
    game = _parse_game(json.read_document(content, book_given), known, book_given)
    return ImportedGame(game, None if known["match"] is None else matches.parse_match(known["match"], game.table))


def _store_entry(connection: Connection, arrived: ImportedGame | PuzzleAttempt) -> str:
    """Keep what arrived, unless it is kept already; a game that is further on than here goes on."""
    if isinstance(arrived, PuzzleAttempt):
        return "puzzle" if practice.insert_attempt(connection, arrived) else "nothing"
    game, match = arrived
    found = connection.execute(select(games.c.id).where(games.c.key == game.key)).scalar()
    if found is None:
        part = None if match is None else match.claim_slot(connection)
        if match is not None and (part is None or keeping.find_game_id(connection, part) is not None):
            return "differs"
        keeping.insert_game(connection, replace(game, slot=part))
        return "new"
    try:
        here = keeping.load_game(connection, found, lock=True)
    except store_module.GameNotFoundError:
        return _store_entry(connection, arrived)
    return _continue_game(connection, here, game)


def _continue_game(connection: Connection, here: StoredGame, game: StoredGame) -> str:
    """Go on with a game that is kept, if it went on elsewhere from where it stands here."""
    if _get_setup(here.table) != _get_setup(game.table):
        return "differs"
    ours, theirs = here.table.log, game.table.log
    if ours[: len(theirs)] == theirs:
        return "known"
    if theirs[: len(ours)] == ours:
        keeping.update_game(connection, replace(here, seats=game.seats), game.table, game.times[1:])
        return "went on"
    return "differs"


def _get_setup(table: Table) -> tuple[object, ...]:
    return table.rulebook, table.game.rules, table.game.first, table.hidden


def _make_key(text: str, seen: Counter[str]) -> str:
    """Make a key for a record that has none: the same line again is the same game, unless side by side."""
    seen[text] += 1
    return sha256(f"{seen[text]} {text}".encode()).hexdigest()[:32]


def _make_game(table: Table, book: Rulebook, key: str) -> StoredGame:
    """Make a game of a record of which no more is known."""
    return StoredGame(0, key, table, book, Seats(), (format_now(),) * (table.version + 1))


def _check_keys(given: object) -> dict[str, Any]:
    if not isinstance(given, dict) or given.keys() != _KEYS:
        raise RecordError("kept", f"expected {', '.join(sorted(_KEYS))}")
    return cast("dict[str, Any]", given)


def _parse_game(table: Table, known: Mapping[str, Any], book: Rulebook | None) -> StoredGame:
    log = _parse_log(table, known["log"])
    times = known["times"]
    if not isinstance(times, list) or len(times) != len(log) + 1 or not all(map(is_timestamp, times)):
        raise RecordError("kept.times", "expected when the game began, and when each change was made")
    found = book or catalogue.find_rulebook(table.rulebook, table.game.rules)
    if found.name != table.rulebook or found.find_options(table.game.rules) is None:
        raise RecordError("kept.rulebook", "expected the rule file of this game")
    seats = parse_seats(known["players"], known["seed"])
    table = replace(table, log=log, automatic=seats.automatic)
    return StoredGame(0, parse_key(known["key"]), table, found, seats, tuple(times))


def _parse_log(table: Table, given: object) -> tuple[Change, ...]:
    """Read a log, and do again all that it says was done."""
    if not isinstance(given, list) or not all(isinstance(entry, str) for entry in given):
        raise RecordError("kept.log", "expected a list of changes")
    log = tuple(map(Change.read, given))
    again = Table(Game(table.game.rules, table.game.first))
    try:
        for change in log:
            again = _apply_change(again, change)
    except (MoveError, TableError) as wrong:
        raise RecordError("kept.log", str(wrong)) from None
    if (again.game.moves, again.declared) != (table.game.moves, table.declared):
        raise RecordError("kept.log", "the changes do not lead to the moves and the result")
    return log


def _apply_change(table: Table, change: Change) -> Table:
    match change.kind:
        case "place":
            return table.play(change.number)
        case "undo":
            moves = replay_moves((*table.log, change))
            if table.declared is not None:
                raise TableError("nothing is taken back once a result was declared")
            return replace(table, game=Game(table.game.rules, table.game.first, moves), log=(*table.log, change))
        case declaration:
            return table.declare(declaration, change.number)
