"""Games in a database: found as kept, each change counts once, and nothing read is believed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

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
from number_tower.words.voice import Voice
from support.command import DATA, run_tower
from support.sizes import examples
from support.stores import SEATS, any_play, make_own_rulebook, open_store, run_sql

DRAFT = catalogue.load("draft")
RULE_FILES = DATA / "rulefiles"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("empty") / "games.db"
    open_store(file).close()
    return file


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database for every game of a property."""
    store = open_store(tmp_path_factory.mktemp("store") / "games.db")
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: Path, empty: Path) -> Iterator[Store]:
    """A fresh database: copying an empty one takes less time than making one."""
    fresh = open_store(shutil.copy(empty, tmp_path / "games.db"))
    yield fresh
    fresh.close()


def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    return run_sql(str(store.location.file), statement)


@pytest.fixture
def begun(store: Store) -> StoredGame:
    return store.begin(drafted(9), DRAFT)


def drafted(*moves: int) -> Table:
    return Table(Game(DRAFT.rules, moves=moves), "draft")


# What was kept is found as it was -----------------------------------------------------------------


def same(found: StoredGame, table: Table, seats: Seats) -> None:
    """Check that a game was found as it is, and how it came about as well."""
    assert found.table == table
    assert (found.table.log, found.table.automatic) == (table.log, seats.automatic)
    assert found.seats == seats
    assert len(found.times) == table.version + 1
    assert list(found.times) == sorted(found.times)


@given(SEATS, st.data())
@settings(max_examples=examples(60))
def test_any_game_is_found_as_it_was_after_every_change(
    shared: Store, seats: Seats, data: st.DataObject
) -> None:
    tables = data.draw(any_play(automatic=seats.automatic))
    mechanics = tables[0].game.rules
    book = data.draw(
        st.sampled_from(
            [make_own_rulebook(mechanics), catalogue.find_rulebook("my game", mechanics)]
        )
    )
    kept = shared.begin(tables[0], book, seats)
    key = kept.key
    for table in tables:
        kept = shared.save(kept, table)
        same(kept, table, seats)
    found = shared.get(kept.id)
    assert found == kept
    same(found, tables[-1], seats)
    assert (found.key, found.table.book, found.table.book.content) == (key, book, book.content)


@given(any_play(automatic=(False, False)), st.data())
@settings(max_examples=examples(40))
def test_several_changes_are_caught_up_with_at_once(
    shared: Store, tables: list[Table], data: st.DataObject
) -> None:
    one, other = sorted(data.draw(st.tuples(*[st.integers(0, len(tables) - 1)] * 2)))
    known = shared.begin(tables[one], catalogue.find_rulebook("my game", tables[0].game.rules))
    assert shared.save(known, tables[other]).table == tables[other]
    assert shared.save(known, tables[-1]).table.log == tables[-1].log
    assert shared.save(known, tables[other]).table.log == tables[-1].log, (
        "what is further on is not set back"
    )
    assert shared.get(known.id).table == tables[-1]


@given(any_play(automatic=(False, False)))
@settings(max_examples=examples(40))
def test_change_by_change_is_the_same_as_table_by_table(shared: Store, tables: list[Table]) -> None:
    kept = shared.begin(tables[0], catalogue.find_rulebook("my game", tables[0].game.rules))
    for before, after in pairwise(tables):
        changed = shared.change(kept.id, before.version, after.log[-1])
        assert changed.table == after
        assert shared.change(kept.id, before.version, after.log[-1]).times == changed.times, (
            "once more is once"
        )
    assert shared.get(kept.id).table.log == tables[-1].log


@pytest.mark.parametrize("name", catalogue.list_names())
def test_games_of_the_catalogue_are_kept_without_their_files(store: Store, name: str) -> None:
    book = catalogue.load(name)
    kept = store.begin(Table(Game(book.rules), name), book)
    assert store.get(kept.id).table.book == book
    assert rows(store, "SELECT count(*) FROM rulebooks") == [(0,)]


def test_options_of_a_game_are_kept(store: Store) -> None:
    table = Table(
        Game(rules("summit", target=12, blocks="1-6"), 1), "summit", ("Ann", "Ben"), hidden=True
    )
    found = store.get(store.begin(table, catalogue.load("summit")).id)
    assert (found.table, found.table.book.name) == (table, "summit")


def test_a_rule_file_is_kept_once_however_many_games_are_played_by_it(store: Store) -> None:
    mechanics = Rules(blocks=range(1, 5), fit="descending")
    one, other = (
        make_own_rulebook(mechanics),
        make_own_rulebook(replace(mechanics, blocks=range(1, 6))),
    )
    for book in (one, one, other, one):
        store.begin(Table(Game(book.rules), book.name), book)
    assert rows(store, "SELECT name FROM rulebooks") == [("my game",), ("my game",)]
    assert [store.get(number).table.book for number in (1, 2, 3, 4)] == [one, one, other, one]


def test_a_game_is_told_in_its_own_voice_when_its_rule_file_is_gone(tmp_path: Path) -> None:
    file, database = tmp_path / "countdown.toml", str(tmp_path / "games.db")
    shutil.copy(RULE_FILES / "countdown.toml", file)
    played = run_tower(
        "play", str(file), "--blocks", "1-5", typed="4\n2\nquit\n", NUMBER_TOWER_DB=database
    )
    assert "Player 1 steps to 4." in played.stdout
    file.unlink()
    replayed = run_tower("review", "--replay", "1", NUMBER_TOWER_DB=database)
    assert replayed.stdout.startswith(played.stdout[: played.stdout.index("2\n")])
    assert "Player 2 steps to 2." in replayed.stdout
    resumed = run_tower("resume", typed="1\n", NUMBER_TOWER_DB=database)
    assert "Lift-off! Player 1 wins." in resumed.stdout
    assert resumed.stderr == ""


def test_huge_seeds_and_names_in_any_script_are_kept(store: Store) -> None:
    seats, names = Seats((None, "perfect"), 3**2000), ("Zoë 👩‍👧", "می‌خواهم")
    kept = store.begin(replace(drafted(9), names=names), DRAFT, seats)
    found = store.get(kept.id)
    assert (found.table.names, found.seats) == (names, seats)
    assert rows(store, "SELECT player_1, player_2 FROM games") == [
        tuple(name.casefold() for name in names)
    ]


def test_players_are_searched_for_by_what_their_rulebook_calls_them(store: Store) -> None:
    book = catalogue.load("summit")
    store.begin(Table(Game(book.rules), "summit"), book)
    assert rows(store, "SELECT name_1, player_1, player_2 FROM games") == [
        (None, "player a", "player b")
    ]


def test_times_sort_as_text_and_never_run_back(store: Store, begun: StoredGame) -> None:
    moments = [format_now() for _ in range(1000)]
    assert moments == sorted(moments)
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", moment) for moment in moments
    )
    later = store.save(begun, drafted(9, 8))
    assert later.times[:2] == begun.times
    assert later.changed > begun.changed
    assert rows(store, "SELECT started, changed FROM games") == [(begun.started, later.changed)]


def test_who_chooses_the_moves_may_change_during_a_game(store: Store, begun: StoredGame) -> None:
    seats = Seats((None, "gentle"), 7)
    store.save(begun, drafted(9, 8), seats)
    assert store.get(begun.id).seats == seats
    store.save(begun, drafted(9, 8, 5))
    assert store.get(begun.id).seats == seats


def test_what_was_counted_from_a_game_is_void_after_another_change(
    store: Store, begun: StoredGame
) -> None:
    rows(store, "UPDATE games SET mattered_1 = 1, kept_1 = 1, mattered_2 = 0, kept_2 = 0")
    store.save(begun, begun.table.undo())
    assert rows(store, "SELECT mattered_1, kept_1, mattered_2, kept_2 FROM games") == [(None,) * 4]


# Each change counts once --------------------------------------------------------------------------


def test_one_who_put_the_same_counts_once_and_another_is_stale(
    store: Store, begun: StoredGame
) -> None:
    first = store.save(begun, drafted(9, 8))
    assert store.save(begun, drafted(9, 8)) == first, "the same change, by whomever"
    with pytest.raises(StaleError) as stale:
        store.save(begun, drafted(9, 7))
    assert stale.value.table == drafted(9, 8)
    assert store.get(begun.id) == first
    assert rows(store, "SELECT version, change FROM changes ORDER BY version") == [
        (0, "9"),
        (1, "8"),
    ]


def test_what_both_have_in_common_does_not_make_the_rest_right(
    store: Store, begun: StoredGame
) -> None:
    store.save(begun, drafted(9, 8, 5))
    with pytest.raises(StaleError):
        store.save(begun, drafted(9, 8, 4, 3))
    assert store.save(begun, drafted(9, 8)).table == drafted(9, 8, 5), (
        "mine is kept, and it has gone on since"
    )


def test_takebacks_that_went_back_differently_far_are_not_the_same(store: Store) -> None:
    """Against a computer an undo takes two moves back, and one between people who resumed it."""
    begun = store.begin(drafted(9, 8), DRAFT)
    between_people, against_computer = begun.table, replace(begun.table, automatic=(False, True))
    store.save(begun, against_computer.undo())
    with pytest.raises(StaleError):
        store.save(begun, between_people.undo().play(7))
    assert store.get(begun.id).table.game.moves == ()


def test_a_stale_change_is_refused_with_the_table_as_it_is(store: Store, begun: StoredGame) -> None:
    store.change(begun.id, 1, Change("place", 8))
    with pytest.raises(StaleError) as stale:
        store.change(begun.id, 1, Change("place", 7))
    assert (stale.value.table, stale.value.table.version) == (drafted(9, 8), 2)


def test_what_breaks_a_rule_is_not_kept(store: Store, begun: StoredGame) -> None:
    before = store.get(begun.id)
    with pytest.raises(ValueError, match="cannot be placed"):
        store.change(begun.id, 1, Change("place", 9))
    store.change(begun.id, 1, Change("resigned", 0))
    with pytest.raises(TableError, match="no move to undo"):
        store.change(begun.id, 2, Change("undo", 1))
    assert before.table.outcome is None
    assert store.get(begun.id).table.outcome == (1, "resigned")


class LosesAnswers:
    """A store whose commits succeed, but whose answers are lost on their way."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost = False
        dialect = store.engine.dialect
        commit = dialect.do_commit

        def lose(connection: Any) -> None:
            commit(connection)
            if self.lost:
                raise OperationalError(
                    "COMMIT", {}, Exception("server closed the connection unexpectedly")
                )

        monkeypatch.setattr(dialect, "do_commit", lose)


def test_a_commit_whose_answer_was_lost_can_be_repeated(
    store: Store, begun: StoredGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = LosesAnswers(store, monkeypatch)
    line.lost = True
    with pytest.raises(StoreError):
        store.save(begun, drafted(9, 8))
    line.lost = False
    assert store.save(begun, drafted(9, 8, 5)).table == drafted(9, 8, 5)
    assert rows(store, "SELECT change FROM changes ORDER BY version") == [("9",), ("8",), ("5",)]


def test_a_game_whose_beginning_was_not_answered_begins_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = LosesAnswers(store, monkeypatch)
    line.lost = True
    with pytest.raises(StoreError):
        store.begin(drafted(9), DRAFT, key="5" * 32)
    line.lost = False
    kept = store.begin(drafted(9, 8), DRAFT, key="5" * 32)
    assert (kept.id, kept.table) == (1, drafted(9, 8))
    assert rows(store, "SELECT key, moves FROM games") == [("5" * 32, "9,8")]


def test_all_of_a_change_is_written_or_nothing(store: Store, begun: StoredGame) -> None:
    rows(
        store,
        "CREATE TRIGGER never BEFORE INSERT ON changes BEGIN SELECT RAISE(ABORT, 'not today'); END",
    )
    with pytest.raises(StoreError, match="not today"):
        store.save(begun, drafted(9, 8))
    assert store.get(begun.id) == begun
    with pytest.raises(StoreError):
        store.begin(drafted(7), DRAFT)
    assert rows(store, "SELECT moves FROM games") == [("9",)]


# Finding and forgetting ---------------------------------------------------------------------------


def test_a_game_is_found_by_its_key(store: Store) -> None:
    kept = store.begin(drafted(9, 8), DRAFT)
    assert store.find_by_key(kept.key) == kept
    assert store.find_by_key("0" * 32) is None


def test_another_game_that_got_the_same_id_is_left_alone(store: Store, tmp_path: Path) -> None:
    kept = store.begin(drafted(9), DRAFT)
    other = open_store(tmp_path / "restored.db")
    stranger = other.begin(drafted(9), DRAFT)
    assert stranger.id == kept.id
    with pytest.raises(GameNotFoundError):
        other.save(kept, drafted(9, 8))
    assert other.get(stranger.id) == stranger


def test_another_move_that_got_the_same_version_is_not_written_over(store: Store) -> None:
    kept = store.begin(drafted(9, 8), DRAFT)
    rows(store, "UPDATE games SET moves = '9,7'")
    rows(store, "UPDATE changes SET change = '7' WHERE version = 1")
    with pytest.raises(StaleError) as stale:
        store.save(kept, drafted(9, 8, 5))
    assert stale.value.table.game.moves == (9, 7)


def test_a_damaged_game_can_be_forgotten(store: Store) -> None:
    kept = store.begin(drafted(9), DRAFT)
    rows(store, "UPDATE games SET rules = '{'")
    assert store.delete(kept.id) is None
    assert rows(store, "SELECT count(*) FROM games") == [(0,)]


def test_the_names_that_players_get_later_are_kept(store: Store) -> None:
    kept = store.begin(drafted(9), DRAFT)
    named = replace(drafted(9, 8), names=("Ann", "Perfect"))
    store.save(kept, named, Seats((None, "perfect"), 7))
    again = store.get(kept.id)
    assert (again.table.names, again.seats) == (("Ann", "Perfect"), Seats((None, "perfect"), 7))
    assert rows(store, "SELECT player_1, player_2 FROM games") == [("ann", "perfect")]


def test_a_game_that_was_forgotten_is_gone_with_all_its_changes(store: Store) -> None:
    kept, other = store.begin(drafted(9, 8), DRAFT), store.begin(drafted(7), DRAFT)
    assert store.delete(kept.id) == kept
    with pytest.raises(GameNotFoundError):
        store.get(kept.id)
    with pytest.raises(GameNotFoundError):
        store.delete(kept.id)
    with pytest.raises(GameNotFoundError):
        store.save(kept, drafted(9, 8, 5))
    assert rows(store, "SELECT game, change FROM changes") == [(other.id, "7")]


def test_the_id_of_a_forgotten_game_is_never_used_again(store: Store) -> None:
    ids = [store.begin(drafted(9), DRAFT).id for _ in range(3)]
    store.delete(ids[-1])
    store.delete(ids[0])
    assert store.begin(drafted(9), DRAFT).id == 4


@pytest.mark.parametrize("identity", [0, 2, -1, 10**15])
def test_there_is_no_game_of_another_id(store: Store, begun: StoredGame, identity: int) -> None:
    assert begun.id == 1
    with pytest.raises(GameNotFoundError):
        store.get(identity)


def test_a_game_told_again_from_the_database_has_its_own_words(store: Store) -> None:
    book = make_own_rulebook(Rules(blocks=range(1, 5), fit="descending"))
    kept = store.begin(Table(Game(book.rules), book.name), book)
    found = store.get(kept.id)
    assert Voice(found.table.book).format_prompt(found.table) == "Höher? "


# What somebody changed by hand --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE games SET moves = '9,7'", "its changes do not lead to its moves and result"),
        ("UPDATE games SET moves = 'nine'", "its changes do not lead"),
        ("UPDATE games SET moves = x'ff'", "its changes do not lead"),
        ("UPDATE games SET version = 7", "its changes do not lead"),
        ("UPDATE games SET version = 'many'", "its changes do not lead"),
        ("UPDATE games SET reason = 'exact', winner = 1", "its changes do not lead"),
        ("UPDATE games SET reason = 'resigned', winner = 1", "its changes do not lead"),
        ("UPDATE games SET winner = 2", "its changes do not lead"),
        ("DELETE FROM changes", "its changes do not lead"),
        ("DELETE FROM changes WHERE version = 1", "its changes do not lead"),
        ("UPDATE changes SET version = 5 WHERE version = 0", "its changes do not lead"),
        ("UPDATE changes SET change = 'won 1'", "expected a change such as 9"),
        ("UPDATE changes SET change = x'ff'", "one of its values is wrong"),
        ("UPDATE changes SET change = '77' WHERE version = 1", "move 2: 77 cannot be placed"),
        ("UPDATE changes SET change = 'resigned 1' WHERE version = 0",
         "a change after the end of the game"),
        ("UPDATE changes SET change = 'undo 3' WHERE version = 1", "more moves are undone"),
        ("UPDATE games SET rules = '{'", "Expecting property name"),
        ("UPDATE games SET rules = '[1]'", "1: unknown; expected"),
        ("UPDATE games SET rules = '{\"fit\": \"round\"}'", "fit: expected one of"),
        ("UPDATE games SET rules = '{\"target\": 10, \"fit\": \"any\"}'",
         "move 2: 8 cannot be placed"),
        ("UPDATE games SET rules = replace(hex(zeroblob(50000)), '0', '[')",
         "one of its values is wrong"),
        ("UPDATE games SET first = 3", "first: expected 0 or 1"),
        ("UPDATE games SET first = 'me'", "one of its values is wrong"),
        ("UPDATE games SET name_1 = 'Ann'", "expected two names"),
        ("UPDATE games SET name_1 = 'Ann', name_2 = 'ANN'", "expected two different names"),
        ("UPDATE games SET name_1 = 'Ann', name_2 = char(27) || 'Ben'",
         "without control characters"),
        ("UPDATE games SET seed = 'lucky'", "invalid literal"),
    ],
)  # fmt: skip
def test_a_game_edited_by_hand_is_reported_as_damaged_in_one_sentence(
    store: Store, edit: str, problem: str
) -> None:
    kept = store.begin(drafted(9, 8), DRAFT)
    rows(store, edit)
    touches: list[Callable[[], StoredGame]] = [
        lambda: store.get(kept.id),
        lambda: store.save(kept.advance(drafted(9), kept.times[1:2]), drafted(9, 8, 5)),
        lambda: store.change(kept.id, 2, Change("place", 5)),
    ]
    for touch in touches:
        with pytest.raises(StoreError, match="game 1 is damaged in the database: ") as trouble:
            touch()
        assert re.search(problem, str(trouble.value))
        assert str(trouble.value).isprintable()


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE rulebooks SET content = 'not TOML'", "rule file 1 is damaged in the database"),
        (
            "UPDATE rulebooks SET content = '[rules]' || char(10) || 'fit = \"round\"'",
            "rule file 1 is damaged",
        ),
        ("UPDATE rulebooks SET content = x'ff'", "rule file 1 is damaged"),
        ("UPDATE games SET book = 5", "rule file 5 is missing from the database"),
    ],
)
def test_a_rule_file_edited_by_hand_is_reported_too(store: Store, edit: str, problem: str) -> None:
    book = make_own_rulebook(Rules())
    kept = store.begin(Table(Game(book.rules), book.name), book)
    rows(store, edit)
    with pytest.raises(StoreError, match=problem):
        store.get(kept.id)


def test_one_damaged_game_does_not_touch_the_others(store: Store) -> None:
    damaged, whole = store.begin(drafted(9), DRAFT), store.begin(drafted(7), DRAFT)
    rows(store, "UPDATE games SET moves = '1' WHERE id = 1")
    assert damaged.id == 1
    assert store.get(whole.id) == whole
    assert store.save(whole, drafted(7, 8)).table == drafted(7, 8)
