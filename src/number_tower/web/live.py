"""Live updates: who follows which room or class, changes that other processes make, and rooms as server-sent events."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import AbstractContextManager, aclosing, closing, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from fastapi.responses import StreamingResponse
from starlette.responses import AsyncContentStream, Content
from starlette.types import Send

from number_tower.store.database import Store
from number_tower.store.rooms import CHANNEL, Credentials, Revision, parse_tag
from number_tower.web.view import mark_presence

if TYPE_CHECKING:
    from number_tower.web.lobby import Lobby

HEARTBEAT = 20.0
"""Seconds of silence after which a comment is sent, so that no proxy closes the connection."""

RECONNECT_HINT = b"retry: 1000\n\n"
"""Tells a browser to reconnect soon if the stream breaks off."""

KEEPALIVE = b": nothing new\n\n"

_POLL_INTERVAL = 0.25
"""Seconds between two looks at a database file, and between two looks whether a listener is closed."""

_MIN_RETRY, _MAX_RETRY = 0.1, 5.0
"""Seconds until a database that was lost is tried again; twice as long every time that fails."""

_CLASS_NOTICE = re.compile(r"class ([0-9]{1,18}) ([0-9]{1,18})", re.ASCII)

_log = logging.getLogger(__name__)


Topic = int | str
"""What can be followed: a room by its id, or a class by the name that `name_class_topic` gives it."""


def name_class_topic(class_id: int) -> str:
    """Return the name under which a class is followed."""
    return f"class {class_id}"


class Hub:
    """The followers of every room and class.

    A follower is told that something happened and never what: it finds the room itself. However much happens while it
    is busy, it is woken once and sees the newest state, so a slow one costs nothing. A hub belongs to one event loop;
    other threads use `call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._topics: dict[Topic, set[asyncio.Event]] = {}

    async def subscribe(
        self, topic: Topic, heartbeat: float | None = None
    ) -> AsyncGenerator[bool, None]:
        """Yield True at once and after every change of a room or class; False after a heartbeat.

        The caller is subscribed before it looks for the first time, so it misses nothing.
        """
        with closing(Subscription(self._topics)) as subscription:
            subscription.follow({topic})
            while True:
                yield await subscription.wait(heartbeat)

    def open_subscription(self) -> Subscription:
        """Return a subscription to topics that may change while it lasts."""
        return Subscription(self._topics)

    def publish(self, topic: Topic) -> None:
        """Wake the followers of a room or class."""
        for news in self._topics.get(topic, ()):
            news.set()

    def list_followed(self) -> frozenset[int]:
        """Return the rooms that have followers."""
        return frozenset(topic for topic in self._topics if isinstance(topic, int))


class Subscription:
    """A follower of some topics, which is woken when something happened in any of them; there are news at first."""

    def __init__(self, topics: dict[Topic, set[asyncio.Event]]) -> None:
        self._topics = topics
        self._mine: frozenset[Topic] = frozenset()
        self._news = asyncio.Event()
        self._news.set()

    def follow(self, topics: Collection[Topic]) -> None:
        """Follow these topics from now on, and no others."""
        wanted = frozenset(topics)
        for topic in wanted - self._mine:
            self._topics.setdefault(topic, set()).add(self._news)
        for topic in self._mine - wanted:
            self._topics[topic].discard(self._news)
            if not self._topics[topic]:
                del self._topics[topic]
        self._mine = wanted

    async def wait(self, heartbeat: float | None = None) -> bool:
        """Wait for news; return False if there are none until the heartbeat."""
        with suppress(TimeoutError):
            async with asyncio.timeout(heartbeat):
                await self._news.wait()
        has_news = self._news.is_set()
        self._news.clear()
        return has_news

    def close(self) -> None:
        """Follow nothing."""
        self.follow(())


# Changes by other processes -------------------------------------------------------------------------------------------


class RoomChange(NamedTuple):
    """A room that another process has changed, and its new tag, if that was told."""

    room: int
    tag: str = ""


class ClassNotice(NamedTuple):
    """A class that another process has changed, and its new version."""

    id: int
    version: int


class ChangeListener:
    """A thread that reports every change that another process makes, on this event loop, until it is closed.

    It reports None if any room may have changed: first of all, since nothing was heard before, and after every time in
    which the database could not be reached. A PostgreSQL server sends notices (`LISTEN`); a database file is polled.
    """

    def __init__(
        self, store: Store, on_change: Callable[[RoomChange | ClassNotice | None], None]
    ) -> None:
        self._store = store
        self._on_change = on_change
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
        receive = (
            _listen_to_postgres if self._store.engine.dialect.name == "postgresql" else _poll_file
        )
        while not self._closed.is_set():
            try:
                for change in receive(self._store, self._closed):
                    self.is_connected, pause = True, _MIN_RETRY
                    self._loop.call_soon_threadsafe(self._deliver, change)
            except Exception as error:  # noqa: BLE001 - whatever it is, the listener has to go on
                if self._loop.is_closed():
                    return
                _log.warning("news from other processes are missing, trying again: %s", error)
            self.is_connected = False
            self._closed.wait(pause)
            pause = min(2 * pause, _MAX_RETRY)

    def _deliver(self, change: RoomChange | ClassNotice | None) -> None:
        if not self._closed.is_set():
            self._on_change(change)


def _listen_to_postgres(store: Store, closed: Event) -> Iterator[RoomChange | ClassNotice | None]:
    import psycopg  # noqa: PLC0415 - only where games are kept on a server

    _, settings = store.engine.dialect.create_connect_args(store.engine.url)
    ours = {"application_name": "number-tower listening", "keepalives_interval": "5"}
    with psycopg.connect(**{**settings, **ours}, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        yield None
        while not closed.is_set():
            for notice in connection.notifies(timeout=_POLL_INTERVAL):
                yield _parse_notice(notice.payload)


def _parse_notice(payload: str) -> RoomChange | ClassNotice | None:
    """Return what a notice names; every client of the database can send one, so a malformed one means anything."""
    if of_class := _CLASS_NOTICE.fullmatch(payload):
        return ClassNotice(int(of_class[1]), int(of_class[2]))
    room, _, tag = payload.partition(" ")
    return (
        RoomChange(int(room), tag)
        if room.isdecimal() and room.isascii() and len(room) < 20
        else None
    )


def _poll_file(store: Store, closed: Event) -> Iterator[RoomChange | None]:
    """Look at the file a few times a second."""
    last = None
    while True:
        version = store.read_version()
        if version != last:
            last = version
            yield None
        if closed.wait(_POLL_INTERVAL):
            return


# Server-sent events ---------------------------------------------------------------------------------------------------


class EventStream(StreamingResponse):
    """Events that are encoded once for all followers: FastAPI's own class would encode them for each of them."""

    media_type = "text/event-stream"

    async def stream_response(self, send: Send) -> None:
        """Send every event, and keep none in memory while waiting for the next, as Starlette's own method would."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        async for event in self.body_iterator:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            del event
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def stream_room(
    lobby: Lobby,
    address: str,
    credentials: Credentials | None = None,
    *,
    first: bytes = b"",
    limit: int | None = None,
    seen: Revision | None = None,
) -> EventStream:
    """Respond with a room's states until the client leaves or `limit` events were sent; none is older than `seen`."""
    return _make_stream(_encode_events(lobby, address, credentials, first, limit, seen))


def stream_page(lobby: Lobby, address: str, seen: Revision | None = None) -> EventStream:
    """Respond with a room's states for a page, and with an event whenever its players come or go."""
    return _make_stream(_encode_page_events(lobby, address, seen))


def attend_stream(stream: EventStream, attendance: AbstractContextManager[None]) -> EventStream:
    """Return a stream that is in a context as long as it lasts."""

    async def attend(events: AsyncContentStream) -> AsyncGenerator[Content, None]:
        with attendance:
            async for event in events:
                yield event
                del event

    stream.body_iterator = attend(stream.body_iterator)
    return stream


def _make_stream(events: AsyncGenerator[bytes, None]) -> EventStream:
    return EventStream(events, headers={"X-Accel-Buffering": "no"})


async def _encode_events(
    lobby: Lobby,
    address: str,
    credentials: Credentials | None,
    first: bytes,
    limit: int | None,
    seen: Revision | None,
) -> AsyncGenerator[bytes, None]:
    if first:
        yield first
    async with aclosing(lobby.follow(address, HEARTBEAT, seen)) as states:
        async for room in states:
            if room is None:
                yield KEEPALIVE
                continue
            yield room.encode_event(room.find_reader(credentials))
            del room
            limit = None if limit is None else limit - 1
            if limit == 0:
                return


async def _encode_page_events(
    lobby: Lobby, address: str, seen: Revision | None
) -> AsyncGenerator[bytes, None]:
    yield RECONNECT_HINT
    tag, players = "", ""
    async with aclosing(lobby.follow(address, HEARTBEAT, seen, always=True)) as states:
        async for room in states:
            if room is None:
                yield KEEPALIVE
                continue
            if room.tag != tag:
                tag = room.tag
                yield room.encode_event()
            if (mark := mark_presence(room.room, lobby.describe_presence(room))) != players:
                players = mark
                yield b"event: presence\ndata: %s\n\n" % mark.encode()
            del room


def pick_newest_moment(seen: Revision | None, last_event_id: str | None) -> Revision | None:
    """Return the newest state that a client has seen, as it says itself or by the id of its last event.

    A browser that loses a stream asks for it again at the same address, with the last event in a header.
    """
    last = parse_tag(last_event_id or "")
    return max((each for each in (seen, last) if each is not None), default=None)
