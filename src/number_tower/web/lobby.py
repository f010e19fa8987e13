"""The rooms that are open: whatever is done in one is decided by the room, kept by the store, and then announced."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from number_tower.position import MoveError
from number_tower.room import Move, RoomError
from number_tower.store import maintenance, rooms, rulebooks
from number_tower.store.rooms import NoSuchRoom, Overtaken
from number_tower.store.trouble import StoreError
from number_tower.table import Stale, TableError
from number_tower.web import bounds, computer
from number_tower.web.known import Known
from number_tower.web.room_cache import RoomCache
from number_tower.web.wishes import Wish

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection

    from sqlalchemy import Connection

    from number_tower.room import Action, Room
    from number_tower.store.games import Store
    from number_tower.store.kept import Kept
    from number_tower.store.rooms import KeptRoom
    from number_tower.store.scribe import Scribe
    from number_tower.web.events import Hub
    from number_tower.web.listening import News
    from number_tower.web.thinking import Thinkers

__all__ = ["Known", "Lobby", "NoSuchRoom", "Wish"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_TRIES = 5
"""How often something is tried again if somebody at another process was faster."""

_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SOON, _LATER = 0.1, 3.0


class Lobby:
    """All rooms, as far as anybody asks for them. It belongs to one event loop."""

    def __init__(self, store: Store, scribe: Scribe, hub: Hub, thinkers: Thinkers) -> None:
        self._store = store
        self._scribe = scribe
        self._hub = hub
        self._thinkers = thinkers
        self._known = RoomCache()
        self._busy: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._choosing: dict[int, asyncio.Task[None]] = {}
        self._comparing: set[asyncio.Task[None]] = set()
        self._reading: dict[int, set[int | None]] = {}
        self._closed = False

    async def begin(self, wish: Wish) -> tuple[Known, str]:
        """Open a room; return it, and the token of whoever opened it."""
        bounds.check_words(wish.book, bounds.check(wish.table.game.rules))
        wish = wish._replace(book=rulebooks.share_rulebook(wish.book))
        room = wish.room()
        kept, token = await self._write(lambda connection: rooms.add(connection, room, wish.book, wish.players))
        known = self._learned(kept)
        self._let_choose(known)
        return known, token

    async def look(self, address: str) -> Known:
        """Return a room by its address, or by the one for those who watch."""
        known = self._known.find(address)
        if known is None:
            if not _ADDRESS.fullmatch(address):
                raise NoSuchRoom(address)
            known = self._learned(await self._found(address))
        self._let_choose(known)
        return known

    async def look_for(self, address: str, token: str | None) -> Known:
        """Return a room to somebody with a token; one that holds nothing is not believed before it was asked for.

        Whoever was given a seat by another process a moment ago holds it here as well.
        """
        known = await self.look(address)
        if token and not known.held(token) and not await self._is_as_kept(known):
            self._forget(known.kept_room.id)
            known = await self.look(address)
        return known

    async def _found(self, address: str) -> KeptRoom:
        """Read a room; again, if while it was read there was news that it was changed."""
        heard: set[int | None] = set()
        self._reading[id(heard)] = heard
        try:
            kept = await self._read(lambda connection: rooms.find(connection, address))
            for _ in range(_TRIES):
                if not heard & {None, kept.id}:
                    break
                heard.clear()
                kept = await self._read(lambda connection: rooms.find(connection, address))
        finally:
            del self._reading[id(heard)]
        return kept

    async def sit(self, address: str, name: str | None) -> tuple[Known, str]:
        """Take the free seat of a room; return the room, and the seat's token."""
        identity = await self._played_at(address)
        self._known[identity].room.sit(name)
        return await self._changed(address, lambda connection, known: rooms.sit(connection, known, name))

    async def act(self, address: str, token: str | None, action: Action) -> Known:
        """Do something in a room for whoever has a token."""
        return await self._done(address, lambda known: known.room.after(known.held(token), action))

    async def earlier(self, address: str, number: int) -> Kept:
        """Return a game that was played in a room before."""
        known = await self.look(address)
        return await self._read(lambda connection: rooms.earlier(connection, known.kept_room, number))

    async def handover(self, address: str, token: str | None) -> str:
        """Return a code by which another device can take over what this token holds."""
        if not (await self.look_for(address, token)).held(token):
            raise RoomError("not_yours", "you hold no seat here that could be moved")
        return (await self._changed(address, lambda connection, known: rooms.hand_over(connection, known, token)))[1]

    async def take(self, address: str, code: str) -> tuple[Known, str]:
        """Take over the seats that a code is for."""
        return await self._changed(address, lambda connection, known: rooms.take(connection, known, code))

    async def stream(self, address: str, beat: float | None = None) -> AsyncGenerator[Known | None, None]:
        """Give a room as it is, and then after everything that happens there; nothing after a beat of silence."""
        room = (await self.look(address)).kept_room.id
        told = None
        async for news in self._hub.wakeups(room, beat):
            if not news:
                yield None
                continue
            try:
                known = await self.look(address)
            except NoSuchRoom:
                return
            if known.mark != told:
                told = known.mark
                yield known
            del known  # a stream that waits keeps no room in memory

    async def settled(self, known: Known, seconds: float = 2.0) -> Known:
        """Return a room once the computer has moved, if it is its turn and does not take long."""
        choosing = self._choosing.get(known.kept_room.id)
        if choosing is not None:
            await asyncio.wait([choosing], timeout=seconds)
        return await self.look(known.address)

    def news(self, news: News | None) -> None:
        """Hear that somebody at another process has changed a room, or perhaps any of them."""
        for heard in self._reading.values():
            heard.add(None if news is None else news.room)
        some = list(self._known) if news is None else [news.room] if news.room in self._known else []
        for unknown in self._hub.watched() - self._known.keys() if news is None else {news.room} - self._known.keys():
            self._hub.publish(unknown)
        if some and (news is None or self._known[news.room].mark != news.mark):
            task = asyncio.create_task(self._compare(some))
            self._comparing.add(task)
            task.add_done_callback(self._comparing.discard)
            task.add_done_callback(_noted)

    async def close(self) -> None:
        """Let no computer move any more: it goes on when somebody looks at its room again."""
        self._closed = True
        running = [*self._choosing.values(), *self._comparing]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def sweep(self, keep_days: int | None = None) -> None:
        """Delete rooms that are old, some at a time, so that no player waits for it; then unused rule files.

        A room is old if nothing happened there for 30 days and at most one move was made, or after `keep_days` days.
        """
        cutoffs = maintenance.compute_cutoffs(keep_days)
        last = 0
        while found := await self._read(lambda connection: maintenance.find_expired(connection, cutoffs, last)):  # noqa: B023 - used at once
            last = found[-1]
            for identity in await self._write(partial(maintenance.delete_rooms, ids=found, cutoffs=cutoffs)):
                self._forget(identity)
                self._hub.publish(identity)
            await asyncio.sleep(_SOON)
        unused = await self._read(rulebooks.find_unused)
        for start in range(0, len(unused.ids), rulebooks.DELETED_AT_ONCE):
            some = unused.ids[start : start + rulebooks.DELETED_AT_ONCE]
            await self._write(partial(rulebooks.delete_unused, ids=some, newest_match=unused.newest_match))
            await asyncio.sleep(_SOON)

    # How it is done ---------------------------------------------------------------------------------------------------

    async def _done(self, address: str, do: Callable[[Known], Room], remark: str = "") -> Known:
        """Change a room, anew if somebody else was faster; announce it once it is kept."""
        identity = await self._played_at(address)
        async with self._busy.setdefault(identity, asyncio.Lock()):
            for _ in range(_TRIES):
                known = await self.look(address)
                before = known.kept_room
                try:
                    after = do(known)
                except (RoomError, MoveError, TableError):
                    if await self._is_as_kept(known):
                        raise
                    self._forget(identity)
                    continue
                if after is before.room:
                    return known
                with suppress(Overtaken):
                    kept = await self._write(lambda connection: rooms.write(connection, before, after))  # noqa: B023 - used at once
                    return self._announced(kept, remark)
                self._forget(identity)
            raise Stale((await self.look(address)).room.table)

    async def _changed(
        self, address: str, do: Callable[[Connection, KeptRoom], tuple[KeptRoom, str]]
    ) -> tuple[Known, str]:
        """Change who holds the seats of a room."""
        identity = await self._played_at(address)
        async with self._busy.setdefault(identity, asyncio.Lock()):
            for _ in range(_TRIES):
                before = (await self.look(address)).kept_room
                with suppress(Overtaken):
                    kept, token = await self._write(lambda connection: do(connection, before))  # noqa: B023 - used at once
                    return self._announced(kept), token
                self._forget(identity)
            raise RoomError("not_now", "others were faster; please try again")

    async def _played_at(self, address: str) -> int:
        """Return the id of a room; whoever knows only where it is watched can change nothing."""
        known = await self.look(address)
        if known.address != address:
            raise NoSuchRoom(address)
        return known.kept_room.id

    def _announced(self, kept: KeptRoom, remark: str = "") -> Known:
        known = self._learned(kept, remark)
        self._let_choose(known)
        return known

    def _learned(self, kept: KeptRoom, remark: str = "") -> Known:
        """Remember a room as it is, unless a later state is known, and wake whoever follows it.

        What was asked for longest ago is forgotten.
        """
        earlier = self._known.get(kept.id)
        if earlier is not None and earlier.kept_room.moment >= kept.moment:
            return self._known.use(kept.id)
        known = self._known.add(kept, remark)
        if earlier is None or earlier.mark != known.mark:
            self._hub.publish(kept.id)
        return known

    def _forget(self, identity: int) -> None:
        self._known.remove(identity)

    async def _compare(self, some: list[int]) -> None:
        """See which of the rooms that are remembered somebody else has changed; those in use are looked at again."""
        while some:
            marks = await self._read(lambda connection: rooms.marks(connection, some))  # noqa: B023 - used at once
            changed = [each for each in some if each in self._known and _is_news(self._known[each], marks.get(each))]
            in_use = [each for each in changed if each in self._busy and self._busy[each].locked()]
            for identity in set(changed) - set(in_use):
                self._forget(identity)
                self._hub.publish(identity)
            some = in_use
            if some:
                await asyncio.sleep(_SOON)

    async def _is_as_kept(self, known: Known) -> bool:
        """Say whether nobody at another process has changed a room: what is refused should be refused as it is now."""
        identity = known.kept_room.id
        return (await self._read(lambda connection: rooms.marks(connection, [identity]))).get(identity) == known.mark

    async def _write(self, do: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._scribe.write(do))

    async def _read(self, do: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._store.looking() as connection:
                return do(connection)

        return await asyncio.to_thread(read)

    # Computers --------------------------------------------------------------------------------------------------------

    def _let_choose(self, known: Known) -> None:
        """Let the computer move if it is its turn: also after a server that was stopped while it thought."""
        identity = known.kept_room.id
        if self._closed or computer.to_move(known.room) is None:
            return
        if identity not in self._choosing or self._choosing[identity].done():
            task = self._choosing[identity] = asyncio.create_task(self._choose(known.address))
            task.add_done_callback(lambda done: self._choosing.get(identity) is done and self._choosing.pop(identity))
            task.add_done_callback(_noted)

    async def _choose(self, address: str) -> None:
        """Let the computer move as long as it is its turn: the other player may skip, or take back and move again."""
        with suppress(NoSuchRoom):
            while True:
                try:
                    known = await self.look(address)
                    seat = computer.to_move(known.room)
                    if seat is None:
                        return
                    block, remark = await computer.chosen(self._thinkers, known)
                    move = Move(known.room.table.version, block, known.room.number)
                    await self._done(address, partial(_moved, {seat}, move), remark)
                except (Stale, RoomError):
                    continue
                except StoreError as trouble:
                    _LOG.warning("a computer's move cannot be kept yet: %s", trouble)
                    await asyncio.sleep(_LATER)


def _is_news(known: Known, mark: str | None) -> bool:
    """Say whether a room is not what is known, but later, or gone."""
    return mark is None or tuple(map(int, mark.split("."))) > known.kept_room.moment


def _moved(held: Collection[int], move: Move, known: Known) -> Room:
    return known.room.after(held, move)


def _noted(task: asyncio.Future[None]) -> None:
    """Let what went wrong in the background be logged, unless it was stopped."""
    if not task.cancelled() and (wrong := task.exception()) is not None:
        asyncio.get_running_loop().call_exception_handler({"message": "in the background", "exception": wrong})
