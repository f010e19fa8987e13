"""Followers of a room hear of its changes, whichever program at the database makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import AsyncConnection

from number_tower.rooms.room import Move
from number_tower.store.database import Store
from number_tower.store.revisions import CHANNEL
from number_tower.web.live.events import ChangeListener, Hub, Notice, Topic
from support.clocks import SLOW, wait_until_true
from support.lobbies import open_linked_room, open_node
from support.postgres import fresh
from support.stores import open_store

pytest_plugins = ["support.postgres", "anyio.pytest_plugin"]

LISTENERS = (
    "FROM pg_stat_activity WHERE application_name = 'number-tower listening' AND datname = "
    "current_database()"
)
ROOM, OTHER_ROOM = Topic("room", 1), Topic("room", 2)


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


# The hub ------------------------------------------------------------------------------------------


async def test_followers_look_at_first_and_after_every_change_of_their_room() -> None:
    hub = Hub()
    followers = [hub.subscribe(topic) for topic in (ROOM, ROOM, OTHER_ROOM)]
    assert all([await news.wait() for news in followers])
    for _ in range(3):
        hub.publish(ROOM)
        hub.publish(Topic("class", 1))
        assert [await news.wait(0.01) for news in followers] == [True, True, False]
    for news in followers:
        news.close()


async def test_busy_follower_wakes_once_and_once_for_a_revision() -> None:
    hub = Hub()
    with closing(hub.subscribe(ROOM)) as news:
        assert await news.wait()
        for _ in range(1000):
            hub.publish(ROOM)
        assert await news.wait()
        assert not await news.wait(0.01)
        for revision, is_news in ((5, True), (5, False), (4, False), (6, True)):
            hub.publish(ROOM, revision)
            assert await news.wait(0.01) is is_news
        hub.publish(ROOM)
        assert await news.wait(0.01), "its players have come or gone"


@given(st.lists(st.integers(0, 3)))
def test_follower_never_misses_the_newest_state(pauses: list[int]) -> None:
    """A change comes after each pause in turns of the loop; the follower looks, then rests."""
    seen: list[int] = []

    async def run() -> None:
        hub, state = Hub(), 0

        async def follow() -> None:
            with closing(hub.subscribe(ROOM)) as news:
                while await news.wait():
                    seen.append(state)
                    await asyncio.sleep(0)

        following = asyncio.create_task(follow())
        for pause in pauses:
            for _ in range(pause):
                await asyncio.sleep(0)
            state += 1
            hub.publish(ROOM)
        await let_others_run()
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    asyncio.run(run())
    assert seen[-1] == len(pauses)
    assert len(seen) <= 1 + len(pauses)
    assert seen == sorted(seen)


def test_topic_is_listed_until_its_last_follower_leaves() -> None:
    hub = Hub()
    first, second = hub.subscribe(ROOM, OTHER_ROOM), hub.subscribe(ROOM)
    first.follow({ROOM})
    assert set(hub.list_topics()) == {ROOM}
    second.close()
    assert set(hub.list_topics()) == {ROOM}
    first.close()
    assert not hub.list_topics()


# Changes by other programs ------------------------------------------------------------------------


class QueueHub(Hub):
    """Queues what is heard from other processes; None if anything may have changed."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.queue: asyncio.Queue[Notice | None] = asyncio.Queue()
        self.listener = ChangeListener(store, self)

    def publish(self, topic: Topic, revision: int | None = None) -> None:
        self.queue.put_nowait(Notice(topic, revision))

    def publish_all(self) -> None:
        self.queue.put_nowait(None)

    async def read_next(self) -> Notice | None:
        return await asyncio.wait_for(self.queue.get(), SLOW)

    async def read_until(self, notice: Notice | None) -> None:
        """Wait for a notice; others may come before it."""
        while await self.read_next() != notice:
            pass


@asynccontextmanager
async def listen(database: str | Path) -> AsyncIterator[QueueHub]:
    with closing(open_store(database)) as store:
        hub = QueueHub(store)
        try:
            assert await hub.read_next() is None
            assert hub.listener.is_connected
            yield hub
        finally:
            hub.listener.close()


@pytest.fixture
def postgres_url(server: str, template: str) -> Iterator[str]:
    with fresh(server, template) as url:
        yield url


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[AsyncConnection]:
    """Another program at the database."""
    async with await AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def heard(postgres_url: str) -> AsyncIterator[QueueHub]:
    async with listen(postgres_url) as hub:
        yield hub


async def notify(connection: AsyncConnection, payload: str) -> None:
    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))


async def test_followers_hear_of_changes_to_a_file(tmp_path: Path) -> None:
    async with open_node(str(tmp_path / "games.db")) as node, listen(tmp_path / "games.db") as hub:
        address, ann, _ = await open_linked_room(node.lobby)
        room = await node.lobby.find_room(address)
        topic = Topic("room", room.id)
        hub.subscribe(topic)
        await hub.read_until(Notice(topic, room.revision))
        await node.lobby.act(address, ann, Move(0, 9))
        await hub.read_until(Notice(topic, room.revision + 1))
        await asyncio.sleep(0.6)
        assert hub.queue.empty()


async def test_postgresql_names_a_changed_room(heard: QueueHub, other: AsyncConnection) -> None:
    await notify(other, "room 17")
    await notify(other, "class 9007199254740993 12")
    assert await heard.read_next() == Notice(Topic("room", 17))
    assert await heard.read_next() == Notice(Topic("class", 9007199254740993), 12)
    for payload in ("", "all of them", "room -1", "room " + "1" * 100, "room ٣"):
        await notify(other, payload)
        assert await heard.read_next() is None


async def test_rolled_back_change_is_not_announced(heard: QueueHub, other: AsyncConnection) -> None:
    async with other.transaction(force_rollback=True):
        await notify(other, "room 1")
    await notify(other, "room 2")
    assert await heard.read_next() == Notice(Topic("room", 2))


async def test_lost_connection_announces_any_change(
    heard: QueueHub, other: AsyncConnection
) -> None:
    for number in range(3):
        ended = await other.execute(f"SELECT pg_terminate_backend(pid) {LISTENERS}")
        assert await ended.fetchall() == [(True,)]
        await heard.read_until(None)
        await notify(other, f"room {number}")
        await heard.read_until(Notice(Topic("room", number)))


async def test_refused_listener_tries_again(
    heard: QueueHub, postgres_url: str, server: str
) -> None:
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    end_connections = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
    async with await AsyncConnection.connect(server, autocommit=True) as admin:
        await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        await admin.execute(end_connections, (name,))
        await wait_until_true(lambda: not heard.listener.is_connected)
        assert heard.queue.empty()
        await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        await heard.read_until(None)
    assert heard.listener.is_connected


async def test_closed_listener_leaves_the_database(heard: QueueHub, other: AsyncConnection) -> None:
    heard.listener.close()
    await notify(other, "room 1")
    async with asyncio.timeout(SLOW):
        while await (await other.execute(f"SELECT 1 {LISTENERS}")).fetchone():
            await asyncio.sleep(0.01)
    await let_others_run()
    assert heard.queue.empty()
