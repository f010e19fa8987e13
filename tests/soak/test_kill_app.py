"""What the app has shown is saved, however it ends; `make soak` ends it more often."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from soak.kill_app import AppKiller

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="signals and terminals of Linux and macOS"
)

KILLS = 2


def test_no_move_that_was_shown_is_lost_when_the_app_is_ended(tmp_path: Path) -> None:
    killer = AppKiller(tmp_path / "games.db", "test")
    killer.kill(KILLS)
    assert killer.moments.total() == KILLS
