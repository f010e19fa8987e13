"""The description of the API, and the page that shows it: made on the server from the description alone."""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it at run time
from markupsafe import Markup

from number_tower.web.api.schemas import ProblemDetails
from number_tower.web.pages import render_page, templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastapi import FastAPI

    Schema = Mapping[str, Any]

TITLE = "Number Tower"
ABOUT = (
    "Everything that a page does, as JSON: begin a game, join it, move, follow it, analyse it, and take it away.\n\n"
    "Whoever creates or joins a game gets a token, and with it the seat: send it as `Authorization: Bearer TOKEN`."
    " Seats are 1 and 2. A move names the `version` of the game that it answers: sent twice it counts once, and one"
    " that answers a game as it is no more is refused with 409 and the game as it is.\n\n"
    "Refusals are problem details (RFC 9457, `application/problem+json`): `reason` is for programs, and `detail` says"
    " in words what was wrong and what would be right."
)
TAGS = [
    {"name": "catalogue", "description": "What there is to play."},
    {"name": "games", "description": "Begin a game, come to it, look at it, and take it away."},
    {"name": "playing", "description": "What players do; every answer is the game as it stands then."},
    {"name": "analysis", "description": "What positions and games are worth, exactly and in words."},
    {"name": "puzzles", "description": "Positions in which exactly one move wins."},
]

router = APIRouter(include_in_schema=False)

_REF = "#/components/schemas/"


class TypePart(NamedTuple):
    """A piece of a type as it is read; one that is described elsewhere on the page has a link."""

    text: str
    link: str = ""


class FieldRow(NamedTuple):
    """A field or a parameter: what it is called, what may stand there, and what it means."""

    name: str
    kind: tuple[TypePart, ...]
    required: bool
    about: str
    place: str = ""


class ReplyRow(NamedTuple):
    """How an operation can be answered."""

    status: str
    about: str
    kind: tuple[TypePart, ...]
    media: str

    @property
    def good(self) -> bool:
        """Whether it is what was asked for."""
        return self.status < "400"


class Operation(NamedTuple):
    """One thing that can be asked for."""

    name: str
    method: str
    path: str
    title: str
    about: tuple[str, ...]
    needs_token: bool
    parameters: tuple[FieldRow, ...]
    body: str
    body_required: bool
    fields: tuple[FieldRow, ...]
    replies: tuple[ReplyRow, ...]
    example: str


class OperationGroup(NamedTuple):
    """Operations that belong together."""

    name: str
    about: str
    operations: tuple[Operation, ...]


class SchemaModel(NamedTuple):
    """An object that is sent or received."""

    name: str
    about: str
    fields: tuple[FieldRow, ...]


def install_openapi(app: FastAPI) -> None:
    """Let an app describe its API, and nothing else, with the form that refusals have."""
    usual = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete_schema(usual())
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign] # that is how FastAPI wants it


def _complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    schema["paths"] = {path: item for path, item in schema["paths"].items() if path.startswith("/api/")}
    for operation in (operation for item in schema["paths"].values() for operation in item.values()):
        operation["summary"] = operation["summary"].capitalize()
        operation["responses"] = {
            status: {**reply, "description": reply["description"].replace("Successful Response", "As asked for.")}
            for status, reply in operation["responses"].items()
            if not reply["description"].startswith("Validation Error")  # a wrong path leads nowhere, and is told so
        }
    problem = ProblemDetails.model_json_schema(ref_template=_REF + "{model}", mode="serialization")
    models = {**problem.pop("$defs"), "ProblemDetails": problem, **schema["components"]["schemas"]}
    unused = {"HTTPValidationError", "ValidationError"}
    schema["components"]["schemas"] = {name: models[name] for name in sorted(models) if name not in unused}
    return schema


@router.get("/docs")
async def show_reference(request: Request) -> Response:
    """Show the description as a page; it is the same for everybody, and put into words once."""
    state = request.app.state
    if not hasattr(state, "reference"):
        schema = request.app.openapi()
        content = templates.get_template("docs_content.html")
        written = content.render(about=ABOUT, groups=tuple(list_groups(schema)), models=tuple(list_models(schema)))
        state.reference = Markup(written)  # noqa: S704 - its values were escaped when it was rendered
    return render_page(request, "docs.html", content=state.reference)


def list_groups(schema: Schema) -> Iterator[OperationGroup]:
    """Give the operations of a description, by their tags."""
    for tag in schema.get("tags", ()):
        found = (
            _read_operation(schema, path, method, operation)
            for path, item in schema["paths"].items()
            for method, operation in item.items()
            if tag["name"] in operation.get("tags", ())
        )
        yield OperationGroup(tag["name"], tag.get("description", ""), tuple(found))


def list_models(schema: Schema) -> Iterator[SchemaModel]:
    """Give the objects of a description."""
    for name, model in schema["components"]["schemas"].items():
        yield SchemaModel(name, model.get("description", ""), tuple(_list_fields(model)))


def _read_operation(schema: Schema, path: str, method: str, operation: Schema) -> Operation:
    body = operation.get("requestBody", {})
    model = _resolve_model(schema, body.get("content", {}).get("application/json", {}).get("schema", {}))
    needs_token = {} not in operation.get("security", [{}])
    return Operation(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        title=operation["summary"],
        about=tuple(operation.get("description", "").split("\n\n")),
        needs_token=needs_token,
        parameters=tuple(_read_parameter(each) for each in operation.get("parameters", ())),
        body=model.get("title", ""),
        body_required=body.get("required", False),
        fields=tuple(_list_fields(model)),
        replies=tuple(_read_reply(status, reply) for status, reply in operation["responses"].items()),
        example=_format_example(method.upper(), path, operation, model, needs_token=needs_token),
    )


def _resolve_model(schema: Schema, given: Schema) -> Schema:
    """Return the object that is meant, where one or nothing may be sent."""
    for each in (given, *given.get("anyOf", ())):
        if "$ref" in each:
            found: Schema = schema["components"]["schemas"][each["$ref"].removeprefix(_REF)]
            return found
    return given


def _read_parameter(parameter: Schema) -> FieldRow:
    about = parameter.get("description", "")
    return FieldRow(
        parameter["name"], _describe_type(parameter["schema"]), parameter.get("required", False), about, parameter["in"]
    )


def _list_fields(model: Schema) -> Iterator[FieldRow]:
    required = model.get("required", ())
    for name, field in model.get("properties", {}).items():
        yield FieldRow(name, _describe_type(field), name in required, field.get("description", ""))


def _read_reply(status: str, reply: Schema) -> ReplyRow:
    content = reply.get("content", {})
    media = ", ".join(content)
    first: Schema = next(iter(content.values()), {})
    return ReplyRow(status, reply["description"], _describe_type(first["schema"]) if first.get("schema") else (), media)


def _describe_type(schema: Schema) -> tuple[TypePart, ...]:  # noqa: PLR0911 - one for each form that a type has
    """Write what a value may be."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        return (TypePart(name, f"#{name}"),)
    if "anyOf" in schema:
        return _join_types((_describe_type(each) for each in schema["anyOf"]), " or ")
    if "const" in schema or "enum" in schema:
        return (TypePart(" | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))),)
    if "prefixItems" in schema:
        return _join_types((_describe_type(each) for each in schema["prefixItems"]), ", ")
    if schema.get("type") == "array":
        return (TypePart("list of "), *_describe_type(schema.get("items", {})))
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return (TypePart("table of "), *_describe_type(schema["additionalProperties"]))
    return (TypePart(" ".join([str(schema.get("type", "anything")), *_list_bounds(schema)])),)


def _join_types(kinds: Iterator[tuple[TypePart, ...]], between: str) -> tuple[TypePart, ...]:
    joined: list[TypePart] = []
    for kind in kinds:
        joined += [TypePart(between), *kind] if joined else kind
    return tuple(joined)


def _list_bounds(schema: Schema) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"from {int(low):,} to {int(high):,}"
    if "maxLength" in schema:
        yield f"of at most {schema['maxLength']:,} characters"


def _format_example(method: str, path: str, operation: Schema, model: Schema, *, needs_token: bool) -> str:
    """Write a call as it is typed in a shell."""
    parts = ["curl", "-s"] if "events" not in path else ["curl", "-N"]
    if needs_token:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    if model:
        parts.append("--json " + quote(json.dumps(_make_sample(model), ensure_ascii=False)))
    elif method == "POST":
        parts.append("-X POST")
    query = [each for each in operation.get("parameters", ()) if each["in"] == "query" and each.get("example")]
    asked = "&".join(f"{each['name']}={each['example']}" for each in query)
    address = path.replace("{address}", "$ADDRESS").replace("{", "$").replace("}", "").replace("$name", "$NAME")
    return " ".join([*parts, f'"$SERVER{address}{"?" if asked else ""}{asked}"'])


def _make_sample(model: Schema) -> object:
    """Return something that could be sent: an example of the whole, or of every field that has one."""
    if "examples" in model:
        return model["examples"][0]
    required, fields = model.get("required", ()), model.get("properties", {})
    return {name: _pick_value(field) for name, field in fields.items() if name in required or "examples" in field}


def _pick_value(field: Schema) -> object:
    if "examples" in field:
        return field["examples"][0]
    return field.get("enum", [field.get("default", "…")])[0]
