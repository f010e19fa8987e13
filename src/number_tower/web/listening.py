"""News from other processes at the same database: other servers, and games that are played on in a terminal.

A server with PostgreSQL is told by those who make changes (`LISTEN`); a file is asked, a few times a second, whether
anybody else has written to it. Either way it is heard in a thread of its own and told on the event loop.
"""

from __future__ import annotations

import logging
from asyncio import get_running_loop
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from number_tower.store.rooms import CHANNEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from number_tower.store.games import Store

_GLANCE = 0.25
"""Seconds between two looks: at a file, or, on a server, at whether there is anything to listen for any more."""

_SOONEST, _LATEST = 0.1, 5.0
"""Seconds until a database that was lost is tried again; twice as long every time that fails."""

_LOG = logging.getLogger(__name__)


class News(NamedTuple):
    """A room that somebody has changed, and the mark that it has now, if they said."""

    room: int
    mark: str = ""


def listen(store: Store, on_news: Callable[[News | None], None]) -> Listener:
    """Tell of every change that another process makes, on this event loop: in which room, or None if in any.

    The first news are that anything may have changed, since until then nobody listened; and so are the first after a
    time in which the database could not be reached.
    """
    hear = _told_by_server if store.engine.dialect.name == "postgresql" else _seen_in_file
    return Listener(lambda ended: hear(store, ended), on_news)


class Listener:
    """A thread that listens until it is closed, whatever becomes of the database meanwhile."""

    def __init__(self, hear: Callable[[Event], Iterator[News | None]], on_news: Callable[[News | None], None]) -> None:
        self._hear = hear
        self._on_news = on_news
        self._loop = get_running_loop()
        self._ended = Event()
        self.hearing = False
        """Whether news would be heard now."""
        Thread(target=self._listen, name="listening", daemon=True).start()

    def close(self) -> None:
        """Tell nothing more; the thread ends soon after."""
        self._ended.set()

    def _listen(self) -> None:
        wait = _SOONEST
        while not self._ended.is_set():
            try:
                for news in self._hear(self._ended):
                    self.hearing, wait = True, _SOONEST
                    self._loop.call_soon_threadsafe(self._tell, news)
            except Exception as trouble:  # noqa: BLE001 - whatever it is, who stops listening never hears again
                if self._loop.is_closed():
                    return
                _LOG.warning("news from other processes are missing, trying again: %s", trouble)
            self.hearing = False
            self._ended.wait(wait)
            wait = min(2 * wait, _LATEST)

    def _tell(self, news: News | None) -> None:
        if not self._ended.is_set():
            self._on_news(news)


def _told_by_server(store: Store, ended: Event) -> Iterator[News | None]:
    import psycopg  # noqa: PLC0415 - only where games are kept on a server

    _, settings = store.engine.dialect.create_connect_args(store.engine.url)
    ours = {"application_name": "number-tower listening", "keepalives_interval": "5"}
    with psycopg.connect(**{**settings, **ours}, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        yield None
        while not ended.is_set():
            for notice in connection.notifies(timeout=_GLANCE):
                yield _read(notice.payload)


def _read(payload: str) -> News | None:
    """Return the room that a message names; anybody can send one, so one that names none may mean any."""
    room, _, mark = payload.partition(" ")
    return News(int(room), mark) if room.isdecimal() and room.isascii() and len(room) < 20 else None


def _seen_in_file(store: Store, ended: Event) -> Iterator[News | None]:
    """Look at the file a few times a second; that also notices soon if its write-ahead log was deleted."""
    seen = None
    while True:
        now = store.read_version()
        if now != seen:
            seen = now
            yield None
        if ended.wait(_GLANCE):
            return
