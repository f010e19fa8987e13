"""Two real servers at one database serve one class."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any

import httpx2
import pytest

from serving import Server
from support.clocks import SLOW, wait_until
from support.lessons import Lesson, Visitor
from support.postgres import fresh
from support.servers import run_servers

pytest_plugins = ["support.postgres"]


@pytest.fixture(scope="module")
def servers(server: str, template: str) -> Iterator[list[Server]]:
    """Two servers at one database."""
    with fresh(server, template) as database, run_servers(database, 2) as servers:
        yield servers


@pytest.fixture
def clients(servers: list[Server]) -> Iterator[Callable[[int], Any]]:
    """Open clients of a server, by its number."""
    with ExitStack() as closing:

        def open_client(number: int) -> httpx2.Client:
            client = httpx2.Client(base_url=servers[number].url, timeout=SLOW)
            return closing.enter_context(client)

        yield open_client


def open_class(clients: Callable[[int], Any], count: int) -> Lesson:
    """Open a class whose pupils are spread over both servers."""
    lesson = Lesson(clients(0), count)
    for number, pupil in enumerate(lesson.pupils.values()):
        pupil.client = clients(number % 2)
    return lesson


def place(lesson: Lesson, name: str, block: int) -> None:
    """Place a block as soon as this pupil's server has the other player's move."""
    pupil, game = lesson.pupils[name], str(lesson.find_game(name))
    wait_until(lambda: "Your turn" in pupil.get(game).text)
    assert pupil.post(f"{game}/move", block=block).status_code == 303


def test_two_servers_serve_one_class(clients: Callable[[int], Any]) -> None:
    lesson = open_class(clients, 6)
    lesson.start()
    for first, second in lesson.find_pairs():
        assert lesson.find_game(first) == lesson.find_game(second) is not None
        for name, block in ((first, 9), (second, 8), (first, 6)):
            place(lesson, name, block)
    assert sorted(lesson.get_points().values()) == ["0.0"] * 3 + ["1.0"] * 3
    lesson.teacher.client = clients(1)
    lesson.start(2)
    assert len(lesson.find_pairs()) == 3


def do_together(*actions: Callable[[], object]) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


def test_action_at_both_servers_counts_once(clients: Callable[[int], Any]) -> None:
    lesson = open_class(clients, 6)
    # The other server has seen the class before the new link is made.
    colleague = Visitor(clients(1))
    colleague.get(lesson.path)
    colleague.post(re.findall(r"/class/\w+/teach/[\w-]+", lesson.act("links").text)[0])
    teachers = (lesson.teacher, colleague)
    do_together(*(partial(teacher.post, f"{lesson.path}/start", round=1) for teacher in teachers))
    paired = sorted(name for pair in lesson.find_pairs() for name in pair)
    assert paired == sorted(lesson.pupils)
    pupils = lesson.pupils.values()
    do_together(*(partial(pupil.post, f"{lesson.path}/leave") for pupil in pupils))
    assert colleague.get(lesson.path).text.count("has left") == len(pupils)


@asynccontextmanager
async def follow_wall(teacher: Visitor, path: str) -> AsyncIterator[AsyncIterator[str]]:
    url, cookies = str(teacher.client.base_url), dict(teacher.cookies)
    async with (
        httpx2.AsyncClient(base_url=url, timeout=SLOW, cookies=cookies) as client,
        client.stream("GET", f"{path}/wall/events") as stream,
    ):
        assert stream.status_code == 200
        yield stream.aiter_lines()


async def wait_for(lines: AsyncIterator[str], wanted: str) -> str:
    async for line in lines:
        if wanted in line:
            return line
    raise AssertionError(f"the stream ended without {wanted}")


def test_move_reaches_the_wall_at_another_server(clients: Callable[[int], Any]) -> None:
    lesson = open_class(clients, 2)
    lesson.start()
    for pupil in lesson.pupils.values():
        pupil.client = clients(0)
    lesson.teacher.client = clients(1)

    async def watch() -> None:
        async with follow_wall(lesson.teacher, lesson.path) as lines:
            await wait_for(lines, "event: state")
            first, second = lesson.find_pairs()[0]
            place(lesson, first, 9)
            await wait_for(lines, "event: board")
            assert "height 9 of 15: 9" in await wait_for(lines, "data: ")
            place(lesson, second, 8)
            place(lesson, first, 6)
            await wait_for(lines, "event: state")
            assert "1.0" in lesson.get_points().values()

    asyncio.run(asyncio.wait_for(watch(), SLOW))
