"""The classes of a server: found, changed and followed; a change is stored before it is shown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from number_tower.rooms.actions import Action, apply_action
from number_tower.rooms.classroom import Classroom, ClassroomError
from number_tower.store import classrooms, rooms
from number_tower.store.classrooms import ClassChange, StoredClassroom
from number_tower.store.rooms import Credentials, RoomCache, RoomNotFoundError, StoredRoom
from number_tower.store.schema import rooms as rooms_table
from number_tower.web.live.database import Database
from number_tower.web.live.events import Hub, Topic

MAX_CLASSES = 256
"""Classes that are remembered; the least recently used are built again when they are asked for."""


@dataclass(frozen=True)
class ClassState:
    """A class with the rooms of its present games, as it is at one moment."""

    stored: StoredClassroom
    rooms: Mapping[int, StoredRoom]
    """The rooms of the present round and of unfinished games, by the numbers of pairings."""

    @property
    def classroom(self) -> Classroom:
        """The class itself."""
        return self.stored.classroom

    @property
    def revision(self) -> str:
        """Two numbers that only grow together: the class's own, and the second with every move."""
        return f"{self.stored.revision}.{sum(room.revision for room in self.rooms.values())}"


class Classes:
    """All classes, as far as clients ask for them. It belongs to one event loop."""

    def __init__(self, database: Database, hub: Hub, cache: RoomCache) -> None:
        self.database = database
        self._hub = hub
        self._room_cache = cache
        self._known: OrderedDict[str, StoredClassroom] = OrderedDict()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # Find ----------------------------------------------------------------------------------------

    async def find(self, code: str, heard: int = 0) -> StoredClassroom:
        """Return a class by its code, as it is typed, or by the address for spectators.

        It is as new as the database. A follower who has heard of a revision gets that one or a
        later one: after a change many ask at once, and one of them reads it.
        """
        lock = self._reading.setdefault(code, asyncio.Lock()) if heard else nullcontext()
        async with lock:
            known = self._known.get(code)
            if known is not None and 0 < heard <= known.revision:
                return known
            query = partial(classrooms.find_classroom, code=code, known=known)
            return self._remember(code, await self.database.read(query))

    async def find_state(self, code: str) -> ClassState:
        """Return a class with the rooms of its present games."""

        def read(connection: Connection) -> ClassState:
            stored = classrooms.find_classroom(connection, code, self._known.get(code))
            ours = {
                stored.rooms[pairing.number].id: pairing.number
                for pairing in stored.classroom.current
                if pairing.number in stored.rooms
            }
            present = rooms_table.c.id.in_([*ours])
            found = rooms.find_rooms(connection, present, self._room_cache) if ours else []
            return ClassState(stored, {ours[room.id]: room for room in found})

        state = await self.database.read(read)
        self._remember(code, state.stored)
        for room in state.rooms.values():
            self._room_cache.add(room)
        return state

    def _remember(self, code: str, stored: StoredClassroom) -> StoredClassroom:
        known = self._known.get(code)
        if known is None or known.revision < stored.revision:
            self._known[code] = stored
        self._known.move_to_end(code)
        if len(self._known) > MAX_CLASSES:
            self._known.popitem(last=False)
        return stored

    async def find_room(self, stored: StoredClassroom, number: int) -> StoredRoom:
        """Return the room of a pairing, also of an earlier round."""
        link = stored.rooms.get(stored.classroom.get_pairing(number).number)
        if link is not None:
            with suppress(RoomNotFoundError):
                return await self.database.read(partial(rooms.load_room, identity=link.id))
        raise ClassroomError("not_found", "there is no such game in this class")

    async def follow(self, code: str, heartbeat: float) -> AsyncGenerator[ClassState, None]:
        """Yield a class now, after every change of it or its games, and after every heartbeat."""
        topic = Topic("class", (await self.find(code)).id)
        load = partial(self.find_state, code)
        with closing(self._hub.subscribe(topic)) as news:
            while (state := await news.read(load, heartbeat)) is not None:
                news.follow({topic, *(Topic("room", room.id) for room in state.rooms.values())})
                yield state
                del state  # a stream that waits keeps no rooms in memory

    async def follow_rounds(
        self, code: str, heartbeat: float
    ) -> AsyncGenerator[StoredClassroom, None]:
        """Yield a class without its games: now, after every change, and after every heartbeat."""
        topic = Topic("class", (await self.find(code)).id)
        with closing(self._hub.subscribe(topic)) as news:

            async def read() -> StoredClassroom:
                return await self.find(code, self._hub.get_revision(topic) if news.has_news else 0)

            while (stored := await news.read(read, heartbeat)) is not None:
                yield stored
                del stored

    # Change --------------------------------------------------------------------------------------

    async def act(
        self,
        stored: StoredClassroom,
        credentials: Credentials,
        action: Action,
        browser: str | None = None,
    ) -> None:
        """Do something in a class, in the role of these credentials; who joins has a browser."""

        def decide(now: StoredClassroom) -> Classroom:
            return apply_action(now.classroom, now.find_role(credentials), action, SystemRandom())

        change = partial(
            classrooms.change_classroom,
            identity=stored.id,
            decide=decide,
            browser=browser,
            cache=self._room_cache,
        )
        await self.change(change)

    async def change(self, change: Callable[[Connection], ClassChange]) -> None:
        """Change a class; wake its followers, and those of its rooms, once it is stored."""
        changed = await self.database.write(change)
        stored = changed.stored
        self._remember(stored.code, stored)
        for room_id in changed.rooms:
            self._hub.publish(Topic("room", room_id))
        self._hub.publish(Topic("class", stored.id), stored.revision)
