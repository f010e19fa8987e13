"""What the command announced is saved, whenever it is killed; `make soak` kills more often."""

from __future__ import annotations

from soak.kill_games import Killer

pytest_plugins = ["support.postgres"]


def test_nothing_announced_is_lost_when_the_command_is_killed(database: str) -> None:
    killer = Killer(database, "seed")
    killer.kill(2)
    assert killer.moments.total() == 2
