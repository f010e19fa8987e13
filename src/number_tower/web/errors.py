"""What our own errors mean to clients: the status, a reason for programs, and words for people."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from number_tower.engine.catalogue import CatalogueError, UnknownGameError
from number_tower.engine.match import MatchError
from number_tower.engine.position import MoveError
from number_tower.engine.record import RecordError
from number_tower.engine.rules import RulesError
from number_tower.engine.table import StaleError, TableError
from number_tower.rooms.classroom import ClassroomError
from number_tower.rooms.room import RoomError
from number_tower.solve.limits import NotSolvedError
from number_tower.store import StoreError
from number_tower.store.classrooms import ClassroomNotFoundError
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.web.http.problems import (
    RETRY_HEADER,
    Problem,
    describe_invalid_request,
    describe_refusal,
    make_problem,
)
from number_tower.web.limits import TooLargeError
from number_tower.web.live.lobby import BehindError
from number_tower.web.live.room_actions import InvalidAnswerError
from number_tower.web.live.state import RoomState
from number_tower.web.thinking.workers import BUSY, BusyError, GaveUpError
from number_tower.words.voice import get_voice, join_messages

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
"""Status, reason and text of each error and its subclasses; the error itself says what is empty."""

_REASON_STATUSES = {"not_yours": 403, "not_found": 404, "bad_name": 422, "busy": 503}
"""Reasons of rooms and classes with a status of their own."""

HEADERS: dict[int | str, dict[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    503: RETRY_HEADER,
    "behind": {"Retry-After": "1"},
}
"""Headers of a response by its status or reason."""


@dataclass(frozen=True)
class RoomProblem(Problem):
    """Why a request was refused (RFC 9457)."""

    state: RoomState | None = None
    """How the game is now, if something was not possible there."""


PROBLEM = TypeAdapter(RoomProblem)


def describe_error(error: Exception, stored: StoredRoom | None = None) -> Problem:
    """Return what an error means; a room that it was about refuses a block in its own words."""
    if isinstance(error, RequestValidationError):
        return describe_invalid_request(error)
    if isinstance(error, HTTPException):
        return describe_refusal(error)
    kind = next(kind for kind in type(error).__mro__ if kind in ERRORS)
    status, reason, text = ERRORS[kind]
    reason = reason or str(getattr(error, "reason", "bad_request"))
    status = _REASON_STATUSES.get(reason, status)
    if isinstance(error, MoveError) and stored is not None:
        table, block = stored.room.table, error.block
        reason = table.refusal(block) or reason
        text = join_messages(get_voice(table.book).refuse(table, reason, f"{block}", block))
    return make_problem(status, reason, text or str(error))
