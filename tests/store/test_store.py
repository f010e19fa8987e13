"""Games in a database: loaded as they were saved, each change counts once, and damage is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from number_tower import Game, Table, rules
from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.engine.table import Change, StaleError, TableError
from number_tower.store import GameNotFoundError, StoreError
from number_tower.store.database import Store
from number_tower.store.rows import Seats, StoredGame, format_now
from support.sizes import examples
from support.stores import (
    DRAFT,
    SEATS,
    any_play,
    create_database,
    make_draft,
    make_own_rulebook,
    open_store,
    run_sql,
    store_draft,
)

CHANGES = "SELECT change FROM changes ORDER BY version"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database for every game of a property."""
    file = create_database(tmp_path_factory.mktemp("store") / "games.db")
    with closing(open_store(file)) as store:
        yield store


@pytest.fixture
def begun(store: Store) -> StoredGame:
    return store_draft(store, 9)


# Games are loaded as they were saved --------------------------------------------------------------


def check_game(stored: StoredGame, table: Table, seats: Seats) -> None:
    """Check that a game was loaded as it is, with its history."""
    assert stored.table == table
    assert (stored.table.log, stored.table.automatic) == (table.log, seats.automatic)
    assert stored.seats == seats
    assert len(stored.times) == table.version + 1
    assert list(stored.times) == sorted(stored.times)


@given(SEATS, st.data())
@settings(max_examples=examples(60))
def test_any_game_is_loaded_as_it_was_after_every_change(
    shared: Store, seats: Seats, data: st.DataObject
) -> None:
    tables = data.draw(any_play(automatic=seats.automatic))
    mechanics = tables[0].game.rules
    books = [make_own_rulebook(mechanics), catalogue.find_rulebook("my game", mechanics)]
    book = data.draw(st.sampled_from(books))
    stored = shared.begin(tables[0], book, seats)
    key = stored.key
    for table in tables:
        stored = shared.save(stored, table)
        check_game(stored, table, seats)
    loaded = shared.get(stored.id)
    assert loaded == stored
    check_game(loaded, tables[-1], seats)
    assert (loaded.key, loaded.table.book, loaded.table.book.content) == (key, book, book.content)


@given(any_play(automatic=(False, False)), st.data())
@settings(max_examples=examples(40))
def test_save_of_several_changes_never_sets_a_game_back(
    shared: Store, tables: list[Table], data: st.DataObject
) -> None:
    first, later = sorted(data.draw(st.tuples(*[st.integers(0, len(tables) - 1)] * 2)))
    begun = shared.begin(tables[first], catalogue.find_rulebook("my game", tables[0].game.rules))
    assert shared.save(begun, tables[later]).table == tables[later]
    assert shared.save(begun, tables[-1]).table.log == tables[-1].log
    assert shared.save(begun, tables[later]).table.log == tables[-1].log
    assert shared.get(begun.id).table == tables[-1]


@given(any_play(automatic=(False, False)))
@settings(max_examples=examples(40))
def test_change_by_change_is_the_same_as_table_by_table(shared: Store, tables: list[Table]) -> None:
    stored = shared.begin(tables[0], catalogue.find_rulebook("my game", tables[0].game.rules))
    for before, after in pairwise(tables):
        changed = shared.change(stored.id, before.version, after.log[-1])
        assert changed.table == after
        repeated = shared.change(stored.id, before.version, after.log[-1])
        assert repeated.times == changed.times
    assert shared.get(stored.id).table.log == tables[-1].log


@pytest.mark.parametrize("name", catalogue.list_names())
def test_rule_file_of_the_catalogue_is_not_stored(store: Store, file: Path, name: str) -> None:
    book = catalogue.load(name)
    stored = store.begin(Table(Game(book.rules), name), book)
    assert store.get(stored.id).table.book == book
    assert run_sql(file, "SELECT count(*) FROM rulebooks") == [(0,)]


def test_options_of_a_game_are_stored(store: Store) -> None:
    game = Game(rules("summit", target=12, blocks="1-6"), 1)
    table = Table(game, "summit", ("Ann", "Ben"), hidden=True)
    loaded = store.get(store.begin(table, catalogue.load("summit")).id)
    assert (loaded.table, loaded.table.book.name) == (table, "summit")


def test_rule_file_is_stored_once_for_all_its_games(store: Store, file: Path) -> None:
    mechanics = Rules(blocks=range(1, 5), fit="descending")
    first = make_own_rulebook(mechanics)
    second = make_own_rulebook(replace(mechanics, blocks=range(1, 6)))
    books = [first, first, second, first]
    stored = [store.begin(Table(Game(book.rules), book.name), book) for book in books]
    assert run_sql(file, "SELECT name FROM rulebooks") == [("my game",), ("my game",)]
    assert [store.get(game.id).table.book for game in stored] == books


def test_huge_seed_and_names_in_any_script_are_stored(store: Store, file: Path) -> None:
    seats, names = Seats((None, "perfect"), 3**2000), ("Zoë 👩‍👧", "می‌خواهم")
    loaded = store.get(store.begin(make_draft(9, names=names), DRAFT, seats).id)
    assert (loaded.table.names, loaded.seats) == (names, seats)
    folded = tuple(name.casefold() for name in names)
    assert run_sql(file, "SELECT player_1, player_2 FROM games") == [folded]


def test_player_without_a_name_is_searched_for_by_the_word_of_the_rulebook(
    store: Store, file: Path
) -> None:
    book = catalogue.load("summit")
    store.begin(Table(Game(book.rules), "summit"), book)
    players = run_sql(file, "SELECT name_1, player_1, player_2 FROM games")
    assert players == [(None, "player a", "player b")]


def test_times_sort_as_text_and_never_run_back(store: Store, file: Path, begun: StoredGame) -> None:
    moments = [format_now() for _ in range(1000)]
    assert moments == sorted(moments)
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
    assert all(re.fullmatch(pattern, moment) for moment in moments)
    later = store.save(begun, make_draft(9, 8))
    assert later.times[:2] == begun.times
    assert later.changed > begun.changed
    assert run_sql(file, "SELECT started, changed FROM games") == [(begun.started, later.changed)]


def test_seats_and_names_may_change_during_a_game(
    store: Store, file: Path, begun: StoredGame
) -> None:
    seats, names = Seats((None, "perfect"), 7), ("Ann", "Perfect")
    store.save(begun, make_draft(9, 8, names=names), seats)
    loaded = store.get(begun.id)
    assert (loaded.table.names, loaded.seats) == (names, seats)
    assert run_sql(file, "SELECT player_1, player_2 FROM games") == [("ann", "perfect")]
    store.save(loaded, make_draft(9, 8, 5, names=names))
    assert store.get(begun.id).seats == seats


def test_another_change_voids_what_was_counted_from_a_game(
    store: Store, file: Path, begun: StoredGame
) -> None:
    run_sql(file, "UPDATE games SET mattered_1 = 1, kept_1 = 1, mattered_2 = 0, kept_2 = 0")
    store.save(begun, begun.table.undo())
    counts = run_sql(file, "SELECT mattered_1, kept_1, mattered_2, kept_2 FROM games")
    assert counts == [(None,) * 4]


# Every change counts once -------------------------------------------------------------------------


def test_same_change_counts_once_and_another_is_stale(
    store: Store, file: Path, begun: StoredGame
) -> None:
    first = store.save(begun, make_draft(9, 8))
    assert store.save(begun, make_draft(9, 8)) == first
    with pytest.raises(StaleError) as stale:
        store.save(begun, make_draft(9, 7))
    assert stale.value.table == make_draft(9, 8)
    with pytest.raises(StaleError) as stale:
        store.change(begun.id, 1, Change("place", 7))
    assert (stale.value.table, stale.value.table.version) == (make_draft(9, 8), 2)
    assert store.get(begun.id) == first
    assert run_sql(file, CHANGES) == [("9",), ("8",)]


def test_game_that_differs_after_a_common_beginning_is_stale(
    store: Store, begun: StoredGame
) -> None:
    store.save(begun, make_draft(9, 8, 5))
    with pytest.raises(StaleError):
        store.save(begun, make_draft(9, 8, 4, 3))
    assert store.save(begun, make_draft(9, 8)).table == make_draft(9, 8, 5)


def test_undo_of_one_move_is_not_the_same_as_undo_of_two(store: Store) -> None:
    """Against a computer an undo takes two moves back, and one between people who resumed it."""
    begun = store_draft(store, 9, 8)
    between_people, against_computer = begun.table, replace(begun.table, automatic=(False, True))
    store.save(begun, against_computer.undo())
    with pytest.raises(StaleError):
        store.save(begun, between_people.undo().play(7))
    assert store.get(begun.id).table.game.moves == ()


def test_change_that_breaks_a_rule_is_not_stored(store: Store, begun: StoredGame) -> None:
    with pytest.raises(ValueError, match="cannot be placed"):
        store.change(begun.id, 1, Change("place", 9))
    store.change(begun.id, 1, Change("resigned", 0))
    with pytest.raises(TableError, match="no move to undo"):
        store.change(begun.id, 2, Change("undo", 1))
    assert store.get(begun.id).table.outcome == (1, "resigned")


@contextmanager
def lose_answers(store: Store) -> Iterator[None]:
    """Let commits succeed, but lose their answers on the way."""
    commit = store.engine.dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        error = Exception("server closed the connection unexpectedly")
        raise OperationalError("COMMIT", {}, error)

    with patch.object(store.engine.dialect, "do_commit", commit_and_fail):
        yield


def test_save_is_repeated_after_the_answer_of_a_commit_was_lost(
    store: Store, file: Path, begun: StoredGame
) -> None:
    with lose_answers(store), pytest.raises(StoreError):
        store.save(begun, make_draft(9, 8))
    assert store.save(begun, make_draft(9, 8, 5)).table == make_draft(9, 8, 5)
    assert run_sql(file, CHANGES) == [("9",), ("8",), ("5",)]


def test_game_begins_once_although_the_first_answer_was_lost(store: Store, file: Path) -> None:
    with lose_answers(store), pytest.raises(StoreError):
        store.begin(make_draft(9), DRAFT, key="5" * 32)
    begun = store.begin(make_draft(9, 8), DRAFT, key="5" * 32)
    assert (begun.id, begun.table) == (1, make_draft(9, 8))
    assert run_sql(file, "SELECT key, moves FROM games") == [("5" * 32, "9,8")]


def test_failed_change_is_not_stored_in_part(store: Store, file: Path, begun: StoredGame) -> None:
    abort = "BEGIN SELECT RAISE(ABORT, 'not today'); END"
    run_sql(file, f"CREATE TRIGGER never BEFORE INSERT ON changes {abort}")
    with pytest.raises(StoreError, match="not today"):
        store.save(begun, make_draft(9, 8))
    assert store.get(begun.id) == begun
    with pytest.raises(StoreError):
        store_draft(store, 7)
    assert run_sql(file, "SELECT moves FROM games") == [("9",)]


# Finding and deleting -----------------------------------------------------------------------------


def test_game_is_found_by_its_key(store: Store, begun: StoredGame) -> None:
    assert store.find_by_key(begun.key) == begun
    assert store.find_by_key("0" * 32) is None


@pytest.mark.parametrize("identity", [0, 2, -1, 10**15])
def test_game_of_an_unknown_id_is_not_found(store: Store, begun: StoredGame, identity: int) -> None:
    assert begun.id == 1
    with pytest.raises(GameNotFoundError):
        store.get(identity)


def test_other_game_of_the_same_id_is_not_changed(begun: StoredGame, tmp_path: Path) -> None:
    with closing(open_store(create_database(tmp_path / "restored.db"))) as other:
        stranger = store_draft(other, 9)
        assert stranger.id == begun.id
        with pytest.raises(GameNotFoundError):
            other.save(begun, make_draft(9, 8))
        assert other.get(stranger.id) == stranger


def test_other_move_of_the_same_version_is_not_overwritten(store: Store, file: Path) -> None:
    begun = store_draft(store, 9, 8)
    run_sql(file, "UPDATE games SET moves = '9,7'")
    run_sql(file, "UPDATE changes SET change = '7' WHERE version = 1")
    with pytest.raises(StaleError) as stale:
        store.save(begun, make_draft(9, 8, 5))
    assert stale.value.table.game.moves == (9, 7)


def test_deleted_game_is_gone_with_its_changes_and_its_id_is_not_used_again(
    store: Store, file: Path
) -> None:
    first, other, last = (store_draft(store, *moves) for moves in ((9, 8), (7,), (9,)))
    assert store.delete(first.id) == first
    with pytest.raises(GameNotFoundError):
        store.get(first.id)
    with pytest.raises(GameNotFoundError):
        store.delete(first.id)
    with pytest.raises(GameNotFoundError):
        store.save(first, make_draft(9, 8, 5))
    store.delete(last.id)
    assert run_sql(file, "SELECT game, change FROM changes") == [(other.id, "7")]
    assert store_draft(store, 9).id == 4


# Damage -------------------------------------------------------------------------------------------


def test_damaged_game_can_be_deleted_and_does_not_touch_the_others(
    store: Store, file: Path, begun: StoredGame
) -> None:
    whole = store_draft(store, 7)
    run_sql(file, f"UPDATE games SET rules = '{{' WHERE id = {begun.id}")  # noqa: S608 - our own
    assert store.get(whole.id) == whole
    assert store.save(whole, make_draft(7, 8)).table == make_draft(7, 8)
    assert store.delete(begun.id) is None
    assert run_sql(file, "SELECT id FROM games") == [(whole.id,)]


NOT_REACHED = "its changes do not lead to its moves and result"
WRONG_VALUE = "one of its values is wrong"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE games SET moves = '9,7'", NOT_REACHED),
        ("UPDATE games SET moves = 'nine'", NOT_REACHED),
        ("UPDATE games SET moves = x'ff'", NOT_REACHED),
        ("UPDATE games SET version = 7", NOT_REACHED),
        ("UPDATE games SET version = 'many'", NOT_REACHED),
        ("UPDATE games SET reason = 'exact', winner = 1", NOT_REACHED),
        ("UPDATE games SET reason = 'resigned', winner = 1", NOT_REACHED),
        ("UPDATE games SET winner = 2", NOT_REACHED),
        ("DELETE FROM changes", NOT_REACHED),
        ("DELETE FROM changes WHERE version = 1", NOT_REACHED),
        ("UPDATE changes SET version = 5 WHERE version = 0", NOT_REACHED),
        ("UPDATE changes SET change = 'won 1'", "expected a change such as 9"),
        ("UPDATE changes SET change = x'ff'", WRONG_VALUE),
        ("UPDATE changes SET change = '77' WHERE version = 1", "move 2: 77 cannot be placed"),
        ("UPDATE changes SET change = 'resigned 1' WHERE version = 0", "a change after the end"),
        ("UPDATE changes SET change = 'undo 3' WHERE version = 1", "more moves are undone"),
        ("UPDATE games SET rules = '{'", "Expecting property name"),
        ("UPDATE games SET rules = '[1]'", "1: unknown; expected"),
        ('UPDATE games SET rules = \'{"fit": "round"}\'', "fit: expected one of"),
        ('UPDATE games SET rules = \'{"target": 10, "fit": "any"}\'', "8 cannot be placed"),
        ("UPDATE games SET rules = replace(hex(zeroblob(50000)), '0', '[')", WRONG_VALUE),
        ("UPDATE games SET first = 3", "first: expected 0 or 1"),
        ("UPDATE games SET first = 'me'", WRONG_VALUE),
        ("UPDATE games SET name_1 = 'Ann'", "expected two names"),
        ("UPDATE games SET name_1 = 'Ann', name_2 = 'ANN'", "expected two different names"),
        ("UPDATE games SET name_1 = 'A', name_2 = char(27) || 'B'", "without control characters"),
        ("UPDATE games SET seed = 'lucky'", "invalid literal"),
    ],
)
def test_edited_game_is_reported_as_damaged_in_one_line(
    store: Store, file: Path, edit: str, problem: str
) -> None:
    stored = store_draft(store, 9, 8)
    run_sql(file, edit)
    uses: list[Callable[[], StoredGame]] = [
        lambda: store.get(stored.id),
        lambda: store.save(stored.advance(make_draft(9), stored.times[1:2]), make_draft(9, 8, 5)),
        lambda: store.change(stored.id, 2, Change("place", 5)),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="game 1 is damaged in the database: ") as error:
            use()
        assert re.search(problem, str(error.value))
        assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("rulebooks SET content = 'not TOML'", "rule file 1 is damaged in the database"),
        ("rulebooks SET content = '[rules]' || char(10) || 'fit = \"round\"'", "1 is damaged"),
        ("rulebooks SET content = x'ff'", "rule file 1 is damaged"),
        ("games SET book = 5", "rule file 5 is missing from the database"),
    ],
)
def test_edited_rule_file_is_reported_as_damaged(
    store: Store, file: Path, edit: str, problem: str
) -> None:
    book = make_own_rulebook(Rules())
    stored = store.begin(Table(Game(book.rules), book.name), book)
    run_sql(file, f"UPDATE {edit}")
    with pytest.raises(StoreError, match=problem):
        store.get(stored.id)
