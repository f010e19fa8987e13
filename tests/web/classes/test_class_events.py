"""Live events of a class: the wall gets each changed board, pupils only what matters to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
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

TEACHER = Credentials(browsers=("teacher",))


def make_classes(lobby: Lobby) -> Classes:
    """Return the classes of a server."""
    return Classes(lobby.database, lobby.hub, lobby.cache)


class Lesson:
    """A class of two in a lobby."""

    def __init__(self, lobby: Lobby) -> None:
        self.lobby = lobby
        self.classes: Classes = make_classes(lobby)
        self.code = ""

    async def begin(self) -> None:
        settings = ClassSettings((catalogue.choose("draft"),))
        insert = partial(classrooms.insert_classroom, settings=settings, browser="teacher")
        stored, _ = await self.classes.database.write(insert)
        self.code = stored.code
        for name in ("Ann", "Ben"):
            await self.join(name)

    async def act(self, action: Action) -> None:
        await self.classes.act(await self.classes.find(self.code), TEACHER, action)

    async def join(self, name: str, server: Lobby | None = None) -> None:
        classes = self.classes if server is None else make_classes(server)
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


class Follower:
    """Reads events one by one."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        self.events = events

    async def next(self) -> str:
        return (await anext(self.events)).decode()


@asynccontextmanager
async def following(events: Any) -> AsyncIterator[Follower]:
    async with aclosing(events):
        assert await anext(events) == RECONNECT_HINT
        yield Follower(events)


def in_class(folder: Path, script: Callable[[Lesson], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_lobby(folder) as lobby:
            lesson = Lesson(lobby)
            await lesson.begin()
            await script(lesson)
            await lobby.close()

    asyncio.run(asyncio.wait_for(run(), SLOW))


def test_the_wall_gets_each_board_that_changes(tmp_path: Path) -> None:
    async def script(lesson: Lesson) -> None:
        await lesson.act(StartRound(1))
        async with following(stream_wall(lesson.classes, lesson.code)) as wall:
            assert (await wall.next()).startswith("event: state\nid: 4.")
            await lesson.place(9)
            said = await wall.next()
            assert said.startswith('event: board\ndata: <div class="class-board')
            assert "height 9 of 15: 9" in said
            assert "event: state" not in said, "the rest of the page is as it was"
            assert said.count("\n") == 3
            await lesson.place(8, 6)
            while "event: state" not in said:
                said = await wall.next()
            assert "id: 5." in said
            assert "wins (target reached)" in said

    in_class(tmp_path, script)


def test_the_wall_follows_the_rooms_of_the_next_round(tmp_path: Path) -> None:
    async def script(lesson: Lesson) -> None:
        async with following(stream_wall(lesson.classes, lesson.code)) as wall:
            assert "id: 3.0" in await wall.next()
            await lesson.act(StartRound(1))
            assert "event: board" in await wall.next()
            await lesson.place(9)
            assert "height 9 of 15: 9" in await wall.next()

    in_class(tmp_path, script)


def test_who_is_removed_sees_no_more_of_the_wall(tmp_path: Path) -> None:
    async def script(lesson: Lesson) -> None:
        async with (
            following(
                stream_wall(lesson.classes, lesson.code, Credentials(browsers=("Ann",)))
            ) as seen_by_ann,
            following(stream_wall(lesson.classes, lesson.code, TEACHER)) as seen_by_teacher,
        ):
            await seen_by_ann.next()
            await seen_by_teacher.next()
            await lesson.act(Remove(1))
            assert "event: state" in await seen_by_teacher.next()
            with pytest.raises(StopAsyncIteration):
                await seen_by_ann.next()

    in_class(tmp_path, script)


def test_a_game_that_nobody_moves_in_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(lesson: Lesson) -> None:
        monkeypatch.setattr(class_view, "HEARTBEAT", 0.01)
        await lesson.act(StartRound(1))
        async with following(stream_wall(lesson.classes, lesson.code)) as wall:
            await wall.next()
            assert await wall.next() == KEEPALIVE.decode()

            class Later(datetime):
                @classmethod
                def now(cls, tz: Any = None) -> Any:
                    return datetime.now(tz) + timedelta(minutes=3)

            assert datetime.now(UTC) < Later.now(UTC)
            monkeypatch.setattr(class_view, "datetime", Later)
            said = KEEPALIVE.decode()
            while said == KEEPALIVE.decode():
                said = await wall.next()
            assert "No move for 3 minutes" in said

    in_class(tmp_path, script)


def test_a_pupil_hears_of_the_round_and_not_of_every_other_pupil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(lesson: Lesson) -> None:
        monkeypatch.setattr(class_view, "HEARTBEAT", 0.05)
        async with following(stream_rounds(lesson.classes, lesson.code, 1)) as page:
            assert "event: state\nid: 3\n" in await page.next()
            await lesson.join("Zoë")
            assert await page.next() == KEEPALIVE.decode()
            for action, revision in ((Rename(1, "Anna"), 5), (StartRound(1), 6), (Pause(), 7)):
                await lesson.act(action)
                said = KEEPALIVE.decode()
                while said == KEEPALIVE.decode():
                    said = await page.next()
                assert f"event: state\nid: {revision}\n" in said

    in_class(tmp_path, script)


def test_a_class_that_another_process_has_changed_is_read_again(tmp_path: Path) -> None:
    async def script(lesson: Lesson) -> None:
        async with open_lobby(tmp_path) as other:
            await lesson.join("Zoë", other)
            stored = await lesson.classes.find(lesson.code)
            assert len(stored.classroom.pupils) == 3, "a page is always fresh"
            async with aclosing(lesson.classes.follow_rounds(lesson.code, SLOW)) as states:
                await anext(states)
                await lesson.join("Yan", other)
                lesson.lobby.hub.publish(Topic("class", stored.id), stored.revision + 1)
                assert len((await anext(states)).classroom.pupils) == 4

    in_class(tmp_path, script)


def test_many_who_hear_of_a_change_at_once_share_one_query(tmp_path: Path) -> None:
    async def script(lesson: Lesson) -> None:
        async with open_lobby(tmp_path) as other:
            await lesson.join("Zoë", other)
            revision = (await make_classes(other).find(lesson.code)).revision
            faults = Faults()
            # Nobody else needs the store of a class.
            with faults.at(lesson.classes.database._store.engine):  # noqa: SLF001
                found = await asyncio.gather(
                    *(lesson.classes.find(lesson.code, revision) for _ in range(200))
                )
            assert {stored.revision for stored in found} == {revision}
            assert faults.calls.count("begin") == 1

    in_class(tmp_path, script)
