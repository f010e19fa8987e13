"""Everything that a page does, for programs: games, help and puzzles as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Depends

from number_tower.web.api import learning, listing, opening, playing, puzzling, showing
from number_tower.web.api.access import json_only

if TYPE_CHECKING:
    from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Put the routes into an app; those that are asked for most are looked through first."""
    for part in (playing, showing, opening, listing, learning, puzzling):
        app.include_router(
            part.router,
            prefix="/api",
            dependencies=[Depends(json_only)],
            generate_unique_id_function=lambda route: route.name,
        )
