"""Who in this process follows which room, and how they hear that something happened there."""

from __future__ import annotations

import logging
from asyncio import get_running_loop
from contextlib import aclosing
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from fastapi.responses import StreamingResponse

from number_tower.store.rooms import CHANNEL, parse_tag

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import AsyncGenerator, Callable, Iterator

    from starlette.types import Send

    from number_tower.store.database import Store
    from number_tower.store.rooms import Revision
    from number_tower.web.lobby import Lobby


class Hub:
    """The listeners of every room.

    A listener is told that something happened and never what: it looks for itself. However much happens while it is
    busy, it is woken once and sees the newest state, so a slow one costs nobody anything. All of this belongs to one
    event loop; other threads come in with `call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, set[_Subscriber]] = {}
        self._closed = False

    async def subscribe(self, room: int, beat: float | None = None) -> AsyncGenerator[bool, None]:
        """Wake the caller at once, and then whenever something happened in a room, until the hub is closed.

        The caller is listening before it looks for the first time, so nothing can happen between the two. It gets True;
        with a beat also False, after so many seconds in which nothing happened.
        """
        ear = _Subscriber()
        self._rooms.setdefault(room, set()).add(ear)
        try:
            while not self._closed:
                news = await ear.wait(beat)
                if not self._closed:
                    yield news
        finally:
            self._unsubscribe(room, ear)

    def publish(self, room: int) -> None:
        """Wake whoever follows a room."""
        for ear in self._rooms.get(room, ()):
            ear.notify()

    def list_followed(self) -> frozenset[int]:
        """Return the rooms that somebody follows."""
        return frozenset(self._rooms)

    def close(self) -> None:
        """End all that follow any room, now and from now on."""
        self._closed = True
        for room in self._rooms:
            self.publish(room)

    def _unsubscribe(self, room: int, ear: _Subscriber) -> None:
        self._rooms[room].discard(ear)
        if not self._rooms[room]:
            del self._rooms[room]


class _Subscriber:
    """One who follows a room: asleep, or busy and to be woken again, which is remembered once."""

    __slots__ = ("_has_news", "_waiting")

    def __init__(self) -> None:
        self._has_news = True
        self._waiting: Future[None] | None = None

    def notify(self) -> None:
        self._has_news = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self, beat: float | None) -> bool:
        """Wait until there are news, or for a beat; say whether there are."""
        if not self._has_news:
            await self._wait_until_woken(beat)
        fresh, self._has_news = self._has_news, False
        return fresh

    async def _wait_until_woken(self, beat: float | None) -> None:
        loop = get_running_loop()
        self._waiting = loop.create_future()
        beating = None if beat is None else loop.call_later(beat, self._wake)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if beating is not None:
                beating.cancel()


HEARTBEAT = 20.0


"""Seconds of silence after which something is sent, so that nobody in between hangs up."""


RECONNECT_HINT = b"retry: 1000\n\n"


"""Tells a browser to try again soon if the stream breaks off."""


_KEEPALIVE = b": nothing new\n\n"


class EventStream(StreamingResponse):
    """Events that are written once for all who listen: FastAPI's own way would make each of them anew for everybody."""

    media_type = "text/event-stream"

    async def stream_response(self, send: Send) -> None:
        """Send every event, and keep none in memory while there is no other, as Starlette's own way would."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for event in self.body_iterator:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            del event
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def pick_newest_moment(seen: Revision | None, last_event_id: str | None) -> Revision | None:
    """Return the newest state that a client has seen, by its own word or by the last event that it got.

    A browser that loses a stream asks for it again at the same address, with the last event in a header.
    """
    last = parse_tag(last_event_id or "")
    return max((each for each in (seen, last) if each is not None), default=None)


def stream_room(
    lobby: Lobby, address: str, *, first: bytes = b"", limit: int | None = None, seen: Revision | None = None
) -> EventStream:
    """Answer with a room as long as a client listens, or until so many events were sent; none before what was seen."""
    return EventStream(_encode_events(lobby, address, first, limit, seen), headers={"X-Accel-Buffering": "no"})


async def _encode_events(
    lobby: Lobby, address: str, first: bytes, limit: int | None, seen: Revision | None
) -> AsyncGenerator[bytes, None]:
    if first:
        yield first
    async with aclosing(lobby.follow(address, HEARTBEAT, seen)) as states:
        async for known in states:
            if known is None:
                yield _KEEPALIVE
                continue
            yield known.event
            del known
            limit = None if limit is None else limit - 1
            if limit == 0:
                return


_POLL_INTERVAL = 0.25


"""Seconds between two looks: at a file, or, on a server, at whether there is anything to listen for any more."""


_MIN_RETRY, _MAX_RETRY = 0.1, 5.0


"""Seconds until a database that was lost is tried again; twice as long every time that fails."""


_log = logging.getLogger(__name__)


class RoomChange(NamedTuple):
    """A room that somebody has changed, and the mark that it has now, if they said."""

    room: int
    mark: str = ""


def start_listener(store: Store, on_news: Callable[[RoomChange | None], None]) -> ChangeListener:
    """Tell of every change that another process makes, on this event loop: in which room, or None if in any.

    The first news are that anything may have changed, since until then nobody listened; and so are the first after a
    time in which the database could not be reached.
    """
    hear = _listen_to_postgres if store.engine.dialect.name == "postgresql" else _poll_file
    return ChangeListener(lambda ended: hear(store, ended), on_news)


class ChangeListener:
    """A thread that listens until it is closed, whatever becomes of the database meanwhile."""

    def __init__(
        self, hear: Callable[[Event], Iterator[RoomChange | None]], on_news: Callable[[RoomChange | None], None]
    ) -> None:
        self._receive = hear
        self._on_change = on_news
        self._loop = get_running_loop()
        self._ended = Event()
        self.is_connected = False
        """Whether news would be heard now."""
        Thread(target=self._listen, name="listening", daemon=True).start()

    def close(self) -> None:
        """Tell nothing more; the thread ends soon after."""
        self._ended.set()

    def _listen(self) -> None:
        wait = _MIN_RETRY
        while not self._ended.is_set():
            try:
                for news in self._receive(self._ended):
                    self.is_connected, wait = True, _MIN_RETRY
                    self._loop.call_soon_threadsafe(self._deliver, news)
            except Exception as trouble:  # noqa: BLE001 - whatever it is, who stops listening never hears again
                if self._loop.is_closed():
                    return
                _log.warning("news from other processes are missing, trying again: %s", trouble)
            self.is_connected = False
            self._ended.wait(wait)
            wait = min(2 * wait, _MAX_RETRY)

    def _deliver(self, news: RoomChange | None) -> None:
        if not self._ended.is_set():
            self._on_change(news)


def _listen_to_postgres(store: Store, ended: Event) -> Iterator[RoomChange | None]:
    import psycopg  # noqa: PLC0415 - only where games are kept on a server

    _, settings = store.engine.dialect.create_connect_args(store.engine.url)
    ours = {"application_name": "number-tower listening", "keepalives_interval": "5"}
    with psycopg.connect(**{**settings, **ours}, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        yield None
        while not ended.is_set():
            for notice in connection.notifies(timeout=_POLL_INTERVAL):
                yield _parse_notice(notice.payload)


def _parse_notice(payload: str) -> RoomChange | None:
    """Return the room that a message names; anybody can send one, so one that names none may mean any."""
    room, _, mark = payload.partition(" ")
    return RoomChange(int(room), mark) if room.isdecimal() and room.isascii() and len(room) < 20 else None


def _poll_file(store: Store, ended: Event) -> Iterator[RoomChange | None]:
    """Look at the file a few times a second; that also notices soon if its write-ahead log was deleted."""
    seen = None
    while True:
        now = store.read_version()
        if now != seen:
            seen = now
            yield None
        if ended.wait(_POLL_INTERVAL):
            return
