"""Real servers: a class survives their crashes, and two at one database serve it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest

from serving import Server
from support.clocks import SLOW
from support.postgres import fresh
from support.servers import HOST, run_servers

pytest_plugins = ["support.postgres"]


class Person:
    """A person with a browser, who can change servers."""

    def __init__(self, server: Server) -> None:
        self.client = httpx2.Client(timeout=SLOW)
        self.server = server

    def _url(self, path: str) -> str:
        return f"http://{HOST}:{self.server.port}{path}"

    def get(self, path: str) -> httpx2.Response:
        return self.client.get(self._url(path))

    def post(self, path: str, **form: str) -> httpx2.Response:
        answer = self.client.post(self._url(path), data=form)
        assert answer.status_code == 303, answer.text
        return answer

    def find_game(self, code: str) -> str:
        answer = self.get(f"/class/{code}")
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]


class Class:
    """A class with a teacher and pupils, who are spread over servers."""

    def __init__(self, servers: list[Server], count: int) -> None:
        self.teacher = Person(servers[0])
        self.code = self.teacher.post("/class/new", games="draft").headers["location"][-5:]
        self.pupils = {
            f"Pupil {number}": Person(servers[number % len(servers)]) for number in range(count)
        }
        for name, pupil in self.pupils.items():
            pupil.post(f"/class/{self.code}/join", name=name)

    def start(self, number: int) -> None:
        self.teacher.post(f"/class/{self.code}/start", round=str(number))

    def find_pairs(self) -> list[tuple[str, str]]:
        """Return who plays whom, the one who begins first."""
        page = self.teacher.get(f"/class/{self.code}/wall").text
        boards = re.findall(r'id="board-\d+">(.*?)<p class="board-status"', page, re.DOTALL)
        names = [re.findall(r'<bdi class="name"[^>]*>(.*?)</bdi>', board) for board in boards]
        return [(pair[0], pair[1]) for pair in names if len(pair) == 2]

    def place(self, name: str, block: int) -> None:
        """Place a block as soon as this pupil's server knows that it is their turn."""
        pupil = self.pupils[name]
        game = pupil.find_game(self.code)
        deadline = time.monotonic() + SLOW
        while "Your turn" not in pupil.get(game).text:
            assert time.monotonic() < deadline, f"it is never {name}'s turn"
            time.sleep(0.02)
        pupil.post(f"{game}/move", block=str(block))

    def get_points(self) -> list[str]:
        lines = self.teacher.get(f"/class/{self.code}/standings.csv").text.splitlines()[1:]
        return [line.split(",")[2] for line in lines]


@pytest.fixture
def closing() -> Iterator[list[Class]]:
    made: list[Class] = []
    yield made
    for lesson in made:
        for person in (lesson.teacher, *lesson.pupils.values()):
            person.client.close()


@pytest.fixture(scope="module")
def servers(server: str, template: str) -> Iterator[list[Server]]:
    """Two servers at one database."""
    with fresh(server, template) as database, run_servers(database, 2) as servers:
        yield servers


def test_two_servers_serve_one_class(servers: list[Server], closing: list[Class]) -> None:
    lesson = Class(servers, 6)
    closing.append(lesson)
    lesson.start(1)
    for first, second in lesson.find_pairs():
        assert lesson.pupils[first].find_game(lesson.code) == lesson.pupils[second].find_game(
            lesson.code
        )
        lesson.place(first, 9)
        lesson.place(second, 8)
        lesson.place(first, 6)
    assert lesson.get_points() == ["1.0"] * 3 + ["0.0"] * 3
    lesson.teacher.server = servers[1]
    lesson.start(2)
    assert len(lesson.find_pairs()) == 3


def do_together(*actions: Callable[[], object]) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


def test_action_at_both_servers_counts_once(servers: list[Server], closing: list[Class]) -> None:
    lesson = Class(servers, 6)
    closing.append(lesson)
    colleague = lesson.invite_teacher(servers[1])
    path = f"/class/{lesson.code}"
    teachers = (lesson.teacher, colleague)
    do_together(*(partial(teacher.post, f"{path}/start", round="1") for teacher in teachers))
    paired = sorted(name for pair in lesson.find_pairs() for name in pair)
    assert paired == sorted(lesson.pupils)
    do_together(*(partial(pupil.post, f"{path}/leave") for pupil in lesson.pupils.values()))
    assert colleague.get(path).text.count("has left") == len(lesson.pupils)
    colleague.client.close()


@asynccontextmanager
async def follow_wall(person: Person, code: str) -> AsyncIterator[AsyncIterator[str]]:
    cookies = dict(person.client.cookies)
    async with httpx2.AsyncClient(timeout=SLOW, cookies=cookies) as client:
        url = f"http://{HOST}:{person.server.port}/class/{code}/wall/events"
        async with client.stream("GET", url) as stream:
            assert stream.status_code == 200
            yield stream.aiter_lines()


async def wait_for(lines: AsyncIterator[str], wanted: str) -> str:
    async for line in lines:
        if wanted in line:
            return line
    raise AssertionError(f"the stream ended without {wanted}")


def test_move_reaches_the_wall_at_another_server(
    servers: list[Server], closing: list[Class]
) -> None:
    async def watch(lesson: Class, server: Server) -> None:
        lesson.teacher.server = server
        async with follow_wall(lesson.teacher, lesson.code) as lines:
            await wait_for(lines, "event: state")
            first, second = lesson.find_pairs()[0]
            lesson.place(first, 9)
            await wait_for(lines, "event: board")
            assert "height 9 of 15: 9" in await wait_for(lines, "data: ")
            lesson.place(second, 8)
            lesson.place(first, 6)
            await wait_for(lines, "event: state")
            assert "1.0" in lesson.get_points()

    lesson = Class(servers, 2)
    closing.append(lesson)
    lesson.start(1)
    for pupil in lesson.pupils.values():
        pupil.server = servers[0]
    asyncio.run(asyncio.wait_for(watch(lesson, servers[1]), SLOW))
