"""What can go wrong with a request, in one table: its status, a reason for programs, and words for people.

Programs are answered with problem details (RFC 9457), people with a page.
"""

from __future__ import annotations

import json
import logging
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from number_tower.catalogue import CatalogueError, UnknownGameError
from number_tower.match import MatchError
from number_tower.position import MoveError
from number_tower.record import RecordError
from number_tower.room import RoomError
from number_tower.rules import RulesError
from number_tower.solve.limits import NotSolvedError
from number_tower.store import StoreError
from number_tower.store.rooms import RoomNotFoundError
from number_tower.table import StaleError, TableError
from number_tower.text import format_text, make_sentence
from number_tower.web.limits import TooLargeError
from number_tower.web.lobby import BehindError
from number_tower.web.pages import render_page
from number_tower.web.questions import RETRY_HEADER, UnansweredError
from number_tower.web.tasks import UnreadableRecordError
from number_tower.web.worker_process import GaveUpError
from number_tower.web.workers import BUSY, AbandonedError, BusyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI

    from number_tower.web.cached_room import CachedRoom

MEDIA_TYPE = "application/problem+json"


_RETRY_SOON_HEADER = {"Retry-After": "1"}


_log = logging.getLogger(__name__)


_MAX_ERRORS = 20


"""Mistakes in one request that are told."""


class InvalidField(NamedTuple):
    """Where in a request something is wrong, and what was expected there."""

    pointer: str
    detail: str


class Problem(NamedTuple):
    """A request that was refused: the status, the reason for programs, and what was wrong and would be right."""

    status: int
    reason: str
    detail: str
    errors: Sequence[InvalidField] = ()
    state: bytes | None = None
    """The game as it is, where the request was for a game as it is not."""

    @property
    def title(self) -> str:
        """What kind of problem it is, in a few words."""
        return _TITLES.get(self.status) or HTTPStatus(self.status).phrase

    @property
    def content(self) -> dict[str, object]:
        """The problem as programs read it, without the state."""
        errors = {"errors": [error._asdict() for error in self.errors]} if self.errors else {}
        about = {"type": "about:blank", "title": self.title, "status": self.status}
        return {**about, "reason": self.reason, "detail": self.detail, **errors}

    def to_json(self) -> bytes:
        """Write the problem as JSON; in ASCII, since a request may hold what is no letter."""
        text = json.dumps(self.content).encode()
        return text if self.state is None else b'%s, "state": %s}' % (text[:-1], self.state)


class ProblemError(Exception):
    """A request that is refused for what it is itself, and not for what it would do."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(status, reason, detail)
        self.problem = Problem(status, reason, detail)


_TITLES = {
    400: "This cannot be read",
    401: "Nobody knows who you are",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    409: "Not as the game stands",
    413: "Too large",
    415: "Not JSON",
    422: "This will not do",
    421: "Not known by this name",
    429: "Too many requests",
    499: "The client left",
    500: "Something went wrong here",
    503: "Not now",
    507: "No space for new games",
}


_ERROR_TYPES: tuple[tuple[type[Exception], int, str], ...] = (
    (RoomNotFoundError, 404, "no_such_game"),
    (StaleError, 409, "stale"),
    (MoveError, 409, ""),
    (RoomError, 409, ""),
    (TableError, 422, "bad_name"),
    (UnknownGameError, 422, "no_such_rulebook"),
    (CatalogueError, 422, "bad_rules"),
    (RulesError, 422, "bad_rules"),
    (TooLargeError, 422, "too_large"),
    (RecordError, 422, "bad_record"),
    (UnreadableRecordError, 422, "bad_record"),
    (MatchError, 422, "bad_match"),
    (GaveUpError, 422, "too_hard"),
    (UnansweredError, 422, ""),
    (NotSolvedError, 422, "too_hard"),
    (AbandonedError, 499, "client_gone"),
    (BusyError, 503, "busy"),
    (StoreError, 503, "store"),
    (BehindError, 409, "behind"),
)


"""What the engine and the server refuse; without a reason here, the error has its own. The first that fits counts."""


_REASON_TEXTS = {
    "no_such_game": "There is no game at this address; perhaps a letter of it is missing.",
    "stale": "The game has moved on since; the state shows how it stands.",
    "too_hard": "This takes more time or memory to work out than one request may use.",
    "store": "The games cannot be reached just now; nothing is lost. Try again in a moment.",
    "behind": "This server has not heard yet of the move that you have seen. Nothing is lost. Try again in a moment.",
    "client_gone": "The connection was closed before the work began.",
    "busy": BUSY,
}


REASONS = {
    400: "bad_json",
    401: "no_token",
    403: "not_yours",
    404: "not_found",
    405: "bad_method",
    413: "too_large",
    415: "not_json",
    422: "bad_request",
    429: "too_many",
    503: "busy",
    507: "full",
}


"""The usual reason for each status."""


def describe_error(error: Exception, known: CachedRoom | None = None) -> Problem | None:
    """Say what an error means to whoever sent the request, about a game if it is known; None if it is ours to mend."""
    match error:
        case ProblemError():
            return error.problem
        case RequestValidationError():
            return _describe_invalid_request(error)
        case HTTPException():
            return _make_status_problem(error.status_code, error.detail)
        case MoveError() if known is not None:
            return _describe_illegal_move(error, known)
    for kind, status, reason in _ERROR_TYPES:
        if isinstance(error, kind):
            found = reason or _find_reason(error)
            code = {"not_yours": 403, "busy": 503}.get(found, status)
            state = known.state if known is not None and code == 409 else None
            return Problem(code, found, _REASON_TEXTS.get(found) or _format_detail(str(error)), state=state)
    return None


def _find_reason(error: Exception) -> str:
    """Return the reason that an error has itself."""
    if isinstance(error, UnansweredError):
        return "busy" if error.is_temporary else "too_hard"
    return str(getattr(error, "reason", "bad_request"))


async def handle_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed: an exception handler."""
    found = describe_error(error, await _find_room(request, error))
    if isinstance(error, StoreError):
        _log.error("%s", error)
    if found is None:
        _log.error("a request failed", exc_info=error)
        found = _make_status_problem(500, "")
    headers = dict(getattr(error, "headers", None) or {})
    if found.status == 503:
        headers |= RETRY_HEADER
    if found.reason == "behind":
        headers |= _RETRY_SOON_HEADER
    if found.status == 401:
        headers |= {"WWW-Authenticate": "Bearer"}
    return render_problem(request, found, headers)


def render_problem(request: Request, found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Put a problem into the form that its asker reads."""
    if expects_json(request.scope["path"]):
        return Response(found.to_json(), found.status, headers, MEDIA_TYPE)
    shown = render_page(request, "error.html", status=found.status, heading=found.title, text=found.detail)
    shown.headers.update(headers or {})
    return shown


def render_refusal(request: Request, refusal: RefusedRequest) -> Response:
    """Put what a guard refuses into the form that its asker reads."""
    return render_problem(request, Problem(refusal.status, refusal.reason, refusal.detail), refusal.headers)


def install_error_handlers(app: FastAPI) -> None:
    """Let an app answer with problems."""
    for kind in (
        *(kind for kind, _, _ in _ERROR_TYPES),
        ProblemError,
        UnansweredError,
        RequestValidationError,
        HTTPException,
        Exception,
    ):
        app.add_exception_handler(kind, handle_error)


async def _find_room(request: Request, error: Exception) -> CachedRoom | None:
    """Return the game that a request was about, where the answer shows how it stands."""
    address = request.path_params.get("address") or request.path_params.get("watch")
    if address is None or not isinstance(error, StaleError | MoveError | RoomError | BehindError):
        return None
    try:
        known: CachedRoom = await request.app.state.lobby.find_room(address)
    except (RoomNotFoundError, StoreError):
        return None
    return known


def _describe_illegal_move(error: MoveError, known: CachedRoom) -> Problem:
    """Say why a block cannot be placed, in the game's own voice and as far as the table may know."""
    table = known.room.table
    reason = table.refusal(error.block) or error.reason
    said = known.voice.refuse(table, reason, str(error.block), error.block)
    return Problem(409, reason, said.text.strip(), state=known.state)


def _describe_invalid_request(error: RequestValidationError) -> Problem:
    found = error.errors()
    if any(wrong["loc"][:2] == ("path", "address") for wrong in found):
        return Problem(404, "no_such_game", _REASON_TEXTS["no_such_game"])
    if any(wrong["type"] == "json_invalid" for wrong in found):
        return _make_status_problem(400, "")
    errors = [
        InvalidField(_format_pointer(wrong["loc"]), format_text(str(wrong["msg"]))) for wrong in found[:_MAX_ERRORS]
    ]
    words = "; ".join(f"{error.pointer or 'the body'}: {error.detail}" for error in errors[:3])
    return Problem(422, "bad_request", _format_detail(words), errors)


def _format_pointer(loc: Sequence[str | int]) -> str:
    """Write where something is: a JSON pointer into the body, or the name of a parameter."""
    source, *path = loc
    if source != "body":
        return format_text(".".join(map(str, loc)), 80)
    parts = (format_text(str(part), 40).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)


_STATUS_TEXTS = {
    400: "The body of the request is no JSON that can be read.",
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The request is larger than any that is needed here.",
    415: "Send the body as JSON, with the header Content-Type: application/json.",
    500: "Something went wrong on the server; it has been noted. Your game is kept: try again.",
}


def _make_status_problem(status: int, detail: str) -> Problem:
    usual = not detail or detail == HTTPStatus(status).phrase or status == 400
    words = _STATUS_TEXTS.get(status, _TITLES.get(status, HTTPStatus(status).phrase)) if usual else str(detail)
    return Problem(status, REASONS.get(status, "error"), _format_detail(words))


def _format_detail(text: str) -> str:
    return make_sentence(format_text(text.strip(), 1000))


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from starlette.types import Receive, Scope, Send

    RefusalRenderer: TypeAlias = Callable[[Request, "RefusedRequest"], Response]
    """How a refusal is put into the form that its asker reads."""


_refusal_log = logging.getLogger(__name__)


_PLAIN_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Number Tower</title>
<main>
<h1>{title}</h1>
<p>{detail}</p>
<p><a href="/">To the games</a></p>
</main>
</html>
"""


_PLAIN_TITLES = {
    400: "This cannot be read",
    403: "Not from there",
    413: "Too large",
    421: "Not known by this name",
    429: "A little slower, please",
    500: "Something went wrong here",
    503: "Not now",
}


class RefusedRequest(NamedTuple):
    """A request that is not passed on: the status, a reason for programs, and words for people."""

    status: int
    reason: str
    detail: str
    headers: Mapping[str, str] = {}


def render_plain(request: Request, refusal: RefusedRequest) -> Response:
    """Tell a refusal without any template: as problem details to a program, as a small page to a person."""
    title = _PLAIN_TITLES.get(refusal.status, "Not possible")
    if expects_json(request.scope["path"]):
        content = {"type": "about:blank", "title": title, "status": refusal.status, **refusal._asdict()}
        del content["headers"]
        return Response(json.dumps(content), refusal.status, refusal.headers, "application/problem+json")
    page = _PLAIN_PAGE.format(title=escape(title), detail=escape(refusal.detail))
    return Response(page, refusal.status, refusal.headers, "text/html")


async def send_refusal(
    telling: RefusalRenderer, refusal: RefusedRequest, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request with a refusal; plainly, if its better form cannot be had."""
    request = Request(scope)
    try:
        response = telling(request, refusal)
    except Exception:  # noqa: BLE001 - a refusal is told, whatever happens
        _refusal_log.exception("a refusal could not be told in its usual form")
        response = render_plain(request, refusal)
    await response(scope, receive, send)


def expects_json(path: str) -> bool:
    """Say whether what is at a path is answered with JSON, and not with a page."""
    return path.startswith(("/api/", "/health/")) or path in {"/api", "/health", "/openapi.json"}
