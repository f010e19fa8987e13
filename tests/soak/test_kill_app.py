"""What the app has shown is saved, however it ends; `make soak` ends it more often."""

from __future__ import annotations

from pathlib import Path

from soak.kill_app import AppKiller


def test_no_move_that_was_shown_is_lost_when_the_app_is_ended(tmp_path: Path) -> None:
    killer = AppKiller(tmp_path / "games.db", "test")
    killer.kill(2)
    assert killer.moments.total() == 2
