"""Games: for each its state, events, dialogue, export, seats and actions; and new ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response

from number_tower.engine import record
from number_tower.rooms.presence import Presence
from number_tower.rooms.room import Action
from number_tower.store.rooms import StoredRoom
from number_tower.web.api import deps
from number_tower.web.api.new_game import NewGame, RequestModel, read_new_room
from number_tower.web.board.view import MAX_TEXT
from number_tower.web.http.rates import NEW_GAME, price
from number_tower.web.http.schema import Described
from number_tower.web.live.events import find_newest_revision, follow_room
from number_tower.web.live.quota import admit_room
from number_tower.web.live.room_actions import parse_json, perform
from number_tower.web.live.state import RoomState, SeatNumber, describe_room, encode_state
from number_tower.words.voice import Reader, narrate

router = APIRouter(prefix="/games", tags=["games"])

MAX_EVENTS = 10_000
"""Events of one stream."""

MAX_CHANGES = 50
"""Changes of a game in one part of its dialogue."""

_EXPORTS: dict[str, Any] = {
    "text/plain": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}
_DATA = {"type": "string", "contentSchema": {"$ref": "#/components/schemas/RoomState"}}
_EVENTS: dict[str, Any] = {"itemSchema": {"type": "object", "properties": {"data": _DATA}}}
_ACTION = {"schema": {"$ref": "#/components/schemas/Action"}}
_ACTION_BODY = {"required": True, "content": {"application/json": _ACTION}}


@dataclass(frozen=True)
class SeatStatus:
    """Which seats the sender holds, and what they may do now.

    `may` has the names of actions, as in `do`, and join.
    """

    seats: list[SeatNumber]
    may: list[str]


@dataclass(frozen=True)
class PresenceStatus(Described):
    """Whether the players are there."""

    players: list[Presence] | None
    """Whether each player is here, away or gone; null unless two people play at different
    devices."""
    gone_for: int
    """The seconds for which the player to move has not been seen in this turn."""
    claim_after: int | None
    """The seconds after which the game can be claimed; null if it cannot."""


@dataclass(frozen=True)
class DialogueLine(Described):
    """A piece of the dialogue."""

    version: int
    """The version of the game after which it was said."""
    moment: str
    """Such as start, turn, placed, skipped, undone or end_exact."""
    seat: SeatNumber
    text: str


@dataclass(frozen=True)
class DialogueLog(Described):
    """The dialogue of the current game, in words for its reader; of a long game, a part of it."""

    game: int
    said: list[DialogueLine]
    next: int | None
    """The version from which the dialogue continues, for `since`; null at its end."""


@dataclass(frozen=True)
class SeatToken(Described):
    """A seat, and the secret that holds it."""

    token: str
    """Send it as `Authorization: Bearer …`; keep it secret."""
    seats: list[SeatNumber]
    """The seats that it holds."""
    state: RoomState


@dataclass(frozen=True)
class CreatedGame(SeatToken):
    """A new game, its addresses, and the seat of its creator."""

    address: str
    """The page of the game is `/g/ADDRESS`; its first visitor can take the free seat."""
    watch: str
    """The address for spectators, whose page is `/w/WATCH`; it gives no seat."""
    code: str | None
    """The short code of the free seat, typed at `/join`; null if none is free."""


@dataclass(frozen=True)
class HandoverCode(Described):
    """A code that moves a seat to another device, once and for ten minutes."""

    code: str
    page: str
    """The page that takes the seat, as a path on this server."""


class JoinRequest(RequestModel):
    """Who takes the free seat."""

    name: str | None = None


class TakeSeatRequest(RequestModel):
    """The code that moves a seat to this device."""

    code: str


# Acting in a game ---------------------------------------------------------------------------------


@router.post(
    "/{address}/actions", response_model=RoomState, openapi_extra={"requestBody": _ACTION_BODY}
)
async def perform_action(
    request: Request,
    address: deps.Address,
    credentials: deps.RequiredCredentials,
    action: Annotated[Action, Depends(parse_json)],
) -> RoomState | Response:
    """Do something in a game: `do` says what. The answer is the game as it stands then.

    A move names the version of the game that it answers. If it is sent twice, it counts once. A
    move for an earlier version is refused, with the current state. The computer's answer comes as
    an event. `undo` takes a move back at one table or against the computer; over a link, offer a
    takeback instead. `rematch` starts the next game there and in a match; otherwise offer one. An
    action with `game`, the number of the game in the room, is for no other game. A hint has three
    steps: what to look for, the move, and why; the answer has it in `hint`.
    """
    stored, hint = await perform(request, address, credentials, action.do, lambda _: action)
    if hint is not None:
        return describe_room(stored, credentials, hint)
    # As the player's own stream has it: it is encoded already, or will not be again.
    return Response(encode_state(stored, credentials), media_type="application/json")


# Reading a game -----------------------------------------------------------------------------------


@router.get("/{address}")
async def show_game(
    stored: deps.RoomDep, lobby: deps.LobbyDep, credentials: deps.CredentialsDep
) -> RoomState:
    """Show the state of a game, by its address or its watch address.

    With the token of a seat, its words (`said`) are for that player; otherwise they are for
    spectators.
    """
    await lobby.note_player(stored, credentials)
    return describe_room(stored, credentials)


@router.get("/{address}/seat")
async def show_seat(
    stored: deps.RoomDep, lobby: deps.LobbyDep, credentials: deps.CredentialsDep
) -> SeatStatus:
    """List the seats that you hold, and what you may do now."""
    held = stored.find_seats(credentials)
    await lobby.note_player(stored, credentials)
    presence = lobby.describe_presence(stored)
    room = stored.room
    allowed = {
        "join": room.waiting and not held,
        "move": room.may_move(held),
        "undo": room.may_undo(held),
        "resign": room.may_resign(held),
        "offer_takeback": room.may_offer(held, "takeback"),
        "offer_rematch": room.may_offer(held, "rematch"),
        "accept": room.may_answer(held),
        "decline": room.may_answer(held) or room.may_withdraw(held),
        "rematch": room.may_rematch(held),
        "hint": room.may_hint(held),
        "claim": presence is not None and room.may_claim(held, presence.gone_for),
    }
    return SeatStatus(_number_seats(held), [action for action, may in allowed.items() if may])


@router.get("/{address}/presence")
async def show_presence(
    stored: deps.RoomDep, lobby: deps.LobbyDep, credentials: deps.CredentialsDep
) -> PresenceStatus:
    """Show whether the players are here, away or gone.

    A request or a stream with a seat's token counts as here.
    """
    await lobby.note_player(stored, credentials)
    presence = lobby.describe_presence(stored)
    return PresenceStatus(
        players=presence and list(presence.seats),
        gone_for=0 if presence is None else int(presence.gone_for),
        claim_after=stored.room.claim_after,
    )


@router.get(
    "/{address}/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": _EVENTS}}},
)
async def follow_game(
    request: Request,
    address: deps.Address,
    credentials: deps.CredentialsDep,
    seen: deps.Seen = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = MAX_EVENTS,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Follow a game as server-sent events: its state at once, and again whenever something happens.

    The data of an event called `state` is the game as `GET` shows it, and its id is the revision
    of the game, which a browser sends as `Last-Event-ID`; that counts as `seen`. The stream ends
    after `limit` of them. An event called `presence` says that players have come or gone.
    """
    seen = max(seen, find_newest_revision(last_event_id))
    return await follow_room(request, address, credentials, seen, limit)


@router.get("/{address}/log")
async def show_log(
    stored: deps.RoomDep,
    credentials: deps.CredentialsDep,
    since: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_CHANGES)] = MAX_CHANGES,
) -> DialogueLog:
    """Show the dialogue of the current game.

    It is for the player whose token you send, or else for spectators. A long game is told in parts
    of at most `limit` changes: `next` in the answer is the `since` of the next part.
    """
    table, reader = stored.room.table, Reader.of_seats(stored.find_seats(credentials))
    last = since + limit - 1
    lines: list[DialogueLine] = []
    size = 0
    for message in narrate(table, since, last, reader=reader):
        if size > MAX_TEXT and lines[-1].version < message.version:
            last = message.version - 1
            break
        size += len(message.text)
        text = message.text.strip("\n")
        lines.append(DialogueLine(message.version, message.moment, message.player + 1, text))
    return DialogueLog(stored.room.number, lines, last + 1 if last < table.version else None)


@router.get("/{address}/export", response_class=Response, responses={200: {"content": _EXPORTS}})
async def export_game(
    stored: deps.RoomDep, form: Annotated[Literal["line", "json"], Query(alias="as")] = "line"
) -> Response:
    """Export a game: as one line of text, or as a JSON document that `tower` and this API read."""
    if form == "line":
        return Response(record.to_line(stored.room.table) + "\n", media_type="text/plain")
    return Response(record.to_json(stored.room.table), media_type="application/json")


# Creating a game, and its seats -------------------------------------------------------------------


@router.post(
    "",
    dependencies=[price(NEW_GAME), Depends(admit_room)],
    status_code=201,
    responses={507: {}},
)
async def create_game(
    request: Request, response: Response, wanted: NewGame, lobby: deps.LobbyDep
) -> CreatedGame:
    """Start a game, at one table, against the computer, or with the person who opens the link.

    The answer holds the token of your seat, of both seats at one table. Send the page of `address`
    to the other player, and that of `watch` to spectators.
    """
    stored, token = await lobby.open_room(await read_new_room(request, wanted))
    response.headers["Location"] = f"/api/games/{stored.address}"
    return CreatedGame(
        **vars(_give_seat(stored, token)),
        address=stored.address,
        watch=stored.watch,
        code=stored.code,
    )


@router.post("/{address}/join")
async def join_game(
    address: deps.Address, lobby: deps.LobbyDep, who: JoinRequest | None = None
) -> SeatToken:
    """Take the free seat of a game; the answer holds its token."""
    return _give_seat(*await lobby.join(address, None if who is None else who.name))


@router.post("/{address}/handover")
async def hand_over(
    address: deps.Address, credentials: deps.RequiredCredentials, lobby: deps.LobbyDep
) -> HandoverCode:
    """Get a code that moves your seat to another device, once and within ten minutes."""
    code = await lobby.make_handover_code(address, credentials)
    return HandoverCode(code, f"/g/{address}/take/{code}")


@router.post("/{address}/take")
async def take_seat(
    address: deps.Address, taking: TakeSeatRequest, lobby: deps.LobbyDep
) -> SeatToken:
    """Take over a seat by its code.

    The answer holds its new token, and the old one no longer works.
    """
    return _give_seat(*await lobby.take_over(address, taking.code))


def _give_seat(stored: StoredRoom, token: str) -> SeatToken:
    return SeatToken(token, _number_seats(stored.find_seats(token)), describe_room(stored, token))


def _number_seats(held: Collection[int]) -> list[int]:
    return [seat + 1 for seat in sorted(held)]
