"""Dependencies of the operations: the lobby, the room, and the sender's credentials."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from number_tower.store.rooms import Credentials, StoredRoom
from number_tower.web.http.problems import ProblemError
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.room_actions import get_credentials
from number_tower.web.parts import get_parts

_bearer = HTTPBearer(
    scheme_name="seat",
    auto_error=False,
    description="The token of a seat, as it was given when the game was created or joined. A "
    "browser may send its cookie instead.",
)

Address = Annotated[
    str, Path(description="A game's address; to watch, its watch address works as well.")
]


async def _get_lobby(request: Request) -> Lobby:
    return get_parts(request).lobby


LobbyDep = Annotated[Lobby, Depends(_get_lobby)]
Seen = Annotated[
    int,
    Query(
        ge=0,
        description="The newest `revision` that you have seen of this game, at any server: the "
        "answer is that state or a later one. A server that does not find it within a second "
        "answers 409, `behind`.",
    ),
]


async def _find_room(address: Address, lobby: LobbyDep, seen: Seen = 0) -> StoredRoom:
    return await lobby.find_room(address, seen)


RoomDep = Annotated[StoredRoom, Depends(_find_room)]
BearerDep = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _read_credentials(request: Request, bearer: BearerDep) -> Credentials:
    """Return the token of a request, or else the browser's cookies."""
    credentials = get_credentials(request) if bearer is None else Credentials(bearer.credentials)
    request.state.credentials = credentials  # for a refusal that shows the game
    return credentials


CredentialsDep = Annotated[Credentials, Depends(_read_credentials)]


async def _require_credentials(credentials: CredentialsDep) -> Credentials:
    if not credentials:
        text = "Send the token of your seat in the header Authorization: Bearer …"
        raise ProblemError(401, "no_token", text)
    return credentials


RequiredCredentials = Annotated[Credentials, Depends(_require_credentials)]
