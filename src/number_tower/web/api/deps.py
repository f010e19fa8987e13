"""Dependencies of the operations: the lobby, the room, the sender's credentials; and the description of refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.voice import Reader
from number_tower.web.errors import MEDIA_TYPE, STATUSES, ProblemError, describe_status
from number_tower.web.live import REVISION_PATTERN
from number_tower.web.lobby import Lobby
from number_tower.web.pages import get_credentials
from number_tower.web.view import encode_state

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_bearer = HTTPBearer(
    scheme_name="seat",
    auto_error=False,
    description="The token of a seat, as it was given when the game was created or joined. A browser may send its"
    " cookie instead.",
)

Address = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="A game's address; to watch, its watch address works as well.",
    ),
]


class JsonRoute(APIRoute):
    """A route that rejects a body that is not JSON; a dependency would do the same, but each costs every move time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route, behind the check."""
        handle = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            await _require_json(request)
            return await handle(request)

        return check_and_handle


async def _require_json(request: Request) -> None:
    """Reject a body that is not JSON, such as another site's page could make a browser send."""
    given = request.headers.get("content-type")
    if request.method != "POST" or (given is None and not await request.body()):
        return
    if not re.fullmatch(
        r"application/(.*\+)?json", (given or "").partition(";")[0].strip().lower()
    ):
        raise ProblemError(415, "not_json")


async def _get_lobby(request: Request) -> Lobby:
    lobby: Lobby = request.app.state.lobby
    return lobby


LobbyDep = Annotated[Lobby, Depends(_get_lobby)]


async def _parse_seen(
    seen: Annotated[
        str | None,
        Query(
            pattern=f"^{REVISION_PATTERN}$",
            description="The newest `revision` that you have seen of this game, at any server: the answer is that"
            " state or a later one. A server that does not find it within a second answers 409, `behind`.",
        ),
    ] = None,
) -> int:
    return int(seen or 0)


SeenRevision = Annotated[int, Depends(_parse_seen)]


async def _find_room(address: Address, lobby: LobbyDep, seen: SeenRevision) -> StoredRoom:
    return await lobby.find_room(address, seen)


RoomDep = Annotated[StoredRoom, Depends(_find_room)]
BearerDep = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _read_credentials(request: Request, given: BearerDep) -> Credentials | None:
    """Return the token of a request, or else the browser's cookies; None if neither can hold a seat."""
    credentials = None
    if given is None:
        credentials = get_credentials(request) or None
    elif _TOKEN.fullmatch(given.credentials):
        credentials = Credentials(given.credentials)
    request.state.credentials = credentials  # for a refusal that shows the game
    return credentials


OptionalCredentials = Annotated[Credentials | None, Depends(_read_credentials)]


async def require_credentials(request: Request, given: BearerDep) -> Credentials:
    """Return the credentials of a request that needs some; a browser's cookie counts if it holds a seat."""
    credentials = await _read_credentials(request, given)
    if credentials is not None and credentials.token is not None:
        return credentials
    stored = await request.app.state.lobby.find_room(request.path_params["address"])
    if credentials is None or not stored.find_seats(credentials):
        raise ProblemError(401, "no_token")
    return credentials


RequiredCredentials = Annotated[Credentials, Depends(require_credentials)]


def respond_with_state(stored: StoredRoom, credentials: Credentials | None) -> Response:
    """Answer with the state of a game, in words for the sender."""
    state = encode_state(stored, Reader.of_seats(stored.find_seats(credentials)))
    return Response(state, 200, {"Cache-Control": "no-store"}, "application/json")


def describe_refusals(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Describe how an operation can be refused, for OpenAPI; each can be if there are too many requests."""
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    return {
        status: {
            "description": STATUSES[status].description,
            "content": {MEDIA_TYPE: {"schema": schema, "example": describe_status(status).content}},
        }
        for status in sorted({*statuses, *((400, 413, 415, 422) if body else ()), 429})
    }
