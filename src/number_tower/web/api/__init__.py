"""The HTTP API: everything that the pages do, as JSON, described in openapi.json."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, get_args

from fastapi import FastAPI

from number_tower.rooms.room import Action
from number_tower.web.api import analysis, catalogue, games, puzzles
from number_tower.web.errors import PROBLEM
from number_tower.web.http.problems import MEDIA_TYPE
from number_tower.web.http.rates import REQUEST, price
from number_tower.web.live.room_actions import ACTIONS

_MODELS = "#/components/schemas/"

ABOUT = (
    "When you create or join a game, you get a token for your seat: send it as "
    "`Authorization: Bearer TOKEN`. Seats are 1 and 2. Errors are problem details (RFC 9457): "
    "`reason` is for programs, and `detail` says in words what was wrong and what would be right."
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
        if app.openapi_schema is None:
            app.openapi_schema = _complete_schema(make_schema())
        return app.openapi_schema

    app.openapi = describe_api  # type: ignore[method-assign] # the documented way


def _complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Add what FastAPI does not see: how operations refuse requests, and actions."""
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if method == "get" and "security" in operation:
                operation["security"].append({})  # a token only tells its holder more
            for status in _list_refusals(path, operation):
                operation["responses"][f"{status}"] = {
                    "description": HTTPStatus(status).phrase,
                    "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_MODELS}Problem"}}},
                }
    models = schema["components"]["schemas"]
    for name, adapter in (("Problem", PROBLEM), ("Action", ACTIONS)):
        model = adapter.json_schema(ref_template=f"{_MODELS}{{model}}")
        models |= {**model.pop("$defs"), name: model}
    for kind in get_args(Action):
        action = models[kind.__name__]
        action["required"] = [*action.get("required", ()), "do"]
        action["additionalProperties"] = False
    return schema


def _list_refusals(path: str, operation: dict[str, Any]) -> set[int]:
    statuses = {429, 503}
    if "requestBody" in operation:
        statuses |= {400, 413, 415, 422}
    if "parameters" in operation:
        statuses |= {404, 422}
    if "{address}" in path:
        statuses.add(409)
    if operation.get("security") == [{"seat": []}]:
        statuses |= {401, 403}
    return statuses | {int(status) for status in operation["responses"] if status >= "400"}
