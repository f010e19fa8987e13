"""Live events of a class: the wall gets changed boards, a pupil what concerns the pupil."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from number_tower.engine import catalogue
from number_tower.rooms.actions import Action, Join, Pause, Remove, Rename, StartRound
from number_tower.rooms.classroom import ClassSettings
from number_tower.rooms.room import Move
from number_tower.store import classrooms
from number_tower.store.rooms import Credentials
from number_tower.web.classes import class_view
from number_tower.web.classes.class_view import stream_rounds, stream_wall
from number_tower.web.classes.registry import Classes
from number_tower.web.live.events import KEEPALIVE, RECONNECT_HINT, Topic
from number_tower.web.live.lobby import Lobby
from support.clocks import SLOW
from support.faults import Faults
from support.lobbies import open_lobby

pytest_plugins = ["anyio.pytest_plugin"]
pytestmark = pytest.mark.usefixtures("anyio_backend")

TEACHER = Credentials(browsers=("teacher",))


def make_classes(lobby: Lobby) -> Classes:
    """Return the classes of a server."""
    return Classes(lobby.database, lobby.hub, lobby.cache)


class Lesson:
    """A class in a lobby."""

    def __init__(self, lobby: Lobby, code: str) -> None:
        self.lobby = lobby
        self.classes: Classes = make_classes(lobby)
        self.code = code

    async def act(self, action: Action) -> None:
        await self.classes.act(await self.classes.find(self.code), TEACHER, action)

    async def join(self, name: str, server: Lobby | None = None) -> None:
        classes = make_classes(server or self.lobby)
        stored, credentials = await classes.find(self.code), Credentials(browsers=(name,))
        await classes.act(stored, credentials, Join(name), name)

    async def place(self, *blocks: int) -> None:
        for block in blocks:
            stored = await self.classes.find(self.code)
            stored_room = await self.classes.find_room(stored, 1)
            table = stored_room.room.table
            mover = stored.classroom.get_names(stored.classroom.pairings[0])[table.game.to_move]
            await self.lobby.act(
                stored_room.address, Credentials(browsers=(mover,)), Move(table.version, block)
            )


Events = AsyncIterator[bytes]


async def read_event(events: Events) -> str:
    """Return the next event that is not only a sign of life."""
    while (event := await anext(events)) == KEEPALIVE:
        pass
    return event.decode()


@pytest.fixture
async def lesson(tmp_path: Path) -> AsyncIterator[Lesson]:
    """A class of Ann and Ben."""
    settings = ClassSettings((catalogue.choose("draft"),))
    insert = partial(classrooms.insert_classroom, settings=settings, browser="teacher")
    async with open_lobby(tmp_path) as lobby:
        stored, _ = await lobby.database.write(insert)
        lesson = Lesson(lobby, stored.code)
        for name in ("Ann", "Ben"):
            await lesson.join(name)
        yield lesson
        await lobby.close()


@asynccontextmanager
async def follow(events: Any) -> AsyncIterator[Events]:
    async with aclosing(events):
        assert await anext(events) == RECONNECT_HINT
        yield events


async def test_wall_gets_only_the_boards_that_change(lesson: Lesson) -> None:
    await lesson.act(StartRound(1))
    async with follow(stream_wall(lesson.classes, lesson.code)) as wall:
        assert (await read_event(wall)).startswith("event: state\nid: 4.")
        await lesson.place(9)
        event = await read_event(wall)
        assert event.startswith('event: board\ndata: <div class="class-board')
        assert "height 9 of 15: 9" in event
        assert "event: state" not in event, "the rest of the page is as it was"
        assert event.count("\n") == 3
        await lesson.place(8, 6)
        while "event: state" not in event:
            event = await read_event(wall)
        assert "id: 5." in event
        assert "wins (target reached)" in event


async def test_wall_follows_the_rooms_of_a_new_round(lesson: Lesson) -> None:
    async with follow(stream_wall(lesson.classes, lesson.code)) as wall:
        assert "id: 3.0" in await read_event(wall)
        await lesson.act(StartRound(1))
        assert "event: board" in await read_event(wall)
        await lesson.place(9)
        assert "height 9 of 15: 9" in await read_event(wall)


async def test_stream_of_a_removed_pupil_ends(lesson: Lesson) -> None:
    walls = [
        stream_wall(lesson.classes, lesson.code, credentials)
        for credentials in (Credentials(browsers=("Ann",)), TEACHER)
    ]
    async with follow(walls[0]) as pupil_wall, follow(walls[1]) as teacher_wall:
        await read_event(pupil_wall)
        await read_event(teacher_wall)
        await lesson.act(Remove(1))
        assert "event: state" in await read_event(teacher_wall)
        with pytest.raises(StopAsyncIteration):
            await read_event(pupil_wall)


async def test_game_without_moves_is_marked(
    lesson: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_view, "HEARTBEAT", 0.01)
    await lesson.act(StartRound(1))
    async with follow(stream_wall(lesson.classes, lesson.code)) as wall:
        await read_event(wall)
        assert await anext(wall) == KEEPALIVE

        class Later(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(minutes=3)

        monkeypatch.setattr(class_view, "datetime", Later)
        assert "No move for 3 minutes" in await read_event(wall)


async def test_stream_of_a_pupil_has_rounds_and_no_other_pupils(
    lesson: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_view, "HEARTBEAT", 0.05)
    async with follow(stream_rounds(lesson.classes, lesson.code, 1)) as page:
        assert "event: state\nid: 3\n" in await read_event(page)
        await lesson.join("Zoë")
        assert await anext(page) == KEEPALIVE
        for action, revision in ((Rename(1, "Anna"), 5), (StartRound(1), 6), (Pause(), 7)):
            await lesson.act(action)
            assert f"event: state\nid: {revision}\n" in await read_event(page)


async def test_class_changed_by_another_process_is_read_again(
    lesson: Lesson, tmp_path: Path
) -> None:
    async with open_lobby(tmp_path) as other:
        await lesson.join("Zoë", other)
        stored = await lesson.classes.find(lesson.code)
        assert len(stored.classroom.pupils) == 3, "a page is always fresh"
        async with aclosing(lesson.classes.follow_rounds(lesson.code, SLOW)) as states:
            await anext(states)
            await lesson.join("Yan", other)
            lesson.lobby.hub.publish(Topic("class", stored.id), stored.revision + 1)
            assert len((await anext(states)).classroom.pupils) == 4


async def test_many_readers_of_a_change_share_one_query(lesson: Lesson, tmp_path: Path) -> None:
    async with open_lobby(tmp_path) as other:
        await lesson.join("Zoë", other)
        revision = (await make_classes(other).find(lesson.code)).revision
        faults = Faults()
        # No other code needs the store of a class.
        with faults.at(lesson.classes.database._store.engine):  # noqa: SLF001
            states = await asyncio.gather(
                *(lesson.classes.find(lesson.code, revision) for _ in range(200))
            )
        assert {stored.revision for stored in states} == {revision}
        assert faults.calls.count("begin") == 1
