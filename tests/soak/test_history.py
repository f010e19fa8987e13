"""Two servers are killed, paused and locked out of their database: nothing is lost or goes back."""

from __future__ import annotations

import os
from secrets import token_hex

from soak.history import Soak

pytest_plugins = ["support.postgres"]


def test_nothing_is_lost_or_goes_back_when_two_servers_have_trouble(database: str) -> None:
    seed = os.environ.get("HISTORY_SEED") or token_hex(4)
    print(f"to run the same again: HISTORY_SEED={seed}")
    soak = Soak(database, seed, games=3)
    soak.run(0.5)
    assert soak.ends["move ok"]
    assert soak.ends["read ok"]
    assert set(soak.happened) >= {"killed", "paused", "locked"}
