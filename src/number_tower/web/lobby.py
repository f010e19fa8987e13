"""The rooms that are open: whatever is done in one is decided by the room, kept by the store, and then announced."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from number_tower.position import MoveError
from number_tower.room import Move, Room, RoomError, Seat
from number_tower.store import StoreError, maintenance, rooms, rows, seats
from number_tower.store.rooms import RoomChangedError, RoomNotFoundError
from number_tower.store.rows import Seats
from number_tower.table import StaleError, TableError, check_player_names
from number_tower.voice import Voice
from number_tower.web import limits, questions
from number_tower.web.cached_room import CachedRoom
from number_tower.web.live import RoomChange
from number_tower.web.questions import FALLBACK_LEVEL
from number_tower.web.room_cache import DEFAULT_TIMING, Reconciler, RoomCache

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping

    from sqlalchemy import Connection

    from number_tower.catalogue import Rulebook
    from number_tower.room import Action
    from number_tower.store.database import Store, Writer
    from number_tower.store.rooms import Credentials, Revision, StoredRoom
    from number_tower.store.rows import StoredGame
    from number_tower.table import Table
    from number_tower.web.live import Hub
    from number_tower.web.room_cache import ReconcileTiming
    from number_tower.web.workers import Workers

__all__ = ["BehindError", "CachedRoom", "Lobby", "NewRoom", "RoomNotFoundError"]


T = TypeVar("T")


_log = logging.getLogger(__name__)


_MAX_TRIES = 5


"""How often something is tried again if somebody at another process was faster."""


_COMPARE_BATCH = 500


"""Rooms that are compared with the database by one query."""


_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,64}")


_SHORT_PAUSE, _LONG_PAUSE = 0.1, 3.0


class BehindError(Exception):
    """A client has seen a state that this server does not find, and did not hear of in time."""


class Lobby:
    """All rooms, as far as anybody asks for them. It belongs to one event loop."""

    def __init__(
        self, store: Store, scribe: Writer, hub: Hub, workers: Workers, timing: ReconcileTiming = DEFAULT_TIMING
    ) -> None:
        self._store = store
        self._scribe = scribe
        self._hub = hub
        self._workers = workers
        self._cache = RoomCache()
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._computer_tasks: dict[int, asyncio.Task[None]] = {}
        self._reconciler = Reconciler(self._compare, hub.list_followed, timing)
        self._wait = timing.state_timeout
        self._reads: dict[int, set[int | None]] = {}
        self._closed = False

    @property
    def cached(self) -> int:
        """Number of rooms in memory."""
        return len(self._cache)

    @property
    def stale_for(self) -> float | None:
        """Seconds for which rooms could not be compared with the database, so that old states may be shown.

        None if comparing works.
        """
        return self._reconciler.failing_for

    async def open_room(self, wish: NewRoom, browser: str | None = None) -> tuple[CachedRoom, str]:
        """Open a room, for a browser if its secret is given; return it, and the token of the seats taken."""
        limits.check_rules(wish.table.game.rules)
        limits.check_voice(wish.book)
        wish = wish._replace(book=rows.share_rulebook(wish.book))
        room = wish.make_room()
        kept, token = await self._write(
            partial(rooms.insert_room, room=room, book=wish.book, players=wish.players, browser=browser)
        )
        known = self._remember(kept)
        self._start_computer(known)
        return known, token

    async def find_room(self, address: str, seen: Revision | None = None) -> CachedRoom:
        """Return a room by its address, or by the one for those who watch.

        `seen` is the newest state that the client has seen, perhaps at another server: the answer is that state or a
        later one. If the cache holds an earlier one, the database is read once, then a later state is waited for.
        """
        found = self._cache.find(address)
        if found is not None and (seen is None or found.kept_room.revision >= seen):
            known = found
            self._reconciler.note_use(known.kept_room.id)
        elif _ADDRESS.fullmatch(address):
            known = self._remember(await self._read_room(address))
            self._reconciler.note_use(known.kept_room.id, fresh=True)
        else:
            raise RoomNotFoundError(address)
        if seen is not None and known.kept_room.revision < seen:
            known = await self._wait_for_state(known.kept_room.id, seen)
        self._start_computer(known)
        return known

    async def find_room_for(
        self, address: str, credentials: Credentials | str | None, seen: Revision | None = None
    ) -> CachedRoom:
        """Return a room for credentials; before they count as holding no seat, the database is asked.

        A seat that another process gave them a moment ago is theirs here as well.
        """
        known = await self.find_room(address, seen)
        if credentials and not known.find_seats(credentials) and not await self._is_current(known):
            self._forget(known.kept_room.id)
            known = await self.find_room(address, seen)
        return known

    async def _wait_for_state(self, identity: int, seen: Revision) -> CachedRoom:
        """Wait until this server hears of a state that a client has seen, for a short time and without any query."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait), aclosing(self._hub.subscribe(identity)) as wakeups:
                async for _ in wakeups:
                    current = self._cache.get(identity)
                    if current is not None and current.kept_room.revision >= seen:
                        return current
        raise BehindError

    async def _read_room(self, address: str) -> StoredRoom:
        """Read a room; again, if while it was read there was news that it was changed."""
        heard: set[int | None] = set()
        self._reads[id(heard)] = heard
        try:
            kept = await self._read(lambda connection: rooms.find_room(connection, address))
            for _ in range(_MAX_TRIES):
                if not heard & {None, kept.id}:
                    break
                heard.clear()
                kept = await self._read(lambda connection: rooms.find_room(connection, address))
        finally:
            del self._reads[id(heard)]
        return kept

    async def join(self, address: str, name: str | None, browser: str | None = None) -> tuple[CachedRoom, str]:
        """Take the free seat of a room, for a browser if its secret is given; return the room and the seat's token."""
        identity = await self._find_played_id(address)
        self._cache[identity].room.sit(name)
        return await self._change_seats(address, lambda connection, known: seats.sit(connection, known, name, browser))

    async def act(self, address: str, credentials: Credentials | str | None, action: Action) -> CachedRoom:
        """Do something in a room, by the seats that the credentials hold."""
        return await self._change_room(address, lambda known: known.room.apply(known.find_seats(credentials), action))

    async def load_earlier_game(self, address: str, number: int) -> StoredGame:
        """Return a game that was played in a room before."""
        known = await self.find_room(address)
        return await self._read(lambda connection: rooms.load_earlier_game(connection, known.kept_room, number))

    async def make_handover_code(self, address: str, credentials: Credentials | str | None) -> str:
        """Return a code by which another device can take over the seats that the credentials hold."""
        if not (await self.find_room_for(address, credentials)).find_seats(credentials):
            raise RoomError("not_yours", "you hold no seat here that could be moved")
        changed = await self._change_seats(
            address, lambda connection, known: seats.hand_over(connection, known, credentials)
        )
        return changed[1]

    async def take_over(self, address: str, code: str, browser: str | None = None) -> tuple[CachedRoom, str]:
        """Take over the seats that a code is for, for a browser if its secret is given."""
        return await self._change_seats(
            address, lambda connection, known: seats.take_over(connection, known, code, browser)
        )

    async def list_rooms(self, secrets: Collection[str], most: int) -> list[str]:
        """Return the addresses of rooms where a browser holds a seat: unfinished games first, then the newest."""
        return await self._read(lambda connection: seats.list_rooms(connection, secrets, most))

    async def survey_seats(self, browser: str, tokens: Mapping[str, str], others: Collection[str]) -> seats.SeatSurvey:
        """Look up which seats a browser still holds by older cookies only."""
        return await self._read(lambda connection: seats.survey_seats(connection, browser, tokens, others))

    async def move_seats(self, browser: str, to_move: Mapping[seats.SeatKey, str]) -> None:
        """Let a browser hold seats by its own secret; they were found by `survey_seats`."""
        changed = await self._write(lambda connection: seats.move_seats(connection, browser, to_move))
        for room, mark in changed.items():
            self.note_change(RoomChange(room, mark))

    async def follow(
        self, address: str, beat: float | None = None, seen: Revision | None = None
    ) -> AsyncGenerator[CachedRoom | None, None]:
        """Give a room as it is, and then after everything that happens there; nothing after a beat of silence.

        States never go back, nor behind what the client has seen. A database that fails for a moment does not end a
        stream: the room is read again later.
        """
        identity = (await self.find_room(address)).kept_room.id
        sent: Revision | None = None
        async for news in self._hub.subscribe(identity, beat):
            if not news:
                yield None
                continue
            try:
                known = await self.find_room(address)
            except RoomNotFoundError:
                return
            except StoreError:
                self._reconciler.mark((identity,))
                continue
            moment = known.kept_room.revision
            if seen is not None and moment < seen:
                self._reconciler.mark((identity,))
            elif sent is None or moment > sent:
                sent = moment
                yield known
            del known  # a stream that waits keeps no room in memory

    async def wait_for_computer(self, known: CachedRoom, seconds: float = 2.0) -> CachedRoom:
        """Return a room once the computer has moved, if it is its turn and does not take long."""
        choosing = self._computer_tasks.get(known.kept_room.id)
        if choosing is not None:
            await asyncio.wait([choosing], timeout=seconds)
        return await self.find_room(known.address)

    def note_change(self, news: RoomChange | None) -> None:
        """Hear that somebody at another process has changed a room, or perhaps any of them."""
        for heard in self._reads.values():
            heard.add(None if news is None else news.room)
        if news is None:
            self._reconciler.mark(self._cache.keys() | self._hub.list_followed())
        elif news.room not in self._cache or self._cache[news.room].tag != news.mark:
            self._reconciler.mark((news.room,))

    async def close(self) -> None:
        """Let no computer move any more: it goes on when somebody looks at its room again."""
        self._closed = True
        await self._reconciler.close()
        running = [*self._computer_tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def delete_old_rooms(self, keep_days: int | None = None) -> None:
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
            await asyncio.sleep(_SHORT_PAUSE)
        unused = await self._read(maintenance.find_unused_rulebooks)
        for start in range(0, len(unused.ids), maintenance.RULEBOOKS_PER_TRANSACTION):
            some = unused.ids[start : start + maintenance.RULEBOOKS_PER_TRANSACTION]
            await self._write(partial(maintenance.delete_unused_rulebooks, ids=some, newest_match=unused.newest_match))
            await asyncio.sleep(_SHORT_PAUSE)

    # How it is done ---------------------------------------------------------------------------------------------------

    async def _change_room(self, address: str, do: Callable[[CachedRoom], Room], remark: str = "") -> CachedRoom:
        """Change a room, anew if somebody else was faster; announce it once it is kept."""
        identity = await self._find_played_id(address)
        async with self._locks.setdefault(identity, asyncio.Lock()):
            for _ in range(_MAX_TRIES):
                known = await self.find_room(address)
                before = known.kept_room
                try:
                    after = do(known)
                except (RoomError, MoveError, TableError):
                    if await self._is_current(known):
                        raise
                    self._forget(identity)
                    continue
                if after is before.room:
                    # Done already; a client may have seen even more than this server knows.
                    if await self._is_current(known):
                        return known
                    self._forget(identity)
                    continue
                with suppress(RoomChangedError):
                    kept = await self._write(lambda connection: rooms.update_room(connection, before, after))  # noqa: B023 - used at once
                    return self._announce(kept, remark)
                self._forget(identity)
            raise StaleError((await self.find_room(address)).room.table)

    async def _change_seats(
        self, address: str, do: Callable[[Connection, StoredRoom], tuple[StoredRoom, str]]
    ) -> tuple[CachedRoom, str]:
        """Change who holds the seats of a room."""
        identity = await self._find_played_id(address)
        async with self._locks.setdefault(identity, asyncio.Lock()):
            for _ in range(_MAX_TRIES):
                before = (await self.find_room(address)).kept_room
                with suppress(RoomChangedError):
                    kept, token = await self._write_seats(address, lambda connection: do(connection, before))  # noqa: B023 - used at once
                    return self._announce(kept), token
                self._forget(identity)
            raise RoomError("not_now", "others were faster; please try again")

    async def _write_seats(
        self, address: str, do: Callable[[Connection], tuple[StoredRoom, str]]
    ) -> tuple[StoredRoom, str]:
        """Change who holds seats; if that fails after it was stored, return what was stored.

        When the answer to a commit is lost, the change may be stored although it seems to have failed. Its token would
        be unknown to everyone, and the seat lost: so the database is asked whether the token holds a seat.
        """
        attempts: list[tuple[StoredRoom, str]] = []

        def attempt(connection: Connection) -> tuple[StoredRoom, str]:
            attempts.append(do(connection))
            return attempts[-1]

        try:
            return await self._write(attempt)
        except (StoreError, RoomError, RoomChangedError):
            for _ in range(_MAX_TRIES if attempts else 0):
                with suppress(StoreError):
                    stored = await self._read_room(address)
                    for _, token in attempts:
                        if stored.find_seats(token):
                            return stored, token
                    break
                await asyncio.sleep(_SHORT_PAUSE)
            raise

    async def _find_played_id(self, address: str) -> int:
        """Return the id of a room; whoever knows only where it is watched can change nothing."""
        known = await self.find_room(address)
        if known.address != address:
            raise RoomNotFoundError(address)
        return known.kept_room.id

    def _announce(self, kept: StoredRoom, remark: str = "") -> CachedRoom:
        known = self._remember(kept, remark)
        self._start_computer(known)
        return known

    def _remember(self, kept: StoredRoom, remark: str = "") -> CachedRoom:
        """Remember a room as it is, unless a later state is known, and wake whoever follows it.

        What was asked for longest ago is forgotten.
        """
        earlier = self._cache.get(kept.id)
        if earlier is not None and earlier.kept_room.revision >= kept.revision:
            return self._cache.touch(kept.id)
        known = self._cache.add(kept, remark)
        if earlier is None or earlier.tag != known.tag:
            self._hub.publish(kept.id)
        return known

    def _forget(self, identity: int) -> None:
        self._cache.remove(identity)

    async def _compare(self, marked: set[int]) -> set[int]:
        """Compare rooms with the database; return those that are being changed here, to be compared again soon.

        A room that has changed is read again for those who follow it; otherwise it is read when it is asked for.
        """
        followed = self._hub.list_followed()
        wanted = [each for each in marked if each in self._cache or each in followed]
        busy = {each for each in wanted if self._is_busy(each)}
        moments = {each: self._moment_of(each) for each in wanted if each not in busy}
        while moments:
            some = {each: moments.pop(each) for each in list(moments)[:_COMPARE_BATCH]}
            changes = await self._read(lambda connection: rooms.read_changes(connection, some, followed))  # noqa: B023 - used at once
            # A room that is changed here at this moment is announced with the computer's remark, which is not stored.
            busy |= {each for each in some if self._is_busy(each)}
            for kept in changes.changed:
                if kept.id not in busy:
                    self._remember(kept)
            for identity in {*changes.deleted, *changes.outdated} - busy:
                if self._moment_of(identity) == some[identity]:
                    self._forget(identity)
            for identity in changes.deleted:
                self._hub.publish(identity)
        return busy

    def _is_busy(self, identity: int) -> bool:
        """Return whether a room is being changed by this server."""
        lock = self._locks.get(identity)
        return lock is not None and lock.locked()

    def _moment_of(self, identity: int) -> Revision | None:
        return self._cache[identity].kept_room.revision if identity in self._cache else None

    async def _is_current(self, known: CachedRoom) -> bool:
        """Say whether nobody at another process has changed a room: what is refused should be refused as it is now."""
        identity = known.kept_room.id
        return (await self._read(lambda connection: rooms.read_tags(connection, [identity]))).get(identity) == known.tag

    async def _write(self, do: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._scribe.submit(do))

    async def _read(self, do: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._store.read() as connection:
                return do(connection)

        return await asyncio.to_thread(read)

    # Computers --------------------------------------------------------------------------------------------------------

    def _start_computer(self, known: CachedRoom) -> None:
        """Let the computer move if it is its turn: also after a server that was stopped while it thought."""
        identity = known.kept_room.id
        if self._closed or questions.find_computer_to_move(known.room) is None:
            return
        if identity not in self._computer_tasks or self._computer_tasks[identity].done():
            task = self._computer_tasks[identity] = asyncio.create_task(self._play_computer(known.address))
            task.add_done_callback(
                lambda done: self._computer_tasks.get(identity) is done and self._computer_tasks.pop(identity)
            )
            task.add_done_callback(_report_failure)

    async def _play_computer(self, address: str) -> None:
        """Let the computer move as long as it is its turn: the other player may skip, or take back and move again."""
        with suppress(RoomNotFoundError):
            while True:
                try:
                    known = await self.find_room(address)
                    seat = questions.find_computer_to_move(known.room)
                    if seat is None:
                        return
                    block, remark = await questions.choose_move(self._workers, known)
                    move = Move(known.room.table.version, block, known.room.number)
                    await self._change_room(address, partial(_apply_move, {seat}, move), remark)
                except (StaleError, RoomError):
                    continue
                except StoreError as trouble:
                    _log.warning("a computer's move cannot be kept yet: %s", trouble)
                    await asyncio.sleep(_LONG_PAUSE)


def _apply_move(held: Collection[int], move: Move, known: CachedRoom) -> Room:
    return known.room.apply(held, move)


def _report_failure(task: asyncio.Future[None]) -> None:
    """Let what went wrong in the background be logged, unless it was stopped."""
    if not task.cancelled() and (wrong := task.exception()) is not None:
        asyncio.get_running_loop().call_exception_handler({"message": "in the background", "exception": wrong})


class NewRoom(NamedTuple):
    """What somebody wants to play, and with whom: somebody at the same table, the computer, or whoever has the link."""

    book: Rulebook
    table: Table
    opponent: Literal["table", "computer", "link"] = "table"
    level: str | None = None
    names: tuple[str | None, str | None] = (None, None)
    best_of: int | None = None
    hints: bool = True

    @property
    def players(self) -> Seats:
        """Who chooses the moves in each seat."""
        return Seats((None, self.level or FALLBACK_LEVEL)) if self.opponent == "computer" else Seats()

    def make_room(self) -> Room:
        """Return the room in which that can be played; whoever wishes it sits in its first seat."""
        usual = Voice(self.book).players
        level = self.players.players[1]
        names = self.names[0] or usual[0], self.names[1] or (usual[1] if level is None else level.capitalize())
        chosen = self.table.names or (check_player_names(names) if names != usual else None)
        table = replace(self.table, names=chosen, automatic=self.players.automatic)
        kinds: dict[str, Literal["person", "computer", "free"]]
        kinds = {"table": "person", "computer": "computer", "link": "free"}
        first, second = chosen or usual
        seats = Seat("person", first), Seat(kinds[self.opponent], second)
        return Room(table, seats, best_of=self.best_of, hints=self.hints)
