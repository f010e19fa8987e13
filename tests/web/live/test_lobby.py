"""Open rooms: every change is stored before it is announced, and the computer moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from number_tower import Game, Rules, Table
from number_tower.engine.table import Change, StaleError
from number_tower.rooms.room import Move, Resign, RoomError, Undo
from number_tower.store import StoreError
from number_tower.store.rooms import StoredRoom
from number_tower.web.limits import TooLargeError
from number_tower.web.live.events import Topic, Wakeup
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.new_room import NewRoom
from number_tower.web.live.state import encode_event
from number_tower.web.thinking.workers import GaveUpError
from support import lobbies
from support.clocks import SLOW
from support.lobbies import BOOK, LINK, START, open_linked_room, open_lobby, wait_for_computer
from support.stores import open_store

pytest_plugins = ["anyio.pytest_plugin"]

COMPUTER_FIRST = NewRoom(Table(Game(BOOK.rules, 1), BOOK.name), "gentle")


async def read_next(updates: AsyncGenerator[tuple[StoredRoom, Wakeup], None]) -> StoredRoom:
    """Return the next state that a follower of a room gets."""
    room, _ = await asyncio.wait_for(anext(updates), SLOW)
    return room


async def test_follower_sees_every_state_or_a_later_one(lobby: Lobby) -> None:
    address, ann, ben = await open_linked_room(lobby)
    watch = (await lobby.find_room(address)).watch
    states: list[StoredRoom] = []

    async def follow() -> None:
        async for stored, _ in lobby.follow(await lobby.find_room(watch)):
            states.append(stored)
            if stored.room.over:
                return

    following = asyncio.create_task(follow())
    await asyncio.sleep(0)
    await lobby.act(address, ann, Move(0, 9))
    await lobby.act(address, ben, Resign())
    await asyncio.wait_for(following, SLOW)
    revisions = [stored.revision for stored in states]
    assert revisions == sorted(revisions)
    assert states[-1].room.table.outcome == (0, "resigned")


async def test_follower_of_a_quiet_room_gets_the_same_state_again(lobby: Lobby) -> None:
    address, _, _ = await open_linked_room(lobby)
    updates = lobby.follow(await lobby.find_room(address), 0.01)
    assert (await read_next(updates)).revision == (await read_next(updates)).revision


async def test_stream_of_a_deleted_room_ends(lobby: Lobby, tmp_path: Path) -> None:
    address, _, _ = await open_linked_room(lobby)
    stored = await lobby.find_room(address)
    updates = lobby.follow(stored)
    await read_next(updates)
    with closing(open_store(tmp_path / "games.db")) as store:
        store.delete(stored.game.id)
    lobby.hub.publish_all()
    with pytest.raises(StopAsyncIteration):
        await read_next(updates)


async def test_one_of_many_moves_at_once_is_accepted(lobby: Lobby) -> None:
    stored, token = await lobby.open_room(NewRoom(START))
    moves = [lobby.act(stored.address, token, Move(0, block)) for block in BOOK.rules.blocks]
    answers = await asyncio.gather(*moves, return_exceptions=True)
    kinds = sorted(type(answer).__name__ for answer in answers)
    assert kinds == [StaleError.__name__] * (len(moves) - 1) + [StoredRoom.__name__]
    assert len((await lobby.find_room(stored.address)).room.table.game.moves) == 1


# Other servers ------------------------------------------------------------------------------------


async def test_move_after_another_server_is_tried_again(lobby: Lobby, tmp_path: Path) -> None:
    address, ann, ben = await open_linked_room(lobby)
    async with open_lobby(tmp_path) as other:
        assert (await other.find_room(address)).room == (await lobby.find_room(address)).room
        await lobby.act(address, ann, Move(0, 9))
        stored = await other.act(address, ben, Move(1, 8))
        assert stored.room.table.game.moves == (9, 8)
        with pytest.raises(StaleError):
            await lobby.act(address, ann, Move(1, 7))


async def test_announced_change_by_another_program_is_seen(lobby: Lobby, tmp_path: Path) -> None:
    address, _, _ = await open_linked_room(lobby)
    stored = await lobby.find_room(address)
    updates = lobby.follow(stored)
    await read_next(updates)
    with closing(open_store(tmp_path / "games.db")) as store:
        for version, topic in enumerate([None, Topic("room", stored.id)]):
            store.change(stored.game.id, version, Change("place", 9 - version))
            lobby.hub.publish(topic) if topic else lobby.hub.publish_all()
            assert (await read_next(updates)).room.table.version == version + 1
    await updates.aclose()


async def test_seat_of_another_server_is_held_here_at_once(lobby: Lobby, tmp_path: Path) -> None:
    stored, ann = await lobby.open_room(LINK)
    async with open_lobby(tmp_path) as other:
        await other.find_room(stored.address)
        _, ben = await lobby.join(stored.address, "Ben")
        assert (await other.find_room(stored.address)).find_seats(ben) == {1}
        code = await other.make_handover_code(stored.address, ann)
        _, moved = await lobby.take_over(stored.address, code)
        assert (await other.find_room(stored.address)).find_seats(moved) == {0}
        with pytest.raises(RoomError):
            await other.make_handover_code(stored.address, "unknown")


async def test_many_rooms_of_another_server_are_found_at_once(lobby: Lobby, tmp_path: Path) -> None:
    addresses = [(await lobby.open_room(LINK))[0].address for _ in range(8)]
    async with open_lobby(tmp_path) as other:
        stored = await asyncio.gather(*(other.find_room(address) for address in addresses))
        assert [room.address for room in stored] == addresses


# Computers ----------------------------------------------------------------------------------------


async def test_computer_moves_by_itself_to_the_end(lobby: Lobby) -> None:
    stored, token = await lobby.open_room(NewRoom(START, "gentle"))
    while not stored.room.over:
        assert stored.room.table.game.to_move == 0
        move = Move(stored.room.table.version, stored.room.table.game.legal[0])
        stored = await wait_for_computer(lobby, await lobby.act(stored.address, token, move))
    assert stored.room.seats[1].name == "Gentle"


async def test_stopped_computer_moves_when_its_room_is_opened(lobby: Lobby, tmp_path: Path) -> None:
    async with open_lobby(tmp_path, lobbies.InstantWorkers(gives_up=True)) as stopped:
        stored, _ = await stopped.open_room(COMPUTER_FIRST)
    stored = await wait_for_computer(lobby, await lobby.find_room(stored.address))
    assert len(stored.room.table.game.moves) == 1


class EndlessWorkers(lobbies.InstantWorkers):
    """Workers that never answer."""

    async def ask(self, *_, **__):  # type: ignore[no-untyped-def]  # any task
        await asyncio.Event().wait()


async def test_computer_does_not_move_while_its_server_stops(tmp_path: Path) -> None:
    async with open_lobby(tmp_path, EndlessWorkers()) as lobby:
        stored, token = await lobby.open_room(NewRoom(START, "perfect"))
        await lobby.act(stored.address, token, Move(0, 5))
        await lobby.close()
        await asyncio.sleep(0.05)
        assert (await lobby.find_room(stored.address)).room.table.game.moves == (5,)


@pytest.mark.parametrize("error", [GaveUpError("it took too long"), ZeroDivisionError()])
async def test_computer_without_workers_moves_and_says_so(tmp_path: Path, error: Exception) -> None:
    workers = lobbies.InstantWorkers()
    workers.trouble = error
    async with open_lobby(tmp_path, workers) as lobby:
        stored, token = await lobby.open_room(NewRoom(START, "perfect"))
        stored = await wait_for_computer(lobby, await lobby.act(stored.address, token, Move(0, 5)))
        assert len(stored.room.table.game.moves) == 2
        assert stored.room.remark.startswith("Perfect had no time to think")
        assert stored.room.remark.encode() in encode_event(stored)
    assert workers.asked == 1


async def test_failed_computer_move_is_retried(
    lobby: Lobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("number_tower.web.thinking.computers._STORE_RETRY", 0.01)
    stored, token = await lobby.open_room(NewRoom(START, "gentle"))
    write, writes = lobby.database.write, 0

    async def fail_twice(do: Callable[[Connection], object]) -> object:
        nonlocal writes
        writes += 1
        if 2 <= writes <= 3:  # the first stores the move of the player
            raise StoreError("it is gone for a moment")
        return await write(do)

    monkeypatch.setattr(lobby.database, "write", fail_twice)
    stored = await lobby.act(stored.address, token, Move(0, 5))
    stored = await wait_for_computer(lobby, stored, 10)
    assert len(stored.room.table.game.moves) == 2
    assert writes > 3


async def test_computer_answers_the_newest_move_after_a_takeback(lobby: Lobby) -> None:
    stored, token = await lobby.open_room(NewRoom(START, "gentle"))
    await lobby.act(stored.address, token, Move(0, 5))
    await lobby.act(stored.address, token, Undo(1))
    stored = await wait_for_computer(lobby, await lobby.act(stored.address, token, Move(2, 6)))
    assert stored.room.table.game.moves[0] == 6
    assert len(stored.room.table.game.moves) == 2


# New rooms ----------------------------------------------------------------------------------------


async def test_game_that_is_too_large_is_not_started(lobby: Lobby) -> None:
    many, high = Rules(range(1, 1_002), target=100), Rules(target=10_001)
    for rules in (many, high, Rules(supply="endless", target=9_999)):
        with pytest.raises(TooLargeError):
            await lobby.open_room(NewRoom(Table(Game(rules))))
