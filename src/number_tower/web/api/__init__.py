"""Everything that a page does, for programs: games, help and puzzles as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Depends

from number_tower.web.api import analysis, catalogue, games, moves, puzzles, showing
from number_tower.web.api.deps import require_json

if TYPE_CHECKING:
    from fastapi import FastAPI


def install_api(app: FastAPI) -> None:
    """Put the routes into an app; those that are asked for most are looked through first."""
    for part in (moves, showing, games, catalogue, analysis, puzzles):
        app.include_router(
            part.router,
            prefix="/api",
            dependencies=[Depends(require_json)],
            generate_unique_id_function=lambda route: route.name,
        )
