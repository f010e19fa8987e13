"""Questions by HTTP: computers move while analyses wait, and what waits too long is refused."""

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

from number_tower.web import app as app_module
from number_tower.web.thinking import questions
from number_tower.web.thinking import workers as workers_module
from number_tower.web.thinking.workers import Lane
from support import apps
from support.clocks import SLOW, wait_until_true
from support.jobs import FOLDER, ThreadProcess, gated_analysis

BUSY = "The server is busy. Please try again in a moment."


class Site:
    """An app whose analyses wait at a gate, and clients at several addresses."""

    def __init__(self, app: FastAPI, folder: Path) -> None:
        self.app = app
        self._folder = folder

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
        app = app_module.make_app(apps.make_settings(folder, limits=True))
        async with app.router.lifespan_context(app):
            yield Site(app, folder)

    async def in_time() -> None:
        async with asyncio.timeout(SLOW), opened() as site:
            await test(site)

    asyncio.run(in_time())


@pytest.fixture(autouse=True)
def _analyses_wait_at_a_gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(questions, "analyse_table", gated_analysis)
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, SLOW))


def lines(count: int) -> list[str]:
    """Return the lines of as many different games."""
    return [f"rules(blocks=1-{number + 20}):" for number in range(count)]


def test_computers_move_and_hints_are_given_while_analyses_wait(tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        asked = [site.analyse("10.0.0.1", line) for line in lines(8)]
        await wait_until_true(lambda: site.begun)
        send = partial(site.send, "10.0.0.2")
        wanted = {"game": "draft", "opponent": "perfect"}
        made = (await send("POST", "/api/games", json=wanted)).json()
        path, seat = f"/api/games/{made['address']}", apps.make_auth_header(made["token"])
        wish, move = {"do": "hint", "version": 0}, {"do": "move", "block": 5, "version": 0}
        hint = await send("POST", f"{path}/actions", json=wish, headers=seat)
        assert hint.status_code == 200, hint.text
        moved = await send("POST", f"{path}/actions", json=move, headers=seat)
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


def test_a_question_that_waits_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, 0.05))
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)

    async def test(site: Site) -> None:
        running = site.analyse("10.0.0.1", "draft:")
        await wait_until_true(lambda: site.begun)
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
