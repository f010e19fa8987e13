"""What a server announced is saved, whenever it is killed; `make soak` kills more often."""

from __future__ import annotations

from soak.kill_servers import ServerKiller

pytest_plugins = ["support.postgres"]


def test_nothing_announced_is_lost_when_the_server_is_killed(database: str) -> None:
    killer = ServerKiller(database, "seed", games=4, most_moves=60)
    killer.run(1)
    assert killer.happened == {"killed": 1}
    assert killer.ends["move ok"]
