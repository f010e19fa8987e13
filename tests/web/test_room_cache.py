"""What a server remembers is bounded by its bytes: rooms, their rule files, and answers of the worker processes."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from number_tower import Game, Table, catalogue
from number_tower.catalogue import Rulebook
from number_tower.room import Move, Room, Seat
from number_tower.rules import Rules
from number_tower.store import rooms
from number_tower.store.rooms import StoredRoom
from number_tower.store.rows import Seats, StoredGame, format_now
from number_tower.voice import get_voice
from number_tower.web import limits as bounds
from number_tower.web.lobby import Lobby
from number_tower.web.room_cache import (
    MAX_CACHE_BYTES,
    CachedRoom,
    NewRoom,
    RoomCache,
    estimate_size,
)
from support.lobbies import at
from support.sizes import size
from support.stores import store_in

DRAFT = catalogue.load_named("draft")
THIN = catalogue.parse_rulebook(
    b'title = "Fat"\n[rules]\nblocks = "1-9"\ntarget = 30\n[voice]\n', "fat", "fat.toml"
)
MIB = 1024 * 1024
_numbers = count(1)


@pytest.fixture(autouse=True)
def _long_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let games have longer words than a server takes, so that a few rooms are large."""
    monkeypatch.setattr(bounds, "MAX_TEXT_LENGTH", 500_000)


def fat_book(number: int, size: int = 60_000) -> Rulebook:
    """Return a rulebook of which every turn is told in very many words; made by hand, since reading takes long."""
    words = f"{number} {'x' * size}"
    content = THIN.content + f'spectator.turn_empty = "{words}"\n'.encode()
    return replace(THIN, voice={"spectator": {"turn_empty": words}}, content=content)


def make_room(
    book: Rulebook = DRAFT, moves: tuple[int, ...] = (), identity: int | None = None
) -> StoredRoom:
    identity = next(_numbers) if identity is None else identity
    table = Table(Game(book.rules, 0, moves), book.name)
    game = StoredGame(
        identity,
        f"key {identity}",
        replace(table, rulebook=book.name, book=book),
        Seats(),
        tuple(format_now() for _ in range(table.version + 1)),
    )
    room = Room(game.table, (Seat("person", "Ann"), Seat("free", "Ben")))
    return StoredRoom(
        identity, f"address{identity}", f"watch{identity}", 0, 1, game, room, (None, None)
    )


def wish(book: Rulebook) -> NewRoom:
    return NewRoom(Table(Game(book.rules), book=book), "link")


def traced(do: Callable[[], object]) -> int:
    """Return the bytes that something leaves in memory."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = do()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] if kept is not None else 0
    finally:
        tracemalloc.stop()


# Rooms ----------------------------------------------------------------------------------------------------------------


def test_very_many_rooms_with_fat_rule_files_stay_within_the_bound() -> None:
    number, most = size(200, 2_000), size(MAX_CACHE_BYTES // 10, MAX_CACHE_BYTES)
    cache = RoomCache(max_bytes=most)

    def fill() -> RoomCache:
        for each in range(number):
            known = cache.add(make_room(fat_book(each)))
            assert len(known.encode_event()) > 60_000
        return cache

    assert traced(fill) < most
    assert number // 20 < len(cache) < number
    assert cache.bytes <= most


@pytest.mark.slow
def test_a_lobby_forgets_rooms_that_take_too_much_memory(tmp_path: Path) -> None:
    """On the code as it was, each of these rooms stayed with 300 kB, up to 4,096 of them."""
    rooms, letters = size(60, 300), 60_000

    async def do(lobby: Lobby) -> None:
        async def look(number: int) -> None:
            known, _ = await lobby.open_room(wish(fat_book(number, letters)))
            assert len(known.encode_event()) > letters

        await look(-1)
        gc.collect()
        tracemalloc.start()
        try:
            for start in range(0, rooms, 20):
                await asyncio.gather(*map(look, range(start, start + 20)))
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < MAX_CACHE_BYTES + 8 * MIB
        finally:
            tracemalloc.stop()

    at(tmp_path, do)


ENDLESS = {"supply": "endless", "towers": "own", "fit": "any"}
LONG = size(30, 300)
"""Moves of a long game."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "moves"),
    [
        ({"blocks": "1-9", "target": 15}, 0),
        ({"blocks": "1-9", "target": 900, **ENDLESS}, LONG),
        ({"blocks": "5-1000", "target": 10_000, **ENDLESS}, LONG),
        ({"blocks": ",".join(map(str, range(1, 2000, 2))), "target": 10_000, **ENDLESS}, LONG),
    ],
    ids=["new", "long", "long with many blocks", "long with listed blocks"],
)
def test_a_room_is_not_larger_than_it_is_estimated(
    tmp_path: Path, rules: dict[str, object], moves: int
) -> None:
    store = store_in(tmp_path / "games.db")
    read = Rules.read(rules)
    book = catalogue.find_rulebook("rules", read)
    table = Table(Game(read, 0, (read.blocks[0],) * moves), "rules")
    room = Room(table, (Seat("person", "Ann"), Seat("free", "Ben")))
    with store.write() as connection:
        addresses = [
            rooms.insert_room(connection, room, book, Seats())[0].address for _ in range(5)
        ]

    def load() -> RoomCache:
        with store.read() as connection:
            for address in addresses:
                assert cache.add(rooms.find_room(connection, address)).encode_event()
        return cache

    cache = RoomCache()
    load()
    cache = RoomCache()
    assert traced(load) <= cache.bytes
    store.close()


def test_a_rule_file_is_counted_once_however_many_rooms_are_played_by_it() -> None:
    cache = RoomCache()
    book = fat_book(1)
    first = cache.add(make_room(book))
    with_one = cache.bytes
    others = [cache.add(make_room(book)) for _ in range(10)]
    assert all(
        each.game.table.book is first.game.table.book and each.voice is first.voice
        for each in others
    )
    assert cache.bytes - with_one == 10 * estimate_size(first)
    for known in (first, *others):
        cache.remove(known.id)
    assert (cache.bytes, len(cache)) == (0, 0)


def test_a_rule_file_is_shared_by_rooms_that_are_read_from_the_database(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        first, _ = await lobby.open_room(wish(fat_book(1)))
        second, _ = await lobby.open_room(wish(fat_book(1)))
        lobby.cache.remove(second.id)  # as if others had been asked for meanwhile
        address = second.address
        del second
        again = await lobby.find_room(address)
        assert again.game.table.book is first.game.table.book
        assert again.voice is first.voice

    at(tmp_path, do)


def test_nothing_of_a_rule_file_is_left_when_no_room_needs_it() -> None:
    def fill() -> int:
        for number in range(50):
            get_voice(fat_book(number))
        return 0

    fill()
    assert traced(fill) < MIB


def test_a_catalogue_game_costs_no_rule_file() -> None:
    cache = RoomCache()
    cache.add(make_room())
    assert cache.bytes < 8_000


def test_the_room_that_was_used_least_recently_is_forgotten_first() -> None:
    cache = RoomCache(max_rooms=3)
    made = [cache.add(make_room()) for _ in range(3)]
    assert cache.find(made[0].watch) is made[0]
    assert cache.touch(made[1].id) is made[1]
    added = cache.add(make_room())
    assert list(cache.values()) == [made[0], made[1], added]
    assert cache.find(made[2].address) is None
    assert cache.find(made[2].watch) is None


def test_what_is_encoded_later_counts_and_pushes_others_out() -> None:
    cache = RoomCache(max_bytes=1_750_000)
    fat = [cache.add(make_room(fat_book(number))) for number in range(7)]
    assert len(cache) == 7
    assert len(fat[0].encode_event()) > 60_000
    assert cache.bytes <= 1_750_000
    assert list(cache.values()) == [*fat[2:], fat[0]]


def test_what_is_encoded_of_a_state_that_is_not_remembered_does_not_count() -> None:
    cache = RoomCache()
    before = cache.add(make_room(identity=1_000_000))
    after = cache.add(make_room(identity=1_000_000))
    size = cache.bytes
    assert before.encode_event()
    assert cache.bytes == size
    assert cache[1_000_000] is after
    encoded = len(after.encode_event())
    shared = len(after.encode_event().partition(b',"said":')[0])
    assert cache.bytes == size + shared + encoded


def test_one_room_is_remembered_however_large_it_is() -> None:
    cache = RoomCache(max_bytes=1)
    first, second = (cache.add(make_room()) for _ in range(2))
    assert second.encode_event()
    assert list(cache.values()) == [second]
    assert first.encode_event()


def test_nothing_is_left_of_rooms_that_were_forgotten() -> None:
    def fill() -> RoomCache:
        cache = RoomCache(max_rooms=1)
        for number in range(size(20, 300)):
            assert cache.add(make_room(fat_book(number))).encode_event()
        return cache

    assert traced(fill) < MIB


def test_whoever_acted_in_a_room_leaves_no_lock_behind(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        for number in range(3):
            known, token = await lobby.open_room(NewRoom(Table(Game(DRAFT.rules), "draft")))
            await lobby.act(known.address, token, Move(0, 9 - number))
        assert len(lobby._locks) == 0  # noqa: SLF001 - nothing else shows it

    at(tmp_path, do)


def test_a_stream_that_waits_keeps_no_room_in_memory(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(wish(fat_book(1)))
        address, identity = known.address, known.id
        del known
        streams = [lobby.follow(address) for _ in range(3)]
        waiting = []
        for stream in streams:
            assert await anext(stream) is not None
            waiting.append(asyncio.ensure_future(anext(stream)))
        await asyncio.sleep(0)
        lobby.cache.remove(identity)  # as if others had been asked for meanwhile
        gc.collect()
        assert not [
            each
            for each in gc.get_objects()
            if isinstance(each, CachedRoom) and each.address == address
        ]
        for each in waiting:
            each.cancel()

    at(tmp_path, do)
