"""The rooms that are open: everything is kept before it is announced, and the computer moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from number_tower import Game, Rules, Table
from number_tower.engine import catalogue
from number_tower.engine.table import Change, StaleError, TableError
from number_tower.rooms.room import Accept, MakeOffer, Move, Resign, RoomError, Undo
from number_tower.store import StoreError
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.web.limits import TooLargeError
from number_tower.web.live.events import Topic, Wakeup
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.new_room import NewRoom
from number_tower.web.live.state import encode_event
from support.clocks import SLOW
from support.lobbies import (
    BOOK,
    LINK,
    START,
    InstantWorkers,
    open_linked_room,
    open_lobby,
    run_in_lobby,
    wait_for_computer,
)
from support.stores import open_store


async def following(followed: AsyncGenerator[tuple[StoredRoom, Wakeup], None]) -> StoredRoom:
    """Return what is seen next by somebody who follows a room."""
    room, _ = await asyncio.wait_for(anext(followed), SLOW)
    return room


def test_a_game_over_a_link_is_played_by_two_tokens(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        await lobby.act(address, ann, Move(0, 9))
        with pytest.raises(RoomError):
            await lobby.act(address, ann, Move(1, 8))
        known = await lobby.act(address, ben, Move(1, 8))
        assert known.room.table.game.moves == (9, 8)
        assert known.room.seats[1].name == "Ben"

    run_in_lobby(tmp_path, do)


def test_everybody_who_follows_a_room_sees_every_state_or_a_later_one(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        watch = (await lobby.find_room(address)).watch
        seen: list[StoredRoom] = []

        async def follow() -> None:
            async for known, _ in lobby.follow(await lobby.find_room(watch)):
                seen.append(known)
                if known.room.over:
                    return

        following = asyncio.create_task(follow())
        await asyncio.sleep(0)
        await lobby.act(address, ann, Move(0, 9))
        await lobby.act(address, ben, Resign())
        await following
        moments = [known.revision for known in seen]
        assert moments == sorted(moments)
        assert seen[-1].room.table.outcome == (0, "resigned")

    run_in_lobby(tmp_path, do)


def test_whoever_only_watches_can_neither_sit_nor_act_nor_move_a_seat(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, ann = await lobby.open_room(LINK)
        for doing in (
            lobby.join(known.watch, None),
            lobby.act(known.watch, ann, Resign()),
            lobby.take_over(known.watch, "code"),
        ):
            with pytest.raises(RoomNotFoundError):
                await doing
        with pytest.raises(RoomError):
            await lobby.make_handover_code(known.address, "no token")

    run_in_lobby(tmp_path, do)


def test_of_many_who_move_at_once_one_is_first(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(NewRoom(START))
        moves = [lobby.act(known.address, token, Move(0, block)) for block in BOOK.rules.blocks]
        answers = await asyncio.gather(*moves, return_exceptions=True)
        assert sum(isinstance(answer, StoredRoom) for answer in answers) == 1
        assert (
            sum(isinstance(answer, StaleError) for answer in answers) == len(BOOK.rules.blocks) - 1
        )
        assert len((await lobby.find_room(known.address)).room.table.game.moves) == 1

    run_in_lobby(tmp_path, do)


def test_the_free_seat_goes_to_one_of_many(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(LINK)
        answers = await asyncio.gather(
            *(lobby.join(known.address, None) for _ in range(8)), return_exceptions=True
        )
        assert sum(isinstance(answer, tuple) for answer in answers) == 1
        assert {answer.reason for answer in answers if isinstance(answer, RoomError)} == {"taken"}

    run_in_lobby(tmp_path, do)


def test_another_server_finds_the_room_and_what_it_overtakes_is_tried_again(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        async with open_lobby(tmp_path) as other:
            assert (await other.find_room(address)).room == (await lobby.find_room(address)).room
            await lobby.act(address, ann, Move(0, 9))
            known = await other.act(address, ben, Move(1, 8))
            assert known.room.table.game.moves == (9, 8)
            with pytest.raises(StaleError):
                await lobby.act(address, ann, Move(1, 7))

    run_in_lobby(tmp_path, do)


def test_what_is_done_elsewhere_is_noticed_when_it_is_told(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, _ = await open_linked_room(lobby)
        identity = (await lobby.find_room(address)).id
        for told in (None, Topic("room", identity)):
            table = (await lobby.find_room(address)).room.table
            followed = lobby.follow(await lobby.find_room(address))
            await anext(followed)
            async with open_lobby(tmp_path) as other:
                kept = (await other.find_room(address)).game
                store = open_store(tmp_path / "games.db")
                store.change(kept.id, table.version, Change("place", table.game.legal[-1]))
                store.close()
            lobby.hub.publish_all() if told is None else lobby.hub.publish(told)
            assert (await following(followed)).room.table.version == table.version + 1
            await followed.aclose()
        assert ann

    run_in_lobby(tmp_path, do)


# Computers ----------------------------------------------------------------------------------------


def against(level: str, table: Table = START) -> NewRoom:
    return NewRoom(table, level)


def test_the_computer_moves_by_itself_to_the_end(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("gentle"))
        while not known.room.over:
            assert known.room.table.game.to_move == 0
            move = Move(known.room.table.version, known.room.table.game.legal[0])
            known = await wait_for_computer(lobby, await lobby.act(known.address, token, move))
        assert known.room.seats[1].name == "Gentle"

    run_in_lobby(tmp_path, do)


def test_a_computer_that_begins_has_moved_soon(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(against("gentle", Table(Game(BOOK.rules, 1), BOOK.name)))
        known = await wait_for_computer(lobby, await lobby.find_room(known.address))
        assert len(known.room.table.game.moves) == 1

    run_in_lobby(tmp_path, do)


def test_a_computer_that_was_stopped_while_it_thought_moves_when_somebody_looks(
    tmp_path: Path,
) -> None:
    async def first(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(against("gentle", Table(Game(BOOK.rules, 1), BOOK.name)))
        addresses.append(known.address)

    async def then(lobby: Lobby) -> None:
        known = await wait_for_computer(lobby, await lobby.find_room(addresses[0]))
        assert len(known.room.table.game.moves) == 1

    addresses: list[str] = []
    run_in_lobby(tmp_path, first, InstantWorkers(gives_up=True))
    run_in_lobby(tmp_path, then)


def test_a_server_that_stops_makes_no_computer_play_worse(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("perfect"))
        await lobby.act(known.address, token, Move(0, 5))
        await lobby.close()
        await asyncio.sleep(0.05)
        assert (await lobby.find_room(known.address)).room.table.game.moves == (5,)

    class Never(InstantWorkers):
        async def ask(self, *_, **__):  # type: ignore[no-untyped-def]  # whatever it is asked
            await asyncio.Event().wait()

    run_in_lobby(tmp_path, do, Never())


def test_whatever_goes_wrong_with_a_computer_it_moves(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("perfect"))
        known = await wait_for_computer(lobby, await lobby.act(known.address, token, Move(0, 5)))
        assert len(known.room.table.game.moves) == 2

    class Broken(InstantWorkers):
        async def ask(self, *_, **__):  # type: ignore[no-untyped-def]  # whatever it is asked
            raise ZeroDivisionError

    run_in_lobby(tmp_path, do, Broken())


def test_a_computer_whose_move_could_not_be_kept_moves_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("number_tower.web.thinking.computers._STORE_RETRY", 0.01)

    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("gentle"))
        database, failures = lobby.database, [1, 1]
        write = database.write

        async def fails(do: Callable[[Connection], object]) -> object:
            if (
                len(failures) == 2
                and (await lobby.find_room(known.address)).room.table.version == 0
            ):
                return await write(do)
            if failures:
                failures.pop()
                raise StoreError("it is gone for a moment")
            return await write(do)

        monkeypatch.setattr(database, "write", fails)
        known_after = await wait_for_computer(
            lobby, await lobby.act(known.address, token, Move(0, 5)), 10
        )
        assert len(known_after.room.table.game.moves) == 2
        assert not failures

    run_in_lobby(tmp_path, do)


def test_a_seat_that_another_process_gave_away_is_held_here_at_once(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, ann = await lobby.open_room(LINK)
        async with open_lobby(tmp_path) as other:
            await other.find_room(known.address)
            _, ben = await lobby.join(known.address, "Ben")
            assert (await other.find_room(known.address)).find_seats(ben) == {1}
            code = await other.make_handover_code(known.address, ann)
            _, moved = await lobby.take_over(known.address, code)
            assert (await other.find_room(known.address)).find_seats(moved) == {0}
            with pytest.raises(RoomError):
                await other.make_handover_code(known.address, "nobody's")

    run_in_lobby(tmp_path, do)


def test_many_rooms_can_be_looked_for_at_once(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        addresses = [(await lobby.open_room(LINK))[0].address for _ in range(8)]
        async with open_lobby(tmp_path) as other:
            found = await asyncio.gather(*(other.find_room(address) for address in addresses))
            assert [known.address for known in found] == addresses

    run_in_lobby(tmp_path, do)


def test_a_computer_that_takes_too_long_plays_without_thinking(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("perfect"))
        known = await wait_for_computer(lobby, await lobby.act(known.address, token, Move(0, 5)))
        assert len(known.room.table.game.moves) == 2
        assert known.room.remark.startswith("Perfect had no time to think")
        assert known.room.remark.encode() in encode_event(known)

    workers = InstantWorkers(gives_up=True)
    run_in_lobby(tmp_path, do, workers)
    assert workers.asked == 1


def test_whoever_takes_back_while_the_computer_thinks_is_answered_anew(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, token = await lobby.open_room(against("gentle"))
        await lobby.act(known.address, token, Move(0, 5))
        await lobby.act(known.address, token, Undo(1))
        known = await wait_for_computer(lobby, await lobby.act(known.address, token, Move(2, 6)))
        assert known.room.table.game.moves[0] == 6
        assert len(known.room.table.game.moves) == 2

    run_in_lobby(tmp_path, do)


# What somebody wishes -----------------------------------------------------------------------------


def test_names_that_nobody_chose_are_the_rulebooks(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(NewRoom(START))
        assert known.room.table.names is None
        assert [seat.name for seat in known.room.seats] == ["Player 1", "Player 2"]
        with pytest.raises(TableError):
            await lobby.open_room(NewRoom(START, names=("Ann", "ann")))

    run_in_lobby(tmp_path, do)


def test_a_game_that_is_too_large_is_not_begun(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        for rules in (
            Rules(blocks=range(1, 1_002), target=100),
            Rules(blocks=range(1, 10), target=10_001),
            Rules(blocks=range(1, 10), supply="endless", target=9_999),
        ):
            with pytest.raises(TooLargeError):
                await lobby.open_room(NewRoom(Table(Game(rules))))

    run_in_lobby(tmp_path, do)


def test_a_position_is_played_on_from(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        table = Table(Game(BOOK.rules, 0, (9, 8)), BOOK.name, ("Ann", "Ben"))
        known, token = await lobby.open_room(NewRoom(table))
        known = await lobby.act(known.address, token, Move(2, 5))
        assert known.room.table.game.moves == (9, 8, 5)
        again = await lobby.act(known.address, token, Resign())
        assert again.room.table.version == 4

    run_in_lobby(tmp_path, do)


def test_hidden_blocks_are_in_nothing_that_is_told(tmp_path: Path) -> None:
    book = catalogue.load_named("summit")

    async def do(lobby: Lobby) -> None:
        table = replace(Table(Game(book.rules), book.name), hidden=True)
        known, token = await lobby.open_room(NewRoom(table))
        known = await lobby.act(known.address, token, Move(0, 9))
        told = encode_event(known).decode()
        assert '"left":null' in told
        assert '"legal":null' in told
        assert '"refused":null' in told

    run_in_lobby(tmp_path, do)


def test_a_takeback_over_a_link_takes_two(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        await lobby.act(address, ann, Move(0, 9))
        await lobby.act(address, ann, MakeOffer("takeback"))
        known = await lobby.act(address, ben, Accept())
        assert known.room.table.game.moves == ()
        assert b"Ann's 9 is taken back." in encode_event(known)

    run_in_lobby(tmp_path, do)


def test_whoever_follows_a_room_in_which_nothing_happens_hears_that(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, _, _ = await open_linked_room(lobby)
        followed = lobby.follow(await lobby.find_room(address), 0.01)
        assert (await following(followed)).revision == (await following(followed)).revision

    run_in_lobby(tmp_path, do)


def test_a_room_that_is_gone_ends_its_stream(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, _, _ = await open_linked_room(lobby)
        known = await lobby.find_room(address)
        followed = lobby.follow(await lobby.find_room(address))
        await following(followed)
        store = open_store(tmp_path / "games.db")
        store.delete(known.game.id)
        store.close()
        lobby.hub.publish_all()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(followed), SLOW)

    run_in_lobby(tmp_path, do)
