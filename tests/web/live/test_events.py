"""Whoever follows a room hears that something happened, here or at the same database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.rooms.room import Move
from number_tower.store.database import Store
from number_tower.store.revisions import CHANNEL
from number_tower.web.live.events import ChangeListener, Hub, Notice, Topic
from support.clocks import SLOW
from support.lobbies import open_linked_room, open_node
from support.postgres import fresh
from support.stores import open_store

pytest_plugins = ["support.postgres"]

LISTENERS = (
    "FROM pg_stat_activity WHERE application_name = 'number-tower listening' AND datname = "
    "current_database()"
)


def playing(script: Coroutine[Any, Any, None]) -> None:
    """Run what happens in a test, for as long as anybody could need."""
    asyncio.run(asyncio.wait_for(script, SLOW))


async def turns() -> None:
    """Let everybody else do what they can do now."""
    for _ in range(5):
        await asyncio.sleep(0)


ROOM, OTHER = Topic("room", 1), Topic("room", 2)


class Follower:
    """Somebody who follows a room, and what they heard."""

    def __init__(self, hub: Hub, room: Topic, beat: float | None = None) -> None:
        self.heard: list[bool] = []
        self.task = asyncio.create_task(self._follow(hub, room, beat))

    async def _follow(self, hub: Hub, room: Topic, beat: float | None) -> None:
        with closing(hub.subscribe(room)) as news:
            while True:
                self.heard.append(await news.wait(beat))

    async def leave(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def test_a_follower_looks_at_once_and_after_every_change() -> None:
    async def script() -> None:
        hub = Hub()
        follower = Follower(hub, ROOM)
        await turns()
        assert follower.heard == [True]
        for times in range(2, 5):
            hub.publish(ROOM)
            await turns()
            assert follower.heard == [True] * times
        await follower.leave()

    playing(script())


def test_nobody_hears_of_other_rooms() -> None:
    async def script() -> None:
        hub = Hub()
        followers = [Follower(hub, room) for room in (ROOM, ROOM, OTHER)]
        await turns()
        hub.publish(ROOM)
        hub.publish(Topic("class", 1))
        await turns()
        assert [len(follower.heard) for follower in followers] == [2, 2, 1]
        for follower in followers:
            await follower.leave()

    playing(script())


def test_whatever_happens_while_a_follower_is_busy_wakes_it_once() -> None:
    async def script() -> None:
        hub = Hub()
        with closing(hub.subscribe(ROOM)) as news:
            assert await news.wait()
            for _ in range(1000):
                hub.publish(ROOM)
            assert await news.wait()
            assert not await news.wait(0.01)
            hub.publish(ROOM)
            assert await news.wait()

    playing(script())


def test_a_revision_that_was_heard_of_wakes_nobody_again() -> None:
    async def script() -> None:
        hub = Hub()
        with closing(hub.subscribe(ROOM)) as news:
            await news.wait()
            for revision, is_news in ((5, True), (5, False), (4, False), (6, True)):
                hub.publish(ROOM, revision)
                assert await news.wait(0.01) is is_news
            hub.publish(ROOM)
            assert await news.wait(0.01), "its players have come or gone"

    playing(script())


@given(st.lists(st.integers(0, 3)))
def test_a_follower_never_misses_the_newest_state(happening: list[int]) -> None:
    """A number is a change after so many turns of the loop.

    One that is busy for a turn looks, then rests.
    """
    seen: list[int] = []

    async def script() -> None:
        hub, state = Hub(), 0

        async def follow() -> None:
            with closing(hub.subscribe(ROOM)) as news:
                while await news.wait():
                    seen.append(state)
                    await asyncio.sleep(0)

        following = asyncio.create_task(follow())
        for pause in happening:
            for _ in range(pause):
                await asyncio.sleep(0)
            state += 1
            hub.publish(ROOM)
        await turns()
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    playing(script())
    assert seen[-1] == len(happening)
    assert len(seen) <= 1 + len(happening)
    assert seen == sorted(seen)


def test_what_has_followers_is_known_until_they_leave() -> None:
    async def script() -> None:
        hub = Hub()
        first, second = hub.subscribe(ROOM, OTHER), hub.subscribe(ROOM)
        first.follow({ROOM})
        assert set(hub.list_topics()) == {ROOM}
        second.close()
        assert set(hub.list_topics()) == {ROOM}
        first.close()
        assert not hub.list_topics()

    playing(script())


class Heard(Hub):
    """What is heard from other processes; None if anything may have changed."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.queue: asyncio.Queue[Notice | None] = asyncio.Queue()
        self.listener = ChangeListener(store, self)

    def publish(self, topic: Topic, revision: int | None = None) -> None:
        self.queue.put_nowait(Notice(topic, revision))

    def publish_all(self) -> None:
        self.queue.put_nowait(None)

    async def next(self) -> Notice | None:
        return await self.queue.get()

    async def until(self, wanted: Notice | None) -> None:
        """Wait for some news; on the way others may come."""
        while await self.next() != wanted:
            pass


@asynccontextmanager
async def news_at(database: str | Path) -> AsyncIterator[Heard]:
    store = open_store(database)
    news = Heard(store)
    try:
        assert await news.next() is None
        assert news.listener.is_connected
        yield news
    finally:
        news.listener.close()
        store.close()


@pytest.fixture
def on_server(server: str, template: str) -> Iterator[str]:
    with fresh(server, template) as url:
        yield url


def test_what_others_write_to_a_file_is_heard_by_those_who_follow_it(tmp_path: Path) -> None:
    async def script() -> None:
        async with (
            open_node(str(tmp_path / "games.db")) as other,
            news_at(tmp_path / "games.db") as news,
        ):
            address, ann, _ = await open_linked_room(other.lobby)
            room = await other.lobby.find_room(address)
            news.subscribe(Topic("room", room.id))
            await news.until(Notice(Topic("room", room.id), room.revision))
            await other.lobby.act(address, ann, Move(0, 9))
            await news.until(Notice(Topic("room", room.id), room.revision + 1))
            await asyncio.sleep(0.6)
            assert news.queue.empty()

    playing(script())


def test_a_server_says_which_room_has_changed(on_server: str) -> None:
    async def script() -> None:
        async with (
            news_at(on_server) as news,
            await psycopg.AsyncConnection.connect(on_server) as other,
        ):
            for payload in ("room 17", "class 9007199254740993 12"):
                await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
            await other.commit()
            assert [await news.next(), await news.next()] == [
                Notice(Topic("room", 17)),
                Notice(Topic("class", 9007199254740993), 12),
            ]
            for payload in ("", "all of them", "room -1", "room " + "1" * 100, "room ٣"):
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
            await other.execute("SELECT pg_notify(%s, 'room 1')", (CHANNEL,))
            await other.rollback()
            await other.execute("SELECT pg_notify(%s, 'room 2')", (CHANNEL,))
            await other.commit()
            assert await news.next() == Notice(Topic("room", 2))

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
                    await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f"room {room}"))
                    await news.until(Notice(Topic("room", room)))

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
                await other.execute("SELECT pg_notify(%s, 'room 1')", (CHANNEL,))
                while await (await other.execute(f"SELECT 1 {LISTENERS}")).fetchone():
                    await asyncio.sleep(0.01)
            await turns()
            assert news.queue.empty()

    playing(script())
