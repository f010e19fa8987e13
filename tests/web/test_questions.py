"""Questions by HTTP: nobody's open questions keep others waiting, and computers move while analyses wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.types import Message

from number_tower.web import app as app_module
from number_tower.web import questions
from number_tower.web import workers as workers_module
from number_tower.web.workers import LANE_LIMITS, Lane, LaneLimits, Workers
from support import apps
from support.clocks import SLOW
from support.worker_tasks import FOLDER, ThreadProcess, gated_analysis

BUSY = "The server is busy. Please try again in a moment."


class Site:
    """An app whose analyses wait at a gate, and clients at several addresses."""

    def __init__(self, app: FastAPI, folder: Path) -> None:
        self.app = app
        self._folder = folder

    @property
    def waiting(self) -> int:
        workers: Workers = self.app.state.workers
        return workers.waiting

    @property
    def begun(self) -> list[str]:
        """The analyses that were begun, in order."""
        log = self._folder / "log"
        return log.read_text().split() if log.exists() else []

    def open_gate(self) -> None:
        (self._folder / "gate").touch()

    async def send(self, address: str, method: str, path: str, **more: Any) -> httpx2.Response:
        transport = httpx2.ASGITransport(self.app, client=(address, 1))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=SLOW
        ) as client:
            return await client.request(method, path, **more)

    def analyse(self, address: str, line: str) -> asyncio.Task[httpx2.Response]:
        """Ask for an analysis without waiting for it."""
        return asyncio.create_task(
            self.send(address, "POST", "/api/analyse", json={"record": line})
        )


def at_site(test: Callable[[Site], Awaitable[None]], folder: Path) -> None:
    """Run a test with a site of its own."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Site]:
        app = app_module.make_app(apps.settings(folder, limits=True))
        async with app.router.lifespan_context(app):
            yield Site(app, folder)

    async def in_time() -> None:
        async with asyncio.timeout(SLOW), opened() as site:
            await test(site)

    asyncio.run(in_time())


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _analyses_wait_at_a_gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(questions, "analyse_table", gated_analysis)
    patient = {lane: limits._replace(seconds=SLOW) for lane, limits in LANE_LIMITS.items()}
    monkeypatch.setattr(app_module, "Workers", partial(Workers, limits=patient))


@pytest.fixture
def _in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)


in_threads = pytest.mark.usefixtures("_in_threads")


def lines(count: int) -> list[str]:
    """Return the lines of as many different games."""
    return [f"rules(blocks=1-{number + 20}):" for number in range(count)]


def test_the_open_questions_of_one_address_do_not_keep_another_waiting(tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        *many, one = lines(9)
        asked = [site.analyse("10.0.0.1", line) for line in many]
        await until(lambda: site.begun and site.waiting == 7)
        asked.append(site.analyse("10.0.0.2", one))
        await until(lambda: site.waiting == 8)
        site.open_gate()
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}
        assert site.begun.index(one) == 1

    at_site(test, tmp_path)


@in_threads
def test_the_open_questions_of_many_addresses_do_not_starve_a_newcomer(tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        *many, one = lines(65)
        asked = [site.analyse(f"10.0.0.{number % 8}", line) for number, line in enumerate(many)]
        await until(lambda: site.begun and site.waiting == 63)
        asked.append(site.analyse("10.0.1.1", one))
        await until(lambda: site.waiting == 64)
        site.open_gate()
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}
        assert site.begun.index(one) == 8  # after one question of each of the others

    at_site(test, tmp_path)


def test_computers_move_and_hints_are_given_while_analyses_wait(tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        asked = [site.analyse("10.0.0.1", line) for line in lines(8)]
        await until(lambda: site.begun)
        send = partial(site.send, "10.0.0.2")
        wanted = {"game": "draft", "opponent": {"kind": "computer", "level": "perfect"}}
        made = (await send("POST", "/api/games", json=wanted)).json()
        path, seat = f"/api/games/{made['address']}", apps.bearing(made["token"])
        hint = await send("POST", f"{path}/hint", headers=seat)
        assert hint.status_code == 200, hint.text
        moved = await send("POST", f"{path}/moves", json={"block": 5, "version": 0}, headers=seat)
        assert moved.status_code == 200, moved.text
        state = moved.json()
        while len(state["moves"]) < 2:
            await asyncio.sleep(0.01)
            state = (await send("GET", path)).json()
        assert "had no time to think" not in str(state)
        assert not any(answer.done() for answer in asked)
        site.open_gate()
        await asyncio.gather(*asked)

    at_site(test, tmp_path)


@in_threads
def test_a_question_that_waits_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = dict.fromkeys(Lane, LaneLimits(64, 16, 0.05))
    monkeypatch.setattr(app_module, "Workers", partial(Workers, limits=limits))

    async def test(site: Site) -> None:
        running = site.analyse("10.0.0.1", "draft:")
        await until(lambda: site.begun)
        refused = await site.analyse("10.0.0.2", "draft:9")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert (refused.json()["reason"], refused.json()["detail"]) == ("busy", BUSY)
        page = await site.send("10.0.0.2", "GET", "/analysis", params={"game": "draft:9"})
        assert (page.status_code, page.headers["retry-after"]) == (503, "5")
        assert BUSY in page.text
        assert not running.done()
        site.open_gate()
        assert (await running).status_code == 200
        assert site.begun == ["draft:"]

    at_site(test, tmp_path)


@in_threads
def test_an_address_that_asks_what_another_has_asked_waits_for_its_own_turn_only(
    tmp_path: Path,
) -> None:
    async def test(site: Site) -> None:
        *many, shared = lines(8)
        asked = [site.analyse("10.0.0.1", line) for line in (*many, shared)]
        await until(lambda: site.begun and site.waiting == 7)
        asked.append(site.analyse("10.0.0.2", shared))
        await until(lambda: site.waiting == 8)
        site.open_gate()
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}
        assert site.begun.index(shared) == 1
        assert site.begun.count(shared) == 1

    at_site(test, tmp_path)


@in_threads
def test_a_waiting_question_whose_client_has_left_is_dropped(tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        running = site.analyse("10.0.0.1", "draft:")
        await until(lambda: site.begun)
        left, sent = asyncio.Event(), []
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/analysis",
            "query_string": b"game=draft:9",
            "headers": [(b"host", b"127.0.0.1")],
            "client": ("10.0.0.2", 1),
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "http_version": "1.1",
            "root_path": "",
            "raw_path": b"/analysis",
        }
        leaving = asyncio.create_task(site.app(scope, receive, send))
        await until(lambda: site.waiting == 1)
        left.set()
        await leaving
        assert sent[0]["status"] == 499
        assert site.waiting == 0
        site.open_gate()
        await running
        assert site.begun == ["draft:"]

    at_site(test, tmp_path)


@in_threads
def test_questions_are_asked_for_a_browser_or_an_address(
    tmp_path: Path,
) -> None:
    async def test(site: Site) -> None:
        site.open_gate()
        workers: Workers = site.app.state.workers
        askers, ask = [], workers.ask

        async def noting(*args: Any, **terms: Any) -> Any:
            askers.append(terms["requester"])
            return await ask(*args, **terms)

        workers.ask = noting  # type: ignore[method-assign]
        await site.analyse("10.0.0.1", "draft:")
        await site.analyse("2001:db8::1", "draft:9")
        assert askers[:2] == [("10.0.0.1", "10.0.0.1"), ("2001:db8::/64", "2001:db8::/64")]

    at_site(test, tmp_path)
