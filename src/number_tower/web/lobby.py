"""The rooms of a server: a change is decided by `Room`, stored by the writer, and then announced to all followers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from number_tower.position import MoveError
from number_tower.presence import RoomPresence, Sighting
from number_tower.room import Action, Claim, Room, RoomError, TakeHint
from number_tower.store import StoreError, maintenance, presence, rooms, seats, short_codes
from number_tower.store.database import Store, Writer
from number_tower.store.rooms import (
    Credentials,
    Revision,
    RoomChangedError,
    RoomNotFoundError,
    StoredRoom,
)
from number_tower.store.rows import StoredGame
from number_tower.store.short_codes import CodeTarget
from number_tower.table import StaleError, TableError
from number_tower.web import limits
from number_tower.web.classes import ClassAccess, Classes
from number_tower.web.live import ClassNotice, Hub, RoomChange
from number_tower.web.presence import DEFAULT_PRESENCE_TIMING, PresenceTiming, PresenceTracker
from number_tower.web.questions import ComputerPlayers
from number_tower.web.room_cache import (
    DEFAULT_TIMING,
    CachedRoom,
    NewRoom,
    Reconciler,
    ReconcileTiming,
    RoomCache,
)
from number_tower.web.workers import Workers

T = TypeVar("T")

_MAX_TRIES = 5
"""How often a change is tried if another process is faster."""

_COMPARE_BATCH = 500
"""Rooms that are compared with the database by one query."""

_PAUSE = 0.1
"""Seconds between two transactions that delete rooms, and before a lost answer of the database is looked for again."""

_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BehindError(Exception):
    """A client has seen a state that this server does not find, and did not hear of in time."""


class Lobby:
    """All rooms, as far as clients ask for them. It belongs to one event loop."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        workers: Workers,
        timing: ReconcileTiming = DEFAULT_TIMING,
        presence_timing: PresenceTiming = DEFAULT_PRESENCE_TIMING,
    ) -> None:
        self._store = store
        self._writer = writer
        self._hub = Hub()
        self.cache = RoomCache()
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._computers = ComputerPlayers(workers, self.find_room, self._change_room)
        self._reconciler = Reconciler(self._compare, self._list_rooms, timing)
        self.presence = PresenceTracker(
            self._load_sightings,
            self._store_sightings,
            self._hub.list_followed,
            self._hub.publish,
            presence_timing,
        )
        self._state_timeout = timing.state_timeout
        self._heard = 0
        access = ClassAccess(
            self._read, self._write, self.find_room, self._note_rooms, self.presence.judge
        )
        self.classes = Classes(access, self._hub)

    @property
    def unsynced_for(self) -> float | None:
        """Seconds for which rooms could not be compared with the database; None if that works."""
        return self._reconciler.failing_for

    # Find rooms -------------------------------------------------------------------------------------------------------

    async def find_room(self, address: str, seen: Revision | None = None) -> CachedRoom:
        """Return a room by its address, or by the one for spectators.

        `seen` is the newest state that the client has seen, perhaps at another server: the answer is that state or a
        later one. If the cache holds an earlier one, the database is read once, then a later state is waited for.
        """
        room = self.cache.find(address)
        if room is None or (seen is not None and room.revision < seen):
            if not _ADDRESS.fullmatch(address):
                raise RoomNotFoundError(address)
            heard = self._heard
            room = self._remember(
                await self._read(lambda connection: rooms.find_room(connection, address))
            )
            if self._heard != heard:  # it may have been changed while it was read
                self._reconciler.mark((room.id,))
        if seen is not None and room.revision < seen:
            room = await self._wait_for_state(room.id, seen)
        self._computers.start(room)
        return room

    async def find_room_for(
        self, address: str, credentials: Credentials | str | None, seen: Revision | None = None
    ) -> CachedRoom:
        """Return a room for credentials; before they count as holding no seat, the database is asked.

        A seat that another process gave them a moment ago is theirs here as well.
        """
        room = await self.find_room(address, seen)
        is_refused = credentials and room.address == address and not room.find_seats(credentials)
        if is_refused and not await self._is_current(room):
            self.cache.remove(room.id)
            room = await self.find_room(address, seen)
        return room

    async def follow(
        self,
        address: str,
        heartbeat: float | None = None,
        seen: Revision | None = None,
        *,
        always: bool = False,
    ) -> AsyncGenerator[CachedRoom | None, None]:
        """Yield a room as it is, and again after every change; None after a heartbeat without any.

        States never go back, nor behind what the client has seen. A database failure does not end a stream. With
        `always`, a room is also yielded again if only its players may have come or gone.
        """
        room_id = (await self.find_room(address)).id
        sent: Revision | None = None
        async for has_news in self._hub.subscribe(room_id, heartbeat):
            if not has_news:
                yield None
                continue
            try:
                room = await self.find_room(address)
            except RoomNotFoundError:
                return
            except StoreError:
                self._reconciler.mark((room_id,))
                continue
            if seen is not None and room.revision < seen:
                self._reconciler.mark((room_id,))
            elif sent is None or room.revision > sent or (always and room.revision == sent):
                sent = room.revision
                yield room
            del room  # a stream that waits keeps no room in memory

    async def load_earlier_game(self, address: str, number: int) -> StoredGame:
        """Return a game that was played in a room before."""
        room = await self.find_room(address)
        return await self._read(
            lambda connection: rooms.load_earlier_game(connection, room, number)
        )

    async def find_code_target(self, code: str) -> CodeTarget | None:
        """Return what a short code leads to; None if no free seat and no class has it now."""
        return await self._read(lambda connection: short_codes.find_target(connection, code))

    async def find_room_by_id(self, room_id: int) -> CachedRoom:
        """Return a room by its id."""
        address = await self._read(lambda connection: rooms.load_room(connection, room_id).address)
        return await self.find_room(address)

    async def list_rooms(self, secrets: Collection[str], most: int) -> list[str]:
        """Return the addresses of rooms where a browser holds a seat: unfinished games first, then the newest."""
        return await self._read(lambda connection: seats.list_rooms(connection, secrets, most))

    # Change rooms -----------------------------------------------------------------------------------------------------

    async def open_room(self, new: NewRoom, browser: str | None = None) -> tuple[CachedRoom, str]:
        """Open a room, for a browser if its secret is given; return it and the token of its seats."""
        limits.check_rules(new.table.game.rules)
        limits.check_voice(new.table.book)
        insert = partial(
            rooms.insert_room,
            room=new.make_room(),
            book=new.table.book,
            players=new.players,
            browser=browser,
        )
        stored, token = await self._write(insert)
        return self._announce(stored), token

    async def act(
        self, address: str, credentials: Credentials | str | None, action: Action
    ) -> CachedRoom:
        """Do something in a room, by the seats that the credentials hold."""
        room = await self._find_played(address)
        self.note_player(room, credentials)
        if isinstance(action, Claim):
            await self.presence.refresh((room.id,))
        return await self._change_room(
            room, lambda now: self._apply(now, now.find_seats(credentials), action)
        )

    async def take_hint(
        self, room: CachedRoom, credentials: Credentials | None, step: int
    ) -> CachedRoom:
        """Store that a player takes a hint, if another person plays there, who sees it."""
        if not room.room.is_watched(room.find_seats(credentials)):
            return room
        return await self.act(
            room.address, credentials, TakeHint(room.room.table.version, step, room.room.number)
        )

    # Presence ---------------------------------------------------------------------------------------------------------

    def note_player(
        self, room: CachedRoom, credentials: Credentials | str | None, *, hidden: bool = False
    ) -> None:
        """Note that a player of a room is there, perhaps with a hidden page."""
        if room.is_attended and (held := room.find_seats(credentials)):
            self.presence.note(room.id, held, hidden=hidden)

    def attend(
        self, room: CachedRoom, credentials: Credentials | str | None
    ) -> AbstractContextManager[None]:
        """Return a context in which a player of a room counts as here, as with a page that follows it."""
        held = room.find_seats(credentials)
        return self.presence.attend(room.id, held) if held and room.is_attended else nullcontext()

    def describe_presence(self, room: CachedRoom) -> RoomPresence | None:
        """Return where the players of a room are; None unless two people play there at different devices."""
        if not room.is_for_two or room.room.waiting:
            return None
        return self.presence.describe(room.id, room.room.table.game.to_move, room.turn_began)

    # Seats ------------------------------------------------------------------------------------------------------------

    async def join(
        self, address: str, name: str | None, browser: str | None = None
    ) -> tuple[CachedRoom, str]:
        """Take the free seat of a room, for a browser if its secret is given; return the room and the seat's token."""
        (await self._find_played(address)).room.sit(name)
        room, token = await self._change_seats(
            address, lambda connection, now: seats.sit(connection, now, name, browser)
        )
        self.note_player(room, token)
        return room, token

    async def make_handover_code(self, address: str, credentials: Credentials | str | None) -> str:
        """Return a code by which another device can take over the seats that the credentials hold."""
        seats.require_seats(await self.find_room_for(address, credentials), credentials)
        change = partial(seats.hand_over, credentials=credentials)
        return (await self._change_seats(address, change))[1]

    async def take_over(
        self, address: str, code: str, browser: str | None = None
    ) -> tuple[CachedRoom, str]:
        """Take over the seats that a code is for, for a browser if its secret is given."""
        return await self._change_seats(
            address, lambda connection, now: seats.take_over(connection, now, code, browser)
        )

    async def wait_for_computer(self, room: CachedRoom, seconds: float = 2.0) -> CachedRoom:
        """Return a room once the computer has moved, if it is its turn and does not take long."""
        await self._computers.wait(room, seconds)
        return await self.find_room(room.address)

    def note_change(self, change: RoomChange | ClassNotice | None) -> None:
        """Note that another process has changed a room or a class, or perhaps any of them."""
        if not isinstance(change, RoomChange):
            self.classes.note_change(change)
        if isinstance(change, ClassNotice):
            return
        self._heard += 1
        if change is None:
            self._reconciler.mark(self._list_rooms())
        elif change.tag == presence.NOTICE:
            self.presence.mark(change.room)
        elif change.room not in self.cache or self.cache[change.room].tag != change.tag:
            self._reconciler.mark((change.room,))

    async def delete_old_rooms(self, keep_days: int | None = None) -> None:
        """Delete old rooms (see `maintenance.compute_cutoffs`) and unused rule files, some at a time."""
        cutoffs = maintenance.compute_cutoffs(keep_days)
        last = 0
        while found := await self._read(
            lambda connection: maintenance.find_expired(connection, cutoffs, last)  # noqa: B023 - used at once
        ):
            last = found[-1]
            for room_id in await self._write(
                partial(maintenance.delete_rooms, ids=found, cutoffs=cutoffs)
            ):
                self.cache.remove(room_id)
                self._hub.publish(room_id)
            await asyncio.sleep(_PAUSE)
        await self._write(lambda connection: maintenance.delete_old_classes(connection, cutoffs))
        while await self._write(maintenance.delete_unused_rulebooks):
            await asyncio.sleep(_PAUSE)

    async def close(self) -> None:
        """Stop the computers, which go on when their room is found again, and the comparison with the database."""
        await self.classes.close()
        await self.presence.close()
        await self._reconciler.close()
        await self._computers.close()

    # Internals --------------------------------------------------------------------------------------------------------

    def _apply(self, room: CachedRoom, held: Collection[int], action: Action) -> Room:
        """Return a room after an action; of a claim, this server knows how long the other player has been gone."""
        if isinstance(action, Claim):
            described = self.describe_presence(room)
            action = action._replace(gone_for=0.0 if described is None else described.gone_for)
        return room.room.apply(held, action)

    async def _load_sightings(self, some: Collection[int]) -> dict[seats.SeatKey, Sighting]:
        return await self._read(lambda connection: presence.load_sightings(connection, some))

    async def _store_sightings(
        self, sightings: Mapping[seats.SeatKey, Sighting], announced: Collection[int]
    ) -> None:
        await self._write(
            lambda connection: presence.store_sightings(connection, sightings, announced)
        )

    async def _find_played(self, address: str) -> CachedRoom:
        """Return a room by the address of its players; spectators can change nothing."""
        room = await self.find_room(address)
        if room.address != address:
            raise RoomNotFoundError(address)
        return room

    async def _wait_for_state(self, room_id: int, seen: Revision) -> CachedRoom:
        """Wait until this server hears of a state that a client has seen, for a short time and without any query."""
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(self._state_timeout),
                aclosing(self._hub.subscribe(room_id)) as wakeups,
            ):
                async for _ in wakeups:
                    room = self.cache.get(room_id)
                    if room is not None and room.revision >= seen:
                        return room
        raise BehindError

    async def _change_room(
        self, room: CachedRoom, change: Callable[[CachedRoom], Room], remark: str = ""
    ) -> CachedRoom:
        """Change a room, again if another process was faster; announce it once it is stored."""
        async with self._locks.setdefault(room.id, asyncio.Lock()):
            for attempt in range(_MAX_TRIES):
                now = (
                    await self.find_room(room.address) if attempt else self.cache.get(room.id, room)
                )
                try:
                    after = change(now)
                except (RoomError, MoveError, TableError):
                    if await self._is_current(now):
                        raise
                else:
                    if after is not now.room:
                        write = partial(rooms.update_room, known=now, after=after)
                        with suppress(RoomChangedError):
                            return self._announce(await self._write(write), remark)
                    elif await self._is_current(now):  # it was done already
                        return now
                self.cache.remove(room.id)
            raise StaleError((await self.find_room(room.address)).room.table)

    async def _change_seats(
        self, address: str, change: Callable[[Connection, StoredRoom], tuple[StoredRoom, str]]
    ) -> tuple[CachedRoom, str]:
        """Change who holds the seats of a room, again if another process was faster."""
        room = await self._find_played(address)
        async with self._locks.setdefault(room.id, asyncio.Lock()):
            for attempt in range(_MAX_TRIES):
                now = (
                    await self.find_room(room.address) if attempt else self.cache.get(room.id, room)
                )
                with suppress(RoomChangedError):
                    stored, token = await self._write_seats(now, change)
                    return self._announce(stored), token
                self.cache.remove(room.id)
            raise RoomError("not_now", "the game has just changed; please look at it and try again")

    async def _write_seats(
        self, before: StoredRoom, change: Callable[[Connection, StoredRoom], tuple[StoredRoom, str]]
    ) -> tuple[StoredRoom, str]:
        """Change who holds seats; if that fails after it was stored, return what was stored.

        When the answer to a commit is lost, the change may be stored although it seems to have failed. Its token would
        be unknown to everyone, and the seat lost: so the database is asked whether the token holds a seat.
        """
        attempts: list[tuple[StoredRoom, str]] = []

        def attempt(connection: Connection) -> tuple[StoredRoom, str]:
            attempts.append(change(connection, before))
            return attempts[-1]

        try:
            return await self._write(attempt)
        except (StoreError, RoomError, RoomChangedError):
            for _ in range(_MAX_TRIES if attempts else 0):
                with suppress(StoreError):
                    stored = await self._read(
                        lambda connection: rooms.find_room(connection, before.address)
                    )
                    for _, token in attempts:
                        if stored.find_seats(token):
                            return stored, token
                    break
                await asyncio.sleep(_PAUSE)
            raise

    def _announce(self, stored: StoredRoom, remark: str = "") -> CachedRoom:
        """Remember a room that was changed, and let the computer move if it is its turn."""
        room = self._remember(stored, remark)
        self._computers.start(room)
        return room

    def _remember(self, stored: StoredRoom, remark: str = "") -> CachedRoom:
        """Put a room into the cache, unless a later state is there, and wake its followers."""
        earlier = self.cache.get(stored.id)
        if earlier is not None and earlier.revision >= stored.revision:
            return self.cache.touch(stored.id)
        room = self.cache.add(stored, remark)
        self._hub.publish(stored.id)
        if room.room.over:
            self.classes.note_room(room)
        return room

    def _note_rooms(self, changes: Collection[RoomChange]) -> None:
        """Forget rooms that were changed by what happened in their class: from now on they are read again."""
        for change in changes:
            self.cache.remove(change.room)
            self.note_change(change)

    def _list_rooms(self) -> set[int]:
        """Return the rooms that have to be equal to the database: all that are in memory or have followers."""
        return self.cache.keys() | self._hub.list_followed()

    async def _compare(self, marked: set[int]) -> set[int]:
        """Compare rooms with the database; return those that are being changed here, to be compared again soon.

        A room that has changed is read again if it has followers; otherwise when it is asked for.
        """
        followed, wanted = self._hub.list_followed(), marked & self._list_rooms()
        busy = {each for each in wanted if self._is_busy(each)}
        revisions = {each: self._get_revision(each) for each in wanted - busy}
        while revisions:
            some = {each: revisions.pop(each) for each in list(revisions)[:_COMPARE_BATCH]}
            changes = await self._read(
                lambda connection: rooms.read_changes(connection, some, followed)  # noqa: B023 - used at once
            )
            # A room that is changed here at this moment is announced with the computer's remark, which is not stored.
            busy |= {each for each in some if self._is_busy(each)}
            for stored in changes.changed:
                if stored.id not in busy:
                    self._remember(stored)
            for room_id in {*changes.deleted, *changes.outdated} - busy:
                if self._get_revision(room_id) == some[room_id]:
                    self.cache.remove(room_id)
            for room_id in changes.deleted:
                self._hub.publish(room_id)
        return busy

    def _is_busy(self, room_id: int) -> bool:
        """Return whether a room is being changed by this server."""
        lock = self._locks.get(room_id)
        return lock is not None and lock.locked()

    def _get_revision(self, room_id: int) -> Revision | None:
        return self.cache[room_id].revision if room_id in self.cache else None

    async def _is_current(self, room: CachedRoom) -> bool:
        """Return whether no other process has changed a room since: only then a refusal is right."""
        tags = await self._read(lambda connection: rooms.read_tags(connection, [room.id]))
        return tags.get(room.id) == room.tag

    async def _write(self, change: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._writer.submit(change))

    async def _read(self, query: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._store.read() as connection:
                return query(connection)

        return await asyncio.to_thread(read)
