"""Live updates: followers of rooms and classes, changes by other processes, server-sent events."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator
from contextlib import aclosing, closing, suppress
from math import inf
from threading import Event, Thread
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from fastapi import Request
from sqlalchemy import select

from number_tower.rooms.presence import mark_presence
from number_tower.store import StoreError
from number_tower.store.classrooms import ClassroomNotFoundError
from number_tower.store.database import Store
from number_tower.store.revisions import CHANNEL
from number_tower.store.rooms import Credentials, RoomNotFoundError, StoredRoom
from number_tower.store.schema import classrooms, rooms
from number_tower.web.http.streams import EventStream
from number_tower.web.live.state import encode_event
from number_tower.web.parts import get_parts

if TYPE_CHECKING:
    from number_tower.web.live.lobby import Lobby

HEARTBEAT = 20.0
"""Seconds of silence after which a comment is sent, so that no proxy closes the connection."""

RECONNECT_HINT = b"retry: 1000\n\n"
"""Tells a browser to reconnect soon if the stream breaks off."""

KEEPALIVE = b": nothing new\n\n"

_POLL_INTERVAL = 0.25
"""Seconds between two checks of a database file, or for a closed listener."""

_MIN_RETRY, _MAX_RETRY = 0.1, 5.0
"""Seconds before a lost database is tried again: doubled after each failure, up to the maximum."""

_REVISION = re.compile(r"[0-9]{1,12}", re.ASCII)
_NOTICE = re.compile(r"(room|class) ([0-9]{1,18})(?: ([0-9]{1,18}))?", re.ASCII)

_log = logging.getLogger(__name__)

T = TypeVar("T")

Wakeup = Literal["stored", "read", "heartbeat"]
"""Why a follower gets a room: this server stored it, it was read (also for the presence of its
players), or it was read after some time without news."""


class Topic(NamedTuple):
    """What can be followed: a room or a class, by its id."""

    kind: str
    id: int


class Hub:
    """The followers of every room and class.

    A follower is told that something happened and never what: it reads the room itself. However
    much happens while it is busy, it is woken once and sees the newest state, so a slow one costs
    nothing. A hub belongs to one event loop; other threads use `call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._followers: dict[Topic, set[asyncio.Event]] = {}
        self._revisions: dict[Topic, int] = {}

    def subscribe(self, *topics: Topic) -> Subscription:
        """Follow some topics from now on; there are news at first, so that nothing is missed."""
        subscription = Subscription(self._followers, self._revisions)
        subscription.follow(topics)
        return subscription

    def publish(self, topic: Topic, revision: int | None = None) -> None:
        """Wake the followers of a topic, unless they were woken for this revision or a later one.

        Without a revision they have to read anew, such as when players have come or gone.
        """
        if topic not in self._followers:
            return
        if revision is not None:
            if self._revisions.get(topic, 0) >= revision:
                return
            self._revisions[topic] = revision
        else:
            self._revisions.pop(topic, None)
        for news in self._followers[topic]:
            news.set()

    def publish_all(self) -> None:
        """Wake all followers, since anything may have changed."""
        for topic in tuple(self._followers):
            self.publish(topic)

    def list_topics(self) -> tuple[Topic, ...]:
        """Return what has followers."""
        return tuple(self._followers)

    def get_revision(self, topic: Topic) -> int:
        """Return the newest revision that was heard of; 0 if none was."""
        return self._revisions.get(topic, 0)


class Subscription:
    """A follower of some topics, which is woken when something happened in any of them."""

    def __init__(
        self, followers: dict[Topic, set[asyncio.Event]], revisions: dict[Topic, int]
    ) -> None:
        # The hub's own, which all subscriptions change.
        self._followers = followers
        self._revisions = revisions
        self._topics: frozenset[Topic] = frozenset()
        self._news = asyncio.Event()
        # The first wait ends at once, since something may have happened before.
        self._news.set()
        self.has_news = True
        """Whether there were news when `read` last woke up."""

    def follow(self, topics: Collection[Topic]) -> None:
        """Follow these topics from now on, and no others."""
        wanted = frozenset(topics)
        for topic in wanted - self._topics:
            self._followers.setdefault(topic, set()).add(self._news)
        for topic in self._topics - wanted:
            self._followers[topic].discard(self._news)
            # Topics that nobody follows are forgotten, so that the hub does not grow.
            if not self._followers[topic]:
                del self._followers[topic]
                self._revisions.pop(topic, None)
        self._topics = wanted

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for news, but not longer than some seconds; return whether there are any."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        has_news = self._news.is_set()
        self._news.clear()
        return has_news

    async def read(self, load: Callable[[], Awaitable[T]], heartbeat: float | None) -> T | None:
        """Wait for news or the heartbeat, and return what is loaded then; None if it is gone.

        While the database fails it is tried again.
        """
        while True:
            self.has_news = await self.wait(heartbeat)
            try:
                return await load()
            except (RoomNotFoundError, ClassroomNotFoundError):
                return None
            except StoreError:
                await asyncio.sleep(_MIN_RETRY)
                self._news.set()

    def close(self) -> None:
        """Follow nothing."""
        self.follow(())


# Changes by other processes -----------------------------------------------------------------------


class Notice(NamedTuple):
    """What has changed, and its new revision, if that was told."""

    topic: Topic
    revision: int | None = None


class ChangeListener:
    """A thread that tells a hub of every change that another process makes, until it is closed.

    A PostgreSQL server sends notices (`LISTEN`); a database file is polled. All followers are woken
    first of all, since nothing was heard before, and after every time in which the database could
    not be reached.
    """

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._closed = Event()
        self.is_connected = False
        """Whether changes would be heard now."""
        Thread(target=self._listen, name="listening", daemon=True).start()

    def close(self) -> None:
        """Report nothing more; the thread ends soon after."""
        self._closed.set()

    def _listen(self) -> None:
        pause = _MIN_RETRY
        is_server = self._store.engine.dialect.name == "postgresql"
        listen = self._listen_to_postgres if is_server else self._poll_file
        while not self._closed.is_set():
            try:
                for notice in listen():
                    self.is_connected, pause = True, _MIN_RETRY
                    self._loop.call_soon_threadsafe(self._deliver, notice)
            except Exception as error:  # noqa: BLE001 - whatever it is, the listener has to go on
                if self._loop.is_closed():
                    return
                _log.warning("news from other processes are missing, trying again: %s", error)
            self.is_connected = False
            self._closed.wait(pause)
            pause = min(2 * pause, _MAX_RETRY)

    def _deliver(self, notice: Notice | None) -> None:
        if self._closed.is_set():
            return
        if notice is None:
            self._hub.publish_all()
        else:
            self._hub.publish(*notice)

    def _listen_to_postgres(self) -> Iterator[Notice | None]:
        import psycopg  # noqa: PLC0415 - only where games are kept on a server

        engine = self._store.engine
        _, settings = engine.dialect.create_connect_args(engine.url)
        ours = {"application_name": "number-tower listening", "keepalives_interval": "5"}
        with psycopg.connect(**{**settings, **ours}, autocommit=True) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            yield None
            while not self._closed.is_set():
                for notice in connection.notifies(timeout=_POLL_INTERVAL):
                    yield parse_notice(notice.payload)

    def _poll_file(self) -> Iterator[Notice | None]:
        """Look a few times a second whether anything was committed, and what has changed then."""
        yield None
        last = None
        # SQLite counts the commits of all other connections, so this one is used for nothing else.
        with closing(self._store.engine.raw_connection()) as watching:
            cursor = watching.cursor()
            while not self._closed.wait(_POLL_INTERVAL):
                cursor.execute("PRAGMA data_version")
                version = cursor.fetchone()
                if version != last:
                    last = version
                    yield from self._read_revisions()

    def _read_revisions(self) -> Iterator[Notice]:
        topics = self._hub.list_topics()
        with self._store.read() as connection:
            for kind, table in (("room", rooms), ("class", classrooms)):
                followed = [topic.id for topic in topics if topic.kind == kind]
                query = select(table.c.id, table.c.revision).where(table.c.id.in_(followed))
                for row in connection.execute(query):
                    yield Notice(Topic(kind, row.id), row.revision)


def parse_notice(payload: str) -> Notice | None:
    """Return what a notice names; None if it is malformed: any client can send one."""
    match = _NOTICE.fullmatch(payload)
    if match is None:
        return None
    kind, identifier, revision = match.groups()
    return Notice(Topic(kind, int(identifier)), None if revision is None else int(revision))


# Server-sent events -------------------------------------------------------------------------------


async def follow_room(
    request: Request,
    address: str,
    credentials: Credentials,
    seen: int,
    limit: float = inf,
) -> EventStream:
    """Answer with up to `limit` states of a room, and an event whenever its players come or go.

    No state is older than `seen`. A player who follows the room counts as here.
    """
    parts = get_parts(request)
    # An unknown address is refused before the stream begins.
    stored = await parts.lobby.find_room(address, seen)
    events = _encode_events(parts.lobby, stored, credentials, seen, limit)
    return EventStream(events, parts.streams)


async def _encode_events(
    lobby: Lobby, stored: StoredRoom, credentials: Credentials, seen: int, limit: float
) -> AsyncGenerator[bytes, None]:
    yield RECONNECT_HINT
    sent, players = 0, ""
    states = lobby.follow(stored, HEARTBEAT, seen)
    async with lobby.attend(stored, credentials), aclosing(states):
        async for stored_room, wakeup in states:
            events = []
            if stored_room.revision != sent:
                sent = stored_room.revision
                events.append(encode_event(stored_room, credentials))
                limit -= 1
            mark = mark_presence(stored_room.room, lobby.describe_presence(stored_room))
            # Only a room that was read says where its players are now.
            if wakeup != "stored" and mark != players:
                players = mark
                events.append(b"event: presence\ndata: %s\n\n" % mark.encode())
            # A stream that waits keeps no room in memory.
            del stored_room
            yield b"".join(events) or KEEPALIVE
            if limit == 0:
                return


def find_newest_revision(*seen: str | None) -> int:
    """Return the newest revision that a client has seen, as it says or by its last event; 0: none.

    A browser that loses a stream asks for it again, with the last event in a header.
    """
    return max((int(text) for text in seen if text and _REVISION.fullmatch(text)), default=0)
