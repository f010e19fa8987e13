"""The classes of a server: found, changed and followed; a change is stored before it is shown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import NamedTuple
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from number_tower.class_actions import (
    Action,
    Join,
    Role,
    apply_action,
    check_right,
)
from number_tower.classroom import Classroom, ClassroomError, ClassSettings, Pupil
from number_tower.short_codes import PERSONAL_LENGTH, CodeError, normalize_code
from number_tower.store import StoreError, classrooms, rooms
from number_tower.store.classrooms import ClassChange, ClassroomNotFoundError, StoredClassroom
from number_tower.store.rooms import Credentials, RoomCache, RoomNotFoundError, StoredRoom
from number_tower.store.rows import StoredGame
from number_tower.store.schema import rooms as rooms_table
from number_tower.store.transfer import format_line
from number_tower.web.database import Database
from number_tower.web.live import Hub, Topic

MAX_CLASSES = 256
"""Classes that are remembered; the least recently used are built again when they are asked for."""


class Visitor(NamedTuple):
    """A person who asks for a class: the role, and who a pupil is."""

    role: Role
    pupil: Pupil | None = None

    def require(self, right: str) -> None:
        """Raise a ClassroomError if the visitor does not have a right."""
        check_right(self.role, right)


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

    def find_visitor(self, credentials: Credentials, *, watches: bool = False) -> Visitor:
        """Return who sees the class with these credentials, or by the address for spectators."""
        role = self.stored.find_role(credentials, watches=watches)
        return Visitor(role, self.stored.find_pupil(credentials) if role == "pupil" else None)


class Classes:
    """All classes, as far as clients ask for them. It belongs to one event loop."""

    def __init__(self, database: Database, hub: Hub, cache: RoomCache) -> None:
        self._database = database
        self._hub = hub
        self._room_cache = cache
        self._known: OrderedDict[str, StoredClassroom] = OrderedDict()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # Find -------------------------------------------------------------------------------------------------------------

    async def find(self, code: str, heard: int = 0) -> StoredClassroom:
        """Return a class by its code, as it is typed, or by the address for spectators.

        It is as new as the database. A follower who has heard of a revision gets that one or a later one: after a
        change many ask at once, and one of them reads it.
        """
        lock = self._reading.setdefault(code, asyncio.Lock()) if heard else nullcontext()
        async with lock:
            known = self._known.get(code)
            if known is not None and 0 < heard <= known.revision:
                return known
            query = partial(classrooms.find_classroom, code=code, known=known)
            return self._remember(code, await self._database.read(query))

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

        state = await self._database.read(read)
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
            try:
                return await self._database.read(
                    lambda connection: rooms.load_room(connection, link.id)
                )
            except RoomNotFoundError:
                pass
        raise ClassroomError("not_found", "there is no such game in this class")

    async def list_games(self, stored: StoredClassroom) -> list[tuple[int, StoredGame]]:
        """Return all games of a class, each with the number of its pairing."""
        return await self._database.read(
            lambda connection: classrooms.list_games(connection, stored.id)
        )

    async def export_games(self, stored: StoredClassroom) -> str:
        """Return all games of a class as lines that another database can import."""

        def export(connection: Connection) -> str:
            games = classrooms.list_games(connection, stored.id)
            return "".join(format_line(connection, game) for _, game in games)

        return await self._database.read(export)

    async def list_codes(self, secrets: Collection[str], most: int) -> list[str]:
        """Return the codes of classes that a browser teaches or is a pupil of, the newest first."""
        return await self._database.read(
            lambda connection: classrooms.list_classrooms(connection, secrets, most)
        )

    async def follow(self, code: str, heartbeat: float) -> AsyncGenerator[ClassState, None]:
        """Yield a class as it is, and again after every change of the class or a game, and after every heartbeat."""
        topic = Topic("class", (await self.find(code)).id)
        with closing(self._hub.subscribe(topic)) as news:
            while True:
                await news.wait(heartbeat)
                try:
                    state = await self.find_state(code)
                except ClassroomNotFoundError:
                    return
                except StoreError:
                    await news.wait_again()
                    continue
                news.follow({topic, *(Topic("room", room.id) for room in state.rooms.values())})
                yield state
                del state  # a stream that waits keeps no rooms in memory

    async def follow_rounds(
        self, code: str, heartbeat: float
    ) -> AsyncGenerator[StoredClassroom, None]:
        """Yield a class as it is, without its games, and again after every change and after every heartbeat."""
        topic = Topic("class", (await self.find(code)).id)
        with closing(self._hub.subscribe(topic)) as news:
            while True:
                has_news = await news.wait(heartbeat)
                try:
                    yield await self.find(code, self._hub.get_revision(topic) if has_news else 0)
                except ClassroomNotFoundError:
                    return
                except StoreError:
                    await news.wait_again()

    # Change -----------------------------------------------------------------------------------------------------------

    async def open(self, settings: ClassSettings, browser: str) -> tuple[StoredClassroom, str]:
        """Make a class for a browser; return it and the teacher's token."""
        return await self._database.write(
            lambda connection: classrooms.insert_classroom(connection, settings, browser)
        )

    async def act(self, code: str, credentials: Credentials, action: Action) -> ClassState:
        """Do something in a class, as the role that the credentials have there."""
        stored = await self.find(code)

        def decide(now: StoredClassroom) -> Classroom:
            return apply_action(now.classroom, now.find_role(credentials), action, SystemRandom())

        change = partial(
            classrooms.change_classroom,
            identity=stored.id,
            decide=decide,
            cache=self._room_cache,
        )
        await self._change(change)
        return await self.find_state(code)

    async def join(self, code: str, name: str, browser: str) -> ClassState:
        """Join a class under a name, for a browser; one that has joined already stays who it is."""
        stored = await self.find(code)
        credentials = Credentials(browsers=(browser,))

        def decide(now: StoredClassroom) -> Classroom:
            if now.find_pupil(credentials) is not None:
                return now.classroom
            return apply_action(
                now.classroom, now.find_role(credentials), Join(name), SystemRandom()
            )

        await self._change(
            lambda connection: classrooms.change_classroom(connection, stored.id, decide, browser)
        )
        return await self.find_state(code)

    async def add_teacher(self, code: str, token: str, browser: str) -> None:
        """Let a browser with the teacher's link hold a class."""
        stored = await self.find(code)
        await self._change(
            lambda connection: classrooms.add_teacher(connection, stored.id, token, browser)
        )

    async def make_teacher_token(self, code: str) -> str:
        """Return a new token for the teacher's link."""
        stored = await self.find(code)
        return await self._database.write(
            lambda connection: classrooms.replace_token(connection, stored.id)
        )

    async def make_pupil_code(self, code: str, number: int) -> str:
        """Return a code by which a pupil can continue on another device."""
        stored = await self.find(code)
        return await self._database.write(
            lambda connection: classrooms.make_pupil_code(connection, stored.id, number)
        )

    async def take_pupil(self, code: str, personal: str, browser: str) -> None:
        """Let a browser continue as the pupil that a personal code is for."""
        stored = await self.find(code)
        try:
            given = normalize_code(personal, PERSONAL_LENGTH)
        except CodeError as error:
            raise ClassroomError("not_now", f"this is not a personal code: {error}") from None
        await self._change(
            lambda connection: classrooms.take_pupil(connection, stored.id, given, browser)
        )

    async def _change(self, change: Callable[[Connection], ClassChange]) -> None:
        """Change a class; wake its followers, and those of its rooms, once it is stored."""
        changed = await self._database.write(change)
        stored = changed.stored
        self._remember(stored.code, stored)
        for room_id in changed.rooms:
            self._hub.publish(Topic("room", room_id))
        self._hub.publish(Topic("class", stored.id), stored.revision)
