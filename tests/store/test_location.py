"""Where games are saved: by an option, by the environment, or where the system keeps user data."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower import store
from number_tower.store import LocationError
from number_tower.store.connection import make_engine
from number_tower.terminal.cli.database import LazyStore
from support.command import Tower, run_tower, transcribe
from support.postgres import make_location
from support.stores import open_store, run_sql, store_draft

SECRET = "hunter2"  # noqa: S105 - the tests look for it in messages
SERVER = "postgresql+psycopg://ann@host/games"


@pytest.fixture(autouse=True)
def _new_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(store.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def find_file(source: str | None) -> str | None:
    location = store.find_location(source)
    return None if location is None else location.file


# What names a database ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "file"),
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
def test_file_is_found_by_its_name(tmp_path: Path, source: str, file: str) -> None:
    location = make_location(source)
    assert (location.file, location.url) == (str(tmp_path / file), None)


def test_file_is_found_by_its_full_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/games.db"
    assert make_location(url) == make_location(str(tmp_path / "games.db"))


@pytest.mark.parametrize(
    "name", ["my games?.db", "100%25.db", "a#b&c=d.db", "Türme 塔 👩‍👧.db", "'; --.db", "a:b@c.db"]
)
def test_games_are_saved_in_the_named_file_and_no_other(tmp_path: Path, name: str) -> None:
    with closing(open_store(name)) as opened:
        store_draft(opened, 9)
    assert os.listdir(tmp_path) == [name]
    assert run_sql(name, "SELECT moves FROM games") == [("9",)]


@pytest.mark.skipif(sys.platform == "darwin", reason="there every name is text")
def test_name_that_is_no_text_is_the_name_of_a_file(tmp_path: Path) -> None:
    open_store(os.fsdecode(b"\xff.db")).close()
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff.db"]
    assert make_location(os.fsdecode(b"\xff.db")).name.isprintable()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_server_is_found_by_its_url(scheme: str) -> None:
    location = make_location(f"{scheme}://ann@host/games")
    assert tuple(location) == (SERVER, None, f"{scheme}://ann@host/games")
    engine = make_engine(location, timeout=3)
    assert (engine.dialect.name, engine.dialect.driver) == ("postgresql", "psycopg")
    assert (engine.url.host, engine.url.query["connect_timeout"]) == ("host", "3")


def test_options_of_a_url_override_the_defaults(tmp_path: Path) -> None:
    engine = make_engine(make_location(f"{SERVER}?connect_timeout=7"))
    assert engine.url.query["connect_timeout"] == "7"
    engine = make_engine(make_location(f"sqlite:///{tmp_path}/games.db?timeout=0.5"))
    assert engine.url.query["timeout"] == "0.5"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("mysql://root@host/games", "expected a file, postgresql://USER@HOST/NAME, or none; got '"),
        ("sqlite://", "expected a file"),
        ("https://example.org", "expected a file"),
        ("://", "expected a file"),
        ("sqlite:///", "names no file"),
    ],
)
def test_wrong_location_is_refused_with_what_is_expected(source: str, message: str) -> None:
    with pytest.raises(LocationError, match=message):
        store.find_location(source)


# Which location is chosen -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "environment", "file"),
    [
        (None, "there.db", "there.db"),
        ("here.db", "there.db", "here.db"),
        ("here.db", "none", "here.db"),
        ("none", "there.db", None),
        (None, "none", None),
    ],
)
def test_option_overrides_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    option: str | None,
    environment: str,
    file: str | None,
) -> None:
    monkeypatch.setenv(store.ENVIRONMENT_VARIABLE, environment)
    assert find_file(option) == (None if file is None else str(tmp_path / file))


def test_empty_choice_is_the_default_location(monkeypatch: pytest.MonkeyPatch) -> None:
    default = find_file(None)
    monkeypatch.setenv(store.ENVIRONMENT_VARIABLE, "")
    assert find_file(None) == default
    monkeypatch.setenv(store.ENVIRONMENT_VARIABLE, "there.db")
    assert find_file("") == default


@pytest.mark.skipif(sys.platform != "linux", reason="this is the convention there")
def test_default_location_is_where_the_system_keeps_user_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "home/.local/share/number-tower/games.db"
    assert find_file(None) == str(file)
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": "", "NUMBER_TOWER_DB": ""}
    left = run_tower("play", "draft", typed="9\n8\nquit\n", cwd=tmp_path, **home)
    assert left.stdout.endswith("Resume it with: tower resume 1\n")
    assert run_tower("resume", typed="6\n", cwd=tmp_path, **home).returncode == 0
    assert run_sql(file, "SELECT moves, reason FROM games") == [("9,8,6", "exact")]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert find_file(None) == str(tmp_path / "data/number-tower/games.db")


@pytest.mark.parametrize("call", [("--no-save",), ("--db", "none"), ()])
def test_game_that_is_not_to_be_saved_makes_no_database(
    call_tower: Tower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: tuple[str, ...]
) -> None:
    if not call:
        monkeypatch.setenv(store.ENVIRONMENT_VARIABLE, "none")
    played = call_tower("play", "draft", *call, answers=["9", "8", "quit"])
    assert played.stdout.endswith("Resume it with: tower resume draft:9,8\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "environment", "name"),
    [
        (f"mysql://ann:{SECRET}@host/x", "none", "mysql://ann:***@host/x"),
        (None, f"mysql://host/x?password={SECRET}", "mysql://host/x?password=***"),
    ],
)
def test_wrong_location_ends_a_command_before_a_game_begins(
    call_tower: Tower,
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    environment: str,
    name: str,
) -> None:
    monkeypatch.setenv(store.ENVIRONMENT_VARIABLE, environment)
    options = () if option is None else ("--db", option)
    for call in ("play draft", "resume", "review --replay 1"):
        refused = call_tower(*call.split(), *options, answers=["9"])
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.endswith(f"; got '{name}'\n")


# Passwords ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"postgresql://ann:{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://ann:{SECRET}@@host:5432/x", "postgresql://ann:***@host:5432/x"),
        (f"postgresql://ann:a:{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://:{SECRET}@host/x", "postgresql://:***@host/x"),
        (f"postgresql://ann:a/{SECRET}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://host/x?password={SECRET}&user=ann",
         "postgresql://host/x?password=***&user=ann"),
        (f"postgresql://host/x?sslpassword={SECRET}", "postgresql://host/x?sslpassword=***"),
        ("postgresql://ann@host/x", "postgresql://ann@host/x"),
        ("postgresql:///x", "postgresql:///x"),
    ],
)  # fmt: skip
def test_name_of_a_server_has_no_password(url: str, name: str) -> None:
    assert make_location(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/x",
        f"postgresql://127.0.0.1:1/x?user=ann&password={SECRET}",
        f"postgresql://ann:{SECRET}@127.0.0.1:port/x",
    ],
)
def test_password_is_never_shown(call_tower: Tower, url: str) -> None:
    answers = ["9", "8", "save game.json", "quit"]
    played = call_tower("play", "draft", "--db", url, answers=answers)
    reviewed = call_tower("review", "--replay", "1", "--db", url)
    assert (played.returncode, reviewed.returncode) == (0, 1)
    shown = (
        played.stdout,
        played.stderr,
        reviewed.stdout,
        reviewed.stderr,
        Path("game.json").read_text(),
    )
    assert not any(SECRET in text for text in shown)
    assert all("***" in text for text in (played.stderr, reviewed.stderr))


@pytest.mark.parametrize(
    ("choice", "option"),
    [
        (f"postgresql://ann:{SECRET}@host/games", " --db 'postgresql://ann:***@host/games'"),
        ("my games.db", " --db 'my games.db'"),
        (None, ""),
    ],
)
def test_option_for_the_next_command_has_no_password(choice: str | None, option: str) -> None:
    assert LazyStore(choice).db_option == option


# Reading ------------------------------------------------------------------------------------------


def test_search_for_a_game_makes_no_database(
    call_tower: Tower, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    calls = ("resume", "resume 1", "review --replay 12", "review 1", "solve 1")
    shown = transcribe(call_tower, *(f"{call} --db not/there.db" for call in calls))
    assert list(tmp_path.iterdir()) == []
    open_store("games.db").close()
    shown += "\n" + transcribe(call_tower, "review --replay 7 --db games.db")
    assert shown == snapshot


def test_game_without_a_move_makes_no_database(call_tower: Tower, tmp_path: Path) -> None:
    played = call_tower("play", "draft", "--db", "games.db", answers=["quit"])
    assert played.stdout.endswith("No move was made, so there is nothing to save.\n")
    assert list(tmp_path.iterdir()) == []


def test_readers_do_not_wait_for_a_writer(call_tower: Tower) -> None:
    call_tower("play", "draft", "--db", "games.db", answers=["9", "quit"])
    with closing(sqlite3.connect("games.db", isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        read = call_tower("review", "--replay", "1", "--db", "sqlite:///games.db?timeout=0.1")
        assert read.returncode == 0
