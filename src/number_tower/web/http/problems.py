"""Why a request is refused, as problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from number_tower.support.text import format_text, make_sentence
from number_tower.web.http.schema import Described

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 20  # mistakes of one request that are listed

RETRY_HEADER = {"Retry-After": "5"}
"""The header of a response that says: not now, but soon."""

REASONS = {
    400: "bad_json",
    404: "not_found",
    405: "bad_method",
    408: "too_slow",
    413: "too_large",
    421: "unknown_host",
    429: "too_many",
    507: "full",
}
"""The reason of a refusal that has only a status."""

_TEXTS = {
    404: "Nothing was found at this address.",
    405: "This address does not accept that method.",
}


class ProblemError(HTTPException):
    """Refuses a request, with a reason for programs and words for people."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(status, detail)
        self.reason = reason


@dataclass(frozen=True)
class FieldProblem(Described):
    """Where in a request something is wrong, and what was expected there."""

    pointer: str
    """A JSON pointer into the body, or the name of a parameter."""
    detail: str


@dataclass(frozen=True)
class Problem(Described):
    """Why a request was refused (RFC 9457)."""

    status: int
    title: str
    reason: str
    """For programs, such as fit, target, used, opening, over, stale, not_yours or no_such_game."""
    detail: str
    """What was wrong and what would be right; for a move, in the game's own words."""
    errors: Sequence[FieldProblem] = ()
    """Every field that was not as expected."""
    state: Any = None
    """How the game is now, if something was not possible there."""
    type: str = "about:blank"


def make_problem(
    status: int, reason: str, detail: str, errors: Sequence[FieldProblem] = ()
) -> Problem:
    """Return a problem whose detail is one sentence of bounded length."""
    sentence = make_sentence(format_text(detail.strip(), 1000))
    return Problem(status, HTTPStatus(status).phrase, reason, sentence, errors)


def describe_refusal(error: HTTPException) -> Problem:
    """Return the problem of a request that was refused with a status."""
    status, detail = error.status_code, error.detail
    if detail == HTTPStatus(status).phrase:
        detail = _TEXTS.get(status, detail)
    return make_problem(status, getattr(error, "reason", REASONS.get(status, "error")), detail)


def describe_invalid_request(error: RequestValidationError) -> Problem:
    """Return the problem of a request whose fields are not as expected."""
    mistakes = error.errors()
    if any(mistake["type"] == "json_invalid" for mistake in mistakes):
        return make_problem(400, "bad_json", "The body of the request is not valid JSON.")
    if isinstance(error.body, bytes):
        text = "Send the body as JSON, with the header Content-Type: application/json."
        return make_problem(415, "not_json", text)
    fields = [
        FieldProblem(_format_pointer(mistake["loc"]), format_text(_describe_mistake(mistake)))
        for mistake in mistakes[:_MAX_ERRORS]
    ]
    text = "; ".join(f"{field.pointer or 'the body'}: {field.detail}" for field in fields[:3])
    return make_problem(422, "bad_request", text, fields)


def _describe_mistake(mistake: Mapping[str, Any]) -> str:
    """Say what is wrong with a field, in plain words where pydantic speaks of tags and patterns."""
    about = mistake.get("ctx", {})
    match mistake["type"]:
        case "union_tag_not_found":
            return "expected `do`, which says what to do, such as move"
        case "union_tag_invalid":
            return f"`do`: expected one of {about['expected_tags']}; got '{about['tag']}'"
        case "string_pattern_mismatch" if "|" in about["pattern"]:
            return f"expected one of {about['pattern'].strip('^$()').replace('|', ', ')}"
    return str(mistake["msg"])


def _format_pointer(loc: Sequence[str | int]) -> str:
    """Return a JSON pointer into the body, or the name of a parameter."""
    source, *path = loc
    if source != "body":
        return format_text(".".join(map(str, loc)), 80)
    parts = (format_text(str(part), 40).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)
