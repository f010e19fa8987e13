"""What was played: listed by game, player, result and date, named by an id, and forgotten."""

from __future__ import annotations

import io
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.store import games
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, ResultFilter, list_games
from number_tower.store.rows import Seats, StoredGame
from number_tower.store.schema import NEWEST
from number_tower.terminal.cli.main import main
from support.clocks import SLOW
from support.command import TOWER, plain_environment, run_tower
from support.sizes import examples
from support.stores import open_store

PLAYED = (
    ("draft", (9, 8, 6), ("Ann", "Ben"), "2027-01-31T10:00:00.000000Z"),
    ("draft", (9, 8), ("Ann", "Cleo"), "2027-02-01T10:00:00.000000Z"),
    ("summit", (9, 8, 3), ("Ben", "ANN"), "2027-02-02T10:00:00.000000Z"),
    ("climb", (30,), None, "2027-02-03T10:00:00.000000Z"),
    ("draft", (7, 9, 5), ("Zoë", "Ann"), "2027-02-04T10:00:00.000000Z"),
)


def keep(store: Store, table: Table, at: str, key: int) -> StoredGame:
    book = catalogue.load(table.rulebook)
    with store.write() as connection:
        return games.insert_game(
            connection,
            StoredGame(
                0,
                f"{key:032x}",
                replace(table, rulebook=book.name, book=book),
                Seats(),
                (at,) * (table.version + 1),
            ),
        )


@pytest.fixture
def database(tmp_path: Path) -> str:
    store = open_store(tmp_path / "games.db")
    for key, (name, moves, names, at) in enumerate(PLAYED):
        keep(store, Table(Game(catalogue.load(name).rules, 0, moves), name, names), at, key)
    store.close()
    return str(tmp_path / "games.db")


@pytest.fixture(autouse=True)
def _in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def history(database: str, *arguments: str) -> str:
    """Ask for the history in this process: the library is loaded only once."""
    shown = io.StringIO()
    with redirect_stdout(shown):
        assert main(["history", "--db", database, *arguments]) == 0
    return shown.getvalue()


def ids(database: str, *arguments: str) -> list[int]:
    return [game["id"] for game in json.loads(history(database, "--json", *arguments))["games"]]


def test_the_last_played_comes_first(database: str) -> None:
    assert history(database) == (
        "id  last move         game    players              result\n"
        " 5  2027-02-04 10:00  draft   Zoë - Ann            unfinished, 3 moves\n"
        " 4  2027-02-03 10:00  climb   Player 1 - Player 2  Player 1 wins (opponent stuck)\n"
        " 3  2027-02-02 10:00  summit  Ben - ANN            Ben wins (target reached)\n"
        " 2  2027-02-01 10:00  draft   Ann - Cleo           unfinished, 2 moves\n"
        " 1  2027-01-31 10:00  draft   Ann - Ben            Ann wins (target reached)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--game", "draft"], [5, 2, 1]),
        (["--game", "DRAFT"], [5, 2, 1]),
        (["--player", "ann"], [5, 3, 2, 1]),
        (["--player", "zoË"], [5]),
        (["--player", "player 2"], [4]),
        (["--player", "ann", "--result", "won"], [1]),
        (["--player", "Ann", "--result", "lost"], [3]),
        (["--result", "unfinished"], [5, 2]),
        (["--result", "finished"], [4, 3, 1]),
        (["--result", "drawn"], []),
        (["--since", "2027-02-02"], [5, 4, 3]),
        (["--until", "2027-02-01"], [2, 1]),
        (["--since", "2027-02-01", "--until", "2027-02-02"], [3, 2]),
        (
            [
                "--game",
                "draft",
                "--player",
                "ann",
                "--result",
                "unfinished",
                "--until",
                "2027-02-01",
            ],
            [2],
        ),
        (["--since", "0001-01-01", "--until", "9999-12-31"], [5, 4, 3, 2, 1]),
        (["--count", "2"], [5, 4]),
        (["--count", "2", "--page", "3"], [1]),
    ],
)
def test_games_are_found_by_what_they_were(
    database: str, arguments: list[str], found: list[int]
) -> None:
    assert ids(database, *arguments) == found


def test_days_are_those_where_the_player_is(database: str) -> None:
    late = run_tower(
        "history",
        "--since",
        "2027-02-05",
        "--json",
        NUMBER_TOWER_DB=database,
        TZ="Pacific/Kiritimati",
    )
    assert [game["id"] for game in json.loads(late.stdout)["games"]] == [5]
    seen = run_tower(
        "history", "--count", "1", NUMBER_TOWER_DB=database, TZ="Pacific/Kiritimati"
    ).stdout
    assert "2027-02-05 00:00" in seen


def test_a_page_says_where_it_stands(database: str) -> None:
    assert history(database, "--count", "2").endswith(
        "\nPage 1 of 3, 5 games in all; next page: --page 2.\n"
    )
    assert history(database, "--count", "2", "--page", "3").endswith(
        "\nPage 3 of 3, 5 games in all.\n"
    )
    beyond = run_tower("history", "--page", "9", NUMBER_TOWER_DB=database)
    assert (beyond.returncode, beyond.stderr) == (2, "tower: --page 9: there is only 1 page\n")


def test_no_games_are_no_error(tmp_path: Path, database: str) -> None:
    empty = str(tmp_path / "none.db")
    assert history(empty) == f"No games are saved in {empty} yet. To play one: tower play GAME\n"
    assert not Path(empty).exists()
    assert json.loads(history(empty, "--json")) == {"total": 0, "page": 1, "count": 20, "games": []}
    assert (
        history(database, "--game", "race") == "No games match. To list all games: tower history\n"
    )


def test_who_won_needs_a_player(database: str) -> None:
    done = run_tower("history", "--result", "won", NUMBER_TOWER_DB=database)
    assert (done.returncode, done.stderr) == (
        2,
        "tower: --result won: by whom? Add --player NAME\n",
    )


def test_the_keys_for_programs(database: str) -> None:
    (game,) = json.loads(history(database, "--json", "--count", "1"))["games"]
    assert [*game] == [
        "id", "started", "changed", "players", "match", "version", "with_values", "line",
        "number_tower", "game", "rules", "options", "names", "hidden", "first", "moves", "result",
    ]  # fmt: skip
    assert game["line"] == "draft(names=Zoë,Ann):7,9,5"


def test_a_game_with_values_says_so(database: str) -> None:
    store = open_store(database)
    with store.write() as connection:
        games.mark_with_values(connection, store.get(1))
    store.close()
    lines = history(database).splitlines()
    assert [line.rsplit("  ")[-1] for line in lines if "values" in line] == [
        "Ann wins (target reached), with values"
    ]
    assert [game["with_values"] for game in json.loads(history(database, "--json"))["games"]] == [
        False
    ] * 4 + [True]


def test_a_damaged_game_does_not_hide_the_others(database: str) -> None:
    store = open_store(database)
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE games SET rules = '{' WHERE id = 3")
    assert "3                    (damaged)" in history(database)
    assert "Ann - Cleo" in history(database)
    assert json.loads(history(database, "--json"))["games"][2].keys() == {"id", "damaged"}


def test_wide_letters_stand_in_their_columns(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    rules = catalogue.load("draft").rules
    for key, names in enumerate([("A" * 40, "B" * 40), ("李小龍", "Ben")]):
        keep(
            store,
            Table(Game(rules, 0, (9,)), "draft", names),
            f"2027-01-0{9 - key}T10:00:00.000000Z",
            key,
        )
    lines = history(str(tmp_path / "games.db")).splitlines()
    assert lines[1] == f" 1  2027-01-09 10:00  draft  {'A' * 40} - {'B' * 40}  unfinished, 1 move"
    assert lines[2] == f" 2  2027-01-08 10:00  draft  李小龍 - Ben{' ' * 71}  unfinished, 1 move"


@settings(max_examples=examples(25))
@given(data=st.data())
def test_looking_for_games_agrees_with_going_through_all_of_them(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = open_store(tmp_path_factory.mktemp("any") / "games.db")
    names = ("Ann", "Ben", "Cleo")
    days = [f"2027-01-0{day}T00:00:00.000000Z" for day in range(1, 10)]
    kept = []
    for key in range(data.draw(st.integers(0, 8))):
        name = data.draw(st.sampled_from(["draft", "factor"]))
        one, other, _ = data.draw(st.permutations(names))
        table = Table(Game(catalogue.load(name).rules), name, (one, other))
        while table.outcome is None and data.draw(st.integers(0, 9)):
            table = table.play(data.draw(st.sampled_from(table.game.legal)))
        kept.append(keep(store, table, data.draw(st.sampled_from(days)), key))
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
        found, total = list_games(connection, wanted, count, skip)
    expected = sorted(
        (game for game in kept if fits(game, wanted)), key=lambda game: (game.changed, game.id)
    )[::-1]
    assert total == len(expected)
    assert list(found) == expected[skip : skip + count]
    assert not any(isinstance(game, DamagedEntry) for game in found)
    store.close()


def fits(game: StoredGame, wanted: GameFilter) -> bool:
    table, outcome = game.table, game.table.outcome
    assert table.names is not None
    seats = [seat for seat in (0, 1) if table.names[seat].lower() == (wanted.player or "").lower()]
    results = {"unfinished"} if outcome is None else {"finished"}
    if outcome is not None:
        results |= (
            {"drawn"} if outcome.winner is None else {"won" if outcome.winner in seats else "lost"}
        )
    return (
        wanted.game in {None, table.rulebook}
        and (wanted.player is None or bool(seats))
        and (wanted.result is None or wanted.result in results)
        and (wanted.since is None or game.changed >= wanted.since)
        and (wanted.before is None or game.changed < wanted.before)
    )


# By its id ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["review", "solve", "resume"])
def test_an_id_stands_wherever_a_record_may(database: str, command: str) -> None:
    by_id = run_tower(command, "1", NUMBER_TOWER_DB=database)
    by_line = run_tower(command, "draft(names=Ann,Ben):9,8,6")
    assert by_id.returncode == 0
    assert (by_id.stdout, by_id.stderr) == (by_line.stdout, by_line.stderr)


@pytest.mark.parametrize("command", ["review", "solve", "resume"])
def test_an_id_that_is_none(database: str, command: str) -> None:
    done = run_tower(command, "77", NUMBER_TOWER_DB=database)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"tower: there is no game 77 in {database}; to list your games: tower history\n"
    )


def test_forgotten_games_are_told_and_gone(database: str) -> None:
    done = run_tower("forget", "1", "3", NUMBER_TOWER_DB=database)
    assert done.stdout == (
        "Deleted game 1. It was draft(names=Ann,Ben):9,8,6\nDeleted game 3. "
        "It was summit(names=Ben,ANN):9,8,3\n"
    )
    assert ids(database) == [5, 4, 2]
    again = run_tower("forget", "1", NUMBER_TOWER_DB=database)
    assert again.returncode == 2
    assert again.stderr.startswith("tower: there is no game 1 in ")


def test_only_ids_can_be_forgotten(database: str) -> None:
    done = run_tower("forget", "draft:9,8", NUMBER_TOWER_DB=database)
    assert done.returncode == 2
    assert (
        "expected a game's id, such as 12, or a match's, such as m3; got 'draft:9,8'" in done.stderr
    )


def test_where_games_are_kept_is_told(tmp_path: Path, database: str) -> None:
    told = run_tower("db", NUMBER_TOWER_DB=database).stdout
    assert told == (
        f"Games are saved in {database} (version {NEWEST}).\n5 games (2 unfinished), "
        "0 matches, 0 puzzles tried.\n"
    )
    absent = run_tower("db", "--db", str(tmp_path / "new.db")).stdout
    assert absent == f"Games will be saved in {tmp_path}/new.db, from the first move on.\n"
    made = run_tower("db", "upgrade", "--db", str(tmp_path / "new.db")).stdout
    assert made == f"{tmp_path}/new.db now has its tables, and is up to date (version {NEWEST}).\n"
    again = run_tower("db", "upgrade", "--db", str(tmp_path / "new.db")).stdout
    assert again == f"{tmp_path}/new.db is up to date (version {NEWEST}).\n"


@pytest.mark.parametrize(
    "command", [["history"], ["export"], ["forget", "1"], ["stats"], ["import"]]
)
def test_where_nothing_is_kept_nothing_is_found(command: list[str]) -> None:
    done = run_tower(*command)
    assert done.returncode == 2
    assert (
        done.stderr
        == "tower: games are not saved: --db, NUMBER_TOWER_DB or the settings file says none\n"
    )


def test_that_nothing_is_kept_is_an_answer_too() -> None:
    for call in (("db",), ("db", "--db", "NONE")):
        assert (
            run_tower(*call).stdout
            == "Games are not saved (--db, NUMBER_TOWER_DB or the settings file says none).\n"
        )


def test_a_reader_that_leaves_early_is_no_error(database: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{TOWER} export | head -n 1 | wc -l"],
        env=plain_environment(NUMBER_TOWER_DB=database), capture_output=True, text=True, check=True,
        timeout=SLOW,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("1", "")
