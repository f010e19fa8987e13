"""What can go wrong with a request: its status, a reason for programs, and words for people.

Programs get problem details (RFC 9457), people get a page.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from number_tower.catalogue import CatalogueError, UnknownGameError
from number_tower.classroom import ClassroomError
from number_tower.match import MatchError
from number_tower.position import MoveError
from number_tower.record import RecordError
from number_tower.room import RoomError
from number_tower.rules import RulesError
from number_tower.solve.limits import NotSolvedError
from number_tower.store import StoreError
from number_tower.store.classrooms import ClassroomNotFoundError
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.table import StaleError, TableError
from number_tower.text import format_text, make_sentence
from number_tower.web.actions import InvalidAnswerError
from number_tower.web.drawing import explain_block
from number_tower.web.limits import TooLargeError
from number_tower.web.lobby import BehindError
from number_tower.web.middleware.security_headers import SECURITY_HEADERS
from number_tower.web.pages import render_page
from number_tower.web.questions import RETRY_HEADER
from number_tower.web.state import Described, State, describe_room
from number_tower.web.workers import BUSY, BusyError, GaveUpError

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 20  # mistakes of one request that are listed

_log = logging.getLogger(__name__)

_NO_GAME = "There is no game at this address. Perhaps part of the link is missing."
_NO_CLASS = "There is no class with this code. Perhaps a letter is wrong, or the class is over."
_STALE = "The game has changed. This is how it is now."
_TOO_HARD = "This takes more time or memory than the server allows for one request."
_STORE = "The games cannot be reached right now. Nothing is lost. Please try again in a moment."
_BEHIND = (
    "This server does not have the newest move yet. Nothing is lost. Please try again in a moment."
)
_FAULT = "Something went wrong on the server. Your game is saved. Please try again."

ERRORS: dict[type[Exception], tuple[int, str, str]] = {
    RoomNotFoundError: (404, "no_such_game", _NO_GAME),
    ClassroomNotFoundError: (404, "no_such_class", _NO_CLASS),
    ClassroomError: (409, "", ""),
    RoomError: (409, "", ""),
    StaleError: (409, "stale", _STALE),
    BehindError: (409, "behind", _BEHIND),
    MoveError: (422, "", ""),
    InvalidAnswerError: (422, "bad_request", ""),
    TableError: (422, "bad_name", ""),
    UnknownGameError: (404, "no_such_rulebook", ""),
    CatalogueError: (422, "bad_rules", ""),
    RulesError: (422, "bad_rules", ""),
    TooLargeError: (422, "too_large", ""),
    RecordError: (422, "bad_record", ""),
    MatchError: (422, "bad_match", ""),
    GaveUpError: (422, "too_hard", _TOO_HARD),
    NotSolvedError: (422, "too_hard", _TOO_HARD),
    ClientDisconnect: (400, "bad_request", ""),
    BusyError: (503, "busy", BUSY),
    StoreError: (503, "store", _STORE),
    Exception: (500, "error", _FAULT),
}
"""Status, reason and text of each error and of those derived from it; what is empty, the error says itself."""

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
"""The reason of a refusal that has no more than a status."""

_TEXTS = {
    404: "Nothing was found at this address.",
    405: "This address does not accept that method.",
}

_REASON_STATUSES = {"not_yours": 403, "not_found": 404, "bad_name": 422, "busy": 503}
"""Reasons of rooms and classes with a status of their own."""

_HEADERS: dict[int | str, dict[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    503: RETRY_HEADER,
    "behind": {"Retry-After": "1"},
}
"""Headers of a response by its status or reason."""


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
    state: State | None = None
    """How the game is now, if something was not possible there."""
    type: str = "about:blank"


PROBLEM = TypeAdapter(Problem)


def install_error_handlers(app: FastAPI) -> None:
    """Let an app answer every error with a problem."""
    for kind in (*ERRORS, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle_error)


async def handle_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed."""
    try:
        stored = await _find_room(request, error)
    except StoreError as failure:  # a refusal without the state, which it promises, would mislead
        stored, error = None, failure
    problem = describe_error(error, stored)
    if stored is not None:
        credentials = getattr(request.state, "credentials", None)
        problem = replace(problem, state=describe_room(stored, credentials))
    if isinstance(error, StoreError):
        _log.error("%s", error)
    headers = {**(getattr(error, "headers", None) or {})}
    if problem.status == 500:
        headers |= SECURITY_HEADERS  # Starlette answers this outside of all middleware, and uvicorn logs it
    for key in (problem.status, problem.reason):
        headers |= _HEADERS.get(key, {})
    path = request.scope["path"]
    if path.startswith(("/api/", "/health/")) or path in {"/api", "/health", "/openapi.json"}:
        return Response(PROBLEM.dump_json(problem), problem.status, headers, MEDIA_TYPE)
    heading = "Not found" if problem.status == 404 else "That did not work"
    page = render_page(
        request, "error.html", status=problem.status, heading=heading, text=problem.detail
    )
    page.headers.update(headers)
    return page


def describe_error(error: Exception, stored: StoredRoom | None = None) -> Problem:
    """Return what an error means to the client; a room that it was about refuses a block in its own words."""
    if isinstance(error, RequestValidationError):
        return _describe_invalid_request(error)
    if isinstance(error, HTTPException):
        status, detail = error.status_code, error.detail
        reason = getattr(error, "reason", REASONS.get(status, "error"))
        if detail == HTTPStatus(status).phrase:
            detail = _TEXTS.get(status, detail)
    else:
        kind = next(kind for kind in type(error).__mro__ if kind in ERRORS)
        status, reason, detail = ERRORS[kind]
        reason = reason or str(getattr(error, "reason", "bad_request"))
        status = _REASON_STATUSES.get(reason, status)
    text = _format_detail(detail or str(error))
    if isinstance(error, MoveError) and stored is not None:
        table = stored.room.table
        reason = table.refusal(error.block) or error.reason
        text = explain_block(table, error.block, reason)
    return _make_problem(status, reason, text)


def _describe_invalid_request(error: RequestValidationError) -> Problem:
    found = error.errors()
    if any(wrong["type"] == "json_invalid" for wrong in found):
        return _make_problem(400, "bad_json", "The body of the request is not valid JSON.")
    if isinstance(error.body, bytes):
        text = "Send the body as JSON, with the header Content-Type: application/json."
        return _make_problem(415, "not_json", text)
    fields = [
        FieldProblem(_format_pointer(wrong["loc"]), format_text(str(wrong["msg"])))
        for wrong in found[:_MAX_ERRORS]
    ]
    text = "; ".join(f"{field.pointer or 'the body'}: {field.detail}" for field in fields[:3])
    return replace(_make_problem(422, "bad_request", _format_detail(text)), errors=fields)


def _make_problem(status: int, reason: str, detail: str) -> Problem:
    return Problem(status, HTTPStatus(status).phrase, reason, detail)


def _format_detail(text: str) -> str:
    return make_sentence(format_text(text.strip(), 1000))


async def _find_room(request: Request, error: Exception) -> StoredRoom | None:
    """Return the room that a request was about, if the answer shows its state."""
    address = request.path_params.get("address") or request.path_params.get("watch")
    if address is None or not isinstance(error, StaleError | MoveError | RoomError | BehindError):
        return None
    try:
        room: StoredRoom = await request.app.state.lobby.find_room(address)
    except RoomNotFoundError:
        return None
    return room


def _format_pointer(loc: Sequence[str | int]) -> str:
    """Return a JSON pointer into the body, or the name of a parameter."""
    source, *path = loc
    if source != "body":
        return format_text(".".join(map(str, loc)), 80)
    parts = (format_text(str(part), 40).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)
