"""Old rooms are deleted with all that belongs to them and nothing else, also while others play.

Sizes are measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, func, select, text

from number_tower import Game
from number_tower import Table as GameTable
from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.match import Match, Series
from number_tower.engine.rules import Rules
from number_tower.rooms.room import Action, MakeOffer, Move, Rematch, Resign, Room, Seat, Undo
from number_tower.store import GameNotFoundError, maintenance, matches, rooms, schema, seats
from number_tower.store.database import Store, Writer
from number_tower.store.games import load_game
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.store.rows import MatchSlot, Seats, StoredGame, format_time
from number_tower.web.live.lobby import Lobby
from support.clocks import SLOW, wait_until
from support.lobbies import InstantWorkers
from support.stored_rooms import act, find_room, open_room, play_moves
from support.stores import DRAFT, make_own_rulebook, open_store, run_sql

pytest_plugins = ["support.postgres"]

LONG_AGO = timedelta(days=100)
only_on_a_server = pytest.mark.parametrize("any_store", ["postgresql"], indirect=True)


@pytest.fixture
def second_store(any_store: Store) -> Iterator[Store]:
    """Another program at the same database."""
    with closing(Store(any_store.location)) as opened:
        yield opened


def finish_game(store: Store, stored: StoredRoom, token: str) -> StoredRoom:
    while not stored.room.over:
        stored = play_moves(store, stored, token, stored.room.table.game.legal[0])
    return stored


def begin_game(store: Store, book: Rulebook) -> StoredGame:
    """Begin a game as a terminal does."""
    return store.begin(GameTable(Game(book.rules), book.name), book)


def set_back(store: Store, by: timedelta = LONG_AGO) -> None:
    """Let all that happened so far have happened earlier."""
    with store.write() as connection:
        for table, column in (
            (schema.rooms, "changed"), (schema.games, "started"), (schema.games, "changed"),
            (schema.changes, "at"),
        ):  # fmt: skip
            _set_back_column(connection, table, column, by)


def _set_back_column(connection: Connection, table: Table, column: str, by: timedelta) -> None:
    for time in connection.scalars(select(table.c[column]).distinct()).all():
        earlier = format_time(datetime.fromisoformat(time) - by)
        change = table.update().where(table.c[column] == time).values({column: earlier})
        connection.execute(change)


def delete_old(store: Store, keep_days: int | None = None) -> list[int]:
    """Delete what is old, as a lobby does; return the rooms that were deleted."""
    deleted: list[int] = []
    while True:
        with store.write() as connection:
            portion = maintenance.delete_rooms(connection, keep_days)
        if not portion:
            break
        deleted += portion
    with store.write() as connection:
        maintenance.delete_unused_rulebooks(connection)
    return deleted


def is_stored(store: Store, stored: StoredRoom) -> bool:
    with suppress(RoomNotFoundError):
        return find_room(store, stored.address).id == stored.id
    return False


def count_rows(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in schema.metadata.sorted_tables
        }


def run_in_lobby(store: Store, do: Callable[[Lobby], Awaitable[None]]) -> None:
    async def run() -> None:
        with closing(Writer(store)) as writer:
            await do(Lobby(store, writer, InstantWorkers()))

    asyncio.run(asyncio.wait_for(run(), SLOW))


# Which rooms --------------------------------------------------------------------------------------


def test_lobby_deletes_old_rooms_with_all_that_belongs_to_them(any_store: Store) -> None:
    """Once, a room with one move was never deleted, and a rule file outlived its games."""
    empty = count_rows(any_store)
    unused, _ = open_room(any_store, "free", best_of=3)
    stored, token = open_room(any_store, best_of=3, book=make_own_rulebook(DRAFT.rules))
    play_moves(any_store, stored, token, 9)
    set_back(any_store)
    run_in_lobby(any_store, Lobby.delete_old_rooms)
    assert not is_stored(any_store, unused)
    assert not is_stored(any_store, stored)
    with pytest.raises(GameNotFoundError):
        any_store.get(stored.game.id)
    assert count_rows(any_store) == empty


@pytest.mark.parametrize("moves", [(), (9, 8)], ids=["from the beginning", "from a position"])
def test_room_with_at_most_one_move_is_deleted_after_30_days(
    any_store: Store, moves: tuple[int, ...]
) -> None:
    begun = len(moves)
    move = Move(begun, 1 if begun else 9)
    few: tuple[tuple[Action, ...], ...] = (
        (), (move,), (move, Undo(begun + 1)), (move, Resign()), (Resign(),)
    )  # fmt: skip
    opened = []
    for actions in few:
        stored, token = open_room(any_store, moves=moves)
        opened.append(act(any_store, stored, token, *actions).id)
    set_back(any_store, timedelta(days=29))
    assert delete_old(any_store) == []
    set_back(any_store, timedelta(days=1))
    assert delete_old(any_store) == opened


def test_room_with_more_than_a_move_is_deleted_only_after_the_days_of_the_operator(
    any_store: Store,
) -> None:
    twice, token = open_room(any_store)
    play_moves(any_store, twice, token, 9, 8)
    again, token = open_room(any_store)
    act(any_store, again, token, Resign(), Rematch())
    over, token = open_room(any_store)
    finish_game(any_store, over, token)
    set_back(any_store, timedelta(days=1000))
    assert delete_old(any_store) == []
    assert delete_old(any_store, 1001) == []
    assert delete_old(any_store, 999) == [twice.id, again.id, over.id]
    assert not any(count_rows(any_store)[name] for name in ("rooms", "seats", "games", "changes"))


def test_every_event_of_a_room_postpones_its_deletion(any_store: Store) -> None:
    joined, _ = open_room(any_store, "free")
    offered, ann = open_room(any_store, "free")
    moved, token = open_room(any_store)
    declined, first = open_room(any_store, "free")
    with any_store.write() as connection:
        offered, _ = seats.sit(connection, offered, "Zoë")
        code = seats.hand_over(connection, moved, token)
        declined, second = seats.sit(connection, declined, None)
    act(any_store, offered, ann, Move(0, 9))
    act(any_store, declined, first, Resign())
    silent, _ = open_room(any_store)
    set_back(any_store)
    with any_store.write() as connection:
        seats.sit(connection, joined, "Ben")
        seats.take_over(connection, moved, code)
    act(any_store, offered, ann, MakeOffer("takeback"))
    act(any_store, declined, second, MakeOffer("rematch"))
    assert delete_old(any_store, 30) == [silent.id]
    set_back(any_store)
    assert delete_old(any_store) == [joined.id, offered.id, moved.id, declined.id]


def test_all_games_and_matches_of_a_room_are_deleted_with_it(any_store: Store) -> None:
    empty = count_rows(any_store)
    stored, token = open_room(any_store, best_of=1, book=make_own_rulebook(DRAFT.rules))
    for _ in range(3):
        stored = act(any_store, finish_game(any_store, stored, token), token, Rematch())
    assert (count_rows(any_store)["games"], count_rows(any_store)["matches"]) == (4, 4)
    set_back(any_store)
    assert delete_old(any_store, 99) == [stored.id]
    assert count_rows(any_store) == empty


def test_game_that_was_played_in_a_terminal_is_never_deleted(any_store: Store) -> None:
    book = make_own_rulebook(DRAFT.rules)
    alone = begin_game(any_store, book)
    stored, _ = open_room(any_store, book=book)
    in_match, token = open_room(any_store, best_of=3)
    act(any_store, in_match, token, Resign())
    match = matches.get_match(any_store, 1)
    second = any_store.begin(
        GameTable(Game(DRAFT.rules, 1, (9,)), DRAFT.name),
        DRAFT,
        find_slot=lambda connection: matches.claim_slot(connection, match),
    )
    assert second.slot == MatchSlot(1, 2)
    set_back(any_store)
    assert delete_old(any_store, 1) == [stored.id, in_match.id]
    assert any_store.get(alone.id).table.book.title == book.title
    assert any_store.get(in_match.game.id).slot == MatchSlot(1, 1)
    assert matches.get_match(any_store, 1).series.match.number == 2


def test_room_that_gets_a_move_again_is_not_deleted(any_store: Store) -> None:
    stored, token = open_room(any_store)
    silent, _ = open_room(any_store)
    set_back(any_store)
    play_moves(any_store, stored, token, 9)
    assert delete_old(any_store) == [silent.id]
    assert is_stored(any_store, stored)


def test_many_rooms_are_deleted_in_portions(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "ROOMS_PER_TRANSACTION", 3)
    rules = {"blocks": "1-9", "supply": "endless", "towers": "own", "fit": "any", "target": 900}
    endless = make_own_rulebook(Rules.from_dict(rules))
    for length in (0, 0, 0, 0, 2, 7, 1):
        stored, token = open_room(any_store, book=endless)
        play_moves(any_store, stored, token, *[1] * length)
    active, token = open_room(any_store)
    set_back(any_store)
    play_moves(any_store, active, token, 9)
    portions = []
    for _ in range(4):
        with any_store.write() as connection:
            portions.append(len(maintenance.delete_rooms(connection, 1)))
    assert portions == [3, 3, 1, 0]
    assert is_stored(any_store, active)


def test_followers_of_a_deleted_room_are_told_that_it_is_gone(store: Store) -> None:
    async def follow(lobby: Lobby) -> None:
        stored, _ = open_room(store)
        events = lobby.follow(stored)
        await anext(events)
        set_back(store)
        await lobby.delete_old_rooms()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(events), SLOW)
        with pytest.raises(RoomNotFoundError):
            await lobby.find_room(stored.address)

    run_in_lobby(store, follow)


# Rule files ---------------------------------------------------------------------------------------


def make_book(last_block: int = 9) -> Rulebook:
    return make_own_rulebook(Rules.from_dict({"blocks": f"1-{last_block}", "target": 30}))


def test_rule_file_is_deleted_when_no_game_uses_it(any_store: Store) -> None:
    unused, shared, in_terminal, to_come = books = [make_book(last) for last in range(9, 13)]
    for book in books:
        open_room(any_store, book=book)
    begin_game(any_store, in_terminal)
    series = Series((GameChoice(DRAFT, DRAFT.rules), GameChoice(to_come, to_come.rules)), Match(3))
    match = matches.StoredMatch(None, "a" * 32, series, Seats())
    any_store.begin(
        GameTable(Game(DRAFT.rules), DRAFT.name),
        DRAFT,
        find_slot=lambda connection: matches.claim_slot(connection, match),
    )
    set_back(any_store)
    active, token = open_room(any_store, book=shared)
    play_moves(any_store, active, token, 9)
    assert len(delete_old(any_store)) == 4
    assert count_rows(any_store)["rulebooks"] == 2
    assert matches.get_match(any_store, 1).series.games[1].book.rules == to_come.rules
    begin_game(any_store, unused)
    assert count_rows(any_store)["rulebooks"] == 3, "a deleted rule file can come again"


@only_on_a_server
def test_rule_file_that_a_new_game_is_about_to_use_is_not_deleted(
    any_store: Store, second_store: Store
) -> None:
    book = make_book()
    any_store.delete(begin_game(any_store, book).id)
    table = GameTable(Game(book.rules), book.name, book=book)
    room = Room(table, (Seat("person", "Ann"), Seat("free", "Ben")))
    with second_store.write() as beginning:
        rooms.insert_room(beginning, room, Seats())
        with any_store.write() as connection:
            assert maintenance.delete_unused_rulebooks(connection) == 0
    assert count_rows(any_store)["rulebooks"] == 1


@only_on_a_server
def test_game_that_begins_while_its_rule_file_is_deleted_stores_it_again(
    any_store: Store, second_store: Store
) -> None:
    book = make_book()
    any_store.delete(begin_game(any_store, book).id)
    with ThreadPoolExecutor(1) as threads:
        with any_store.write() as connection:
            assert maintenance.delete_unused_rulebooks(connection) == 1
            opening = threads.submit(open_room, second_store, book=book)
            wait_for_lock(any_store)
        stored, _ = opening.result(60)
    assert is_stored(any_store, stored)
    assert count_rows(any_store)["rulebooks"] == 1


# While others play --------------------------------------------------------------------------------


def wait_for_lock(store: Store) -> None:
    """Wait until another connection to a server waits for something that this one has locked."""

    def count_waiting() -> int:
        with store.read() as connection:
            query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return int(connection.execute(query).scalar_one())

    wait_until(count_waiting)


def write_move(connection: Connection, stored: StoredRoom) -> None:
    rooms.update_room(connection, stored, stored.room.apply({0, 1}, Move(0, 9)))


def lock_game(connection: Connection, stored: StoredRoom) -> None:
    """Begin to change a game as a terminal does."""
    load_game(connection, stored.game.id, lock=True)


@only_on_a_server
@pytest.mark.parametrize("change", [write_move, lock_game])
def test_room_that_is_being_changed_is_not_deleted(
    any_store: Store, second_store: Store, change: Callable[[Connection, StoredRoom], None]
) -> None:
    stored, _ = open_room(any_store)
    set_back(any_store)
    with second_store.write() as changing:
        change(changing, stored)
        with any_store.write() as connection:
            assert maintenance.delete_rooms(connection, 1) == []
    assert is_stored(any_store, stored)


@only_on_a_server
def test_move_in_a_room_that_is_being_deleted_finds_it_gone(
    any_store: Store, second_store: Store
) -> None:
    stored, token = open_room(any_store)
    set_back(any_store)
    with ThreadPoolExecutor(1) as threads:
        with any_store.write() as connection:
            assert maintenance.delete_rooms(connection) == [stored.id]
            moving = threads.submit(play_moves, second_store, stored, token, 9)
            wait_for_lock(any_store)
        with pytest.raises(RoomNotFoundError):
            moving.result(60)
    assert not is_stored(any_store, stored)


# Sizes --------------------------------------------------------------------------------------------


def open_rooms_with_long_rule_files(store: Store, count: int) -> None:
    for number in range(count):
        text = f"\n# {number}\n".encode() + b"# x\n" * 15_000
        content = (make_own_rulebook(DRAFT.rules).content + text)[:60_000]
        open_room(store, book=catalogue.parse_rulebook(content, "long", f"{number}.toml"))


def test_size_of_a_database_grows_with_what_is_stored(database: str) -> None:
    with closing(open_store(database)) as store:
        before = maintenance.measure_size(store)
        open_rooms_with_long_rule_files(store, 10)
        assert maintenance.measure_size(store) > before


def test_size_of_a_file_is_small_after_much_was_deleted(store: Store, file: Path) -> None:
    """A file does not shrink, but what was deleted leaves pages that new games are written to."""
    open_rooms_with_long_rule_files(store, 20)
    set_back(store)
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    large = maintenance.measure_size(store)
    assert large > 20 * 60_000
    assert len(delete_old(store)) == 20
    run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert maintenance.measure_size(store) < large / 4
