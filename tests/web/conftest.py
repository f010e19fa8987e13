"""The site that the tests of one module share, a visitor to it, and a lobby for coroutines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from number_tower.web.live.lobby import Lobby
from support.apps import open_app
from support.lobbies import open_lobby


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with open_app(tmp_path_factory.mktemp("site")) as client:
        yield client


@pytest.fixture
def client(site: TestClient) -> TestClient:
    """A visitor who has not been here before."""
    site.cookies.clear()
    return site


@pytest.fixture(scope="session", autouse=True)
def anyio_backend() -> str:
    """Let anyio run every test that is a coroutine."""
    return "asyncio"


@pytest.fixture
async def lobby(tmp_path: Path) -> AsyncIterator[Lobby]:
    async with open_lobby(tmp_path) as lobby:
        yield lobby
