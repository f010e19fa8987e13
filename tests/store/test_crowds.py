"""Many programs at one database: the first change counts, and nothing is lost."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from threading import Barrier
from typing import TypeVar

import pytest

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, Series
from number_tower.engine.table import Change, StaleError
from number_tower.store import GameNotFoundError, StoreError, matches
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, load_game, load_matching_games
from number_tower.store.matches import StoredMatch
from number_tower.store.rows import Seats, StoredGame
from number_tower.store.schema import NEWEST
from number_tower.store.transfer import import_games
from number_tower.words.voice import Voice
from soak.scripted_games import Terminal, choose_answers, choose_game
from soak.shared import check_file, load_games
from support.clocks import SLOW
from support.postgres import on_server, upgrade_database
from support.sizes import size

pytest_plugins = ["support.postgres"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals are forks")

Result = TypeVar("Result")
RACE = catalogue.load("race")


def call_at_once(*calls: Callable[[], Result]) -> list[Result]:
    """Call all at the same moment, each in a thread of its own."""
    gate = Barrier(len(calls))

    def wait_and_call(call: Callable[[], Result]) -> Result:
        gate.wait(SLOW)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(wait_and_call, calls))


def make_random() -> Random:
    """Return the same chances every time."""
    return Random(5)  # noqa: S311 - play, not secrets


@pytest.fixture
def stores(any_store: Store) -> Iterator[list[Store]]:
    """Four programs at one database."""
    with ExitStack() as closing_all:
        yield [
            closing_all.enter_context(closing(Store(any_store.location, timeout=SLOW)))
            for _ in range(4)
        ]


def begin_long_game(store: Store) -> StoredGame:
    """Begin a game that lasts for many moves, whichever they are."""
    rules = RACE.apply_options({"blocks": "1-30", "target": 1000})
    return store.begin(Table(Game(rules), "race"), RACE)


def change_game(store: Store, stored: StoredGame, change: Change) -> StoredGame | StaleError:
    """Change a game in the database, as the API does."""
    try:
        return store.change(stored.id, stored.table.version, change)
    except StaleError as stale:
        return stale


def save_game(store: Store, stored: StoredGame, change: Change) -> StoredGame | StaleError:
    """Save a table that was changed in memory, as the dialogue does."""
    try:
        return store.save(stored, stored.table.answer(stored.table.version, change))
    except StaleError as stale:
        return stale


Write = Callable[[Store, StoredGame, Change], StoredGame | StaleError]
write_both_ways = pytest.mark.parametrize("write", [change_game, save_game])


@write_both_ways
def test_one_of_many_different_changes_counts_and_the_others_are_shown_it(
    stores: list[Store], write: Write
) -> None:
    before, chance = begin_long_game(stores[0]), make_random()
    for _ in range(8):
        blocks = chance.sample(before.table.game.legal, len(stores))
        changes = [Change("place", block) for block in blocks]
        results = call_at_once(*map(partial, repeat(write), stores, repeat(before), changes))
        (after,) = (result for result in results if isinstance(result, StoredGame))
        change = changes[results.index(after)]
        assert after.table == before.table.answer(before.table.version, change)
        for result in results:
            if isinstance(result, StaleError):
                assert (result.table, result.table.log) == (after.table, after.table.log)
        assert stores[0].get(after.id) == after
        before = after


@write_both_ways
def test_same_change_at_the_same_moment_counts_once(stores: list[Store], write: Write) -> None:
    before, chance = begin_long_game(stores[0]), make_random()
    for _ in range(8):
        change = Change("place", chance.choice(before.table.game.legal))
        if before.table.may_undo and chance.random() < 0.4:
            change = Change("undo", 1)
        results = call_at_once(*(partial(write, store, before, change) for store in stores))
        after = stores[0].get(before.id)
        assert results == [after] * len(stores)
        assert after.table.log == (*before.table.log, change)
        before = after


@write_both_ways
def test_late_duplicate_after_an_undo_changes_nothing(stores: list[Store], write: Write) -> None:
    store, late, *_ = stores
    place_seven, undo = Change("place", 7), Change("undo", 1)
    start = begin_long_game(store)
    placed = write(store, start, place_seven)
    assert isinstance(placed, StoredGame)
    undone = write(store, placed, undo)
    assert isinstance(undone, StoredGame)
    assert undone.table.game.moves == ()
    for before, change in ((start, place_seven), (placed, undo)):
        assert write(late, before, change) == undone
    for before, change in (
        (start, Change("place", 8)), (placed, Change("place", 9)), (start, Change("resigned", 0))
    ):  # fmt: skip
        refused = write(late, before, change)
        assert isinstance(refused, StaleError)
        assert refused.table.log == undone.table.log
    assert store.get(start.id) == undone
    again = write(late, undone, place_seven)
    assert isinstance(again, StoredGame)
    assert again.table.log == (place_seven, undo, place_seven)


def test_readers_see_whole_games_while_others_play(stores: list[Store]) -> None:
    rules = replace(RACE.rules, blocks=range(1, 400), target=100_000)
    begun = stores[0].begin(Table(Game(rules), "race").play(1), RACE)
    moves = iter(range(2, 60))

    def play() -> None:
        stored = begun
        for move in moves:
            stored = stores[0].save(stored, stored.table.play(move))

    def read() -> None:
        while next(moves, None) is not None:
            assert stores[1].get(begun.id).table.version > 0
            assert stores[1].find_last(unfinished=True) is not None
            with stores[1].read() as connection:
                games = list(load_matching_games(connection, GameFilter()))
            assert not any(isinstance(game, DamagedEntry) for game in games)

    call_at_once(play, read)


def test_wait_for_a_locked_game_ends(stores: list[Store]) -> None:
    with closing(Store(stores[0].location, timeout=0.2)) as hasty:
        begun = begin_long_game(hasty)
        with stores[0].write() as connection:
            load_game(connection, begun.id, lock=True)
            with pytest.raises(StoreError, match="cannot be used: another program is using it"):
                hasty.save(begun, begun.table.play(7))
        assert hasty.save(begun, begun.table.play(7)).table.game.moves == (7,)


def test_match_that_is_deleted_while_its_game_ends_leaves_no_game(stores: list[Store]) -> None:
    climb = catalogue.load("climb")
    series = Series((GameChoice(climb, climb.rules),), Match(1))
    for number in range(8):
        match = StoredMatch(None, f"{number:032x}", series, Seats())
        table = Table(Game(climb.rules), "climb").play(5)
        begun = stores[0].begin(table, climb, find_slot=partial(matches.claim_slot, match=match))
        assert begun.slot is not None

        def end(begun: StoredGame = begun) -> int:
            with suppress(GameNotFoundError):
                stores[0].save(begun, begun.table.declare("resigned", 0))
            return 1

        def delete(identity: int = begun.slot.match) -> int:
            return len(matches.delete_match(stores[1], identity))

        assert call_at_once(end, delete) == [1, 1]
    with stores[0].read() as connection:
        assert list(load_matching_games(connection, GameFilter())) == []


def test_same_games_imported_at_once_are_imported_once(stores: list[Store]) -> None:
    pairs = [(first, second) for first in range(1, 10) for second in range(1, 10)]
    lines = [f"draft:{first},{second}\n" for first, second in pairs if first != second]
    imports = [
        partial(import_games, store, lines if number % 2 else lines[::-1])
        for number, store in enumerate(stores)
    ]
    results = call_at_once(*imports)
    assert sum(result.new for result in results) == len(lines)
    assert all(result.new + result.known == len(lines) for result in results)


def test_two_terminals_at_one_game_see_the_moves_of_each_other(database: str) -> None:
    prompt = Voice(RACE).format_prompt(Table(Game(RACE.rules), "race"))

    def answer(terminal: Terminal, text: str) -> bool:
        """Type an answer; return whether the terminal says that it came too late."""
        before = len(terminal.seen)
        terminal.type(text)
        assert terminal.wait_for(prompt)
        return "continued elsewhere" in terminal.seen[before:]

    first = Terminal("play", "race", database=database)
    assert first.wait_for(prompt)
    answer(first, "1")
    second = Terminal("resume", "1", database=database)
    assert second.wait_for(prompt)
    assert not answer(first, "2")
    assert answer(second, "3")
    assert not answer(second, "4")
    assert not answer(first, "4"), "it was done already"
    assert not answer(second, "undo")
    assert answer(first, "5")
    assert not answer(first, "6")
    assert answer(second, "undo")
    first.type("7")
    for terminal in (first, second):
        assert terminal.end() == (1, "tower: Game saved. Resume it with: tower resume 1\n")
    log = load_games(database)[1].table.log
    assert [change.to_text() for change in log] == ["1", "2", "4", "undo 1", "6", "7"]


def test_many_terminals_play_at_once_from_the_first_move_on(
    blank_database: str, tmp_path: Path
) -> None:
    chance, count = make_random(), size(5, 30)
    scenes = [choose_game(chance) for _ in range(count)]
    database = f"sqlite:///{tmp_path / 'games.db'}?timeout={SLOW}"
    if on_server(blank_database):
        database = blank_database
        upgrade_database(database)
    terminals = [Terminal(*scene.call, database=database) for scene in scenes]
    # No terminal opens the database before its first move.
    for scene, terminal in zip(scenes, terminals, strict=True):
        assert terminal.wait_for(scene.prompt)
    answers = [choose_answers(chance, scene.table, 100) for scene in scenes]
    for terminal, typed in zip(terminals, answers, strict=True):
        terminal.type(*typed)
    tables = []
    for scene, terminal, typed in zip(scenes, terminals, answers, strict=True):
        changes = scene.make_changes(typed)
        assert terminal.end() == (0, "")
        assert terminal.seen == scene.draw(changes)
        tables.append(scene.apply(changes))
    saved = [game.table for game in load_games(blank_database).values()]
    assert Counter((table, table.log) for table in saved) == Counter(
        (table, table.log) for table in tables
    )
    assert all(table.outcome for table in saved)
    check_file(blank_database)


def test_database_is_upgraded_once_by_many_programs(blank_database: str) -> None:
    terminals = [Terminal("db", "upgrade", database=blank_database) for _ in range(5)]
    assert {terminal.end() for terminal in terminals} == {(0, "")}
    assert sum("now has its tables" in terminal.seen for terminal in terminals) == 1
    assert upgrade_database(blank_database) == NEWEST
    assert load_games(blank_database) == {}
    check_file(blank_database)
