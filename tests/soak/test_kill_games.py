"""What the command announced is saved, whenever it is killed; `make soak` kills more often."""

from __future__ import annotations

import os

import pytest

from soak.kill_games import Killer

pytest_plugins = ["support.postgres"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is what Linux and macOS know")

KILLS = 2


def test_nothing_announced_is_lost_when_the_command_is_killed(database: str) -> None:
    killer = Killer(database, "seed")
    killer.kill(KILLS)
    assert killer.moments.total() == KILLS
