"""Saved games: listed by game, player, result and date, named by an id, and deleted."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store import games
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, ResultFilter, list_games
from number_tower.store.rows import Seats, StoredGame
from support.command import Tower, transcribe
from support.sizes import examples
from support.stores import create_database, make_draft, open_store

PLAYED = (
    ("draft", (9, 8, 6), ("Ann", "Ben"), "2027-01-31T10:00:00.000000Z"),
    ("draft", (9, 8), ("Ann", "Cleo"), "2027-02-01T10:00:00.000000Z"),
    ("summit", (9, 8, 3), ("Ben", "ANN"), "2027-02-02T10:00:00.000000Z"),
    ("climb", (30,), None, "2027-02-03T10:00:00.000000Z"),
    ("draft", (7, 9, 5), ("Zoë", "Ann"), "2027-02-04T10:00:00.000000Z"),
)


def store_game(store: Store, table: Table, time: str, key: int) -> StoredGame:
    """Store a game all of whose moves were made at one time."""
    book = catalogue.load(table.rulebook)
    table = replace(table, rulebook=book.name, book=book)
    times = (time,) * (table.version + 1)
    with store.write() as connection:
        return games.insert_game(connection, StoredGame(0, f"{key:032x}", table, Seats(), times))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = create_database(tmp_path_factory.mktemp("played") / "games.db")
    with closing(open_store(file)) as store:
        for key, (name, moves, names, at) in enumerate(PLAYED):
            table = Table(Game(catalogue.load(name).rules, 0, moves), name, names)
            store_game(store, table, at, key)
    return file


@pytest.fixture
def file(played: Path, tmp_path: Path) -> Path:
    """A copy of the played games, as games.db."""
    return Path(shutil.copy(played, tmp_path / "games.db"))


@pytest.fixture(autouse=True)
def _in_greenwich(monkeypatch: pytest.MonkeyPatch, file: Path) -> Iterator[None]:
    monkeypatch.setenv("NUMBER_TOWER_DB", file.name)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def list_ids(call_tower: Tower, *arguments: str) -> list[int]:
    document = json.loads(call_tower("history", "--json", *arguments).stdout)
    return [game["id"] for game in document["games"]]


def test_calls_about_saved_games_print_what_the_snapshot_shows(
    call_tower: Tower, snapshot: SnapshotAssertion
) -> None:
    shown = transcribe(
        call_tower, "history", "history --count 2", "history --count 2 --page 3",
        "history --page 9", "history --game race", "history --result won", "history --db new.db",
        "history --json --db new.db", "review 77", "solve 77", "resume 77", "forget 1 3",
        "forget 1", "forget draft:9,8", "history --db none", "export --db none",
        "forget 1 --db none", "stats --db none", "import games.jsonl --db none",
        "review --replay 1 --db none", "db --db NONE",
    )  # fmt: skip
    assert shown == snapshot


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ("--game draft", [5, 2, 1]),
        ("--game DRAFT", [5, 2, 1]),
        ("--player ann", [5, 3, 2, 1]),
        ("--player zoË", [5]),
        ("--player ann --result won", [1]),
        ("--player Ann --result lost", [3]),
        ("--result unfinished", [5, 2]),
        ("--result finished", [4, 3, 1]),
        ("--result drawn", []),
        ("--since 2027-02-02", [5, 4, 3]),
        ("--until 2027-02-01", [2, 1]),
        ("--since 2027-02-01 --until 2027-02-02", [3, 2]),
        ("--game draft --player ann --result unfinished --until 2027-02-01", [2]),
        ("--since 0001-01-01 --until 9999-12-31", [5, 4, 3, 2, 1]),
        ("--count 2", [5, 4]),
        ("--count 2 --page 3", [1]),
    ],
)
def test_games_are_listed_by_what_they_were(
    call_tower: Tower, arguments: str, ids: list[int]
) -> None:
    assert list_ids(call_tower, *arguments.split()) == ids


def test_player_without_a_name_is_listed_by_the_word_of_the_game(call_tower: Tower) -> None:
    assert list_ids(call_tower, "--player", "player 2") == [4]


def test_days_are_those_of_the_time_zone(
    call_tower: Tower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    assert list_ids(call_tower, "--since", "2027-02-05") == [5]
    assert "2027-02-05 00:00" in call_tower("history", "--count", "1").stdout


def test_history_as_a_document_has_these_keys(call_tower: Tower) -> None:
    (game,) = json.loads(call_tower("history", "--json", "--count", "1").stdout)["games"]
    assert [*game] == [
        "id", "started", "changed", "players", "match", "version", "with_values", "line",
        "number_tower", "game", "rules", "options", "names", "hidden", "first", "moves", "result",
    ]  # fmt: skip
    assert game["line"] == "draft(names=Zoë,Ann):7,9,5"


def test_game_with_values_is_marked(call_tower: Tower, store: Store) -> None:
    with store.write() as connection:
        games.mark_with_values(connection, store.get(1))
    marked = [line for line in call_tower("history").stdout.splitlines() if "with values" in line]
    assert [line.split()[0] for line in marked] == ["1"]
    listed = json.loads(call_tower("history", "--json").stdout)["games"]
    assert [game["with_values"] for game in listed] == [False] * 4 + [True]


def test_damaged_game_does_not_hide_the_others(call_tower: Tower, store: Store) -> None:
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE games SET rules = '{' WHERE id = 3")
    assert "3                    (damaged)" in call_tower("history").stdout
    assert "Ann - Cleo" in call_tower("history").stdout
    listed = json.loads(call_tower("history", "--json").stdout)["games"]
    assert listed[2].keys() == {"id", "damaged"}


def test_wide_letters_keep_the_columns_aligned(call_tower: Tower, tmp_path: Path) -> None:
    with closing(open_store(create_database(tmp_path / "wide.db"))) as store:
        for key, names in enumerate([("A" * 40, "B" * 40), ("李小龍", "Ben")]):
            day = f"2027-01-0{9 - key}T10:00:00.000000Z"
            store_game(store, make_draft(9, names=names), day, key)
    lines = call_tower("history", "--db", "wide.db").stdout.splitlines()
    assert lines[1] == f" 1  2027-01-09 10:00  draft  {'A' * 40} - {'B' * 40}  unfinished, 1 move"
    assert lines[2] == f" 2  2027-01-08 10:00  draft  李小龍 - Ben{' ' * 71}  unfinished, 1 move"


@settings(max_examples=examples(25))
@given(data=st.data())
def test_filter_of_the_database_agrees_with_a_filter_in_python(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    days = [f"2027-01-0{day}T00:00:00.000000Z" for day in range(1, 10)]
    file = create_database(tmp_path_factory.mktemp("any") / "games.db")
    with closing(open_store(file)) as store:
        stored = []
        for key in range(data.draw(st.integers(0, 8))):
            name = data.draw(st.sampled_from(["draft", "factor"]))
            first, second, _ = data.draw(st.permutations(("Ann", "Ben", "Cleo")))
            table = Table(Game(catalogue.load(name).rules), name, (first, second))
            while table.outcome is None and data.draw(st.integers(0, 9)):
                table = table.play(data.draw(st.sampled_from(table.game.legal)))
            stored.append(store_game(store, table, data.draw(st.sampled_from(days)), key))
        results: tuple[ResultFilter, ...] = ("won", "lost", "drawn", "finished", "unfinished")
        wanted = GameFilter(
            data.draw(st.none() | st.sampled_from(["draft", "factor", "race"])),
            data.draw(st.none() | st.sampled_from(["ann", "BEN"])),
            data.draw(st.none() | st.sampled_from(results)),
            data.draw(st.none() | st.sampled_from(days)),
            data.draw(st.none() | st.sampled_from(days)),
        )
        if wanted.result in {"won", "lost"} and wanted.player is None:
            wanted = wanted._replace(player="cleo")
        count, skip = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3))
        with store.read() as connection:
            listed, total = list_games(connection, wanted, count, skip)
    fitting = [game for game in stored if fits(game, wanted)]
    expected = sorted(fitting, key=lambda game: (game.changed, game.id))[::-1]
    assert total == len(expected)
    assert list(listed) == expected[skip : skip + count]
    assert not any(isinstance(game, DamagedEntry) for game in listed)


def fits(game: StoredGame, wanted: GameFilter) -> bool:
    table, outcome = game.table, game.table.outcome
    assert table.names is not None
    seats = [seat for seat in (0, 1) if table.names[seat].lower() == (wanted.player or "").lower()]
    if outcome is None:
        results = {"unfinished"}
    elif outcome.winner is None:
        results = {"finished", "drawn"}
    else:
        results = {"finished", "won" if outcome.winner in seats else "lost"}
    return (
        wanted.game in {None, table.rulebook}
        and (wanted.player is None or bool(seats))
        and (wanted.result is None or wanted.result in results)
        and (wanted.since is None or game.changed >= wanted.since)
        and (wanted.before is None or game.changed < wanted.before)
    )


# By id --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["review", "solve", "resume"])
def test_id_is_accepted_wherever_a_record_is(call_tower: Tower, command: str) -> None:
    by_id = call_tower(command, "1")
    assert by_id.returncode == 0
    assert by_id == call_tower(command, "draft(names=Ann,Ben):9,8,6")


def test_deleted_games_are_not_listed_any_more(call_tower: Tower) -> None:
    assert call_tower("forget", "1", "3").returncode == 0
    assert list_ids(call_tower) == [5, 4, 2]
    assert call_tower("forget", "1").returncode == 2
