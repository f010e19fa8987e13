"""Export and import of games: one record per line, with database-only facts under `kept`.

A line may come from a stranger, so everything is checked. Importing a game twice changes nothing; a
game that was continued elsewhere is updated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection

from number_tower.engine.game import Game
from number_tower.engine.record import RecordError, json
from number_tower.engine.record.line import from_line
from number_tower.engine.table import Change, Table
from number_tower.store import DamagedError, matches, rows
from number_tower.store.database import Store
from number_tower.store.games import (
    DamagedEntry,
    GameFilter,
    change_game,
    find_game_id,
    find_id,
    insert_game,
    load_game,
    load_matching_games,
    mark_with_values,
)
from number_tower.store.puzzles import PuzzleAttempt, insert_attempt, load_attempts, parse_attempt
from number_tower.store.rows import Seats, StoredGame
from number_tower.support.errors import NumberTowerError

_KEYS = {"key", "players", "seed", "log", "times", "rulebook", "match"}

_MARK = "with_values"
"""The key of a line that says that the players saw the value of every move."""

_GAMES_PER_TRANSACTION = 200

_IMPORT_LOCK = 7_263_515
"""The advisory lock of a server for writing many games in one transaction."""


class TransferError(NumberTowerError, ValueError):
    """A line that cannot be imported: its number, and why."""

    reason = "bad_transfer"


class ImportResult(NamedTuple):
    """How many games are new, continued or known; which lines differ; how many puzzles are new."""

    new: int
    continued: int
    known: int
    differ: tuple[int, ...]
    puzzles: int


# Export -------------------------------------------------------------------------------------------


def export_games(connection: Connection, wanted: GameFilter) -> Iterator[str | DamagedEntry]:
    """Yield a line for each game that matches a filter."""
    for game in load_matching_games(connection, wanted):
        try:
            yield game if isinstance(game, DamagedEntry) else format_line(connection, game)
        except DamagedError as damaged:  # such as its match
            yield DamagedEntry(game.id, f"game {game.id}: {damaged}")


def export_attempts(connection: Connection) -> Iterator[str | DamagedEntry]:
    """Yield a line for each attempt at a puzzle."""
    for attempt in load_attempts(connection):
        if isinstance(attempt, DamagedEntry):
            yield attempt
        else:
            yield json.format_document({"number_tower": json.FORMAT, "puzzle": asdict(attempt)})


def format_line(connection: Connection, game: StoredGame) -> str:
    """Return a game as a line that another database can import."""
    kept = {
        "key": game.key,
        "players": game.seats.players,
        "seed": game.seats.seed,
        "log": [change.to_text() for change in game.table.log],
        "times": game.times,
        "rulebook": rows.serialize_rulebook(game.table.book),
        "match": None if game.slot is None else matches.serialize_match(connection, game.slot),
        **({_MARK: True} if game.with_values else {}),
    }
    return json.format_document({**json.make_document(game.table), "kept": kept})


# Import -------------------------------------------------------------------------------------------


ImportedGame = tuple[StoredGame, matches.ImportedMatch | None]
"""A game from a line, and its match, if it has one."""


def import_games(store: Store, lines: Iterable[str]) -> ImportResult:
    """Import the games and attempts of all lines, or none of them if a line is wrong.

    Everything is read before anything is written. Each transaction is short, so that others do not
    wait long.
    """
    entries: list[tuple[int, ImportedGame | PuzzleAttempt]] = []
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            try:
                entries.append((number, _parse_line(text, seen)))
            except ValueError as wrong:
                raise TransferError(f"line {number}: {wrong}") from None
    results = defaultdict[str, list[int]](list)
    for start in range(0, len(entries), _GAMES_PER_TRANSACTION):
        with store.write() as connection:
            # One import at a time: imports in another order of games could deadlock.
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_IMPORT_LOCK})")
            for number, entry in entries[start : start + _GAMES_PER_TRANSACTION]:
                results[_store_entry(connection, entry)].append(number)
    new, continued, known, puzzles = (
        len(results[result]) for result in ("new", "continued", "known", "puzzle")
    )
    return ImportResult(new, continued, known, tuple(results["differs"]), puzzles)


def _parse_line(text: str, seen: Counter[str]) -> ImportedGame | PuzzleAttempt:
    if not text.startswith("{"):
        return StoredGame.start(from_line(text), Seats(), _make_key(text, seen)), None
    content = json.parse_document(text, "puzzle")
    if "puzzle" in content:
        return parse_attempt(content["puzzle"])
    kept = content.get("kept")
    if kept is None or (isinstance(kept, dict) and kept.keys() == {"key"}):
        key = kept["key"] if kept else _make_key(text, seen)
        return StoredGame.start(json.read_document(content), Seats(), key), None
    with rows.expect("kept", f"{', '.join(sorted(_KEYS))} as tower export writes them"):
        if kept.keys() - {_MARK} != _KEYS or kept.get(_MARK, True) is not True:
            raise ValueError
        book = rows.parse_rulebook(kept["rulebook"])
        table = json.read_document(content, book)
        is_other = book is not None and table.book is not book
        if is_other or table.book.find_options(table.game.rules) is None:
            raise RecordError("kept.rulebook", "expected the rule file of this game")
        game, match = _parse_game(table, kept), kept["match"]
        return game, None if match is None else matches.parse_match(match, game.table)


def _store_entry(connection: Connection, entry: ImportedGame | PuzzleAttempt) -> str:
    """Store a new game or attempt; update a game that was continued elsewhere."""
    if isinstance(entry, PuzzleAttempt):
        return "puzzle" if insert_attempt(connection, entry) else "nothing"
    game, match = entry
    identity = find_id(connection, game.key)
    if identity is None:
        slot = None if match is None else match.claim_slot(connection)
        if match is not None and (slot is None or find_game_id(connection, slot) is not None):
            return "differs"
        insert_game(connection, replace(game, slot=slot))
        return "new"
    return _continue_game(connection, load_game(connection, identity, lock=True), game)


def _continue_game(connection: Connection, here: StoredGame, game: StoredGame) -> str:
    """Update a stored game, if it was continued elsewhere from its state here."""
    ours, theirs = here.table.log, game.table.log
    shorter = min(len(ours), len(theirs))
    if _get_setup(here.table) != _get_setup(game.table) or ours[:shorter] != theirs[:shorter]:
        return "differs"
    if game.with_values and not here.with_values:
        here = mark_with_values(connection, here)
    if len(theirs) <= len(ours):
        return "known"
    after = replace(here, seats=game.seats).advance(game.table, game.times[1:])
    change_game(connection, here, after)
    return "continued"


def _get_setup(table: Table) -> tuple[object, ...]:
    return table.rulebook, table.game.rules, table.game.first, table.hidden


def _make_key(text: str, seen: Counter[str]) -> str:
    """Make a key for a record that has none.

    The same line is the same game in every import, but twice in one file it is two games.
    """
    seen[text] += 1
    return sha256(f"{seen[text]} {text}".encode()).hexdigest()[:32]


def _parse_game(table: Table, kept: Mapping[str, Any]) -> StoredGame:
    log = tuple(map(Change.from_text, kept["log"]))
    # Repeat all changes, including undone moves.
    again = Table(Game(table.game.rules, table.game.first))
    for change in log:
        if change.kind == "place":
            again = again.play(change.number)
        elif change.kind == "undo" and again.declared is None:
            again = replace(again, game=again.game.undo(change.number))
        elif change.kind != "undo":
            again = again.declare(change.kind, change.number)
    if (again.game.moves, again.declared) != (table.game.moves, table.declared):
        raise RecordError("kept.log", "the changes do not lead to the moves and the result")
    seats, times = rows.parse_seats(kept["players"], kept["seed"]), tuple(kept["times"])
    table = replace(table, log=log, automatic=seats.automatic)
    rows.check_times(times)
    return StoredGame(0, kept["key"], table, seats, times, with_values=_MARK in kept)
