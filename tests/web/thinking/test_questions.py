"""Questions by HTTP: computers move while analyses wait, and what waits too long is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from number_tower.web.app import make_app
from number_tower.web.thinking import questions
from number_tower.web.thinking import workers as workers_module
from number_tower.web.thinking.workers import Lane
from support import apps
from support.clocks import SLOW, wait_until_true
from support.jobs import FOLDER, ThreadProcess, gated_analysis

pytest_plugins = ["anyio.pytest_plugin"]


class Site:
    """An app whose analyses wait at a gate, and clients at several addresses."""

    def __init__(self, app: FastAPI, folder: Path) -> None:
        self.app = app
        self.gate, self.log = folder / "gate", folder / "log"

    async def send(self, address: str, method: str, path: str, **more: Any) -> httpx2.Response:
        transport = httpx2.ASGITransport(self.app, client=(address, 1))
        url = "http://127.0.0.1"
        async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=SLOW) as client:
            return await client.request(method, path, **more)

    def analyse(self, address: str, line: str) -> asyncio.Task[httpx2.Response]:
        """Ask for an analysis without waiting for it."""
        request = self.send(address, "POST", "/api/analyse", json={"record": line})
        return asyncio.create_task(request)


@pytest.fixture
async def gated_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A site whose analyses wait at a gate, and whose questions wait as long as they must."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(questions, "analyse_table", gated_analysis)
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, SLOW))
    monkeypatch.setattr(workers_module, "WorkerProcess", ThreadProcess)
    app = make_app(apps.make_settings(tmp_path, limits=True))
    async with app.router.lifespan_context(app):
        site = Site(app, tmp_path)
        yield site
        site.gate.touch()


async def test_computers_move_and_hints_are_given_while_analyses_wait(gated_site: Site) -> None:
    lines = [f"rules(blocks=1-{number + 20}):" for number in range(8)]
    analyses = [gated_site.analyse("10.0.0.1", line) for line in lines]
    await wait_until_true(gated_site.log.exists)
    send = partial(gated_site.send, "10.0.0.2")
    made = (await send("POST", "/api/games", json={"game": "draft", "opponent": "perfect"})).json()
    path, seat = f"/api/games/{made['address']}", apps.make_auth_header(made["token"])
    for action in ({"do": "hint", "version": 0}, {"do": "move", "block": 5, "version": 0}):
        answer = await send("POST", f"{path}/actions", json=action, headers=seat)
        assert answer.status_code == 200, answer.text
    async with asyncio.timeout(SLOW):
        while len((state := (await send("GET", path)).json())["moves"]) < 2:
            await asyncio.sleep(0.01)
    assert "had no time to think" not in str(state)
    assert not any(answer.done() for answer in analyses)
    gated_site.gate.touch()
    await asyncio.gather(*analyses)


async def test_late_question_is_refused(gated_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "MAX_WAIT", dict.fromkeys(Lane, 0.05))
    running = gated_site.analyse("10.0.0.1", "draft:")
    await wait_until_true(gated_site.log.exists)
    refused = await gated_site.analyse("10.0.0.2", "draft:9")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert (refused.json()["reason"], refused.json()["detail"]) == ("busy", workers_module.BUSY)
    page = await gated_site.send("10.0.0.2", "GET", "/analysis", params={"game": "draft:9"})
    assert (page.status_code, page.headers["retry-after"]) == (503, "5")
    assert workers_module.BUSY in page.text
    assert not running.done()
    gated_site.gate.touch()
    assert (await running).status_code == 200
    assert gated_site.log.read_text().split() == ["draft:"]
