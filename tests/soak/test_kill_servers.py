"""Whatever a server announced is kept, whenever it is killed; `make soak` kills more often."""

from __future__ import annotations

import os

import pytest

from soak.kill_servers import Massacre

pytest_plugins = ["support.postgres"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is what Linux and macOS know")


def test_nothing_announced_is_lost_when_the_server_is_killed(database: str) -> None:
    killed = Massacre(database, "seed", games=8)
    killed.kill(2)
    assert killed.kills == 2
