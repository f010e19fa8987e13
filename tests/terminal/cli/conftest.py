"""The command with a database of the test's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.command import Tower, run_tower


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "games.db"


@pytest.fixture
def tower(db: Path) -> Tower:
    return partial(run_tower, NUMBER_TOWER_DB=str(db))
