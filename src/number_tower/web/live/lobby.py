"""The rooms of a server: `Room` decides a change, which is stored and announced to followers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from secrets import token_urlsafe
from time import monotonic, time
from typing import TypeVar

from sqlalchemy import Connection

from number_tower.rooms.presence import SEEN_EVERY, RoomPresence, judge_presence
from number_tower.rooms.room import Action, Claim, Room
from number_tower.store import StoreError, maintenance, rooms, seats
from number_tower.store.database import Store, Writer
from number_tower.store.rooms import (
    Credentials,
    RoomCache,
    RoomNotFoundError,
    StoredRoom,
    digest_secret,
)
from number_tower.support.errors import NumberTowerError
from number_tower.web import limits
from number_tower.web.live.database import Database
from number_tower.web.live.events import Hub, Topic, Wakeup
from number_tower.web.live.new_room import NewRoom
from number_tower.web.thinking.computers import ComputerPlayers
from number_tower.web.thinking.workers import Workers

T = TypeVar("T")

STATE_TIMEOUT = 1.0
"""Seconds that a request waits for a state that its client has seen and this server has not."""

_PAUSE = 0.1
"""Seconds between two looks for such a state, and between two transactions that delete rooms."""

_LEAST_CHANGE = 10.0
"""Store that a player was seen only if the stored time is at least this many seconds old."""

_SEEN_TIMEOUT = 1.0
"""Seconds that a request waits until the presence of its player is stored."""

_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BehindError(NumberTowerError):
    """A client has seen a state that this server does not find."""


class Lobby:
    """All rooms, as far as clients ask for them. It belongs to one event loop."""

    def __init__(self, store: Store, writer: Writer, workers: Workers) -> None:
        self.database = Database(store, writer)
        self.hub = Hub()
        self.cache = RoomCache()
        self._computers = ComputerPlayers(workers, self.find_room, self._change)
        self.clock = time
        self._started = time()

    # Find rooms -----------------------------------------------------------------------------------

    async def find_room(self, address: str, seen: int = 0) -> StoredRoom:
        """Return a room by its address, or by the one for spectators, as it is in the database.

        `seen` is the newest revision that the client has seen, perhaps at another server: if the
        database has only earlier ones, it is read again for a short time.
        """
        if not _ADDRESS.fullmatch(address):
            raise RoomNotFoundError(address)
        query = partial(rooms.find_room, address=address, cache=self.cache)
        deadline = monotonic() + STATE_TIMEOUT
        while (room := await self.database.read(query)).revision < seen:
            if monotonic() >= deadline:
                raise BehindError
            await asyncio.sleep(_PAUSE)
        self.cache.add(room)
        # A server that stopped may have left a computer in its turn.
        self._computers.start(room)
        return room

    async def follow(
        self, room: StoredRoom, heartbeat: float | None = None, seen: int = 0
    ) -> AsyncGenerator[tuple[StoredRoom, Wakeup], None]:
        """Yield a room now, after every change and heartbeat, and when players come or go.

        A state that this server has stored itself is not read again. States never go back, nor
        behind what the client has seen. A database failure does not end a stream.
        """
        address, topic = room.address, Topic("room", room.id)
        # A stream that waits keeps no room in memory.
        del room
        with closing(self.hub.subscribe(topic)) as news:

            async def read() -> tuple[StoredRoom, Wakeup]:
                if not news.has_news:
                    return await self.find_room(address), "heartbeat"
                cached = self.cache.find(topic.id, self.hub.get_revision(topic))
                if cached is not None:
                    return cached, "stored"
                return await self.find_room(address), "read"

            while (state := await news.read(read, heartbeat)) is not None:
                if state[0].revision >= seen:
                    seen = state[0].revision
                    yield state
                del state

    # Change rooms ---------------------------------------------------------------------------------

    async def open_room(self, new: NewRoom, browser: str | None = None) -> tuple[StoredRoom, str]:
        """Open a room, for a browser if it has a secret; return it and the token of its seats."""
        limits.check_rules(new.table.game.rules)
        limits.check_voice(new.table.book)
        holder = None if browser is None else digest_secret(browser)
        insert = partial(
            rooms.insert_room, room=new.make_room(), players=new.players, browsers=(holder, holder)
        )
        stored, token = await self.database.write(insert)
        return self._announce(stored), token

    async def act(
        self,
        address: str,
        credentials: Credentials | str | None,
        action: Action | Callable[[StoredRoom], Action],
    ) -> StoredRoom:
        """Do something in a room by the seats held; the action may depend on the room."""

        def decide(now: StoredRoom) -> Room:
            chosen = action(now) if callable(action) else action
            # Only this server knows for how long the other player has been gone.
            presence = self.describe_presence(now) if isinstance(chosen, Claim) else None
            gone_for = 0.0 if presence is None else presence.gone_for
            return now.room.apply(now.find_seats(credentials), chosen, gone_for)

        room = await self._change(address, decide)
        await self.note_player(room, credentials)
        return room

    async def wait_for_computer(self, room: StoredRoom, seconds: float = 2.0) -> None:
        """Wait until the computer of a room has moved, if it is its turn and does not take long."""
        await self._computers.wait(room, seconds)

    # Seats ----------------------------------------------------------------------------------------

    async def join(
        self, address: str, name: str | None, browser: str | None = None
    ) -> tuple[StoredRoom, str]:
        """Take the free seat of a room, perhaps for a browser; return the room and a token."""
        sit = partial(seats.sit, name=name, browser=browser)
        room, token = await self._take_seat(address, sit)
        await self.note_player(room, token)
        return room, token

    async def make_handover_code(self, address: str, credentials: Credentials | str | None) -> str:
        """Return a code by which another device can take over the seats of the credentials."""
        hand_over = partial(seats.hand_over, credentials=credentials)
        return await self.database.write(partial(_change_seats, address, hand_over))

    async def take_over(
        self, address: str, code: str, browser: str | None = None
    ) -> tuple[StoredRoom, str]:
        """Take over the seats that a code is for, for a browser if its secret is given."""
        take_over = partial(seats.take_over, code=code, browser=browser)
        return await self._take_seat(address, take_over)

    async def _take_seat(
        self, address: str, take: Callable[..., tuple[StoredRoom, str]]
    ) -> tuple[StoredRoom, str]:
        """Let a new token hold a seat."""
        token = token_urlsafe(32)
        change = partial(_change_seats, address, partial(take, token=token))
        try:
            room, _ = await self.database.write(change)
        except StoreError:
            # If only the answer to the commit was lost, nobody else could ever use the seat.
            room = await self.find_room(address)
            if not room.find_seats(token):
                raise
        return self._announce(room), token

    # Presence -------------------------------------------------------------------------------------

    async def note_player(
        self, room: StoredRoom, credentials: Credentials | str | None, *, hidden: bool = False
    ) -> None:
        """Note that a player of a room is there, perhaps with a hidden page."""
        held = room.find_seats(credentials)
        if not (held and room.is_attended):
            return
        now = self.clock()
        sightings = [room.seen[seat] for seat in held]
        states = {judge_presence(sighting, now) for sighting in sightings}
        # Others see at once that a player has come; one who stays is stored now and then.
        if states != {"away" if hidden else "here"}:
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(_SEEN_TIMEOUT):
                    await self._show_player(room.id, held, hidden=hidden)
        elif any(seen is None or now - seen.at > _LEAST_CHANGE for seen in sightings):
            self._mark_seen(room.id, held)

    @asynccontextmanager
    async def attend(
        self, room: StoredRoom, credentials: Credentials | str | None
    ) -> AsyncGenerator[None, None]:
        """Return a context in which a player counts as here, as with a page that follows it."""
        held = room.find_seats(credentials)
        if not (held and room.is_attended):
            yield
            return
        task = asyncio.create_task(self._keep_seen(room.id, held))
        try:
            yield
        finally:
            task.cancel()
            self._mark_seen(room.id, held)

    async def _keep_seen(self, room_id: int, held: Collection[int]) -> None:
        with suppress(StoreError):
            await self._show_player(room_id, held, hidden=False)
        while True:
            await asyncio.sleep(SEEN_EVERY)
            self._mark_seen(room_id, held, hidden=False)

    async def _show_player(self, room_id: int, held: Collection[int], *, hidden: bool) -> None:
        """Store that players have come or have hidden their page, and show it to all followers."""
        mark = partial(seats.mark_seen, room=room_id, held=held, at=self.clock(), hidden=hidden)
        await self.database.write(partial(mark, announced=True))
        self.hub.publish(Topic("room", room_id))

    def _mark_seen(
        self, room_id: int, held: Collection[int], *, hidden: bool | None = None
    ) -> None:
        """Store soon that players are seen now, which others need not hear of."""
        mark = partial(seats.mark_seen, room=room_id, held=held, at=self.clock(), hidden=hidden)
        self.database.submit(mark)

    def describe_presence(self, stored: StoredRoom) -> RoomPresence | None:
        """Return where two players at different devices are; None in any other room.

        Nobody is gone because the server was: the time counts from its start at most.
        """
        if not stored.is_for_two or stored.room.waiting:
            return None
        now, mover = self.clock(), stored.seen[stored.room.table.game.to_move]
        seen = 0.0 if mover is None else mover.at
        gone_for = max(0.0, now - max(seen, stored.turn_began, self._started))
        first, second = (judge_presence(sighting, now) for sighting in stored.seen)
        return RoomPresence((first, second), gone_for)

    # Old rooms ------------------------------------------------------------------------------------

    async def delete_old_rooms(self, keep_days: int | None = None) -> None:
        """Delete old rooms (see `maintenance`), classes and unused rule files in batches."""
        write = self.database.write
        delete = partial(maintenance.delete_rooms, keep_days=keep_days)
        while deleted := await write(delete):
            for room_id in deleted:
                self.hub.publish(Topic("room", room_id))
            await asyncio.sleep(_PAUSE)
        await write(maintenance.delete_old_classes)
        while await write(maintenance.delete_unused_rulebooks):
            await asyncio.sleep(_PAUSE)

    async def close(self) -> None:
        """Stop the computers, which go on when their room is found again."""
        await self._computers.close()

    # Internals ------------------------------------------------------------------------------------

    async def _change(self, address: str, decide: Callable[[StoredRoom], Room]) -> StoredRoom:
        """Change a room as its present state decides; announce it once it is stored."""

        def decide_for_players(now: StoredRoom) -> Room:
            # The address for spectators finds the room too, but they can change nothing.
            if now.address != address:
                raise RoomNotFoundError(address)
            return decide(now)

        if not _ADDRESS.fullmatch(address):
            raise RoomNotFoundError(address)
        change = partial(
            rooms.change_room, address=address, decide=decide_for_players, cache=self.cache
        )
        return self._announce(await self.database.write(change))

    def _announce(self, stored: StoredRoom) -> StoredRoom:
        """Remember a changed room, wake its followers, and let a computer move in its turn."""
        self.cache.add(stored)
        self.hub.publish(Topic("room", stored.id), stored.revision)
        # The class's new revision is not known here, so its followers read it anew.
        if stored.class_link is not None and stored.room.over:
            self.hub.publish(Topic("class", stored.class_link.id))
        self._computers.start(stored)
        return stored


def _change_seats(
    address: str, change: Callable[[Connection, StoredRoom], T], connection: Connection
) -> T:
    """Change who holds the seats of a room, which is locked for it."""
    room = rooms.find_room(connection, address, lock=True)
    if room.address != address:
        raise RoomNotFoundError(address)
    return change(connection, room)
