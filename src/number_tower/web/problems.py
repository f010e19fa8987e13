"""What can go wrong with a request, in one table: its status, a reason for programs, and words for people.

Programs are answered with problem details (RFC 9457), people with a page.
"""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from number_tower.catalogue import CatalogueError, UnknownGame
from number_tower.match import MatchError
from number_tower.position import MoveError
from number_tower.record import RecordError
from number_tower.room import RoomError
from number_tower.rules import RulesError
from number_tower.showing import sentence, shown_text
from number_tower.solve.limits import NotSolved
from number_tower.store.trouble import StoreError
from number_tower.table import Stale, TableError
from number_tower.web.asking import RETRY, Unanswered
from number_tower.web.bounds import TooLarge
from number_tower.web.lines import Unreadable
from number_tower.web.lobby import BehindError, NoSuchRoom
from number_tower.web.pages import page
from number_tower.web.refusals import for_programs
from number_tower.web.workers import BUSY, AbandonedError, BusyError, GaveUpError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request

    from number_tower.web.lobby import Known
    from number_tower.web.refusals import Refusal

MEDIA_TYPE = "application/problem+json"
_RETRY_SOON = {"Retry-After": "1"}

_log = logging.getLogger(__name__)

_MOST_ERRORS = 20
"""Mistakes in one request that are told."""


class Field(NamedTuple):
    """Where in a request something is wrong, and what was expected there."""

    pointer: str
    detail: str


class Problem(NamedTuple):
    """A request that was refused: the status, the reason for programs, and what was wrong and would be right."""

    status: int
    reason: str
    detail: str
    errors: Sequence[Field] = ()
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

    def written(self) -> bytes:
        """Write the problem as JSON; in ASCII, since a request may hold what is no letter."""
        text = json.dumps(self.content).encode()
        return text if self.state is None else b'%s, "state": %s}' % (text[:-1], self.state)


class Refused(Exception):  # noqa: N818 - named for what it says
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

_KINDS: tuple[tuple[type[Exception], int, str], ...] = (
    (NoSuchRoom, 404, "no_such_game"),
    (Stale, 409, "stale"),
    (MoveError, 409, ""),
    (RoomError, 409, ""),
    (TableError, 422, "bad_name"),
    (UnknownGame, 422, "no_such_rulebook"),
    (CatalogueError, 422, "bad_rules"),
    (RulesError, 422, "bad_rules"),
    (TooLarge, 422, "too_large"),
    (RecordError, 422, "bad_record"),
    (Unreadable, 422, "bad_record"),
    (MatchError, 422, "bad_match"),
    (GaveUpError, 422, "too_hard"),
    (Unanswered, 422, ""),
    (NotSolved, 422, "too_hard"),
    (AbandonedError, 499, "client_gone"),
    (BusyError, 503, "busy"),
    (StoreError, 503, "store"),
    (BehindError, 409, "behind"),
)
"""What the engine and the server refuse; without a reason here, the error has its own. The first that fits counts."""

_WORDS = {
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


def problem(error: Exception, known: Known | None = None) -> Problem | None:
    """Say what an error means to whoever sent the request, about a game if it is known; None if it is ours to mend."""
    match error:
        case Refused():
            return error.problem
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return _plain(error.status_code, error.detail)
        case MoveError() if known is not None:
            return _not_placed(error, known)
    for kind, status, reason in _KINDS:
        if isinstance(error, kind):
            found = reason or _reason(error)
            code = {"not_yours": 403, "busy": 503}.get(found, status)
            state = known.state if known is not None and code == 409 else None
            return Problem(code, found, _WORDS.get(found) or _told(str(error)), state=state)
    return None


def _reason(error: Exception) -> str:
    """Return the reason that an error has itself."""
    if isinstance(error, Unanswered):
        return "busy" if error.later else "too_hard"
    return str(getattr(error, "reason", "bad_request"))


async def answer(request: Request, error: Exception) -> Response:
    """Answer a request that failed: an exception handler."""
    found = problem(error, await _known(request, error))
    if isinstance(error, StoreError):
        _log.error("%s", error)
    if found is None:
        _log.error("a request failed", exc_info=error)
        found = _plain(500, "")
    headers = dict(getattr(error, "headers", None) or {})
    if found.status == 503:
        headers |= RETRY
    if found.reason == "behind":
        headers |= _RETRY_SOON
    if found.status == 401:
        headers |= {"WWW-Authenticate": "Bearer"}
    return response(request, found, headers)


def response(request: Request, found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Put a problem into the form that its asker reads."""
    if for_programs(request.scope["path"]):
        return Response(found.written(), found.status, headers, MEDIA_TYPE)
    shown = page(request, "error.html", status=found.status, heading=found.title, text=found.detail)
    shown.headers.update(headers or {})
    return shown


def telling(request: Request, refusal: Refusal) -> Response:
    """Put what a guard refuses into the form that its asker reads."""
    return response(request, Problem(refusal.status, refusal.reason, refusal.detail), refusal.headers)


def install(app: FastAPI) -> None:
    """Let an app answer with problems."""
    for kind in (
        *(kind for kind, _, _ in _KINDS),
        Refused,
        Unanswered,
        RequestValidationError,
        HTTPException,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


async def _known(request: Request, error: Exception) -> Known | None:
    """Return the game that a request was about, where the answer shows how it stands."""
    address = request.path_params.get("address") or request.path_params.get("watch")
    if address is None or not isinstance(error, Stale | MoveError | RoomError | BehindError):
        return None
    try:
        known: Known = await request.app.state.lobby.look(address)
    except (NoSuchRoom, StoreError):
        return None
    return known


def _not_placed(error: MoveError, known: Known) -> Problem:
    """Say why a block cannot be placed, in the game's own voice and as far as the table may know."""
    table = known.room.table
    reason = table.refusal(error.block) or error.reason
    said = known.voice.refuse(table, reason, str(error.block), error.block)
    return Problem(409, reason, said.text.strip(), state=known.state)


def _invalid(error: RequestValidationError) -> Problem:
    found = error.errors()
    if any(wrong["loc"][:2] == ("path", "address") for wrong in found):
        return Problem(404, "no_such_game", _WORDS["no_such_game"])
    if any(wrong["type"] == "json_invalid" for wrong in found):
        return _plain(400, "")
    errors = [Field(_pointer(wrong["loc"]), shown_text(str(wrong["msg"]))) for wrong in found[:_MOST_ERRORS]]
    words = "; ".join(f"{error.pointer or 'the body'}: {error.detail}" for error in errors[:3])
    return Problem(422, "bad_request", _told(words), errors)


def _pointer(loc: Sequence[str | int]) -> str:
    """Write where something is: a JSON pointer into the body, or the name of a parameter."""
    source, *path = loc
    if source != "body":
        return shown_text(".".join(map(str, loc)), 80)
    parts = (shown_text(str(part), 40).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)


_PLAIN = {
    400: "The body of the request is no JSON that can be read.",
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The request is larger than any that is needed here.",
    415: "Send the body as JSON, with the header Content-Type: application/json.",
    500: "Something went wrong on the server; it has been noted. Your game is kept: try again.",
}


def _plain(status: int, detail: str) -> Problem:
    usual = not detail or detail == HTTPStatus(status).phrase or status == 400
    words = _PLAIN.get(status, _TITLES.get(status, HTTPStatus(status).phrase)) if usual else str(detail)
    return Problem(status, REASONS.get(status, "error"), _told(words))


def _told(text: str) -> str:
    return sentence(shown_text(text.strip(), 1000))
