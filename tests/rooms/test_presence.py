"""Whether a player is here, away or gone follows from the last sign of the player alone."""

from __future__ import annotations

import pytest

from number_tower.rooms.presence import (
    AWAY_AFTER,
    GONE_AFTER,
    Presence,
    Sighting,
    judge_presence,
)

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("ago", "hidden", "presence"),
    [
        (-20, False, "here"), (0, False, "here"), (AWAY_AFTER - 0.1, False, "here"),
        (AWAY_AFTER, False, "away"), (0, True, "away"), (GONE_AFTER - 0.1, True, "away"),
        (GONE_AFTER - 0.1, False, "away"), (GONE_AFTER, False, "gone"), (GONE_AFTER, True, "gone"),
    ],
)  # fmt: skip
def test_player_is_here_then_away_then_gone(
    ago: float, presence: Presence, *, hidden: bool
) -> None:
    assert judge_presence(Sighting(NOW - ago, hidden), NOW) == presence


def test_player_who_was_never_seen_is_gone() -> None:
    assert judge_presence(None, NOW) == "gone"
