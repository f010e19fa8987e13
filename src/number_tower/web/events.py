"""Who in this process follows which room, and how they hear that something happened there."""

from __future__ import annotations

from asyncio import get_running_loop
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import AsyncGenerator


class Hub:
    """The listeners of every room.

    A listener is told that something happened and never what: it looks for itself. However much happens while it is
    busy, it is woken once and sees the newest state, so a slow one costs nobody anything. All of this belongs to one
    event loop; other threads come in with `call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, set[_Ear]] = {}
        self._closed = False

    async def wakeups(self, room: int, beat: float | None = None) -> AsyncGenerator[bool, None]:
        """Wake the caller at once, and then whenever something happened in a room, until the hub is closed.

        The caller is listening before it looks for the first time, so nothing can happen between the two. It gets True;
        with a beat also False, after so many seconds in which nothing happened.
        """
        ear = _Ear()
        self._rooms.setdefault(room, set()).add(ear)
        try:
            while not self._closed:
                news = await ear.news(beat)
                if not self._closed:
                    yield news
        finally:
            self._leave(room, ear)

    def publish(self, room: int) -> None:
        """Wake whoever follows a room."""
        for ear in self._rooms.get(room, ()):
            ear.wake()

    def watched(self) -> frozenset[int]:
        """Return the rooms that somebody follows."""
        return frozenset(self._rooms)

    def close(self) -> None:
        """End all that follow any room, now and from now on."""
        self._closed = True
        for room in self._rooms:
            self.publish(room)

    def _leave(self, room: int, ear: _Ear) -> None:
        self._rooms[room].discard(ear)
        if not self._rooms[room]:
            del self._rooms[room]


class _Ear:
    """One who follows a room: asleep, or busy and to be woken again, which is remembered once."""

    __slots__ = ("_asleep", "_fresh")

    def __init__(self) -> None:
        self._fresh = True
        self._asleep: Future[None] | None = None

    def wake(self) -> None:
        self._fresh = True
        self._stir()

    def _stir(self) -> None:
        if self._asleep is not None and not self._asleep.done():
            self._asleep.set_result(None)

    async def news(self, beat: float | None) -> bool:
        """Wait until there are news, or for a beat; say whether there are."""
        if not self._fresh:
            await self._sleep(beat)
        fresh, self._fresh = self._fresh, False
        return fresh

    async def _sleep(self, beat: float | None) -> None:
        loop = get_running_loop()
        self._asleep = loop.create_future()
        beating = None if beat is None else loop.call_later(beat, self._stir)
        try:
            await self._asleep
        finally:
            self._asleep = None
            if beating is not None:
                beating.cancel()
