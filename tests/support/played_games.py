"""Some hundred games and puzzles, the same in every run.

They are played, taken back, drawn, abandoned, and left unfinished.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import get_args

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, Series
from number_tower.engine.table import Change, Declaration
from number_tower.store import puzzles
from number_tower.store.database import Store
from number_tower.store.games import insert_game
from number_tower.store.matches import StoredMatch, claim_slot
from number_tower.store.puzzles import PuzzleResult
from number_tower.store.rows import Seats, StoredGame

NAMES = (None, ("Ann", "Ben"), ("ann", "Cyd"), ("Ben", "ANN"), ("Perfect", "Ann"), ("Dora", "Zoë"))
PLAYERS = ((None, None), (None, None), ("perfect", None), (None, "fair"), ("./bot", "easy"))
GAMES = 300


def store_played_games(store: Store, games: int = GAMES) -> None:
    """Store games of all kinds, 40 more in 10 matches, and 80 answers to puzzles."""
    chance = Random(34)  # noqa: S311 - play, not secrets
    for number in range(games):
        _store_game(store, number, chance)
    for number in range(40):
        _store_match_game(store, number, chance)
    for number in range(80):
        name = chance.choice((None, "Ann", "ben", "Eve"))
        results: tuple[PuzzleResult, ...] = ("right", "right", "wrong", "skipped")
        result, grade = chance.choice(results), chance.choice((1, 1, 2, 3, 5))
        attempt = puzzles.make_attempt(name, "draft", "draft:9,8", grade, result)
        with store.write() as connection:
            puzzles.insert_attempt(connection, replace(attempt, key=f"{number:032x}"))


def _store_game(store: Store, number: int, chance: Random) -> None:
    book = catalogue.load(chance.choice(catalogue.list_names()))
    game = Game(book.rules, chance.randrange(2))
    hides = book.name in {"race", "summit"} and chance.random() < 0.2
    hidden = hides and "hidden" in book.options
    table = Table(game, book.name, chance.choice(NAMES), hidden=hidden)
    seats = Seats(chance.choice(PLAYERS))
    with store.write() as connection:
        insert_game(connection, _finish(_play(table, chance), seats, number, chance))


def _store_match_game(store: Store, number: int, chance: Random) -> None:
    """Store the next game of a best of four: each match has four games, or is over before."""
    book = catalogue.load("draft")
    key = f"{10_000 + number // 4:032x}"
    with store.write() as connection:
        names = ("Ann", "Ben") if number // 4 % 2 else ("Zoë", "Cyd")
        series = Series((GameChoice(book, book.rules),), Match(4, 0), names)
        slot = claim_slot(connection, StoredMatch(None, key, series, Seats()))
        slot = slot._replace(number=number % 4 + 1)
        table = _play(Table(Game(book.rules, number % 2), book.name, names), chance, end=0.0)
        game = _finish(table, Seats(), GAMES + number, chance)
        insert_game(connection, replace(game, slot=slot))


def _play(table: Table, chance: Random, end: float = 0.04) -> Table:
    while table.outcome is None and chance.random() >= end:
        table = table.play(chance.choice(table.game.legal))
        if table.may_undo and chance.random() < 0.08:
            table = table.answer(table.version, Change("undo", 1))
    if table.outcome is None and chance.random() < 0.6:
        declaration = chance.choice(get_args(Declaration))
        table = table.declare(declaration, chance.randrange(2))
    return table


def _finish(table: Table, seats: Seats, number: int, chance: Random) -> StoredGame:
    month = chance.randrange(30) if number < GAMES * 4 // 5 else 29
    at = f"{2024 + month // 12}-{month % 12 + 1:02}-{chance.randrange(1, 4):02}T00:00:00.000000Z"
    times = (at,) * (table.version + 1)
    return StoredGame(0, f"{number:032x}", table, seats, times)
