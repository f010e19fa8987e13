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

from number_tower import Game, Table
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, MatchError, Series
from number_tower.engine.position import MoveError
from number_tower.engine.table import Change, StaleError, TableError
from number_tower.rooms.room import Move, Room, RoomError, Seat
from number_tower.store import (
    GameNotFoundError,
    StoreError,
    database,
    maintenance,
    matches,
    puzzles,
    rooms,
    statistics,
    transfer,
)
from number_tower.store import games as history
from number_tower.store import seats as seats_module
from number_tower.store.database import Store
from number_tower.store.games import GameFilter, GameInMatchError
from number_tower.store.matches import StoredMatch
from number_tower.store.rooms import RoomNotFoundError
from number_tower.store.rows import Seats
from support.sizes import size
from support.stores import Command, make_own_rulebook, open_store, run_sql

DRAFT = catalogue.load_named("draft")
IN_MEMORY = "You can continue; `save game.json` saves the game to a file"

ANSWERS = (
    StoreError,
    GameNotFoundError,
    RoomNotFoundError,
    GameInMatchError,
    StaleError,
    TableError,
    MatchError,
    RoomError,
    MoveError,
)
"""What the store may say of a game: damaged, gone, or different from what was thought."""

EACH = size(1, 300)
"""Mutations of each kind."""


# A database with something in every table ---------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small database in one file: rows in every table, and a text that takes several pages."""
    file = tmp_path_factory.mktemp("whole") / "games.db"
    with closing(open_store(file)) as store:
        for line in LINES:
            table = record.read(line)
            store.begin(table, table.book)
        add_match(store)
        long = make_own_rulebook(DRAFT.rules, "long", "x" * 900)
        text = long.content + b"\n# " + b"y" * 9000 + b"\n"
        book = catalogue.parse_rulebook(text, "long", long.source)
        store.begin(Table(Game(book.rules, moves=(9,)), "long"), book)
        for best_of in (None, 3):
            add_room(store, best_of)
        with store.write() as connection:
            puzzles.insert_attempt(
                connection, puzzles.make_attempt("Ann", "draft", "draft:9,8", 1, "right")
            )
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


def add_match(store: Store) -> None:
    """Add a match of two games, one of which is over."""
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


def add_room(store: Store, best_of: int | None) -> None:
    seats = Seat("person", "Ann"), Seat("free", "Ben")
    table = Table(Game(DRAFT.rules), DRAFT.name, ("Ann", "Ben"))
    with store.write() as connection:
        known, _ = rooms.insert_room(connection, Room(table, seats, best_of=best_of), Seats())
        seats_module.sit(connection, known, "Zoë")


# What is asked of it ------------------------------------------------------------------------------


def reading(ask: Callable[[Connection], Any]) -> Callable[[Store], Any]:
    def look(store: Store) -> None:
        with store.read() as connection:
            answer = ask(connection)
            if isinstance(answer, Iterator):
                list(answer)

    return look


def writing(do: Callable[[Connection], Any]) -> Callable[[Store], Any]:
    def write(store: Store) -> None:
        with store.write() as connection:
            do(connection)

    return write


def each_game(store: Store) -> None:
    for identity in (*range(1, 7), *range(10, 17)):
        with suppress(*ANSWERS):
            known = store.get(identity)
            store.reload_if_changed(known)
            store.find_by_key(known.key)
            store.save(known, gone_on(known.table))


def gone_on(table: Table) -> Table:
    return table if table.outcome is not None else table.play(next(iter(table.game.legal)))


def each_match(store: Store) -> None:
    for identity in range(1, 4):
        with suppress(*ANSWERS):
            matches.get_match(store, identity)


def each_room(store: Store) -> None:
    with store.read() as connection:
        addresses = connection.exec_driver_sql("SELECT address FROM rooms").scalars().all()
    for address in addresses:
        with suppress(*ANSWERS), store.write() as connection:
            known = rooms.find_room(connection, address)
            rooms.load_earlier_game(connection, known, 1)
            after = known.room.apply(frozenset({0, 1}), Move(known.room.table.version, 9))
            rooms.update_room(connection, known, after)


def judge_all(store: Store) -> None:
    for _ in statistics.judge_games(store):
        pass


READS: dict[str, Callable[[Store], Any]] = {
    "count": reading(database.count_contents),
    "unfinished": lambda store: store.find_last(unfinished=True),
    "page": reading(lambda connection: history.list_games(connection, GameFilter(), 50)),
    "page of a player": reading(
        lambda connection: history.list_games(connection, GameFilter(player="Ann"), 50)
    ),
    "page of a game": reading(
        lambda connection: history.list_games(connection, GameFilter(game="draft"), 50)
    ),
    "page of unfinished games": reading(
        lambda connection: history.list_games(connection, GameFilter(result="unfinished"), 50)
    ),
    "export": reading(lambda connection: transfer.export_games(connection, GameFilter())),
    "export puzzles": reading(transfer.export_attempts),
    "statistics": reading(statistics.compute_statistics),
    "statistics of a player": reading(
        lambda connection: statistics.compute_statistics(connection, "Ann")
    ),
    "names": reading(statistics.list_names),
    "matches": reading(lambda connection: matches.list_matches(connection, 50)),
    "undecided": matches.find_unfinished_match,
    "match": each_match,
    "puzzles": reading(puzzles.load_attempts),
}

WRITES: dict[str, Callable[[Store], Any]] = {
    "games": each_game,
    "rooms": each_room,
    "change": lambda store: store.change(2, 2, Change("place", 5)),
    "begin": lambda store: store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT),
    "room": lambda store: add_room(store, 3),
    "puzzle": writing(
        lambda one: puzzles.insert_attempt(
            one, puzzles.make_attempt(None, "draft", "draft:9", 2, "wrong")
        )
    ),
    "judge": judge_all,
    "import": lambda store: transfer.import_games(store, ["draft:9,8,6", "race:1,2"]),
    "forget a game": lambda store: store.delete(1),
    "forget a match": lambda store: matches.delete_match(store, 1),
    "sweep": writing(lambda one: maintenance.delete_rooms(one, keep_days=1)),
}


def use(file: Path) -> None:
    """Open a database, and do all that can be done with it.

    Every complaint has to be one that the store makes.
    """
    with suppress(StoreError), closing(open_store(file, 0.2)) as store:
        for ask in (*READS.values(), *WRITES.values()):
            with suppress(*ANSWERS):
                ask(store)


# Ways to damage it --------------------------------------------------------------------------------


def flip(content: bytearray, chance: random.Random, start: int = 0, end: int | None = None) -> None:
    for _ in range(chance.choice((1, 4, 16))):
        content[chance.randrange(start, min(end or len(content), len(content)))] ^= (
            1 << chance.randrange(8)
        )


def set_high(
    content: bytearray, chance: random.Random, start: int = 0, end: int | None = None
) -> None:
    """Put bytes that are no UTF-8 somewhere."""
    place = chance.randrange(start, min(end or len(content), len(content)))
    for at in range(place, min(place + chance.choice((1, 3, 40)), len(content))):
        content[at] = chance.randrange(0x80, 0x100)


def overwrite(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content))
    size = min(chance.choice((8, 100, 4096)), len(content) - place)
    content[place : place + size] = chance.randbytes(size) if chance.random() < 0.5 else bytes(size)


def swap_pages(content: bytearray, chance: random.Random) -> None:
    one, other = (4096 * chance.randrange(len(content) // 4096) for _ in range(2))
    kept = content[one : one + 4096]
    content[one : one + 4096] = content[other : other + 4096]
    content[other : other + 4096] = kept


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


FOUND = {"flips": (60,), "overwritten": (37,), "swapped pages": (23, 29)}
"""Seeds that once raised something else: bytes that are no text, and rows in an index only."""


def seeds() -> range:
    return range(EACH)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MUTATIONS)
def test_whatever_bytes_are_damaged_only_a_store_error_is_raised(
    tmp_path: Path, whole: Path, kind: str
) -> None:
    file = tmp_path / "games.db"
    original = whole.read_bytes()
    for seed in (*seeds(), *FOUND.get(kind, ())):
        content = bytearray(original)
        MUTATIONS[kind](content, random.Random(seed))  # noqa: S311 - the same every time
        for part in tmp_path.iterdir():
            part.unlink()
        file.write_bytes(content)
        try:
            use(file)
        except BaseException as other:
            other.add_note(f"{kind}, seed {seed}")
            raise


# Values of the wrong kind -------------------------------------------------------------------------

WRONG = (
    "NULL",
    "''",
    "'x'",
    "-1",
    "0",
    "7",
    "9223372036854775807",
    "1.5",
    "x'ff80'",
    "CAST(x'ff80' AS TEXT)",
    "'[[['",
    "'undo x'",
)
"""What SQLite keeps in a column of any type, once something else changes the file."""


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


def columns(file: Path) -> list[tuple[str, str]]:
    listed = (
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE "
        "t.type = 'table'"
    )
    return [
        (table, column)
        for table, column in run_sql(file, listed)
        if not table.startswith("sqlite_")
    ]


def test_whatever_a_column_holds_only_a_store_error_is_raised(tmp_path: Path, lax: Path) -> None:
    """Every column of every row may hold anything; a few at a time do."""
    for seed in range(2 * len(seeds())):
        chance = random.Random(seed)  # noqa: S311 - the same every time
        file = Path(shutil.copy(lax, tmp_path / f"{seed}.db"))
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for table, column in columns(lax):
                if table != "alembic_version" and chance.random() < 0.2:
                    # The names are our own.
                    change = f'UPDATE {table} SET "{column}" = {chance.choice(WRONG)}'  # noqa: S608
                    with suppress(sqlite3.Error):
                        connection.execute(f"{change} WHERE rowid % 3 = {chance.randrange(3)}")
        try:
            use(file)
        except BaseException as other:
            other.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("version", WRONG)
def test_a_version_that_is_none_is_a_store_error(tmp_path: Path, lax: Path, version: str) -> None:
    file = Path(shutil.copy(lax, tmp_path / "games.db"))
    run_sql(file, f"UPDATE alembic_version SET version_num = {version}")  # noqa: S608 - one of ours
    with pytest.raises(StoreError, match="cannot be used"):
        open_store(file)


def test_a_damaged_write_ahead_log_is_a_store_error_at_most(tmp_path: Path, whole: Path) -> None:
    """SQLite leaves out what does not fit its checksums.

    What is left is a database, perhaps an older one.
    """
    file = tmp_path / "games.db"
    with closing(open_store(shutil.copy(whole, tmp_path / "live.db"))) as store:
        store.begin(Table(Game(DRAFT.rules, moves=(9,)), "draft"), DRAFT)
        parts = {
            suffix: Path(f"{tmp_path}/live.db{suffix}").read_bytes() for suffix in ("", "-wal")
        }
    for seed in range(len(seeds())):
        chance = random.Random(seed)  # noqa: S311 - the same every time
        log = bytearray(parts["-wal"])
        chance.choice(list(MUTATIONS.values()))(log, chance)
        file.write_bytes(parts[""])
        Path(f"{file}-wal").write_bytes(log)
        Path(f"{file}-shm").unlink(missing_ok=True)
        use(file)


# The command --------------------------------------------------------------------------------------


def break_schema(file: Path) -> None:
    """Put bytes that are no UTF-8 into the stored schema, at the end of an error message."""
    content = file.read_bytes()
    assert b"CREATE TABLE games (" in content
    file.write_bytes(content.replace(b"CREATE TABLE games (", b"CREATE TABLE g\xe4mes \xff"))


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


COMMANDS = [
    ("history",), ("history", "--matches"), ("stats",), ("resume",), ("resume", "1"),
    ("review", "--replay", "1"),
    ("review", "1"),
    ("solve", "1"), ("export",), ("forget", "1"), ("db",), ("db", "check"),
    ("db", "backup", "b.db"), ("db", "upgrade"),
]  # fmt: skip


def test_every_command_says_in_one_sentence_that_the_schema_is_damaged(
    play: Command, tmp_path: Path, whole: Path
) -> None:
    shutil.copy(whole, tmp_path / "games.db")
    break_schema(tmp_path / "games.db")
    for call in COMMANDS:
        said = "tower: the database games.db cannot be used: it is damaged\n"
        assert play(*call, "--db", "games.db") == (1, "", said), call


@pytest.mark.parametrize("call", [("play", "draft"), ("resume", "5"), ("match", "draft")])
def test_a_game_goes_on_in_memory_when_the_schema_is_damaged_in_the_middle(
    play: Command, tmp_path: Path, whole: Path, call: tuple[str, ...]
) -> None:
    file = tmp_path / "games.db"
    shutil.copy(whole, file)

    def answers() -> Iterator[str]:
        yield "5"
        run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
        break_schema(file)
        by_hand_or_not(file)
        yield from ("4", "quit")

    done = play(*call, "--db", "games.db", answers=answers())
    assert (done.code, done.err) == (
        0, f"tower: the database games.db cannot be used: it is damaged. {IN_MEMORY}\n"
    )  # fmt: skip
    assert "tower resume " in done.out


def by_hand_or_not(file: Path) -> None:
    """Let other connections read the schema again."""
    with suppress(sqlite3.Error, UnicodeDecodeError):
        run_sql(file, "PRAGMA schema_version = 77")
