"""Damaged database files: every byte may be wrong, and only a StoreError is ever raised."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, Series
from number_tower.engine.table import Change
from number_tower.rooms.room import Move
from number_tower.store import (
    StoreError,
    database,
    games,
    maintenance,
    matches,
    puzzles,
    rooms,
    seats,
    statistics,
    transfer,
)
from number_tower.store.database import Store
from number_tower.store.games import GameFilter
from number_tower.store.matches import StoredMatch
from number_tower.store.rows import Seats
from number_tower.support.errors import NumberTowerError
from support.command import Tower
from support.sizes import size
from support.stored_rooms import open_room
from support.stores import (
    DRAFT,
    create_database,
    make_own_rulebook,
    open_store,
    run_sql,
    store_draft,
)

SEEDS = range(size(1, 300))
"""Seeds of the mutations of each kind."""


# A database with something in every table ---------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small database in one file: rows in every table, and a text that takes several pages."""
    file = create_database(tmp_path_factory.mktemp("whole") / "games.db")
    with closing(open_store(file)) as store:
        for line in LINES:
            table = record.read(line)
            store.begin(table, table.book)
        store_match(store)
        long = make_own_rulebook(DRAFT.rules, "long", "x" * 900)
        text = long.content + b"\n# " + b"y" * 9000 + b"\n"
        book = catalogue.parse_rulebook(text, "long", long.source)
        store.begin(Table(Game(book.rules, moves=(9,)), "long"), book)
        for best_of in (None, 3):
            store_room(store, best_of)
        with store.write() as connection:
            attempt = puzzles.make_attempt("Ann", "draft", "draft:9,8", 1, "right")
            puzzles.insert_attempt(connection, attempt)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript(FIXED)
    return file


LINES = (
    "draft:9,8,6",
    "summit(target=12,blocks=1-6,first=2,names=Zoë,李,hidden=yes):3,4",
    "race(names=Ann,Gentle,resigned=2):9",
    "climb(abandoned=yes):",
    "race:5,6",
)


def store_match(store: Store) -> None:
    """Store a match of two games, one of which is over."""
    series = Series((GameChoice(DRAFT, DRAFT.rules),), Match(3, 0), ("Ann", "Ben"))
    match = StoredMatch(None, "f" * 32, series, Seats())
    second = replace(match, series=replace(series, match=Match(3, 0, (0,))))
    for part, first, moves in ((match, 0, (9, 8, 6)), (second, 1, (7,))):
        table = Table(Game(DRAFT.rules, first, moves), "draft", ("Ann", "Ben"))
        store.begin(table, DRAFT, find_slot=partial(matches.claim_slot, match=part))


FIXED = """
PRAGMA journal_mode = DELETE;
UPDATE games SET key = printf('%032x', id),
  started = '2027-01-01T10:00:00.000000Z', changed = '2027-02-01T10:00:00.000000Z';
UPDATE changes SET at = '2027-01-01T10:01:00.000000Z';
UPDATE matches SET key = printf('%032x', id),
  started = '2027-01-01T10:00:00.000000Z', changed = '2027-02-01T10:00:00.000000Z';
UPDATE puzzles SET key = printf('%032x', id), at = '2027-01-01T10:01:00.000000Z';
UPDATE rooms SET address = printf('address%d', id), watch = printf('wwatch%d', id),
  changed = '2027-01-01T10:00:00.000000Z', code = NULL;
UPDATE seats SET token = printf('%064x', 2 * room + seat);
VACUUM;
"""
"""Puts the same keys and times into every database, so a seed always damages the same bytes."""


def store_room(store: Store, best_of: int | None) -> None:
    stored, _ = open_room(store, "free", best_of=best_of)
    with store.write() as connection:
        seats.sit(connection, stored, "Zoë")


# What a store is used for -------------------------------------------------------------------------


def read_by(query: Callable[[Connection], Any]) -> Callable[[Store], Any]:
    def read(store: Store) -> None:
        with store.read() as connection:
            answer = query(connection)
            if isinstance(answer, Iterator):
                list(answer)

    return read


def write_by(change: Callable[[Connection], Any]) -> Callable[[Store], Any]:
    def write(store: Store) -> None:
        with store.write() as connection:
            change(connection)

    return write


def use_games(store: Store) -> None:
    for identity in (*range(1, 7), *range(10, 17)):
        with suppress(NumberTowerError):
            stored = store.get(identity)
            store.reload_if_changed(stored)
            store.find_by_key(stored.key)
            table = stored.table
            if table.outcome is None:
                table = table.play(next(iter(table.game.legal)))
            store.save(stored, table)


def use_matches(store: Store) -> None:
    for identity in range(1, 4):
        with suppress(NumberTowerError):
            matches.get_match(store, identity)


def use_rooms(store: Store) -> None:
    with store.read() as connection:
        addresses = connection.exec_driver_sql("SELECT address FROM rooms").scalars().all()
    for address in addresses:
        with suppress(NumberTowerError), store.write() as connection:
            stored = rooms.find_room(connection, address)
            rooms.load_earlier_game(connection, stored, 1)
            after = stored.room.apply(frozenset({0, 1}), Move(stored.room.table.version, 9))
            rooms.update_room(connection, stored, after)


def list_page(game_filter: GameFilter) -> Callable[[Store], Any]:
    return read_by(lambda connection: games.list_games(connection, game_filter, 50))


USES: list[Callable[[Store], Any]] = [
    read_by(database.count_contents),
    lambda store: store.find_last(unfinished=True),
    list_page(GameFilter()),
    list_page(GameFilter(player="Ann")),
    list_page(GameFilter(game="draft")),
    list_page(GameFilter(result="unfinished")),
    read_by(lambda connection: transfer.export_games(connection, GameFilter())),
    read_by(transfer.export_attempts),
    read_by(statistics.compute_statistics),
    read_by(lambda connection: statistics.compute_statistics(connection, "Ann")),
    read_by(statistics.list_names),
    read_by(lambda connection: matches.list_matches(connection, 50)),
    matches.find_unfinished_match,
    use_matches,
    read_by(puzzles.load_attempts),
    use_games,
    use_rooms,
    lambda store: store.change(2, 2, Change("place", 5)),
    lambda store: store_draft(store, 9),
    lambda store: store_room(store, 3),
    write_by(
        lambda connection: puzzles.insert_attempt(
            connection, puzzles.make_attempt(None, "draft", "draft:9", 2, "wrong")
        )
    ),
    lambda store: list(statistics.judge_games(store)),
    lambda store: transfer.import_games(store, ["draft:9,8,6", "race:1,2"]),
    lambda store: store.delete(1),
    lambda store: matches.delete_match(store, 1),
    write_by(lambda connection: maintenance.delete_rooms(connection, keep_days=1)),
]


def use_database(file: Path, note: str) -> None:
    """Open a database, and do all that can be done with it.

    Every error has to be one of the store's; another one gets a note.
    """
    try:
        with suppress(StoreError), closing(open_store(file, 0.2)) as store:
            for use in USES:
                with suppress(NumberTowerError):
                    use(store)
    except BaseException as error:
        error.add_note(note)
        raise


# Ways to damage it --------------------------------------------------------------------------------


def flip(content: bytearray, chance: random.Random, start: int = 0, end: int | None = None) -> None:
    for _ in range(chance.choice((1, 4, 16))):
        content[chance.randrange(start, min(end or len(content), len(content)))] ^= (
            1 << chance.randrange(8)
        )


def set_high(
    content: bytearray, chance: random.Random, start: int = 0, end: int | None = None
) -> None:
    """Write bytes that are no UTF-8."""
    first = chance.randrange(start, min(end or len(content), len(content)))
    for offset in range(first, min(first + chance.choice((1, 3, 40)), len(content))):
        content[offset] = chance.randrange(0x80, 0x100)


def overwrite(content: bytearray, chance: random.Random) -> None:
    first = chance.randrange(len(content))
    count = min(chance.choice((8, 100, 4096)), len(content) - first)
    zeros = chance.random() >= 0.5
    content[first : first + count] = bytes(count) if zeros else chance.randbytes(count)


def swap_pages(content: bytearray, chance: random.Random) -> None:
    first, second = (4096 * chance.randrange(len(content) // 4096) for _ in range(2))
    page = content[first : first + 4096]
    content[first : first + 4096] = content[second : second + 4096]
    content[second : second + 4096] = page


def truncate(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


Mutation = Callable[[bytearray, random.Random], None]

MUTATIONS: dict[str, Mutation] = {
    "flips": flip,
    "flips in the header": partial(flip, end=100),
    "flips in the schema": partial(flip, start=100, end=4096),
    "no text in the schema": partial(set_high, start=100, end=4096),
    "no text anywhere": set_high,
    "overwritten": overwrite,
    "swapped pages": swap_pages,
    "truncated": truncate,
}


OLD_FAULTS = {"flips": (60,), "overwritten": (37,), "swapped pages": (23, 29)}
"""Seeds that once raised something else: bytes that are no text, and rows in an index only."""


def make_random(seed: int) -> random.Random:
    """Return the same chances in every run."""
    return random.Random(seed)  # noqa: S311 - no secret


@pytest.mark.slow
@pytest.mark.parametrize("kind", MUTATIONS)
def test_damaged_bytes_raise_only_errors_of_the_store(
    tmp_path: Path, whole: Path, kind: str
) -> None:
    original = whole.read_bytes()
    for seed in (*SEEDS, *OLD_FAULTS.get(kind, ())):
        content = bytearray(original)
        MUTATIONS[kind](content, make_random(seed))
        for part in tmp_path.iterdir():
            part.unlink()
        file = tmp_path / "games.db"
        file.write_bytes(content)
        use_database(file, f"{kind}, seed {seed}")


# Values of the wrong kind -------------------------------------------------------------------------

WRONG = (
    "NULL", "''", "'x'", "-1", "0", "7", "9223372036854775807", "1.5", "x'ff80'",
    "CAST(x'ff80' AS TEXT)", "'[[['", "'undo x'",
)  # fmt: skip
"""What SQLite stores in a column of any type, once something else changes the file."""


@pytest.fixture(scope="module")
def lax(tmp_path_factory: pytest.TempPathFactory, whole: Path) -> Path:
    """The same database, with tables that take anything."""
    file = Path(shutil.copy(whole, tmp_path_factory.mktemp("lax") / "games.db"))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'"
        )
    return file


def list_columns(file: Path) -> list[tuple[str, str]]:
    query = (
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c "
        "WHERE t.type = 'table' AND t.name <> 'alembic_version' AND t.name NOT LIKE 'sqlite_%'"
    )
    return [(table, column) for table, column in run_sql(file, query)]


def test_wrong_values_in_columns_raise_only_errors_of_the_store(tmp_path: Path, lax: Path) -> None:
    """Every column of every row may hold anything; a few at a time do."""
    columns = list_columns(lax)
    for seed in range(2 * len(SEEDS)):
        chance = make_random(seed)
        file = Path(shutil.copy(lax, tmp_path / f"{seed}.db"))
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for table, column in columns:
                if chance.random() < 0.2:
                    # The names are our own.
                    change = f'UPDATE {table} SET "{column}" = {chance.choice(WRONG)}'  # noqa: S608
                    with suppress(sqlite3.Error):
                        connection.execute(f"{change} WHERE rowid % 3 = {chance.randrange(3)}")
        use_database(file, f"seed {seed}")


@pytest.mark.parametrize("version", WRONG)
def test_wrong_version_raises_an_error_of_the_store(
    tmp_path: Path, lax: Path, version: str
) -> None:
    file = Path(shutil.copy(lax, tmp_path / "games.db"))
    run_sql(file, f"UPDATE alembic_version SET version_num = {version}")  # noqa: S608 - one of ours
    with pytest.raises(StoreError, match="cannot be used"):
        open_store(file)


def test_damaged_log_raises_only_errors_of_the_store(tmp_path: Path, whole: Path) -> None:
    """SQLite leaves out what does not fit its checksums: the database may be an older one."""
    live, file = Path(shutil.copy(whole, tmp_path / "live.db")), tmp_path / "games.db"
    with closing(open_store(live)) as store:
        store_draft(store, 9)
        content, log = live.read_bytes(), Path(f"{live}-wal").read_bytes()
    for seed in SEEDS:
        chance, damaged = make_random(seed), bytearray(log)
        chance.choice(list(MUTATIONS.values()))(damaged, chance)
        file.write_bytes(content)
        Path(f"{file}-wal").write_bytes(damaged)
        Path(f"{file}-shm").unlink(missing_ok=True)
        use_database(file, f"seed {seed}")


# The command --------------------------------------------------------------------------------------


def break_schema(file: Path) -> None:
    """Put bytes that are no UTF-8 into the stored schema, at the end of an error message."""
    content = file.read_bytes()
    assert b"CREATE TABLE games (" in content
    file.write_bytes(content.replace(b"CREATE TABLE games (", b"CREATE TABLE g\xe4mes \xff"))


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy of the whole database, as games.db."""
    return Path(shutil.copy(whole, tmp_path / "games.db"))


def test_commands_say_that_the_schema_is_damaged(
    call_tower: Tower, copy: Path, snapshot: SnapshotAssertion
) -> None:
    break_schema(copy)
    results = {
        call: call_tower(*call.split(), "--db", "games.db")
        for call in (
            "history", "history --matches", "stats", "resume", "resume 1", "review --replay 1",
            "review 1", "solve 1", "export", "forget 1", "db", "db check", "db backup b.db",
            "db upgrade",
        )
    }  # fmt: skip
    (result,) = set(results.values())
    assert result == snapshot


@pytest.mark.parametrize("call", ["play draft", "resume 5", "match draft"])
def test_game_goes_on_in_memory_when_the_schema_is_damaged_meanwhile(
    call_tower: Tower, copy: Path, call: str
) -> None:
    def answer() -> Iterator[str]:
        yield "5"
        run_sql(copy, "PRAGMA wal_checkpoint(TRUNCATE)")
        break_schema(copy)
        # Let other connections read the schema again.
        with suppress(sqlite3.Error, UnicodeDecodeError):
            run_sql(copy, "PRAGMA schema_version = 77")
        yield from ("4", "quit")

    played = call_tower(*call.split(), "--db", "games.db", answers=answer())
    assert (played.returncode, played.stderr.count("\n")) == (0, 1)
    assert "games.db cannot be used: it is damaged. You can continue" in played.stderr
    assert "tower resume " in played.stdout
