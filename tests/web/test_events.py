"""Whoever follows a room hears that something happened there: in this process, and from others at the same database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Table, catalogue
from number_tower.store.database import Store
from number_tower.store.rooms import CHANNEL
from number_tower.web.live import ChangeListener, ClassNotice, Hub, RoomChange
from support.clocks import SLOW
from support.postgres import fresh
from support.stores import store_in

pytest_plugins = ["support.postgres"]

LISTENERS = "FROM pg_stat_activity WHERE application_name = 'number-tower listening' AND datname = current_database()"


def playing(script: Coroutine[Any, Any, None]) -> None:
    """Run what happens in a test, for as long as anybody could need."""
    asyncio.run(asyncio.wait_for(script, SLOW))


async def turns() -> None:
    """Let everybody else do what they can do now."""
    for _ in range(5):
        await asyncio.sleep(0)


class Follower:
    """Somebody who follows a room, and what they heard."""

    def __init__(self, hub: Hub, room: int, beat: float | None = None) -> None:
        self.heard: list[bool] = []
        self.task = asyncio.create_task(self._follow(hub, room, beat))

    async def _follow(self, hub: Hub, room: int, beat: float | None) -> None:
        async for news in hub.subscribe(room, beat):
            self.heard.append(news)

    async def leave(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def test_a_follower_looks_at_once_and_after_every_change() -> None:
    async def script() -> None:
        hub = Hub()
        follower = Follower(hub, 7)
        await turns()
        assert follower.heard == [True]
        for times in range(2, 5):
            hub.publish(7)
            await turns()
            assert follower.heard == [True] * times
        await follower.leave()

    playing(script())


def test_nobody_hears_of_other_rooms() -> None:
    async def script() -> None:
        hub = Hub()
        followers = [Follower(hub, room) for room in (1, 1, 2)]
        await turns()
        hub.publish(1)
        hub.publish(3)
        await turns()
        assert [len(follower.heard) for follower in followers] == [2, 2, 1]
        for follower in followers:
            await follower.leave()

    playing(script())


def test_whatever_happens_while_a_follower_is_busy_wakes_it_once() -> None:
    async def script() -> None:
        hub = Hub()
        async with aclosing(hub.subscribe(7)) as wakeups:
            assert await anext(wakeups)
            for _ in range(1000):
                hub.publish(7)
            assert await anext(wakeups)
            waiting = asyncio.ensure_future(anext(wakeups))
            await turns()
            assert not waiting.done()
            hub.publish(7)
            assert await waiting

    playing(script())


@given(st.lists(st.integers(0, 3)))
def test_a_follower_never_misses_the_newest_state(happening: list[int]) -> None:
    """A number is a change after so many turns of the loop; one that is busy for a turn looks, then rests."""
    seen: list[int] = []

    async def script() -> None:
        hub, state = Hub(), 0

        async def follow() -> None:
            async for _ in hub.subscribe(7):
                seen.append(state)
                await asyncio.sleep(0)

        following = asyncio.create_task(follow())
        for pause in happening:
            for _ in range(pause):
                await asyncio.sleep(0)
            state += 1
            hub.publish(7)
        await turns()
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    playing(script())
    assert seen[-1] == len(happening)
    assert len(seen) <= 1 + len(happening)
    assert seen == sorted(seen)


def test_a_beat_says_that_nothing_happened() -> None:
    async def script() -> None:
        hub = Hub()
        async with aclosing(hub.subscribe(7, heartbeat=0.001)) as wakeups:
            assert [await anext(wakeups) for _ in range(3)] == [True, False, False]
            hub.publish(7)
            assert await anext(wakeups)
            assert not await anext(wakeups)

    playing(script())


def test_who_follows_is_known_until_they_leave() -> None:
    async def script() -> None:
        hub = Hub()
        first, second, third = (Follower(hub, room) for room in (1, 1, 2))
        await turns()
        assert hub.list_followed() == {1, 2}
        await second.leave()
        await third.leave()
        assert hub.list_followed() == {1}
        hub.publish(1)
        await turns()
        assert len(first.heard) == 2
        await first.leave()
        assert not hub.list_followed()

    playing(script())


class Heard:
    """What is heard from other processes."""

    def __init__(self, store: Store) -> None:
        self.queue: asyncio.Queue[RoomChange | ClassNotice | None] = asyncio.Queue()
        self.listener: ChangeListener = ChangeListener(store, self.queue.put_nowait)

    async def next(self) -> RoomChange | ClassNotice | None:
        return await self.queue.get()

    async def until(self, wanted: RoomChange | None) -> None:
        """Wait for some news; on the way others may come."""
        while await self.next() != wanted:
            pass


@asynccontextmanager
async def news_at(database: str | Path) -> AsyncIterator[Heard]:
    store = store_in(database)
    news = Heard(store)
    try:
        assert await news.next() is None
        assert news.listener.is_connected
        yield news
    finally:
        news.listener.close()
        store.close()


def some_game(database: str | Path) -> None:
    """Let somebody else begin a game at a database."""
    store = store_in(database)
    book = catalogue.load_named("draft")
    store.begin(Table(Game(book.rules), book.name), book)
    store.close()


@pytest.fixture
def on_server(server: str, template: str) -> Iterator[str]:
    with fresh(server, template) as url:
        yield url


def test_what_others_write_to_a_file_is_heard(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def script() -> None:
        async with news_at(file) as news:
            for _ in range(2):
                await asyncio.to_thread(some_game, file)
                assert await news.next() is None

    playing(script())


def test_a_file_that_nobody_writes_to_is_quiet(tmp_path: Path) -> None:
    file = tmp_path / "games.db"

    async def script() -> None:
        async with news_at(file) as news:
            with closing(sqlite3.connect(file)) as reader:
                reader.execute("SELECT count(*) FROM games").fetchone()
            await asyncio.sleep(0.6)
            assert news.queue.empty()

    playing(script())


def test_a_server_says_which_room_has_changed(on_server: str) -> None:
    async def script() -> None:
        async with (
            news_at(on_server) as news,
            await psycopg.AsyncConnection.connect(on_server) as other,
        ):
            for payload in ("17", "9007199254740993 1.3.2"):
                await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
            await other.commit()
            assert [await news.next(), await news.next()] == [
                RoomChange(17),
                RoomChange(9007199254740993, "1.3.2"),
            ]
            for payload in ("", "all of them", "-1", "1" * 100, "٣ 1.3.2"):
                await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
                await other.commit()
                assert await news.next() is None

    playing(script())


def test_what_was_not_committed_on_a_server_is_not_told(on_server: str) -> None:
    async def script() -> None:
        async with (
            news_at(on_server) as news,
            await psycopg.AsyncConnection.connect(on_server) as other,
        ):
            await other.execute("SELECT pg_notify(%s, '1')", (CHANNEL,))
            await other.rollback()
            await other.execute("SELECT pg_notify(%s, '2')", (CHANNEL,))
            await other.commit()
            assert await news.next() == RoomChange(2)

    playing(script())


def test_a_lost_connection_is_made_again_and_anything_may_have_changed(on_server: str) -> None:
    async def script() -> None:
        async with news_at(on_server) as news:
            other = await psycopg.AsyncConnection.connect(on_server, autocommit=True)
            async with other:
                for room in range(3):
                    found = await other.execute(f"SELECT pg_terminate_backend(pid) {LISTENERS}")
                    assert await found.fetchall() == [(True,)]
                    await news.until(None)
                    await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(room)))
                    await news.until(RoomChange(room))

    playing(script())


def test_a_server_that_refuses_everybody_is_tried_until_it_does_not(
    on_server: str, server: str
) -> None:
    name = on_server.rpartition("/")[2].partition("?")[0]

    async def script() -> None:
        async with news_at(on_server) as news:
            admin = await psycopg.AsyncConnection.connect(server, autocommit=True)
            async with admin:
                await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
                await admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    (name,),
                )
                while news.listener.is_connected:
                    await asyncio.sleep(0.01)
                assert news.queue.empty()
                await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
                await news.until(None)
            assert news.listener.is_connected

    playing(script())


def test_a_closed_listener_tells_nothing_more_and_leaves_the_server(on_server: str) -> None:
    async def script() -> None:
        async with news_at(on_server) as news:
            news.listener.close()
            other = await psycopg.AsyncConnection.connect(on_server, autocommit=True)
            async with other:
                await other.execute("SELECT pg_notify(%s, '1')", (CHANNEL,))
                while await (await other.execute(f"SELECT 1 {LISTENERS}")).fetchone():
                    await asyncio.sleep(0.01)
            await turns()
            assert news.queue.empty()

    playing(script())
