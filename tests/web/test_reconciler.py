"""A server notices what others have changed even if looking fails, or if nobody tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest

from number_tower.room import Move
from number_tower.store import StoreError
from number_tower.web.live import RoomChange
from number_tower.web.room_cache import CachedRoom, Reconciler, ReconcileTiming
from support.clocks import SLOW
from support.faults import Faults, Kind
from support.lobbies import sat
from support.nodes import ONLY_NEWS, Node, node, until
from support.postgres import fresh

pytest_plugins = ["support.postgres"]

ONLY_REGULARLY = ReconcileTiming(interval=0.05, first_retry=0.01)


def run(
    database: str,
    script: Callable[[Node, Node], Awaitable[None]],
    timing: ReconcileTiming,
    *,
    listening: bool,
) -> None:
    """Run a script with two servers at one database; the second has the given timing."""

    async def both() -> None:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(node(database, ONLY_NEWS))
            second = await stack.enter_async_context(node(database, timing, listening=listening))
            await script(first, second)

    asyncio.run(asyncio.wait_for(both(), SLOW))


async def next_moves(states: Any) -> tuple[int, ...]:
    known: CachedRoom = await anext(states)
    return known.room.table.game.moves


@pytest.fixture
def on_server(server: str, template: str) -> Any:
    with fresh(server, template) as url:
        yield url


def test_a_board_is_new_once_a_locked_table_is_free_again(on_server: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        states = second.lobby.follow(address)
        assert await next_moves(states) == ()
        async with await psycopg.AsyncConnection.connect(on_server) as other:
            await other.execute("LOCK TABLE rounds IN ACCESS EXCLUSIVE MODE")
            await first.lobby.act(address, ann, Move(0, 9))
            await until(lambda: second.lobby.unsynced_for is not None)
            assert second.listener is not None
            assert second.listener.is_connected
        assert await next_moves(states) == (9,)
        await until(lambda: second.lobby.unsynced_for is None)

    run(on_server, script, ONLY_NEWS, listening=True)


def test_a_comparison_that_fails_is_tried_again_until_it_succeeds(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        states = second.lobby.follow(address)
        assert await next_moves(states) == ()
        failing = True

        def fails(kind: Kind, _: int) -> bool:
            return failing and kind == "execute"

        faults = Faults(fails)
        with faults.at(second.store.engine):
            await first.lobby.act(address, ann, Move(0, 9))
            await until(lambda: len(faults.failed) > 3)
            assert second.lobby.unsynced_for is not None
            failing = False
            assert await next_moves(states) == (9,)

    run(database, script, ONLY_NEWS, listening=True)


def test_a_room_in_use_is_right_although_no_news_comes(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        states = second.lobby.follow(address)
        assert await next_moves(states) == ()
        await first.lobby.act(address, ann, Move(0, 9))
        assert await next_moves(states) == (9,)

    run(database, script, ONLY_REGULARLY, listening=False)


def test_a_room_that_is_only_asked_for_is_right_although_no_news_comes(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        await second.lobby.find_room(address)
        await first.lobby.act(address, ann, Move(0, 9))
        while not (await second.lobby.find_room(address)).room.table.game.moves:
            await asyncio.sleep(0.005)

    run(database, script, ONLY_REGULARLY, listening=False)


def test_thousands_of_notices_make_few_queries(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        identity = (await second.lobby.find_room(address)).id
        states = second.lobby.follow(address)
        assert await next_moves(states) == ()
        await first.lobby.act(address, ann, Move(0, 9))
        faults = Faults()
        with faults.at(second.store.engine):
            for number in range(5_000):
                second.lobby.note_change(RoomChange(identity, f"9.{number}.9"))
            assert await next_moves(states) == (9,)
        assert faults.calls.count("begin") <= 2

    run(database, script, ONLY_NEWS, listening=False)


def test_a_damaged_room_does_not_keep_others_from_being_compared(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        (bad, bad_ann, _), (good, good_ann, _) = await sat(first.lobby), await sat(first.lobby)
        bad_states, good_states = second.lobby.follow(bad), second.lobby.follow(good)
        assert await next_moves(bad_states) == await next_moves(good_states) == ()
        await first.lobby.act(bad, bad_ann, Move(0, 9))
        game = (await first.lobby.find_room(bad)).game.id
        with first.store.write() as connection:
            connection.exec_driver_sql(
                f"UPDATE changes SET change = 'nonsense' WHERE game = {game}"  # noqa: S608
            )
        await first.lobby.act(good, good_ann, Move(0, 8))
        second.lobby.note_change(None)
        assert await next_moves(good_states) == (8,)
        assert second.lobby.unsynced_for is None
        with pytest.raises(StoreError):
            await second.lobby.find_room(bad)

    run(database, script, ONLY_NEWS, listening=False)


def test_a_stream_outlives_a_database_that_fails_for_a_moment(database: str) -> None:
    async def script(first: Node, second: Node) -> None:
        address, ann, _ = await sat(first.lobby)
        states = second.lobby.follow(address)
        assert await next_moves(states) == ()
        await first.lobby.act(address, ann, Move(0, 9))
        identity = (await second.lobby.find_room(address)).id
        faults = Faults(lambda kind, number: kind == "execute" and number < 8)
        with faults.at(second.store.engine):
            second.lobby.cache.remove(
                identity
            )  # others were asked for meanwhile, and the cache is small
            second.lobby._hub.publish(identity)  # noqa: SLF001
            assert await next_moves(states) == (9,)
        assert faults.failed

    run(database, script, ONLY_NEWS, listening=False)


# The task itself ------------------------------------------------------------------------------------------------------


class Compared:
    """What a reconciler was told to compare; each call waits until it is let go."""

    def __init__(self) -> None:
        self.calls: list[set[int]] = []
        self.again: set[int] = set()
        self.failures = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, rooms: set[int]) -> set[int]:
        self.calls.append(set(rooms))
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("on purpose")
        again, self.again = self.again, set()
        return again


def comparing(
    script: Callable[[Reconciler, Compared], Awaitable[None]],
    timing: ReconcileTiming,
    rooms: tuple[int, ...] = (),
) -> None:
    async def all_of_it() -> None:
        compared = Compared()
        reconciler = Reconciler(compared, lambda: rooms, timing)
        await script(reconciler, compared)
        await reconciler.close()

    asyncio.run(asyncio.wait_for(all_of_it(), SLOW))


def test_what_is_marked_while_a_comparison_runs_is_compared_once_afterwards() -> None:
    async def script(reconciler: Reconciler, compared: Compared) -> None:
        compared.gate.clear()
        reconciler.mark([1])
        await until(lambda: len(compared.calls) == 1)
        for room in (1, 2, 3) * 100:
            reconciler.mark([room])
        compared.gate.set()
        await until(lambda: len(compared.calls) == 2)
        await asyncio.sleep(0.05)
        assert compared.calls == [{1}, {1, 2, 3}]

    comparing(script, ONLY_NEWS)


def test_what_failed_stays_marked_and_is_known_to_be_stale() -> None:
    async def script(reconciler: Reconciler, compared: Compared) -> None:
        compared.failures = 4
        assert reconciler.failing_for is None
        reconciler.mark([1, 2])
        await until(lambda: reconciler.failing_for is not None)
        reconciler.mark([3])
        await until(lambda: len(compared.calls) == 5)
        await until(lambda: reconciler.failing_for is None)
        assert compared.calls[0] == {1, 2}
        assert compared.calls[-1] == {1, 2, 3}

    comparing(script, ONLY_NEWS)


def test_rooms_that_are_being_changed_are_compared_again() -> None:
    async def script(reconciler: Reconciler, compared: Compared) -> None:
        compared.again = {2}
        reconciler.mark([1, 2])
        await until(lambda: len(compared.calls) == 2)
        assert compared.calls == [{1, 2}, {2}]

    comparing(script, ONLY_NEWS)


def test_all_rooms_are_compared_regularly() -> None:
    async def script(_: Reconciler, compared: Compared) -> None:
        await until(lambda: len(compared.calls) >= 3)
        assert compared.calls[:3] == [{1, 7}] * 3

    comparing(script, ONLY_REGULARLY, rooms=(1, 7))


def test_a_comparison_that_does_not_end_counts_as_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.web.room_cache._MAX_RUN", 0.0)

    async def script(reconciler: Reconciler, compared: Compared) -> None:
        compared.gate.clear()
        reconciler.mark([1])
        await until(lambda: reconciler.failing_for is not None)
        compared.gate.set()
        await until(lambda: reconciler.failing_for is None)

    comparing(script, ONLY_NEWS)
