"""The HTTP API: everything that the pages do, as JSON, described in openapi.json."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from number_tower.web.api import analysis, catalogue, games, puzzles
from number_tower.web.errors import PROBLEM
from number_tower.web.rates import REQUEST, price

ABOUT = (
    "When you create or join a game, you get a token for your seat: send it as `Authorization: Bearer TOKEN`."
    " Seats are 1 and 2. Errors are problem details (RFC 9457): `reason` is for programs, and `detail` says in words"
    " what was wrong and what would be right."
)


def install_api(app: FastAPI) -> None:
    """Add the routes to an app; the most used come first, since they are matched in this order."""
    for part in (games, catalogue, analysis, puzzles):
        app.include_router(
            part.router,
            prefix="/api",
            dependencies=[price(REQUEST)],
            generate_unique_id_function=lambda route: route.name,
        )
    make_schema = app.openapi

    def describe_api() -> dict[str, Any]:
        """Add the models that FastAPI does not see: of problems, and of actions, which it does not parse."""
        if app.openapi_schema is None:
            schema = make_schema()
            problem = PROBLEM.json_schema(ref_template="#/components/schemas/{model}")
            models = {**problem.pop("$defs"), "Problem": problem, **games.ACTION_MODELS}
            schema["components"]["schemas"] |= models
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = describe_api  # type: ignore[method-assign] # the documented way
