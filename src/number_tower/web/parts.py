"""What an application consists of: made when it starts, and found by its routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every layer of the server reads its parts here, and none is loaded for that
    from starlette.requests import HTTPConnection

    from number_tower.store.database import Store
    from number_tower.web.classes.registry import Classes
    from number_tower.web.http.connections import ConnectionRegistry
    from number_tower.web.http.health import WriteCheck
    from number_tower.web.http.rates import RateLimiter
    from number_tower.web.http.streams import StreamRegistry
    from number_tower.web.live.events import ChangeListener
    from number_tower.web.live.lobby import Lobby
    from number_tower.web.live.quota import StorageQuota
    from number_tower.web.settings import Settings
    from number_tower.web.thinking.workers import Workers


@dataclass(frozen=True)
class Parts:
    """What the routes of an application share."""

    settings: Settings
    limiter: RateLimiter | None
    streams: StreamRegistry
    connections: ConnectionRegistry
    store: Store
    writes: WriteCheck
    listener: ChangeListener
    quota: StorageQuota
    workers: Workers
    lobby: Lobby
    classes: Classes


def get_parts(request: HTTPConnection) -> Parts:
    """Return the parts of the application that a request is for."""
    parts: Parts = request.app.state.parts
    return parts
