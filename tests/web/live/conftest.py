"""A lobby for coroutines that are tests: anyio's plugin, which their modules name, runs them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from number_tower.web.live.lobby import Lobby
from support.lobbies import open_lobby


@pytest.fixture
async def lobby(tmp_path: Path) -> AsyncIterator[Lobby]:
    async with open_lobby(tmp_path) as lobby:
        yield lobby
