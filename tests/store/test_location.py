"""Where games are kept: by word, by the environment, or where the system wants a user's data."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from number_tower import Game, Table
from number_tower import store as places
from number_tower.engine import catalogue
from number_tower.store import Location, LocationError
from number_tower.store.connection import make_engine
from number_tower.terminal.cli.database import LazyStore
from support.command import run_tower
from support.stores import Command, open_store, run_sql

SECRET = "hunter2"  # noqa: S105 - what is looked for in messages, and never found


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(places.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def found(given: str | None) -> Location:
    place = places.find_location(given)
    assert place is not None
    return place


# What names a place -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("games.db", "games.db"),
        ("./games.db", "games.db"),
        ("deep/er/games", "deep/er/games"),
        ("~/games.db", "home/games.db"),
        ("sqlite:///games.db", "games.db"),
        ("sqlite:///~/games.db", "home/games.db"),
        ("sqlite:///my%20games.db", "my games.db"),
        ("my games.db", "my games.db"),
        ("my%20games.db", "my%20games.db"),
        ("50%.db", "50%.db"),
        ("my games?.db", "my games?.db"),
        ("a#b&c=d.db", "a#b&c=d.db"),
        ("Türme 塔.db", "Türme 塔.db"),
    ],
)
def test_a_file_is_named_as_anywhere_else(tmp_path: Path, given: str, file: str) -> None:
    assert found(given).file == str(tmp_path / file)
    assert found(given).url is None


def test_a_file_by_its_full_url(tmp_path: Path) -> None:
    assert found(f"sqlite:///{tmp_path}/games.db") == found(str(tmp_path / "games.db"))


@pytest.mark.parametrize(
    "name",
    [
        "my games?.db",
        "50%.db",
        "100%25.db",
        "a#b&c=d.db",
        "Türme 塔 👩‍👧.db",
        "'; --.db",
        "a:b@c.db",
    ],
)
def test_games_are_kept_in_the_file_that_was_named_and_no_other(tmp_path: Path, name: str) -> None:
    book = catalogue.load("draft")
    store = open_store(name)
    store.begin(Table(Game(book.rules, moves=(9,)), "draft"), book)
    store.close()
    assert os.listdir(tmp_path) == [name]
    assert run_sql(name, "SELECT moves FROM games") == [("9",)]


def test_a_name_that_is_no_text_of_this_system_still_names_a_file(tmp_path: Path) -> None:
    if sys.platform == "darwin":
        pytest.skip("there every name is text")
    open_store(os.fsdecode(b"\xff.db")).close()
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff.db"]
    assert found(os.fsdecode(b"\xff.db")).name.isprintable()


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ann@host/games",
        "postgres://ann@host/games",
        "postgresql+psycopg://ann@host/games",
    ],
)
def test_a_server_is_named_by_its_url(given: str) -> None:
    place = found(given)
    assert (place.url, place.file, place.name) == (
        "postgresql+psycopg://ann@host/games",
        None,
        given,
    )
    engine = make_engine(place, timeout=3)
    assert (engine.dialect.name, engine.dialect.driver, engine.url.host) == (
        "postgresql",
        "psycopg",
        "host",
    )
    assert engine.url.query["connect_timeout"] == "3"


def test_what_an_url_says_itself_goes_before_what_is_usual(tmp_path: Path) -> None:
    engine = make_engine(found("postgresql://ann@host/games?connect_timeout=7"))
    assert engine.url.query["connect_timeout"] == "7"
    file = make_engine(found(f"sqlite:///{tmp_path}/games.db?timeout=0.5"))
    assert file.url.query["timeout"] == "0.5"


@pytest.mark.parametrize(
    "given", ["mysql://root@host/games", "sqlite://", "https://example.org", "://"]
)
def test_nonsense_is_refused_with_what_would_be_right(given: str) -> None:
    with pytest.raises(
        LocationError, match="expected a file, postgresql://USER@HOST/NAME, or none; got '"
    ):
        places.find_location(given)


def test_an_url_without_a_file_is_refused() -> None:
    with pytest.raises(LocationError, match="names no file"):
        places.find_location("sqlite:///")


# Which one is chosen ------------------------------------------------------------------------------


def test_the_word_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, "there.db")
    assert found(None).file == str(tmp_path / "there.db")
    assert found("here.db").file == str(tmp_path / "here.db")
    assert places.find_location("none") is None
    monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, "none")
    assert places.find_location(None) is None
    assert found("here.db").file == str(tmp_path / "here.db")


def test_nothing_chosen_is_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = found(None)
    monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, "")
    assert found(None) == usual
    monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, "there.db")
    assert found(None).name == "there.db"
    assert found("").file == usual.file


@pytest.mark.skipif(sys.platform != "linux", reason="this is the convention there")
def test_the_usual_place_is_where_the_system_wants_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert found(None).file == str(tmp_path / "home/.local/share/number-tower/games.db")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert found(None).file == str(tmp_path / "data/number-tower/games.db")


@pytest.mark.skipif(sys.platform != "linux", reason="this is the convention there")
def test_a_game_played_without_a_word_is_kept_there(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": "", "NUMBER_TOWER_DB": ""}
    left = run_tower("play", "draft", typed="9\n8\nquit\n", cwd=tmp_path, **home)
    assert left.stdout.endswith("Resume it with: tower resume 1\n")
    file = tmp_path / "home/.local/share/number-tower/games.db"
    assert run_sql(file, "SELECT moves FROM games") == [("9,8",)]
    assert run_tower("resume", typed="6\n", cwd=tmp_path, **home).returncode == 0
    assert run_sql(file, "SELECT moves, reason FROM games") == [("9,8,6", "exact")]


@pytest.mark.parametrize("call", [("--no-save",), ("--db", "none"), ()])
def test_where_nothing_is_to_be_kept_nothing_is(
    play: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: tuple[str, ...]
) -> None:
    if not call:
        monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, "none")
    played = play("play", "draft", *call, answers=["9", "8", "quit"])
    assert played.out.endswith("Resume it with: tower resume draft:9,8\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "environment", "got"),
    [
        (("--db", f"mysql://ann:{SECRET}@host/x"), "none", "mysql://ann:***@host/x"),
        ((), f"mysql://host/x?password={SECRET}", "mysql://host/x?password=***"),
    ],
)
def test_nonsense_ends_the_call_before_a_game_begins(
    play: Command,
    monkeypatch: pytest.MonkeyPatch,
    call: tuple[str, ...],
    environment: str,
    got: str,
) -> None:
    monkeypatch.setenv(places.ENVIRONMENT_VARIABLE, environment)
    for command in (("play", "draft"), ("resume",), ("review", "--replay", "1")):
        said = f"tower: expected a file, postgresql://USER@HOST/NAME, or none; got '{got}'\n"
        assert play(*command, *call, answers=["9"]) == (2, "", said)


def test_who_keeps_nothing_can_find_nothing(play: Command) -> None:
    said = "tower: games are not saved: --db, NUMBER_TOWER_DB or the settings file says none\n"
    assert play("review", "--replay", "1", "--db", "none") == (2, "", said)


# Passwords ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"postgresql://ann:{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://ann:{SECRET}@@host:5432/x", "postgresql://ann:***@host:5432/x"),
        (f"postgresql://ann:a:{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://:{SECRET}@host/x", "postgresql://:***@host/x"),
        (f"postgresql://ann:a/{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (
            f"postgresql://host/x?password={SECRET}&user=ann",
            "postgresql://host/x?password=***&user=ann",
        ),
        (f"postgresql://host/x?sslpassword={SECRET}", "postgresql://host/x?sslpassword=***"),
        ("postgresql://ann@host/x", "postgresql://ann@host/x"),
        ("postgresql:///x", "postgresql:///x"),
    ],
)
def test_a_password_is_left_out_of_what_a_server_is_called(url: str, name: str) -> None:
    assert found(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/x",
        f"postgresql://127.0.0.1:1/x?user=ann&password={SECRET}",
        f"postgresql://ann:{SECRET}@127.0.0.1:port/x",
    ],
)
def test_a_password_is_never_shown(play: Command, tmp_path: Path, url: str) -> None:
    played = play("play", "draft", "--db", url, answers=["9", "8", "save game.json", "quit"])
    sought = play("review", "--replay", "1", "--db", url)
    assert (played.code, sought.code) == (0, 1)
    for said in (
        played.out,
        played.err,
        sought.out,
        sought.err,
        (tmp_path / "game.json").read_text(),
    ):
        assert SECRET not in said
    assert "***" in played.err
    assert "***" in sought.err


def test_nor_in_the_line_that_says_how_to_go_on() -> None:
    shelf = LazyStore(f"postgresql://ann:{SECRET}@host/games")
    assert shelf.db_option == " --db 'postgresql://ann:***@host/games'"
    assert LazyStore("my games.db").db_option == " --db 'my games.db'"
    assert LazyStore(None).db_option == ""


# Looking makes nothing ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("resume",), "there is no unfinished game: nothing is saved in {file} yet"),
        (("resume", "1"), "there is no game 1: nothing is saved in {file} yet"),
        (("review", "--replay", "12"), "there is no game 12: nothing is saved in {file} yet"),
        (("review", "1"), "there is no game 1: nothing is saved in {file} yet"),
        (("solve", "1"), "there is no game 1: nothing is saved in {file} yet"),
    ],
)
def test_looking_for_a_game_makes_no_database(
    play: Command, tmp_path: Path, call: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "not" / "there.db"
    assert play(*call, "--db", str(file)) == (2, "", f"tower: {said.format(file=file)}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_game_without_a_move_makes_no_database(play: Command, tmp_path: Path) -> None:
    done = play("play", "draft", "--db", "games.db", answers=["quit"])
    assert done.out.endswith("No move was made, so there is nothing to save.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_game_that_is_not_there_is_said_to_be_missing_from_where_it_was_looked_for(
    play: Command,
) -> None:
    open_store("games.db").close()
    said = "there is no game 7 in games.db; to list your games: tower history --db games.db"
    assert play("review", "--replay", "7", "--db", "games.db") == (2, "", f"tower: {said}\n")


def test_readers_do_not_wait_for_a_writer(play: Command) -> None:
    play("play", "draft", "--db", "games.db", answers=["9", "quit"])
    with closing(sqlite3.connect("games.db", isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert play("review", "--replay", "1", "--db", "sqlite:///games.db?timeout=0.1").code == 0
