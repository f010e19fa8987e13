"""The HTTP API: everything that the pages do, as JSON."""

from __future__ import annotations

from fastapi import FastAPI

from number_tower.web.api import analysis, games, moves, puzzles
from number_tower.web.rates import REQUEST, price


def install_api(app: FastAPI) -> None:
    """Add the routes to an app; the most used come first, since they are matched in this order."""
    for router in (
        moves.router,
        games.router,
        games.catalogue_router,
        analysis.router,
        puzzles.router,
    ):
        app.include_router(
            router,
            prefix="/api",
            dependencies=[price(REQUEST)],
            generate_unique_id_function=lambda route: route.name,
        )
