"""Databases of every earlier form: they take on the newest by themselves, and every game is found as it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from number_tower import Game, Table, catalogue, record
from number_tower.match import Match
from number_tower.store import StoreError, engine, matches, schema, upgrade
from number_tower.store.database import Store
from number_tower.store.engine import make_engine
from number_tower.store.rows import StoredGame
from number_tower.store.upgrade import migrate, read_version
from number_tower.table import Change
from support.dumps import FORMS, HELD, Known, connected, content, copy, loaded
from support.postgres import brought_up_to_date, on_server, place_of
from support.stores import by_hand, store_in
from support.tables import create_tables, run_migrations

pytest_plugins = ["support.postgres"]


SCRIPTS = Path(engine.__file__).parent / "migrations"


@pytest.fixture(autouse=True)
def migrating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the migrations run, which other tests spare themselves."""
    monkeypatch.setattr(upgrade, "migrate", run_migrations)


def described(kept: StoredGame) -> Known:
    log = ", ".join(change.written() for change in kept.table.log)
    line = record.to_line(kept.table, files=True)
    return Known(line, log, kept.started[:10], kept.seats, kept.slot, kept.with_values)


# Every earlier form ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", HELD)
def test_every_game_of_an_earlier_form_is_found_as_it_was(tmp_path: Path, form: str) -> None:
    file = loaded(form, tmp_path / "games.db")
    check(store_in(file), form)
    assert by_hand(file, "SELECT version_num FROM alembic_version") == [(schema.NEWEST,)]


def check(store: Store, form: str) -> None:
    for identity, known in HELD[form].items():
        kept = store.get(identity)
        assert described(kept) == known
        assert list(kept.times) == sorted(kept.times)
    own = store.get(4).table.book
    assert (own.title, own.voice["prompt"]) == ("Countdown", "Step? ")
    if form > "0001":
        series = matches.get_match(store, 1).series
        assert (series.match, series.names) == (Match(3, 0, (0,)), ("Ann", "Ben"))
        assert [entry.book.name for entry in series.games] == ["draft"]
    store.close()


@pytest.mark.parametrize("form", HELD)
def test_games_of_an_earlier_form_go_on(tmp_path: Path, form: str) -> None:
    store = store_in(loaded(form, tmp_path / "games.db"))
    assert store.change(2, 7, Change("place", 5)).table.game.moves == (3, 4, 5)
    assert store.change(4, 2, Change("place", 1)).table.outcome == (0, "stuck")
    book = catalogue.load("draft")
    begun = store.begin(Table(Game(book.rules), "draft"), book)
    assert begun.id == max(*HELD[form], 9) + 1, (
        "the id of a game that was forgotten is still not used again"
    )
    store.close()


def test_what_was_counted_and_tried_before_is_still_known(tmp_path: Path) -> None:
    file = loaded("0003", tmp_path / "games.db")
    store_in(file).close()
    counted = "SELECT mattered_1, kept_1, mattered_2, kept_2 FROM games WHERE id = 1"
    assert by_hand(file, counted) == [(2, 1, 1, 0)]
    tried = "SELECT name, position, grade, result FROM puzzles"
    assert by_hand(file, tried) == [("Ann", "draft:9,8", 1, "right")]


@pytest.mark.parametrize("form", HELD)
@pytest.mark.parametrize("empty", ["postgresql"], indirect=True)
def test_a_server_takes_on_the_newest_form_with_all_its_games(
    tmp_path: Path, empty: str, form: str
) -> None:
    with connected(make_engine(place_of(empty))) as target:
        migrate(target, form)
        copy(loaded(form, tmp_path / "games.db"), target)
    if form != schema.NEWEST:
        with pytest.raises(
            StoreError, match=rf"has an older version \({form}\); .*: tower db upgrade"
        ):
            store_in(empty)
    assert brought_up_to_date(empty) == (form, schema.NEWEST)
    check(store_in(empty), form)


# What the migrations make ---------------------------------------------------------------------------------------------


def test_the_newest_form_is_where_the_migrations_lead() -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [schema.NEWEST]
    known = [step.revision for step in scripts.walk_revisions()][::-1]
    assert tuple(known) == upgrade._VERSIONS  # noqa: SLF001 - what the program believes to know


def test_there_is_a_database_of_every_form_to_try() -> None:
    assert (
        sorted(path.stem for path in FORMS.glob("*.sql"))
        == sorted(HELD)
        == sorted(upgrade._VERSIONS)  # noqa: SLF001 - likewise
    )


def is_compared(_: object, __: object, kind: str, *___: object) -> bool:
    """Leave out indexes and references: only the migrations have them."""
    return kind in {"table", "column"}


def test_the_migrations_make_the_tables_that_the_program_knows(empty: str) -> None:
    brought_up_to_date(empty)
    with connected(make_engine(place_of(empty))) as connection:
        options = {
            "compare_type": True,
            "compare_server_default": True,
            "include_object": is_compared,
        }
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
        assert read_version(connection) == schema.NEWEST


REFERENCES = {
    "changes": {("game", "games", "CASCADE")},
    "games": {("book", "rulebooks", None), ("match", "matches", None)},
    "hints": {("game", "games", "CASCADE")},
    "pairings": {("classroom", "classrooms", "CASCADE"), ("room", "rooms", "SET NULL")},
    "presence": {("room", "rooms", "CASCADE")},
    "pupils": {("classroom", "classrooms", "CASCADE")},
    "rounds": {("room", "rooms", "CASCADE"), ("game", "games", "CASCADE")},
    "seats": {("room", "rooms", "CASCADE")},
    "short_codes": {("room", "rooms", "CASCADE")},
    "teachers": {("classroom", "classrooms", "CASCADE")},
}
UNIQUE = {
    "classrooms": {("watch",)},
    "games": {("key",), ("match", "number")},
    "matches": {("key",)},
    "pairings": {("room",)},
    "puzzles": {("key",)},
    "rooms": {("address",), ("watch",)},
    "rounds": {("game",)},
    "rulebooks": {("digest",)},
    "short_codes": {("room",), ("classroom",)},
}
INDEXED = {
    "games": {
        ("book",), ("changed", "id"), ("changed",),
        ("player_1", "changed"), ("player_2", "changed"), ("rulebook", "changed"),
    },
    "matches": {("changed",)},
    "pupils": {("browser",)},
    "puzzles": {("player",)},
    "seats": {("browser",)},
    "teachers": {("browser",)},
}  # fmt: skip


def test_the_migrations_make_what_is_referred_to_unique_and_indexed(empty: str) -> None:
    brought_up_to_date(empty)
    with connected(make_engine(place_of(empty))) as connection:
        found = inspect(connection)
        for table in schema.metadata.tables:
            references = {
                (
                    *each["constrained_columns"],
                    each["referred_table"],
                    each["options"].get("ondelete"),
                )
                for each in found.get_foreign_keys(table)
            }
            unique = {tuple(each["column_names"]) for each in found.get_unique_constraints(table)}
            indexes = {
                tuple(map(str, each["column_names"])): each["unique"]
                for each in found.get_indexes(table)
            }
            unique |= {columns for columns, is_unique in indexes.items() if is_unique}
            assert references == REFERENCES.get(table, set()), table
            assert unique == UNIQUE.get(table, set()), table
            assert indexes.keys() - unique == INDEXED.get(table, set()), table


def test_the_databases_that_other_tests_begin_with_are_those_that_the_migrations_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_in(tmp_path / "new.db").close()
    monkeypatch.setattr(upgrade, "migrate", create_tables)
    store_in(tmp_path / "quick.db").close()
    for asked in (
        "SELECT type, name, tbl_name, sql FROM sqlite_master",
        "PRAGMA user_version",
        "PRAGMA application_id",
    ):
        assert by_hand(tmp_path / "quick.db", asked) == by_hand(tmp_path / "new.db", asked)
    assert content(tmp_path / "quick.db") == content(tmp_path / "new.db")
    assert by_hand(tmp_path / "quick.db", "SELECT * FROM alembic_version") == [(schema.NEWEST,)]


@pytest.mark.parametrize("form", HELD)
def test_the_tables_of_a_database_that_grew_are_those_of_a_new_one(
    tmp_path: Path, form: str
) -> None:
    store_in(loaded(form, tmp_path / "old.db")).close()
    store_in(tmp_path / "new.db").close()
    shapes = [
        by_hand(tmp_path / name, "SELECT name, sql FROM sqlite_master ORDER BY name")
        for name in ("old.db", "new.db")
    ]
    old, new = ([(name, " ".join((sql or "").split())) for name, sql in shape] for shape in shapes)
    assert old == new


def test_a_server_is_not_migrated_unasked(empty: str) -> None:
    if not on_server(empty):
        store_in(empty).close()
        return
    with pytest.raises(
        StoreError, match="has no tables for games yet; to upgrade it: tower db upgrade"
    ):
        store_in(empty)
    assert brought_up_to_date(empty) == (None, schema.NEWEST)
    assert brought_up_to_date(empty) == (schema.NEWEST, schema.NEWEST), "once more changes nothing"
    store_in(empty).close()


# What goes wrong ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["0001", "0002"])
def test_a_migration_that_fails_halfway_leaves_the_database_as_it_was(
    tmp_path: Path, form: str
) -> None:
    """The last step finds a table in its way, after the steps before it are done."""
    file = loaded(form, tmp_path / "games.db")
    by_hand(file, "CREATE TABLE puzzles (mine TEXT)")
    before = content(file)
    for _ in range(2):
        with pytest.raises(
            StoreError, match=r"games.db cannot be used: table puzzles already exists"
        ):
            store_in(file)
        assert content(file) == before
    by_hand(file, "DROP TABLE puzzles")
    check(store_in(file), form)


@pytest.mark.parametrize("empty", ["postgresql"], indirect=True)
def test_on_a_server_too(empty: str) -> None:
    with connected(make_engine(place_of(empty))) as connection:
        migrate(connection, "0001")
        connection.exec_driver_sql("CREATE TABLE puzzles (mine TEXT)")
    with pytest.raises(StoreError, match='cannot be used: relation "puzzles" already exists'):
        brought_up_to_date(empty)
    with connected(make_engine(place_of(empty))) as connection:
        assert read_version(connection) == "0001"
        assert not connection.exec_driver_sql(
            "SELECT 1 FROM pg_tables WHERE tablename = 'matches'"
        ).all()


def test_a_full_disk_in_the_middle_of_a_migration_leaves_the_database_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = loaded("0001", tmp_path / "games.db")
    before = content(file)
    prepare = engine._configure_sqlite  # noqa: SLF001 - a connection with a limit is what is needed here

    def no_room(connection: sqlite3.Connection, record: object) -> None:
        prepare(connection, record)  # type: ignore[arg-type]  # the driver's own, not SQLAlchemy's idea of it
        connection.execute("PRAGMA max_page_count = 1")

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_configure_sqlite", no_room)
        with pytest.raises(StoreError, match="the disk is full"):
            store_in(file)
    assert content(file) == before
    check(store_in(file), "0001")


def test_an_earlier_form_that_is_read_only_is_left_alone(tmp_path: Path) -> None:
    file = loaded("0002", tmp_path / "games.db")
    before = file.read_bytes()
    with pytest.raises(StoreError, match="cannot be used: it is read-only"):
        store_in(f"sqlite:///file:{file}?mode=ro&uri=true")
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["games.db"]


def test_where_the_program_is_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alembic reads its settings as a file in which % means something."""
    home = tmp_path / "100% mine"
    (home / "store").mkdir(parents=True)
    (home / "store" / "migrations").symlink_to(SCRIPTS, target_is_directory=True)
    monkeypatch.setattr(upgrade, "__file__", str(home / "store" / "upgrade.py"))
    store_in(tmp_path / "games.db").close()
    assert by_hand(tmp_path / "games.db", "SELECT version_num FROM alembic_version") == [
        (schema.NEWEST,)
    ]
