"""Many at one database: the first counts, nobody is lost, and nobody disturbs anybody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
from soak.kill_games import Terminal, games_in, some_answers, some_game, sound
from support.clocks import SLOW
from support.command import plain_environment
from support.forking import Forked
from support.postgres import brought_up_to_date, make_location, on_server
from support.sizes import size

pytest_plugins = ["support.postgres"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="crowds are made with fork")

Result = TypeVar("Result")

CROWD = """
import json, os, sys
import alembic.command, psycopg
import sqlalchemy.dialects.postgresql.psycopg, sqlalchemy.dialects.sqlite.pysqlite
import number_tower.terminal.cli.commands.play, number_tower.terminal.cli.commands.db
import number_tower.store.games
from number_tower.terminal.cli.main import main

crowd, (closed, gate) = json.load(sys.stdin), os.pipe()
children = {}
for number, (call, answers) in enumerate(crowd):
    with open(f"{number}.in", "w") as stream:
        stream.write(answers)
    if child := os.fork():
        children[child] = number
        continue
    os.close(gate)
    for stream, (ending, mode) in enumerate({"in": os.O_RDONLY, "out": os.O_CREAT | os.O_WRONLY,
                                             "err": os.O_CREAT | os.O_WRONLY}.items()):
        os.dup2(os.open(f"{number}.{ending}", mode, 0o600), stream)
    sys.stdin = open(0)
    os.read(closed, 1)
    code = main(call)
    sys.stderr.flush()
    os._exit(code)
os.close(gate)
for _ in crowd:
    child, status = os.wait()
    with open(f"{children[child]}.code", "w") as stream:
        stream.write(str(os.waitstatus_to_exitcode(status)))
"""
"""Runs many calls of the command, each in a process of its own. They are forked from one that has
loaded all that they need, and wait at a gate until all are there, so they really are many at
once."""


def crowd(
    folder: Path, database: str, calls: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> list[tuple[str, ...]]:
    """Make many calls at once, with answers to each.

    Return what each shows and complains of, and its exit code.
    """
    folder.mkdir()
    typed = json.dumps(
        [(call, "".join(f"{answer}\n" for answer in answers)) for call, answers in calls]
    )
    environment = plain_environment(NUMBER_TOWER_DB=database)
    call = [sys.executable, "-c", CROWD]
    with Forked(call, stdin=subprocess.PIPE, text=True, cwd=folder, env=environment) as running:
        running.communicate(typed, timeout=SLOW)
    assert running.returncode == 0
    endings = ("out", "err", "code")
    return [
        tuple((folder / f"{number}.{ending}").read_text() for ending in endings)
        for number in range(len(calls))
    ]


def at_once(*calls: Callable[[], Result]) -> list[Result]:
    """Call them all at the same moment, each in a thread of its own."""
    gate = Barrier(len(calls))

    def wait_and_call(call: Callable[[], Result]) -> Result:
        gate.wait(SLOW)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(wait_and_call, calls))


def seeded() -> Random:
    """Return the same chances every time."""
    return Random(5)  # noqa: S311 - play, not secrets


@pytest.fixture
def stores(database: str) -> Iterator[list[Store]]:
    """Four ways into one database."""
    made = [Store(make_location(database), timeout=SLOW) for _ in range(4)]
    yield made
    for store in made:
        store.close()


def begun(store: Store) -> StoredGame:
    """Begin a game that lasts for many moves, whichever they are."""
    book = catalogue.load("race")
    return store.begin(
        Table(Game(book.apply_options({"blocks": "1-30", "target": 1000})), "race"), book
    )


def changed(store: Store, known: StoredGame, change: Change) -> StoredGame | StaleError:
    """Make a change that answers what is known."""
    try:
        return store.change(known.id, known.table.version, change)
    except StaleError as stale:
        return stale


def put(store: Store, known: StoredGame, change: Change) -> StoredGame | StaleError:
    """Keep a change that was made at a table in memory, as the dialogue does."""
    try:
        return store.save(known, known.table.answer(known.table.version, change))
    except StaleError as stale:
        return stale


WAYS = [changed, put]
Way = Callable[[Store, StoredGame, Change], StoredGame | StaleError]


@pytest.mark.parametrize("way", WAYS)
def test_of_many_changes_to_one_table_one_counts_and_the_others_see_it(
    stores: list[Store], way: Way
) -> None:
    kept, chance = begun(stores[0]), seeded()
    for _ in range(8):
        blocks = chance.sample(kept.table.game.legal, len(stores))
        known = kept
        changes = [Change("place", block) for block in blocks]
        results = at_once(
            *(partial(way, *each) for each in zip(stores, repeat(known), changes, strict=False))
        )
        (kept,) = (result for result in results if isinstance(result, StoredGame))
        assert kept.table.version == known.table.version + 1
        assert kept.table.game.moves == (*known.table.game.moves, blocks[results.index(kept)])
        for refused in results:
            if isinstance(refused, StaleError):
                assert (refused.table, refused.table.log) == (kept.table, kept.table.log)
        assert stores[0].get(kept.id) == kept


@pytest.mark.parametrize("way", WAYS)
def test_the_same_change_at_the_same_moment_counts_once(stores: list[Store], way: Way) -> None:
    kept, chance = begun(stores[0]), seeded()
    for _ in range(8):
        undo = kept.table.may_undo and chance.random() < 0.4
        change = (
            Change("undo", 1) if undo else Change("place", chance.choice(kept.table.game.legal))
        )
        known = kept
        results = at_once(*(partial(way, store, known, change) for store in stores))
        kept = stores[0].get(kept.id)
        assert results == [kept] * len(stores)
        assert kept.table.log == (*known.table.log, change)


@pytest.mark.parametrize("way", WAYS)
def test_a_late_duplicate_after_an_undo_changes_nothing(stores: list[Store], way: Way) -> None:
    store, late, *_ = stores
    start = begun(store)
    placed = way(store, start, Change("place", 7))
    assert isinstance(placed, StoredGame)
    undone = way(store, placed, Change("undo", 1))
    assert isinstance(undone, StoredGame)
    assert undone.table.game.moves == ()
    for known, change in ((start, Change("place", 7)), (placed, Change("undo", 1))):
        assert way(late, known, change) == undone
    for known, change in (
        (start, Change("place", 8)),
        (placed, Change("place", 9)),
        (start, Change("resigned", 0)),
    ):
        refused = way(late, known, change)
        assert isinstance(refused, StaleError)
        assert refused.table.log == undone.table.log
    assert store.get(start.id) == undone
    again = way(late, undone, Change("place", 7))
    assert isinstance(again, StoredGame)
    assert again.table.log == (Change("place", 7), Change("undo", 1), Change("place", 7))


def test_whoever_looks_while_others_play_sees_whole_games(stores: list[Store]) -> None:
    race = catalogue.load("race")
    long = replace(race.rules, blocks=range(1, 400), target=100_000)
    kept = stores[0].begin(Table(Game(long), "race").play(1), race)
    moves = iter(range(2, 150))

    def write(store: Store) -> None:
        known = kept
        for move in moves:
            known = store.save(known, known.table.play(move))

    def look(store: Store) -> None:
        while next(moves, None) is not None:
            assert store.get(kept.id).table.version > 0
            assert store.find_last(unfinished=True) is not None
            with store.read() as connection:
                assert not any(
                    isinstance(game, DamagedEntry)
                    for game in load_matching_games(connection, GameFilter())
                )

    with ThreadPoolExecutor(2) as crowd:
        for done in [crowd.submit(write, stores[0]), crowd.submit(look, stores[1])]:
            done.result()


def test_whoever_keeps_a_game_locked_is_not_waited_for_for_ever(
    database: str, stores: list[Store]
) -> None:
    hasty = Store(make_location(database), timeout=0.2)
    known = begun(hasty)
    with stores[0].write() as connection:
        load_game(connection, known.id, lock=True)
        with pytest.raises(StoreError, match="cannot be used: another program is using it"):
            hasty.save(known, known.table.play(7))
    assert hasty.save(known, known.table.play(7)).table.game.moves == (7,)
    hasty.close()


def test_a_match_that_is_forgotten_while_its_game_ends_is_forgotten_or_ends(
    stores: list[Store],
) -> None:
    climb = catalogue.load("climb")
    series = Series((GameChoice(climb, climb.rules),), Match(1))
    for number in range(8):
        match = StoredMatch(None, f"{number:032x}", series, Seats())
        table = Table(Game(climb.rules), "climb").play(5)
        known = stores[0].begin(table, climb, find_slot=partial(matches.claim_slot, match=match))
        assert known.slot is not None
        meet = Barrier(2)

        def end(known: StoredGame = known, meet: Barrier = meet) -> StoredGame | None:
            meet.wait()
            with suppress(GameNotFoundError):
                return stores[0].save(known, known.table.declare("resigned", 0))
            return None

        def forget(identity: int = known.slot.match, meet: Barrier = meet) -> int:
            meet.wait()
            return len(matches.delete_match(stores[1], identity))

        with ThreadPoolExecutor(2) as crowd:
            ended, forgotten = crowd.submit(end), crowd.submit(forget)
            ended.result()
            assert forgotten.result() == 1
    with stores[0].read() as connection:
        assert list(load_matching_games(connection, GameFilter())) == []


def test_the_same_games_taken_in_at_once_are_taken_in_once(stores: list[Store]) -> None:
    lines = [
        f"draft:{first},{second}\n"
        for first in range(1, 10)
        for second in range(1, 10)
        if first != second
    ]
    everybody = [
        partial(import_games, store, lines if number % 2 else lines[::-1])
        for number, store in enumerate(stores)
    ]
    with ThreadPoolExecutor(len(everybody)) as crowd:
        taken = [done.result() for done in [crowd.submit(each) for each in everybody]]
    assert sum(each.new for each in taken) == len(lines)
    assert all(each.new + each.known == len(lines) for each in taken)


def test_two_terminals_at_one_game_hear_of_each_other(database: str) -> None:
    book = catalogue.load("race")
    voice, start = Voice(book), Table(Game(book.rules), "race")
    prompt = voice.format_prompt(start)

    def state(*moves: int) -> Table:
        return replace(start, game=Game(book.rules, 0, moves), log=())

    def told(*moves: int) -> str:
        return f"{moves[-1]}\n" + "".join(said.text for said in voice.tell(state(*moves)))

    def typed(terminal: Terminal, answer: str) -> str:
        before = len(terminal.seen)
        terminal.type(answer)
        assert terminal.look(prompt)
        return terminal.seen[before:].removesuffix(prompt)

    elsewhere = "\n(This game was continued elsewhere. The moves made there:)\n"
    one = Terminal("play", "race", database=database)
    assert one.look(prompt)
    typed(one, "1")
    other = Terminal("resume", "1", database=database)
    assert other.look(prompt)
    assert typed(one, "2") == told(1, 2)
    assert (
        typed(other, "3") == f"3\n{elsewhere}{voice.tell_turn(state(1)).text}{prompt}{told(1, 2)}"
    )
    assert typed(other, "4") == told(1, 2, 4)
    assert typed(one, "4") == told(1, 2, 4), "it is what was done already"
    typed(other, "undo")
    assert typed(one, "5") == f"5\n{elsewhere}{voice.tell_turn(state(1, 2)).text}"
    assert typed(one, "6") == told(1, 2, 6)
    assert (
        typed(other, "undo")
        == f"undo\n{elsewhere}{voice.tell_turn(state(1, 2)).text}{prompt}{told(1, 2, 6)}"
    )
    one.type("7")
    for terminal in (one, other):
        assert terminal.end() == (1, "tower: Game saved. Resume it with: tower resume 1\n")
    kept = games_in(database)[1].table
    assert [change.to_text() for change in kept.log] == ["1", "2", "4", "undo 1", "6", "7"]


def test_many_terminals_play_at_once_from_the_first_move_on(database: str, tmp_path: Path) -> None:
    chance, count = seeded(), size(6, 16) if on_server(database) else size(8, 50)
    scenes = [some_game(chance) for _ in range(count)]
    answers = [some_answers(chance, scene.table, 100) for scene in scenes]
    assert on_server(database) or not Path(database).exists()
    however_slow = database if on_server(database) else f"sqlite:///{database}?timeout={SLOW}"
    calls = [(scene.call, typed) for scene, typed in zip(scenes, answers, strict=True)]
    results = crowd(tmp_path / "crowd", however_slow, calls)
    tables = []
    for scene, typed, result in zip(scenes, answers, results, strict=True):
        changes = scene.changes(typed)
        assert result == (scene.told(changes), "", "0")
        tables.append(scene.after(changes))
    kept = [game.table for game in games_in(database).values()]
    assert Counter((table, table.log) for table in kept) == Counter(
        (table, table.log) for table in tables
    )
    assert all(table.outcome for table in kept)
    sound(database)


def test_many_who_bring_a_database_up_to_date_do_it_once(empty: str, tmp_path: Path) -> None:
    results = crowd(tmp_path / "crowd", empty, [(["db", "upgrade"], [])] * 8)
    assert {(complaints, code) for _, complaints, code in results} == {("", "0")}
    assert sum("now has its tables" in shown for shown, _, _ in results) == 1
    assert brought_up_to_date(empty) == NEWEST
    assert games_in(empty) == {}
    sound(empty)
