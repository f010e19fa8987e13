"""The rooms that are open: whatever is done in one is decided by the room, kept by the store, and then announced."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from number_tower.position import MoveError
from number_tower.room import Move, RoomError
from number_tower.store import browsers, maintenance, rooms, rulebooks
from number_tower.store.rooms import NoSuchRoom, Overtaken
from number_tower.store.trouble import StoreError
from number_tower.table import Stale, TableError
from number_tower.web import bounds, computer
from number_tower.web.known import Known
from number_tower.web.listening import News
from number_tower.web.reconciler import TIMING, Reconciler
from number_tower.web.room_cache import RoomCache
from number_tower.web.wishes import Wish

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping

    from sqlalchemy import Connection

    from number_tower.room import Action, Room
    from number_tower.store.credentials import Credentials
    from number_tower.store.games import Store
    from number_tower.store.kept import Kept
    from number_tower.store.rooms import KeptRoom, Moment
    from number_tower.store.scribe import Scribe
    from number_tower.web.events import Hub
    from number_tower.web.reconciler import Timing
    from number_tower.web.workers import Workers

__all__ = ["BehindError", "Known", "Lobby", "NoSuchRoom", "Wish"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_TRIES = 5
"""How often something is tried again if somebody at another process was faster."""

_COMPARED_AT_ONCE = 500
"""Rooms that are compared with the database by one query."""

_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SOON, _LATER = 0.1, 3.0


class BehindError(Exception):
    """A client has seen a state that this server does not find, and did not hear of in time."""


class Lobby:
    """All rooms, as far as anybody asks for them. It belongs to one event loop."""

    def __init__(self, store: Store, scribe: Scribe, hub: Hub, workers: Workers, timing: Timing = TIMING) -> None:
        self._store = store
        self._scribe = scribe
        self._hub = hub
        self._workers = workers
        self._known = RoomCache()
        self._busy: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._choosing: dict[int, asyncio.Task[None]] = {}
        self._reconciler = Reconciler(self._compare, hub.watched, timing)
        self._wait = timing.wait
        self._reading: dict[int, set[int | None]] = {}
        self._closed = False

    @property
    def cached(self) -> int:
        """Number of rooms in memory."""
        return len(self._known)

    @property
    def stale_for(self) -> float | None:
        """Seconds for which rooms could not be compared with the database, so that old states may be shown.

        None if comparing works.
        """
        return self._reconciler.failing_for

    async def begin(self, wish: Wish, browser: str | None = None) -> tuple[Known, str]:
        """Open a room, for a browser if its secret is given; return it, and the token of the seats taken."""
        bounds.check(wish.table.game.rules)
        bounds.check_words(wish.book)
        wish = wish._replace(book=rulebooks.share_rulebook(wish.book))
        room = wish.room()
        kept, token = await self._write(
            partial(rooms.add, room=room, book=wish.book, players=wish.players, browser=browser)
        )
        known = self._learned(kept)
        self._let_choose(known)
        return known, token

    async def look(self, address: str, seen: Moment | None = None) -> Known:
        """Return a room by its address, or by the one for those who watch.

        `seen` is the newest state that the client has seen, perhaps at another server: the answer is that state or a
        later one. If the cache holds an earlier one, the database is read once, then a later state is waited for.
        """
        found = self._known.find(address)
        if found is not None and (seen is None or found.kept_room.moment >= seen):
            known = found
            self._reconciler.use(known.kept_room.id)
        elif _ADDRESS.fullmatch(address):
            known = self._learned(await self._found(address))
            self._reconciler.use(known.kept_room.id, fresh=True)
        else:
            raise NoSuchRoom(address)
        if seen is not None and known.kept_room.moment < seen:
            known = await self._wait_for_state(known.kept_room.id, seen)
        self._let_choose(known)
        return known

    async def look_for(self, address: str, credentials: Credentials | str | None, seen: Moment | None = None) -> Known:
        """Return a room for credentials; before they count as holding no seat, the database is asked.

        A seat that another process gave them a moment ago is theirs here as well.
        """
        known = await self.look(address, seen)
        if credentials and not known.held(credentials) and not await self._is_as_kept(known):
            self._forget(known.kept_room.id)
            known = await self.look(address, seen)
        return known

    async def _wait_for_state(self, identity: int, seen: Moment) -> Known:
        """Wait until this server hears of a state that a client has seen, for a short time and without any query."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait), aclosing(self._hub.wakeups(identity)) as wakeups:
                async for _ in wakeups:
                    current = self._known.get(identity)
                    if current is not None and current.kept_room.moment >= seen:
                        return current
        raise BehindError

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

    async def sit(self, address: str, name: str | None, browser: str | None = None) -> tuple[Known, str]:
        """Take the free seat of a room, for a browser if its secret is given; return the room and the seat's token."""
        identity = await self._played_at(address)
        self._known[identity].room.sit(name)
        return await self._changed(address, lambda connection, known: rooms.sit(connection, known, name, browser))

    async def act(self, address: str, credentials: Credentials | str | None, action: Action) -> Known:
        """Do something in a room, by the seats that the credentials hold."""
        return await self._done(address, lambda known: known.room.after(known.held(credentials), action))

    async def earlier(self, address: str, number: int) -> Kept:
        """Return a game that was played in a room before."""
        known = await self.look(address)
        return await self._read(lambda connection: rooms.earlier(connection, known.kept_room, number))

    async def handover(self, address: str, credentials: Credentials | str | None) -> str:
        """Return a code by which another device can take over the seats that the credentials hold."""
        if not (await self.look_for(address, credentials)).held(credentials):
            raise RoomError("not_yours", "you hold no seat here that could be moved")
        changed = await self._changed(
            address, lambda connection, known: rooms.hand_over(connection, known, credentials)
        )
        return changed[1]

    async def take(self, address: str, code: str, browser: str | None = None) -> tuple[Known, str]:
        """Take over the seats that a code is for, for a browser if its secret is given."""
        return await self._changed(address, lambda connection, known: rooms.take(connection, known, code, browser))

    async def list_rooms(self, secrets: Collection[str], most: int) -> list[str]:
        """Return the addresses of rooms where a browser holds a seat: unfinished games first, then the newest."""
        return await self._read(lambda connection: browsers.list_rooms(connection, secrets, most))

    async def survey_seats(self, browser: str, tokens: Mapping[str, str], others: Collection[str]) -> browsers.Survey:
        """Look up which seats a browser still holds by older cookies only."""
        return await self._read(lambda connection: browsers.survey_seats(connection, browser, tokens, others))

    async def move_seats(self, browser: str, to_move: Mapping[browsers.SeatKey, str]) -> None:
        """Let a browser hold seats by its own secret; they were found by `survey_seats`."""
        changed = await self._write(lambda connection: browsers.move_seats(connection, browser, to_move))
        for room, mark in changed.items():
            self.news(News(room, mark))

    async def stream(
        self, address: str, beat: float | None = None, seen: Moment | None = None
    ) -> AsyncGenerator[Known | None, None]:
        """Give a room as it is, and then after everything that happens there; nothing after a beat of silence.

        States never go back, nor behind what the client has seen. A database that fails for a moment does not end a
        stream: the room is read again later.
        """
        identity = (await self.look(address)).kept_room.id
        sent: Moment | None = None
        async for news in self._hub.wakeups(identity, beat):
            if not news:
                yield None
                continue
            try:
                known = await self.look(address)
            except NoSuchRoom:
                return
            except StoreError:
                self._reconciler.mark((identity,))
                continue
            moment = known.kept_room.moment
            if seen is not None and moment < seen:
                self._reconciler.mark((identity,))
            elif sent is None or moment > sent:
                sent = moment
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
        if news is None:
            self._reconciler.mark(self._known.keys() | self._hub.watched())
        elif news.room not in self._known or self._known[news.room].mark != news.mark:
            self._reconciler.mark((news.room,))

    async def close(self) -> None:
        """Let no computer move any more: it goes on when somebody looks at its room again."""
        self._closed = True
        await self._reconciler.close()
        running = [*self._choosing.values()]
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
                    # Done already; a client may have seen even more than this server knows.
                    if await self._is_as_kept(known):
                        return known
                    self._forget(identity)
                    continue
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
                    kept, token = await self._write_seats(address, lambda connection: do(connection, before))  # noqa: B023 - used at once
                    return self._announced(kept), token
                self._forget(identity)
            raise RoomError("not_now", "others were faster; please try again")

    async def _write_seats(
        self, address: str, do: Callable[[Connection], tuple[KeptRoom, str]]
    ) -> tuple[KeptRoom, str]:
        """Change who holds seats; if that fails after it was stored, return what was stored.

        When the answer to a commit is lost, the change may be stored although it seems to have failed. Its token would
        be unknown to everyone, and the seat lost: so the database is asked whether the token holds a seat.
        """
        attempts: list[tuple[KeptRoom, str]] = []

        def attempt(connection: Connection) -> tuple[KeptRoom, str]:
            attempts.append(do(connection))
            return attempts[-1]

        try:
            return await self._write(attempt)
        except (StoreError, RoomError, Overtaken):
            for _ in range(_TRIES if attempts else 0):
                with suppress(StoreError):
                    stored = await self._found(address)
                    for _, token in attempts:
                        if stored.held(token):
                            return stored, token
                    break
                await asyncio.sleep(_SOON)
            raise

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

    async def _compare(self, marked: set[int]) -> set[int]:
        """Compare rooms with the database; return those that are being changed here, to be compared again soon.

        A room that has changed is read again for those who follow it; otherwise it is read when it is asked for.
        """
        followed = self._hub.watched()
        wanted = [each for each in marked if each in self._known or each in followed]
        busy = {each for each in wanted if self._is_busy(each)}
        moments = {each: self._moment_of(each) for each in wanted if each not in busy}
        while moments:
            some = {each: moments.pop(each) for each in list(moments)[:_COMPARED_AT_ONCE]}
            changes = await self._read(lambda connection: rooms.read_changes(connection, some, followed))  # noqa: B023 - used at once
            # A room that is changed here at this moment is announced with the computer's remark, which is not stored.
            busy |= {each for each in some if self._is_busy(each)}
            for kept in changes.read:
                if kept.id not in busy:
                    self._learned(kept)
            for identity in {*changes.gone, *changes.outdated} - busy:
                if self._moment_of(identity) == some[identity]:
                    self._forget(identity)
            for identity in changes.gone:
                self._hub.publish(identity)
        return busy

    def _is_busy(self, identity: int) -> bool:
        """Return whether a room is being changed by this server."""
        lock = self._busy.get(identity)
        return lock is not None and lock.locked()

    def _moment_of(self, identity: int) -> Moment | None:
        return self._known[identity].kept_room.moment if identity in self._known else None

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
                    block, remark = await computer.chosen(self._workers, known)
                    move = Move(known.room.table.version, block, known.room.number)
                    await self._done(address, partial(_moved, {seat}, move), remark)
                except (Stale, RoomError):
                    continue
                except StoreError as trouble:
                    _LOG.warning("a computer's move cannot be kept yet: %s", trouble)
                    await asyncio.sleep(_LATER)


def _moved(held: Collection[int], move: Move, known: Known) -> Room:
    return known.room.after(held, move)


def _noted(task: asyncio.Future[None]) -> None:
    """Let what went wrong in the background be logged, unless it was stopped."""
    if not task.cancelled() and (wrong := task.exception()) is not None:
        asyncio.get_running_loop().call_exception_handler({"message": "in the background", "exception": wrong})
