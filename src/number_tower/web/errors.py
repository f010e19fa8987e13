"""What can go wrong with a request: its status, a reason for programs, and words for people.

Programs get problem details (RFC 9457), people get a page.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
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
from number_tower.voice import Reader
from number_tower.web.drawing import explain_block
from number_tower.web.limits import TooLargeError
from number_tower.web.lobby import BehindError
from number_tower.web.middleware.security_headers import SECURITY_HEADERS
from number_tower.web.pages import render_page
from number_tower.web.questions import RETRY_HEADER
from number_tower.web.quota import FULL
from number_tower.web.view import encode_state
from number_tower.web.workers import BUSY, BusyError, GaveUpError

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 20  # mistakes of one request that are listed

_log = logging.getLogger(__name__)


class StatusText(NamedTuple):
    """The words for an HTTP status."""

    title: str
    reason: str = "error"
    detail: str = ""
    """What is said if the error itself says nothing."""
    description: str = ""
    """What the reference of the API says."""


STATUSES = {
    400: StatusText(
        "The request cannot be read",
        "bad_json",
        "The body of the request is not valid JSON.",
        "The body is not valid JSON.",
    ),
    401: StatusText(
        "No token",
        "no_token",
        "Send the token of your seat in the header Authorization: Bearer …",
        "A token is needed, and none was sent.",
    ),
    403: StatusText(
        "Not allowed",
        "not_yours",
        "You have no seat in this game, so you can only watch.",
        "The token has no seat in this game.",
    ),
    404: StatusText(
        "Not found",
        "not_found",
        "Nothing was found at this address.",
        "There is no such game, rulebook or puzzle.",
    ),
    405: StatusText("Not possible here", "bad_method", "This address does not accept that method."),
    408: StatusText("Too slow", "too_slow"),
    409: StatusText(
        "Not possible now",
        "stale",
        "The game has changed. The state shows how it is now.",
        "Not possible now: stale, behind, not legal or not this player's turn. The state is included.",
    ),
    413: StatusText(
        "Too large",
        "too_large",
        "The request is larger than the server allows.",
        "The request is too large.",
    ),
    415: StatusText(
        "Not JSON",
        "not_json",
        "Send the body as JSON, with the header Content-Type: application/json.",
        "The body was not sent as JSON.",
    ),
    422: StatusText(
        "Not valid",
        "bad_request",
        "/block: Input should be a valid integer.",
        "The request is not as described, or does not make a game.",
    ),
    429: StatusText(
        "Too many requests",
        "too_many",
        "Too many requests. Please try again in a few seconds.",
        "Too many requests; `Retry-After` says when to try again.",
    ),
    500: StatusText(
        "Something went wrong",
        detail="Something went wrong on the server. Your game is saved. Please try again.",
    ),
    503: StatusText(
        "Not available right now",
        "busy",
        BUSY,
        "The server cannot do it right now; `Retry-After` says when to try again.",
    ),
    507: StatusText(
        "No space for new games",
        "full",
        FULL,
        "The database is full; games that have started can continue.",
    ),
}

_REASON_TEXTS = {
    "no_such_game": "There is no game at this address. Perhaps part of it is missing.",
    "no_such_class": "There is no class with this code. Perhaps a letter is wrong, or the class is over.",
    "stale": STATUSES[409].detail,
    "too_hard": "This takes more time or memory than the server allows for one request.",
    "store": "The games cannot be reached right now. Nothing is lost. Please try again in a moment.",
    "behind": "This server does not have the newest move yet. Nothing is lost. Please try again in a moment.",
    "busy": BUSY,
}

_ERROR_TYPES: tuple[tuple[type[Exception], int, str], ...] = (
    (RoomNotFoundError, 404, "no_such_game"),
    (ClassroomNotFoundError, 404, "no_such_class"),
    (ClassroomError, 409, ""),
    (StaleError, 409, "stale"),
    (MoveError, 409, ""),
    (RoomError, 409, ""),
    (TableError, 422, "bad_name"),
    (UnknownGameError, 422, "no_such_rulebook"),
    (CatalogueError, 422, "bad_rules"),
    (RulesError, 422, "bad_rules"),
    (TooLargeError, 422, "too_large"),
    (RecordError, 422, "bad_record"),
    (MatchError, 422, "bad_match"),
    (GaveUpError, 422, "too_hard"),
    (NotSolvedError, 422, "too_hard"),
    (ClientDisconnect, 400, "bad_request"),
    (BusyError, 503, "busy"),
    (StoreError, 503, "store"),
    (BehindError, 409, "behind"),
)
"""Status and reason of each error; the first that fits counts. Without a reason here, the error has its own."""

_HEADERS: dict[int | str, dict[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    503: RETRY_HEADER,
    "behind": {"Retry-After": "1"},
}
"""Headers of a response by its status or reason."""


class Problem(NamedTuple):
    """Why a request is refused."""

    status: int
    reason: str
    """For programs."""
    detail: str
    """For people: what is wrong, and what would be right."""
    errors: Sequence[Mapping[str, str]] = ()
    """Where in the request something is wrong (`pointer`), and what was expected there (`detail`)."""
    state: bytes | None = None
    """The current state of the game, if the request was made for an earlier one."""
    headers: Mapping[str, str] = {}

    @property
    def title(self) -> str:
        """What kind of problem it is, in a few words."""
        return (
            STATUSES[self.status].title
            if self.status in STATUSES
            else HTTPStatus(self.status).phrase
        )

    @property
    def content(self) -> dict[str, object]:
        """The problem as programs read it, without the state."""
        errors = {"errors": self.errors} if self.errors else {}
        about = {"type": "about:blank", "title": self.title, "status": self.status}
        return {**about, "reason": self.reason, "detail": self.detail, **errors}

    def to_json(self) -> bytes:
        """Encode the problem in ASCII, since a request may contain lone surrogates."""
        text = json.dumps(self.content).encode()
        return text if self.state is None else b'%s, "state": %s}' % (text[:-1], self.state)


class ProblemError(Exception):
    """Refuses a request for what it says, not for what it would do."""

    def __init__(self, status: int, reason: str, detail: str = "") -> None:
        self.problem = Problem(status, reason, detail or STATUSES[status].detail)
        super().__init__(*self.problem[:3])


def install_error_handlers(app: FastAPI) -> None:
    """Let an app answer every error with a problem."""
    others = (ProblemError, RequestValidationError, HTTPException, Exception)
    for kind in (*(kind for kind, _, _ in _ERROR_TYPES), *others):
        app.add_exception_handler(kind, handle_error)


async def handle_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed."""
    try:
        room = await _find_room(request, error)
    except StoreError as failure:  # a refusal without the state, which it promises, would mislead
        room, error = None, failure
    problem = describe_error(error, room)
    if problem is not None and room is not None and problem.status == 409:
        held = room.find_seats(getattr(request.state, "credentials", None))
        problem = problem._replace(state=encode_state(room, Reader.of_seats(held)))
    if isinstance(error, StoreError):
        _log.error("%s", error)
    headers = {**(getattr(error, "headers", None) or {})}
    if problem is None:
        problem = _make_status_problem(500, "")
        headers |= SECURITY_HEADERS  # Starlette answers this outside of all middleware, and uvicorn logs it
    for key in (problem.status, problem.reason):
        headers |= _HEADERS.get(key, {})
    return render_problem(request, problem._replace(headers=headers))


def render_problem(request: Request, problem: Problem) -> Response:
    """Render a problem as JSON or as a page."""
    path = request.scope["path"]
    if path.startswith(("/api/", "/health/")) or path in {"/api", "/health", "/openapi.json"}:
        return Response(problem.to_json(), problem.status, problem.headers, MEDIA_TYPE)
    heading, text = problem.title, problem.detail
    if problem.reason == "no_such_game":
        heading, text = (
            "No game here",
            "There is no game at this address. Perhaps part of the link is missing?",
        )
    page = render_page(request, "error.html", status=problem.status, heading=heading, text=text)
    page.headers.update(problem.headers)
    return page


def describe_error(error: Exception, room: StoredRoom | None = None) -> Problem | None:
    """Return the problem that an error means to the client; None if it is a fault of the server.

    The room is the one that the request was about, if the answer shows its current state.
    """
    match error:
        case ProblemError():
            return error.problem
        case RequestValidationError():
            return _describe_invalid_request(error)
        case HTTPException():
            return _make_status_problem(error.status_code, error.detail)
        case MoveError() if room is not None:
            reason = room.room.table.refusal(error.block) or error.reason
            return Problem(409, reason, explain_block(room.room.table, error.block, reason))
        case _:
            return _describe_by_type(error)


def _describe_by_type(error: Exception) -> Problem | None:
    for kind, usual_status, usual_reason in _ERROR_TYPES:
        if isinstance(error, kind):
            reason = usual_reason or str(getattr(error, "reason", "bad_request"))
            status = {"not_yours": 403, "not_found": 404, "busy": 503}.get(reason, usual_status)
            return Problem(status, reason, _REASON_TEXTS.get(reason) or _format_detail(str(error)))
    return None


def describe_status(status: int) -> Problem:
    """Return an example of a problem with this status, for the reference of the API."""
    reason = "no_such_game" if status == 404 else STATUSES[status].reason
    return Problem(status, reason, _REASON_TEXTS.get(reason, STATUSES[status].detail))


def _describe_invalid_request(error: RequestValidationError) -> Problem:
    found = error.errors()
    if any(wrong["loc"][:2] == ("path", "address") for wrong in found):
        return describe_status(404)
    if any(wrong["type"] == "json_invalid" for wrong in found):
        return _make_status_problem(400, "")
    fields = [
        {"pointer": _format_pointer(wrong["loc"]), "detail": format_text(str(wrong["msg"]))}
        for wrong in found[:_MAX_ERRORS]
    ]
    text = "; ".join(f"{field['pointer'] or 'the body'}: {field['detail']}" for field in fields[:3])
    return Problem(422, "bad_request", _format_detail(text), fields)


def _make_status_problem(status: int, detail: str) -> Problem:
    known = STATUSES.get(status, StatusText(HTTPStatus(status).phrase))
    if not detail or detail == HTTPStatus(status).phrase or status == 400:
        detail = known.detail or known.title
    return Problem(status, known.reason, _format_detail(detail))


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


def _format_detail(text: str) -> str:
    return make_sentence(format_text(text.strip(), 1000))
