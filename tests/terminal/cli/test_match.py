"""A match: its score, its end, its words, and what is stored of it, whatever happens."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table, rules
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice, RuleFileError, load
from number_tower.engine.match import MAX_GAMES, Match, MatchError, Series
from number_tower.engine.table import Change
from number_tower.store import (
    GameNotFoundError,
    GameStartedError,
    StoreError,
    games,
    matches,
    schema,
)
from number_tower.store.database import Store
from number_tower.store.matches import StoredMatch
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.words.voice import MatchMoment, MatchStanding, Voice
from support.command import Tower, run_tower
from support.stores import open_store, run_sql
from support.terminal import Terminal

pytest_plugins = ["support.postgres"]

RESULTS = (0, 1, None)
FIRST_WINS = "9\n8\n6\n"
"""A short game of draft that its starter wins."""
DRAWN = "8\n4\n1\n3\n2\n"
MOMENTS: tuple[MatchMoment, ...] = ("start", "game", "score", "won", "drawn")


# The score ----------------------------------------------------------------------------------------


@st.composite
def any_match(draw: st.DrawFn) -> Match:
    """A match that was played for a while, at most to its end."""
    match = Match(draw(st.integers(1, 6)), draw(st.integers(0, 1)))
    while not match.over and draw(st.integers(0, 5)):
        match = match.after(draw(st.sampled_from(RESULTS)))
    return match


@given(any_match(), st.sampled_from(RESULTS))
def test_match_is_over_exactly_when_no_continuation_changes_the_winner(
    match: Match, winner: int | None
) -> None:
    left = match.best_of - len(match.winners)
    assert left >= 0
    ends = {find_leader((*match.winners, *more)) for more in product(RESULTS, repeat=left)}
    assert match.over == (left == 0 or len(ends) == 1)
    if match.over:
        assert ends == {match.leader}
        with pytest.raises(MatchError, match="after the match was decided"):
            match.after(winner)


def find_leader(winners: tuple[int | None, ...]) -> int | None:
    lead = winners.count(0) - winners.count(1)
    return None if lead == 0 else int(lead < 0)


@given(any_match())
def test_every_game_is_a_point_and_the_starter_alternates(match: Match) -> None:
    assert sum(match.score) == len(match.winners) == match.number - 1
    if not match.over:
        after = match.after(0)
        assert after.starter == 1 - match.starter
        assert after.score == (match.score[0] + 1, match.score[1])
    assert Match(match.best_of, match.first).starter == match.first


@pytest.mark.parametrize(
    ("best_of", "first"), [(0, 0), (MAX_GAMES + 1, 0), (True, 0), (3, 2), (3, -1)]
)
def test_match_with_a_wrong_length_or_starter_is_refused(best_of: int, first: int) -> None:
    with pytest.raises(MatchError, match="expected"):
        Match(best_of, first)


def test_longest_match_is_counted_at_once() -> None:
    match = Match(MAX_GAMES)
    while not match.over:
        match = match.after(match.starter)
    assert (match.leader, match.score) == (0, (500, 499))


@given(st.lists(st.sampled_from(catalogue.list_names()), min_size=1, max_size=4), st.integers(0, 1))
def test_games_of_a_series_and_starters_take_turns(names: list[str], first: int) -> None:
    entries = tuple(GameChoice(load(name), rules(name)) for name in names)
    series = Series(entries, Match(9, first), ("Ann", "Ben"))
    for number in range(9):
        assert series.table.rulebook == names[number % len(names)]
        assert series.table.game.first == (first + number) % 2
        assert series.table.names == ("Ann", "Ben")
        series = series.after(None)
    assert series.match.over


# The words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_voice_tells_every_moment_of_a_match(name: str, snapshot: SnapshotAssertion) -> None:
    voice, table = Voice(load(name)), Table(Game(rules(name), 1), name, ("Ann", "Ben"))
    standing = MatchStanding(2, 5, (0.5, 1.5))
    assert {
        moment: voice.tell_match(moment, table, standing).text for moment in MOMENTS
    } == snapshot


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        ((0, 0), "0:0"),
        ((0.5, 0.5), "½:½"),
        ((2, 1), "2:1"),
        ((1.5, 3), "1½:3"),
        ((10.5, 9), "10½:9"),
    ],
)
def test_half_points_are_shown_as_fractions(score: tuple[float, float], shown: str) -> None:
    book = catalogue.parse_rulebook(
        b'[rules]\n[voice]\nmatch_score = "{score_1}:{score_2}"', "mine", "mine.toml"
    )
    sentence = Voice(book).tell_match("score", Table(Game(book.rules)), MatchStanding(1, 3, score))
    assert sentence.text == f"{shown}\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ('match_score = "{score}"', "voice.match_score: unknown field {score}"),
        ('match_won = "{winner_height}"', "voice.match_won: unknown field {winner_height}"),
        ('end_exact = "{score_1}"', "voice.end_exact: unknown field {score_1}"),
        ('match_end = "over"', "voice.match_end: unknown; did you mean"),
        ("match_score = 3", "voice.match_score: expected text"),
    ],
)
def test_wrong_match_words_of_a_rule_file_are_refused(
    tmp_path: Path, words: str, problem: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[rules]\ntarget = 9\n[voice]\n{words}\n")
    with pytest.raises(RuleFileError) as wrong:
        Voice(load(path))
    assert problem in str(wrong.value)
    done = run_tower("match", f"draft,{path}")
    assert (done.returncode, problem in done.stderr) == (2, True)


# At the keyboard ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("summit", ("Player A", "Player B")),
        ("draft,race", ("Player 1", "Player 2")),
        ("draft,summit", ("Player 1", "Player 2")),
        ("summit,draft --names Ann,Ben", ("Ann", "Ben")),
        ("summit,draft --vs easy --seat 2 --first 2", ("Easy", "Player 2")),
        ("summit --vs easy --first 1", ("Player A", "Easy")),
    ],
)
def test_players_keep_one_pair_of_names_in_all_games(
    call: str, names: tuple[str, str], tower: Tower, db: Path
) -> None:
    tower("match", *call.split(), typed="5\n")
    series = matches.get_match(open_store(db), 1).series
    for game in series.games:
        assert (series.names or Voice(game.book).players) == names


# In the database ----------------------------------------------------------------------------------


def list_matches(store: Store) -> list[tuple[int, bool]]:
    """Return the id of each match, and whether it is over."""
    with store.read() as connection:
        rows = connection.execute(select(schema.matches).order_by("id"))
        return [(row.id, row.finished) for row in rows]


def load_games(store: Store, match: int = 1) -> list[StoredGame]:
    slots = [MatchSlot(match, number) for number in range(1, 10)]
    return [game for slot in slots if (game := matches.find_game(store, slot)) is not None]


def load_moves(db: Path) -> list[tuple[int, ...]]:
    """Return the moves of each game of the first match."""
    return [game.table.game.moves for game in load_games(open_store(db))]


def test_match_is_saved_from_its_first_move_to_its_end(tower: Tower, db: Path) -> None:
    tower("match", "draft")
    assert not db.exists()
    tower("match", "draft", typed="9\n")
    assert list_matches(open_store(db)) == [(1, False)]
    done = tower("resume", "m1", typed="8\n6\n" + DRAWN + FIRST_WINS)
    assert done.returncode == 0
    assert done.stdout.endswith("Player 1: 2½, Player 2: ½\n\nPlayer 1 wins the match!\n")
    store = open_store(db)
    assert list_matches(store) == [(1, True)]
    assert [game.table.game.first for game in load_games(store)] == [0, 1, 0]
    assert matches.get_match(store, 1).series.match == Match(3, 0, (0, None, 0))


def test_opponent_plays_on_by_the_same_seed(tmp_path: Path) -> None:
    call = [
        "match",
        "summit,factor",
        "--best-of",
        "4",
        "--vs",
        "easy",
        "--seed",
        "11",
        "--seat",
        "2",
    ]
    answers = [f"{block}\n" for block in range(1, 10)] * 12
    whole, parts = str(tmp_path / "whole.db"), str(tmp_path / "parts.db")
    run_tower(*call, typed="".join(answers), NUMBER_TOWER_DB=whole)
    run_tower(*call, typed="".join(answers[:5]), NUMBER_TOWER_DB=parts)
    for start in range(5, len(answers), 20):
        typed = "".join(answers[start : start + 20])
        run_tower("resume", "m1", typed=typed, NUMBER_TOWER_DB=parts)
    games_at_once, games_in_parts = load_games(open_store(whole)), load_games(open_store(parts))
    assert len(games_at_once) > 1
    assert [game.table for game in games_at_once] == [game.table for game in games_in_parts]
    assert [game.seats for game in games_in_parts] == [
        Seats(("easy", None), seed) for seed in range(11, 11 + len(games_in_parts))
    ]


# Failures -----------------------------------------------------------------------------------------


def create_match(*, best_of: int = 3) -> StoredMatch:
    series = Series((GameChoice(load("draft"), rules("draft")),), Match(best_of), ("Ann", "Ben"))
    return StoredMatch(None, "0" * 32, series, Seats())


def begin_game(store: Store, match: StoredMatch, *moves: int) -> StoredGame:
    """Store the next game of a match."""
    table = match.series.table
    for block in moves:
        table = table.play(block)
    claim_slot = partial(matches.claim_slot, match=match)
    return store.begin(table, match.series.entry.book, find_slot=claim_slot)


def raise_disk_full(*_: object) -> None:
    raise StoreError("the disk is full")


def test_match_and_its_first_game_are_stored_in_one_transaction(
    monkeypatch: pytest.MonkeyPatch, db: Path
) -> None:
    store = open_store(db)
    with monkeypatch.context() as patched:
        patched.setattr(games, "insert_changes", raise_disk_full)
        with pytest.raises(StoreError, match="full"):
            begin_game(store, create_match(), 9)
    assert list_matches(store) == []
    begin_game(store, create_match(), 9)
    assert list_matches(store) == [(1, False)]


def test_last_move_and_end_of_the_match_are_stored_in_one_transaction(
    monkeypatch: pytest.MonkeyPatch, db: Path
) -> None:
    store = open_store(db)
    game = begin_game(store, create_match(best_of=1), 9, 8)
    with monkeypatch.context() as patched:
        patched.setattr(games, "_settle_match", raise_disk_full)
        with pytest.raises(StoreError):
            store.save(game, game.table.play(6))
    assert store.get(game.id).table.outcome is None
    store.save(game, game.table.play(6))
    assert list_matches(store) == [(1, True)]
    store.change(game.id, 3, Change("undo", 1))
    assert list_matches(store) == [(1, False)]


def test_game_of_a_match_is_begun_only_once(db: Path) -> None:
    store = open_store(db)
    match = create_match()
    game = begin_game(store, match, 9)
    with pytest.raises(GameStartedError, match="m1 game 1 was begun already") as twice:
        begin_game(open_store(db), match, 8)
    assert twice.value.game == game
    assert len(load_games(store)) == 1


def test_next_game_begun_by_many_at_once_is_stored_once(database: str) -> None:
    def begin(block: int) -> tuple[int, ...]:
        store = open_store(database)
        try:
            return begin_game(store, after, block).table.game.moves
        except GameStartedError as elsewhere:
            return elsewhere.game.table.game.moves
        finally:
            store.close()

    match = create_match()
    store = open_store(database)
    game = begin_game(store, match, 9, 8, 6)
    after = replace(match, id=1, series=match.series.after(0))
    with ThreadPoolExecutor(4) as pool:
        moves = set(pool.map(begin, (9, 8, 7, 6)))
    assert [stored.table.game.moves for stored in load_games(store)] == [
        game.table.game.moves, *moves,
    ]  # fmt: skip
    store.close()


def test_match_killed_at_any_moment_has_stored_every_move_it_told_and_is_resumed(
    db: Path, tmp_path: Path
) -> None:
    call = shlex.split("match draft,summit --best-of 3 --vs easy --vs fair --seed 5")
    copies: dict[int, Path] = {}

    def copy_database(text: str) -> None:
        """Copy what a kill leaves at a moment at which more of the output can be read."""
        copy = tmp_path / f"copy-{len(text)}.db"
        for ending in ("", "-wal"):
            if Path(f"{db}{ending}").exists():
                shutil.copy(f"{db}{ending}", f"{copy}{ending}")
        stored = run_sql(copy, "SELECT count(*) FROM changes")[0][0] if copy.exists() else 0
        assert stored >= text.count(" places ")
        copies.setdefault(stored, copy)

    run_tower(*call, watch=copy_database, NUMBER_TOWER_DB=str(db))
    expected = [game.table for game in load_games(open_store(db))]
    assert [*copies] == [*range(sum(len(table.game.moves) for table in expected) + 1)]
    for stored, copy in copies.items():
        again = ["resume"] if stored else call
        done = run_tower(*again, NUMBER_TOWER_DB=str(copy))
        # The last copies hold the whole match, so that nothing is left to resume.
        assert done.returncode == (2 if stored == len(copies) - 1 else 0)
        store = open_store(copy)
        assert list_matches(store) == [(1, True)]
        assert [game.table for game in load_games(store)] == expected
        store.close()


def format_question(left: int) -> str:
    """Return the question that is asked when only the smallest blocks are left."""
    return (
        f"Blocks: {', '.join(map(str, range(1, left + 1)))}\n"
        "Enter the block number you wish to place: "
    )


@pytest.mark.slow
def test_match_is_played_in_two_terminals(tower: Tower, db: Path) -> None:
    tower("match", "draft", typed=FIRST_WINS)
    here, there = (
        Terminal("resume", "m1", NUMBER_TOWER_DB=str(db), NO_COLOR="1") for _ in range(2)
    )
    for terminal in (here, there):
        terminal.until(format_question(9))
    here.answer("9", format_question(8))
    assert "This game was continued elsewhere" in there.answer("7", format_question(8))
    there.answer("8", format_question(7))
    assert "wish to place: 8\n" in here.answer("5", format_question(7))
    here.answer("6", format_question(9))
    assert "Player 1: 1, Player 2: 1" in there.answer("1", format_question(9))
    for terminal in (here, there):
        terminal.quit_game()
    assert load_moves(db) == [(9, 8, 6), (9, 8, 6)]


def test_ctrl_c_leaves_the_match(db: Path) -> None:
    terminal = Terminal("match", "draft", NUMBER_TOWER_DB=str(db), NO_COLOR="1")
    terminal.until("wish to place: ")
    for answer in FIRST_WINS.split():
        terminal.answer(answer, "wish to place: ")
    assert terminal.seen.count("Type at any time:") == 1
    assert terminal.end(interrupt=True) == 128 + signal.SIGINT
    assert "tower: Match saved. Resume it with: tower resume m1" in terminal.seen


def test_game_that_could_not_be_stored_is_stored_with_the_next(
    monkeypatch: pytest.MonkeyPatch, tower: Tower, db: Path
) -> None:
    def fail_twice(
        store: Store, stored: StoredGame, table: Table, *args: Any, **options: Any
    ) -> Any:
        if len(table.game.moves) == 3 and len(failed) < 2:
            failed.append(table)
            raise StoreError("the database cannot be used: it is a test")
        return save(store, stored, table, *args, **options)

    failed: list[Table] = []
    save = Store.save
    monkeypatch.setattr(Store, "save", fail_twice)
    done = tower("match", "draft", "--db", str(db), typed=FIRST_WINS + "9\nquit\n")
    assert "You can continue" in done.stderr
    assert done.stdout.endswith(f"tower resume m1 --db {db}\n")
    assert len(failed) == 2
    assert load_moves(db) == [(9, 8, 6), (9,)]


def test_match_deleted_meanwhile_is_played_to_its_end(
    monkeypatch: pytest.MonkeyPatch, tower: Tower
) -> None:
    def claim_nothing(connection: Connection, match: StoredMatch) -> MatchSlot:
        if match.series.match.number == 2:
            raise GameNotFoundError(match.id)
        return claim_slot(connection, match)

    claim_slot = matches.claim_slot
    monkeypatch.setattr(matches, "claim_slot", claim_nothing)
    done = tower("match", "draft", typed=FIRST_WINS * 3)
    assert "this match was deleted elsewhere; its game is saved on its own" in done.stderr
    assert done.stdout.endswith("Player 1 wins the match!\n")
    left = tower("match", "draft", typed=FIRST_WINS + "9\nquit\n")
    assert left.stdout.endswith("you can resume only this game of it: tower resume 5\n")


def test_deleted_match_is_deleted_with_its_games(tower: Tower, db: Path) -> None:
    tower("match", "draft", typed=FIRST_WINS + "9\n")
    tower("play", "draft", typed="9\n")
    store = open_store(db)
    deleted = matches.delete_match(store, 1)
    assert [game.slot for game in deleted] == [MatchSlot(1, 1), MatchSlot(1, 2)]
    assert list_matches(store) == []
    assert run_sql(db, "SELECT count(*) FROM games UNION ALL SELECT count(*) FROM changes") == [
        (1,), (1,),
    ]  # fmt: skip
    with pytest.raises(GameNotFoundError):
        matches.delete_match(store, 1)


# To another machine -------------------------------------------------------------------------------


def serialize_match(db: Path, slot: MatchSlot, **changes: object) -> dict[str, Any]:
    """Return what an exported line says of a match, as it is read from JSON."""
    with open_store(db).read() as connection:
        return {**json.loads(json.dumps(matches.serialize_match(connection, slot))), **changes}


def test_exported_match_is_imported_as_it_was(tower: Tower, db: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[rules]\nblocks = "1-2"\ntarget = 1\n')
    options = "--vs easy --seed 2 --names Ann,Ben --first 2"
    tower("match", f"draft,{path}", *options.split(), typed="9\n")
    here, there = open_store(db), open_store(tmp_path / "there.db")
    line = serialize_match(db, MatchSlot(1, 2))
    second = Table(Game(load(str(path)).rules, 0), "mine")
    with there.write() as connection:
        for _ in range(2):
            assert matches.parse_match(line, second).claim_slot(connection) == MatchSlot(1, 2)
    exported, imported = matches.get_match(here, 1), matches.get_match(there, 1)
    assert imported == replace(exported, seats=Seats((None, "easy"), 2), current=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "x"}, {"games": []}, {"games": [{}]}, {"best_of": 0}, {"first": 3}, {"hidden": 1},
        {"names": ["Ann"]}, {"players": [1, 2]}, {"seed": "1"}, {"started": "now"}, {"number": 4},
        {"games": [{"name": "x", "rules": {"blocks": 0}, "rulebook": None}]},
        {"games": [{"name": 1, "rules": {}, "rulebook": None}]},
    ],
)  # fmt: skip
def test_imported_match_with_a_wrong_value_is_refused(db: Path, wrong: dict[str, object]) -> None:
    right = {
        "key": "0" * 32, "games": [{"name": "x", "rules": {}, "rulebook": None}], "best_of": 3,
        "first": 1, "hidden": False, "names": None, "players": [None, None], "seed": None,
        "started": "2027-01-31T10:00:00.000000Z", "number": 1,
    }  # fmt: skip
    table = Table(Game(), "x")
    with pytest.raises(ValueError, match="expected"):
        matches.parse_match({**right, **wrong}, table)
    with open_store(db).write() as connection:
        assert matches.parse_match(right, table).claim_slot(connection) == MatchSlot(1, 1)


def test_imported_match_takes_only_its_own_games(tower: Tower, db: Path) -> None:
    tower("match", "climb", "--names", "Ann,Ben", typed="30\n30\n")
    line = serialize_match(db, MatchSlot(1, 2), number=3)
    climb, race = load("climb").rules, load("race").rules
    assert matches.parse_match(line, Table(Game(climb), "climb")).number == 3
    for other in (
        Table(Game(race), "race"),
        Table(Game(climb, 1), "climb"),
        Table(Game(climb), "climb", hidden=True),
    ):
        with pytest.raises(ValueError, match="expected its game 3"):
            matches.parse_match(line, other)


def test_different_match_with_a_stored_key_is_not_imported(tower: Tower, db: Path) -> None:
    tower("match", "climb", "--names", "Ann,Ben", typed="30\n30\n")
    line = serialize_match(db, MatchSlot(1, 2), number=3, names=["Eve", "Mal"])
    other = matches.parse_match(line, Table(Game(rules("climb")), "climb"))
    with open_store(db).write() as connection:
        assert other.claim_slot(connection) is None


@pytest.mark.parametrize(
    "document",
    ["nonsense", "{}", "[]", '{"games": [], "best_of": 3, "first": 1, "hidden": false}'],
)
def test_damaged_match_is_reported(document: str, tower: Tower, db: Path) -> None:
    tower("match", "draft", "--names", "Ann,Ben", typed=FIRST_WINS)
    with open_store(db).write() as connection:
        connection.execute(schema.matches.update().values(document=document))
    done = tower("resume", "m1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "match m1 is damaged in the database: " in done.stderr
