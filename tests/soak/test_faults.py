"""Whichever database call fails, nothing announced is lost and no server keeps an old state.

`make soak` tries all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from secrets import token_hex
from threading import current_thread

import pytest

from number_tower.rooms.room import Move
from number_tower.store import StoreError
from soak.faults import inject
from support.clocks import SLOW
from support.faults import Faults, Kind
from support.lobbies import LINK, ServerNode, open_linked_room, open_node

pytest_plugins = ["support.postgres"]

SAMPLE = 6
"""Calls of the scenario that fail, spread over all of it."""


def test_nothing_announced_is_lost_whichever_call_fails(database: str) -> None:
    seed = os.environ.get("FAULT_SEED") or token_hex(4)
    print(f"to run the same again: FAULT_SEED={seed}")
    failed = asyncio.run(inject(database, seed, most=SAMPLE))
    assert sum(failed.values()) >= SAMPLE // 2


def losing_a_commit(database: str, script: Callable[[ServerNode, Faults], Awaitable[None]]) -> None:
    """Run a script at a server whose calls fail as `lose_next` says."""

    async def all_of_it() -> None:
        async with open_node(database) as server:
            faults = Faults()
            with faults.at(server.store.engine):
                await script(server, faults)

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


def lose_next(faults: Faults, kind: Kind = "after commit") -> None:
    """Let the next call of a kind fail, once, by which something is written."""
    faults.failed.clear()
    faults.fails = lambda called, _: (
        called == kind and not faults.failed and current_thread().name == "writer"
    )


def test_a_seat_is_not_lost_with_the_answer_to_its_commit(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        known, ann = await server.lobby.open_room(LINK)
        lose_next(faults)
        joined, ben = await server.lobby.join(known.address, "Ben")
        assert faults.failed
        assert joined.find_seats(ben) == {1}
        code = await server.lobby.make_handover_code(known.address, ann)
        lose_next(faults)
        taken, moved = await server.lobby.take_over(known.address, code)
        assert faults.failed
        assert taken.find_seats(moved) == {0}
        assert (await server.lobby.act(known.address, moved, Move(0, 9))).room.table.game.moves == (
            9,
        )

    losing_a_commit(database, script)


def test_a_seat_that_was_not_stored_is_not_given(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        known, _ = await server.lobby.open_room(LINK)
        lose_next(faults, "commit")
        with pytest.raises(StoreError):
            await server.lobby.join(known.address, "Ben")
        _, ben = await server.lobby.join(known.address, "Ben")
        assert (await server.lobby.find_room(known.address)).find_seats(ben) == {1}

    losing_a_commit(database, script)


def test_a_move_whose_answer_was_lost_counts_once(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        address, ann, _ = await open_linked_room(server.lobby)
        lose_next(faults)
        with pytest.raises(StoreError):
            await server.lobby.act(address, ann, Move(0, 9))
        assert (await server.lobby.act(address, ann, Move(0, 9))).room.table.game.moves == (9,)

    losing_a_commit(database, script)


def test_a_call_that_fails_is_counted_and_only_that_one(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        server.store.engine.dispose()
        await server.lobby.open_room(LINK)
        assert set(faults.calls) >= {"connect", "begin", "execute", "commit", "after commit"}
        assert not faults.failed
        before = len(faults.calls)
        lose_next(faults, "begin")
        with pytest.raises(StoreError):
            await server.lobby.open_room(LINK)
        await server.lobby.open_room(LINK)
        ((kind, number),) = faults.failed
        assert (kind, faults.calls[number]) == ("begin", "begin")
        assert number >= before

    losing_a_commit(database, script)
