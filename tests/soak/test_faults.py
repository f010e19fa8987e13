"""If a database call fails, nothing announced is lost and no server shows an old state.

`make soak` lets every call fail.
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

SAMPLE = 4
"""Calls of the scenario that fail, spread over all of it."""


def test_nothing_announced_is_lost_whichever_call_fails(database: str) -> None:
    seed = os.environ.get("FAULT_SEED") or token_hex(4)
    print(f"to run the same again: FAULT_SEED={seed}")
    failed = asyncio.run(inject(database, seed, most=SAMPLE))
    assert sum(failed.values()) >= SAMPLE // 2


def run_with_faults(database: str, script: Callable[[ServerNode, Faults], Awaitable[None]]) -> None:
    """Run a script at a server whose database calls can fail."""

    async def run() -> None:
        async with open_node(database) as server:
            faults = Faults()
            with faults.at(server.store.engine):
                await script(server, faults)

    asyncio.run(asyncio.wait_for(run(), SLOW))


def fail_next(faults: Faults, kind: Kind = "after commit") -> None:
    """Let the next call of a kind by the writer fail, once."""
    faults.failed.clear()
    faults.fails = lambda called, _: (
        called == kind and not faults.failed and current_thread().name == "writer"
    )


def test_seat_is_given_although_the_answer_of_its_commit_was_lost(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        stored, ann = await server.lobby.open_room(LINK)
        fail_next(faults)
        joined, ben = await server.lobby.join(stored.address, "Ben")
        assert faults.failed
        assert joined.find_seats(ben) == {1}
        code = await server.lobby.make_handover_code(stored.address, ann)
        fail_next(faults)
        taken, moved = await server.lobby.take_over(stored.address, code)
        assert faults.failed
        assert taken.find_seats(moved) == {0}
        after = await server.lobby.act(stored.address, moved, Move(0, 9))
        assert after.room.table.game.moves == (9,)

    run_with_faults(database, script)


def test_seat_that_was_not_stored_is_not_given(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        stored, _ = await server.lobby.open_room(LINK)
        fail_next(faults, "commit")
        with pytest.raises(StoreError):
            await server.lobby.join(stored.address, "Ben")
        _, ben = await server.lobby.join(stored.address, "Ben")
        assert (await server.lobby.find_room(stored.address)).find_seats(ben) == {1}

    run_with_faults(database, script)


def test_move_whose_answer_was_lost_counts_once(database: str) -> None:
    async def script(server: ServerNode, faults: Faults) -> None:
        address, ann, _ = await open_linked_room(server.lobby)
        fail_next(faults)
        with pytest.raises(StoreError):
            await server.lobby.act(address, ann, Move(0, 9))
        assert (await server.lobby.act(address, ann, Move(0, 9))).room.table.game.moves == (9,)

    run_with_faults(database, script)
