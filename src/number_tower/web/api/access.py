"""What every operation needs: the lobby, the game it is about, whoever asks, and how refusals are described."""

from __future__ import annotations

import re
from email.message import Message
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from number_tower.store.credentials import Credentials
from number_tower.store.rooms import MARK, Moment, parse_mark
from number_tower.web.browser_cookie import browser_session
from number_tower.web.lobby import Known, Lobby
from number_tower.web.problems import MEDIA_TYPE, REASONS, Problem, Refused
from number_tower.web.workers import BUSY

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_bearer = HTTPBearer(
    scheme_name="seat",
    auto_error=False,
    description="The token of a seat, as it was given when the game was created or joined. A browser may send its"
    " cookie instead.",
)

Address = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="A game's address; to look on, its watch address does as well."),
]


async def json_only(request: Request) -> None:
    """Refuse a body that is no JSON: what a page elsewhere could make a browser send never gets further."""
    if request.method != "POST":
        return
    given = request.headers.get("content-type")
    if given == "application/json":
        return
    if given is None and not await request.body():
        return
    content = Message()
    content["content-type"] = given or ""
    kind = content.get_content_type()
    if not given or not (kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))):
        raise Refused(415, "not_json", "Send the body as JSON, with the header Content-Type: application/json.")


async def _lobby(request: Request) -> Lobby:
    lobby: Lobby = request.app.state.lobby
    return lobby


TheLobby = Annotated[Lobby, Depends(_lobby)]


async def _seen(
    seen: Annotated[
        str | None,
        Query(
            pattern=f"^{MARK}$",
            description="The newest `mark` that you have seen of this game, at any server: the answer is that state or"
            " a later one. A server that does not find it within two seconds answers 409 with the reason `behind`.",
        ),
    ] = None,
) -> Moment | None:
    return None if seen is None else parse_mark(seen)


Seen = Annotated[Moment | None, Depends(_seen)]


async def _known(address: Address, lobby: TheLobby, seen: Seen) -> Known:
    return await lobby.look(address, seen)


TheGame = Annotated[Known, Depends(_known)]


Given = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _token(request: Request, given: Given) -> Credentials | None:
    """Return the token that came with a request, or else the browser's cookies; None if neither can hold a seat."""
    if given is None:
        return browser_session(request).credentials(request.path_params["address"]) or None
    return Credentials(given.credentials) if _TOKEN.fullmatch(given.credentials) else None


AnyToken = Annotated[Credentials | None, Depends(_token)]


async def _needed(request: Request, given: Given) -> Credentials:
    """Return the credentials of a request that needs some; a browser's cookie counts where it holds a seat."""
    credentials = await _token(request, given)
    if credentials is not None and credentials.token is not None:
        return credentials
    known = await request.app.state.lobby.look_for(request.path_params["address"], credentials)
    if credentials is None or not known.held(credentials):
        raise Refused(401, "no_token", "Send the token of your seat, with the header Authorization: Bearer …")
    return credentials


Token = Annotated[Credentials, Depends(_needed)]


def stated(known: Known, status: int = 200) -> Response:
    """Answer with a game as it stands, which is encoded already."""
    return Response(known.state, status, {"Cache-Control": "no-store"}, "application/json")


_DETAILS = {
    400: "The body of the request is no JSON that can be read.",
    401: "Send the token of your seat, with the header Authorization: Bearer …",
    403: "You hold no seat here; you can watch.",
    404: "There is no game at this address; perhaps a letter of it is missing.",
    409: "The game has moved on since; the state shows how it stands.",
    413: "The request is larger than any that is needed here.",
    415: "Send the body as JSON, with the header Content-Type: application/json.",
    422: "/block: Input should be a valid integer.",
    429: "Too many requests from one place; try again in a few seconds.",
    503: BUSY,
    507: "This server has no space for new games just now. Games that have begun can go on.",
}
_REASONS = {**REASONS, 404: "no_such_game", 409: "stale"}
_WHY = {
    400: "The body is no JSON.",
    401: "No token was sent, and one is needed.",
    403: "The token holds no seat in this game.",
    404: "There is no such game, or whatever else was asked for.",
    409: "Not as the game stands: stale, behind, not legal or not this player's turn. The state comes with it.",
    413: "The request is too large.",
    415: "The body is sent as something else than JSON.",
    422: "What was sent is not as described, or makes no game.",
    429: "Too many requests; `Retry-After` says when to go on.",
    503: "The server cannot do it now; `Retry-After` says when to try again.",
    507: "The database is full; games that have begun go on.",
}
_BODY = (400, 413, 415, 422)


def refusals(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Describe how an operation can be refused; every one can be when too many requests come."""
    return {status: _described(status) for status in sorted({*statuses, *(_BODY if body else ()), 429})}


def _described(status: int) -> dict[str, Any]:
    example = Problem(status, _REASONS[status], _DETAILS[status])
    content = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}, "example": example.content}
    return {"description": _WHY[status], "content": {MEDIA_TYPE: content}}
