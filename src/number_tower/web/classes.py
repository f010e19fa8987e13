"""The classes of a server: found, changed and followed; a change is stored before it is shown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from random import SystemRandom
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from number_tower.class_actions import (
    Action,
    Join,
    Role,
    apply_action,
    check_right,
)
from number_tower.classroom import Classroom, ClassroomError, ClassSettings, Pairing, Pupil
from number_tower.presence import Presence
from number_tower.short_codes import PERSONAL_LENGTH, CodeError, normalize_code
from number_tower.store import StoreError, classrooms
from number_tower.store.classrooms import ClassChange, ClassroomNotFoundError, StoredClassroom
from number_tower.store.rooms import Credentials, RoomChangedError, RoomNotFoundError
from number_tower.store.rows import StoredGame
from number_tower.store.transfer import format_line
from number_tower.web.live import ClassNotice, Hub, RoomChange, Topic, name_class_topic
from number_tower.web.room_cache import CachedRoom

T = TypeVar("T")

MAX_CLASSES = 256
"""Classes in memory; the least recently used are read again when they are asked for."""

_MAX_TRIES = 5
"""How often a change is tried if a game of the class changes at the same moment, and how often a class is read."""

_RETRY = 1.0
"""Seconds until classes are compared again with a database that could not be read."""

_GAME_STEP = 10_000
"""More than the changes that one game can have, so that the next game of a room counts more than all of these."""


class Reader(Protocol):
    """Runs a query on the database."""

    async def __call__(self, query: Callable[[Connection], T], /) -> T:
        """Return the result of a query."""


class ClassAccess(NamedTuple):
    """What classes need of the lobby: the database, and rooms."""

    read: Reader
    write: Reader
    find_room: Callable[[str], Awaitable[CachedRoom]]
    note_rooms: Callable[[Collection[RoomChange]], None]
    """Reads rooms again that were changed."""
    judge_presence: Callable[[int], tuple[Presence, Presence]]
    """Says where the players of a room are."""


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
    rooms: Mapping[int, CachedRoom]
    """The rooms of the present round and of unfinished games, by the numbers of pairings."""
    presence: Mapping[int, tuple[Presence, Presence]] = field(default_factory=dict)
    """Where the players of unfinished games are, by the numbers of pairings."""

    @property
    def classroom(self) -> Classroom:
        """The class itself."""
        return self.stored.classroom

    @property
    def summary(self) -> tuple[int, int]:
        """What the page shows besides the boards: the version of the class, and how many games are over."""
        return self.stored.version, sum(len(each.winners) for each in self.classroom.pairings)

    @property
    def tag(self) -> str:
        """Three numbers that only grow together, the third with every move."""
        version, finished = self.summary
        return f"{version}.{finished}.{sum(map(measure_progress, self.rooms.values()))}"

    def find_visitor(self, credentials: Credentials, *, watches: bool = False) -> Visitor:
        """Return who sees the class with these credentials, or by the address for spectators."""
        role = self.stored.find_role(credentials, watches=watches)
        return Visitor(role, self.stored.find_pupil(credentials) if role == "pupil" else None)


def measure_progress(room: CachedRoom) -> int:
    """Return a number that grows with every change of a room."""
    number, changes, version = room.revision
    return number * _GAME_STEP + changes + version


class Classes:
    """All classes, as far as clients ask for them. It belongs to one event loop."""

    def __init__(self, access: ClassAccess, hub: Hub) -> None:
        self._access = access
        self._hub = hub
        self._cache: OrderedDict[int, StoredClassroom] = OrderedDict()
        self._ids: dict[str, int] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._heard = 0
        self._may_differ = False
        self._comparing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop comparing classes with the database."""
        if self._comparing is not None:
            self._comparing.cancel()
            with suppress(asyncio.CancelledError):
                await self._comparing

    # Find -------------------------------------------------------------------------------------------------------------

    async def find(self, code: str, *, fresh: bool = True) -> StoredClassroom:
        """Return a class by its code, as it is typed, or by the address for spectators.

        A fresh one is as new as the database, whatever other servers have done.
        """
        known = self._get(code)
        if known is None or not await self._is_current(known, fresh=fresh):
            async with self._locks.setdefault(
                code, asyncio.Lock()
            ):  # many ask at once after a change; one reads
                known = self._get(code)
                if known is None or not await self._is_current(known, fresh=fresh):
                    known = await self.read(code)
        if known.id in self._cache:  # another server's change may have removed it meanwhile
            self._cache.move_to_end(known.id)
        return known

    async def read(self, code: str) -> StoredClassroom:
        """Read a class from the database, with all results; again if a change was heard of meanwhile."""
        tries = 0
        while True:
            tries, heard = tries + 1, self._heard
            stored = await self._access.read(_make_query(code))
            if heard == self._heard or tries == _MAX_TRIES:
                return self._remember(stored)

    def _get(self, code: str) -> StoredClassroom | None:
        return self._cache.get(self._ids.get(code, -1))

    async def find_state(self, code: str, *, fresh: bool = True) -> ClassState:
        """Return a class with the rooms of its present games, and the results that follow from these."""
        stored = await self.find(code, fresh=fresh)
        rooms = {}
        for pairing in stored.classroom.current:
            room = await self._find_room(stored, pairing)
            if room is not None:
                rooms[pairing.number] = room
        results = {number: classrooms.summarize_room(room.room) for number, room in rooms.items()}
        # No result is ever taken back in a class, so one with fewer games is that of a room in an earlier state.
        changed = {
            number: (winners, decided)
            for number, (winners, decided) in results.items()
            if len(winners) > len(stored.classroom.get_pairing(number).winners)
        }
        if changed:
            stored = replace(stored, classroom=stored.classroom.set_results(changed))
            now = self._cache.get(stored.id)
            if now is not None and now.version == stored.version:
                self._cache[stored.id] = stored
        playing = {number: room.id for number, room in rooms.items() if not room.room.over}
        return ClassState(
            stored,
            rooms,
            {number: self._access.judge_presence(room_id) for number, room_id in playing.items()},
        )

    async def find_room(self, stored: StoredClassroom, number: int) -> CachedRoom:
        """Return the room of a pairing, also of an earlier round."""
        room = await self._find_room(stored, stored.classroom.get_pairing(number))
        if room is None:
            raise ClassroomError("not_found", "there is no such game in this class")
        return room

    async def _find_room(self, stored: StoredClassroom, pairing: Pairing) -> CachedRoom | None:
        link = stored.rooms.get(pairing.number)
        try:
            return None if link is None else await self._access.find_room(link.address)
        except RoomNotFoundError:
            return None

    async def list_games(self, stored: StoredClassroom) -> list[tuple[int, StoredGame]]:
        """Return all games of a class, each with the number of its pairing."""
        return await self._access.read(
            lambda connection: classrooms.list_games(connection, stored.id)
        )

    async def export_games(self, stored: StoredClassroom) -> str:
        """Return all games of a class as lines that another database can import."""

        def export(connection: Connection) -> str:
            games = classrooms.list_games(connection, stored.id)
            return "".join(format_line(connection, game) for _, game in games)

        return await self._access.read(export)

    async def list_codes(self, secrets: Collection[str], most: int) -> list[str]:
        """Return the codes of classes that a browser teaches or is a pupil of, the newest first."""
        return await self._access.read(
            lambda connection: classrooms.list_classrooms(connection, secrets, most)
        )

    async def follow(self, code: str, heartbeat: float) -> AsyncGenerator[ClassState, None]:
        """Yield a class as it is, and again after every change of the class or a game, and after every heartbeat."""
        class_id = (await self.find(code)).id
        with closing(self._hub.open_subscription()) as subscription:
            topics: set[Topic] = {name_class_topic(class_id)}
            subscription.follow(topics)
            while True:
                has_news = await subscription.wait(heartbeat)
                try:
                    state = await self.find_state(code, fresh=not has_news)
                except ClassroomNotFoundError:
                    return
                except StoreError:
                    continue
                subscription.follow(topics | {room.id for room in state.rooms.values()})
                yield state
                del state  # a stream that waits keeps no rooms in memory

    async def follow_rounds(
        self, code: str, heartbeat: float
    ) -> AsyncGenerator[StoredClassroom, None]:
        """Yield a class as it is, without its games, and again after every change and after every heartbeat."""
        class_id = (await self.find(code)).id
        async for has_news in self._hub.subscribe(name_class_topic(class_id), heartbeat):
            try:
                yield await self.find(code, fresh=not has_news)
            except ClassroomNotFoundError:
                return
            except StoreError:
                continue

    # Change -----------------------------------------------------------------------------------------------------------

    async def open(self, settings: ClassSettings, browser: str) -> tuple[StoredClassroom, str]:
        """Make a class for a browser; return it and the teacher's token."""
        stored, token = await self._access.write(
            lambda connection: classrooms.insert_classroom(connection, settings, browser)
        )
        return self._remember(stored), token

    async def act(self, code: str, credentials: Credentials, action: Action) -> ClassState:
        """Do something in a class, as the role that the credentials have there."""
        stored = await self.find(code)

        def change(now: StoredClassroom) -> Classroom:
            return apply_action(now.classroom, now.find_role(credentials), action, SystemRandom())

        await self._change(
            lambda connection: classrooms.change_classroom(connection, stored.id, change)
        )
        return await self.find_state(code)

    async def join(self, code: str, name: str, browser: str) -> ClassState:
        """Join a class under a name, for a browser; one that has joined already stays who it is."""
        stored = await self.find(code)
        credentials = Credentials(browsers=(browser,))

        def change(now: StoredClassroom) -> Classroom:
            if now.find_pupil(credentials) is not None:
                return now.classroom
            return apply_action(
                now.classroom, now.find_role(credentials), Join(name), SystemRandom()
            )

        await self._change(
            lambda connection: classrooms.change_classroom(connection, stored.id, change, browser)
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
        return await self._access.write(
            lambda connection: classrooms.replace_token(connection, stored.id)
        )

    async def make_pupil_code(self, code: str, number: int) -> str:
        """Return a code by which a pupil can continue on another device."""
        stored = await self.find(code)
        return await self._access.write(
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

    def note_change(self, notice: ClassNotice | None) -> None:
        """Note that another process has changed a class, or perhaps any of them."""
        self._heard += 1
        if notice is None:
            self._may_differ = True
            if self._comparing is None or self._comparing.done():
                self._comparing = asyncio.create_task(self._compare())
            return
        known = self._cache.get(notice.id)
        if known is None or known.version != notice.version:
            self._forget(notice.id)
            self._hub.publish(name_class_topic(notice.id))

    def note_room(self, room: CachedRoom) -> None:
        """Note that the game of a room is over: the standings of its class have changed."""
        if room.class_link is not None:
            self._hub.publish(name_class_topic(room.class_link.id))

    # Internals --------------------------------------------------------------------------------------------------------

    async def _is_current(self, known: StoredClassroom, *, fresh: bool) -> bool:
        """Say whether a class in memory can be used: a fresh one has to be as new as the database."""
        if not fresh:
            return True
        versions = await self._access.read(partial(classrooms.read_versions, some=[known.id]))
        return versions.get(known.id) == known.version

    async def _change(self, change: Callable[[Connection], ClassChange]) -> None:
        """Change a class, again if one of its games has just changed; announce it once it is stored."""
        self._announce(await self._write_again(change))

    def _announce(self, changed: ClassChange) -> None:
        """Remember a class that was changed, and wake its followers."""
        self._remember(changed.stored)
        self._access.note_rooms([RoomChange(room_id, tag) for room_id, tag in changed.tags.items()])
        self._hub.publish(name_class_topic(changed.stored.id))

    async def _write_again(self, change: Callable[[Connection], ClassChange]) -> ClassChange:
        for _ in range(_MAX_TRIES):
            with suppress(RoomChangedError):
                return await self._access.write(change)
        raise ClassroomError("not_now", "a game has just changed; please look and try again")

    async def _compare(self) -> None:
        """Compare the classes in memory with the database until they agree: read those again that have changed."""
        while self._may_differ:
            self._may_differ = False
            known = {class_id: stored.version for class_id, stored in self._cache.items()}
            try:
                versions = await self._access.read(partial(classrooms.read_versions, some=[*known]))
            except StoreError:
                self._may_differ = True
                await asyncio.sleep(_RETRY)
                continue
            for class_id, version in known.items():
                if versions.get(class_id) != version:
                    self._forget(class_id)
                    self._hub.publish(name_class_topic(class_id))

    def _remember(self, stored: StoredClassroom) -> StoredClassroom:
        """Put a class into the cache, unless a later state is there."""
        known = self._cache.get(stored.id)
        if known is not None and known.version > stored.version:
            return known
        self._forget(stored.id)
        self._cache[stored.id] = stored
        self._ids[stored.code] = self._ids[stored.watch] = stored.id
        while len(self._cache) > MAX_CLASSES:
            self._forget(next(iter(self._cache)))
        return stored

    def _forget(self, class_id: int) -> None:
        known = self._cache.pop(class_id, None)
        if known is not None:
            self._ids.pop(known.code, None)
            self._ids.pop(known.watch, None)


def _make_query(code: str) -> Callable[[Connection], StoredClassroom]:
    """Return the query for a class: a code has capital letters, and the address for spectators begins with a w."""
    if code.startswith("w"):
        return partial(classrooms.find_watched_classroom, watch=code)
    return partial(classrooms.find_classroom, code=code)
