"""The OpenAPI description of the API, and the page that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from markupsafe import Markup, escape

from number_tower.web.api.schemas import ProblemDetails
from number_tower.web.pages import render_page, templates

Schema = Mapping[str, Any]

TITLE = "Number Tower"
ABOUT = (
    "Everything that a page does, as JSON: start a game, join it, move, follow it, analyse it, and export it.\n\n"
    "When you create or join a game, you get a token for your seat: send it as `Authorization: Bearer TOKEN`."
    " Seats are 1 and 2. A move names the `version` of the game that it answers: sent twice it counts once, and one"
    " for an old version is refused with 409 and the current state.\n\n"
    "Errors are problem details (RFC 9457, `application/problem+json`): `reason` is for programs, and `detail` says"
    " in words what was wrong and what would be right."
)
TAGS = [
    {"name": "catalogue", "description": "The games that can be played."},
    {"name": "games", "description": "Start a game, join it, look at it, and export it."},
    {
        "name": "playing",
        "description": "The actions of the players; every response is the new state of the game.",
    },
    {
        "name": "analysis",
        "description": "The exact values of positions and games, explained in words.",
    },
    {"name": "puzzles", "description": "Positions in which exactly one move wins."},
]

router = APIRouter(include_in_schema=False)

_REF = "#/components/schemas/"


def install_openapi(app: FastAPI) -> None:
    """Let an app describe its API only, and with the form of refusals."""
    make_schema = app.openapi

    def get_schema() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete_schema(make_schema())
        return app.openapi_schema

    app.openapi = get_schema  # type: ignore[method-assign] # the documented way


def _complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    for operation in (
        operation for item in schema["paths"].values() for operation in item.values()
    ):
        operation["summary"] = operation["summary"].capitalize()
        operation["responses"] = {
            status: {
                **reply,
                "description": reply["description"].replace("Successful Response", "Success."),
            }
            for status, reply in operation["responses"].items()
            if not reply["description"].startswith(
                "Validation Error"
            )  # a wrong path is answered with 404
        }
    problem = ProblemDetails.model_json_schema(ref_template=_REF + "{model}", mode="serialization")
    models = {**problem.pop("$defs"), "ProblemDetails": problem, **schema["components"]["schemas"]}
    unused = {"HTTPValidationError", "ValidationError"}
    schema["components"]["schemas"] = {
        name: models[name] for name in sorted(models) if name not in unused
    }
    return schema


@router.get("/docs")
async def show_reference(request: Request) -> Response:
    """Show the description as a page; its content is rendered once."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = render_reference(request.app.openapi(), "/openapi.json", "The API")
    return render_page(request, "docs.html", content=state.reference)


def render_reference(schema: Schema, address: str, heading: str = "") -> Markup:
    """Render the description as HTML, for the page here and for the documentation site; the address is the schema's."""
    content = templates.get_template("docs_content.html").render(
        about=ABOUT,
        address=address,
        heading=heading,
        groups=[(tag, list(_list_operations(schema, tag["name"]))) for tag in schema["tags"]],
        models=schema["components"]["schemas"],
        describe_type=describe_type,
        format_example=format_example,
    )
    return Markup(content)  # noqa: S704 - its values were escaped when it was rendered


def _list_operations(schema: Schema, tag: str) -> Iterator[tuple[str, str, Schema, Schema]]:
    """Return the method, path, description and request body of each operation with a tag."""
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if tag in operation["tags"]:
                body = (
                    operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                )
                yield (
                    method.upper(),
                    path,
                    operation,
                    _resolve_model(schema, body.get("schema", {})),
                )


def _resolve_model(schema: Schema, given: Schema) -> Schema:
    """Return the model that a schema refers to, where it or null may be sent."""
    for each in (given, *given.get("anyOf", ())):
        if "$ref" in each:
            model: Schema = schema["components"]["schemas"][each["$ref"].removeprefix(_REF)]
            return model
    return given


def describe_type(schema: Schema) -> Markup:
    """Describe the values that a schema allows, with links to other models."""
    match schema:
        case {"$ref": str(ref)}:
            return Markup('<a href="#{0}">{0}</a>').format(ref.removeprefix(_REF))
        case {"anyOf": kinds}:
            return Markup(" or ").join(map(describe_type, kinds))
        case {"enum": values}:
            return escape(" | ".join(map(json.dumps, values)))
        case {"type": "array"}:
            return Markup("list of ") + describe_type(schema.get("items", {}))
        case {"type": "object", "additionalProperties": dict(values)}:
            return Markup("table of ") + describe_type(values)
        case _:
            return escape(_describe_scalar(schema))


def _describe_scalar(schema: Schema) -> str:
    text = str(schema.get("type", "anything"))
    if "minimum" in schema and "maximum" in schema:
        text += f" from {int(schema['minimum']):,} to {int(schema['maximum']):,}"
    if "maxLength" in schema:
        text += f" of at most {schema['maxLength']:,} characters"
    return text


def format_example(method: str, path: str, body: Schema, *, needs_token: bool) -> str:
    """Return a call of an operation as it is typed in a shell."""
    parts = ["curl", "-N" if "events" in path else "-s"]
    if needs_token:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    if body:
        parts.append("--json " + quote(json.dumps(_make_sample(body), ensure_ascii=False)))
    elif method == "POST":
        parts.append("-X POST")
    address = path.replace("{address}", "$ADDRESS").replace("{name}", "$NAME")
    return " ".join([*parts, f'"$SERVER{address}"'])


def _make_sample(model: Schema) -> object:
    """Return an example of a body: of the whole, or of every field that has one."""
    if "examples" in model:
        return model["examples"][0]
    required, fields = model.get("required", ()), model.get("properties", {})
    return {
        name: field["examples"][0]
        if "examples" in field
        else field.get("enum", [field.get("default", "…")])[0]
        for name, field in fields.items()
        if name in required or "examples" in field
    }
