"""What there is to see of a game: how it stands, as a stream, in words, and as a record to take away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from number_tower import record
from number_tower.web.api import schemas
from number_tower.web.api.deps import (
    Address,
    LobbyDep,
    OptionalCredentials,
    RoomDep,
    SeenMoment,
    describe_refusals,
    respond_with_state,
)
from number_tower.web.api.schemas import MOST_VERSIONS
from number_tower.web.live import pick_newest_moment, stream_room
from number_tower.web.view import MOST_TEXT, narrate

if TYPE_CHECKING:
    from collections.abc import Collection

    from number_tower.room import Room
    from number_tower.web.api.schemas import ActionName

router = APIRouter(tags=["games"])

MOST_EVENTS = 10_000
"""Events of one stream; whoever wants more begins another."""

MOST_CHANGES = 50
"""Changes of a game that one answer tells."""

_EXPORTS: dict[str, Any] = {
    "text/plain": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}

_EVENT = {key: {"type": "string"} for key in ("event", "id", "data")}
_EVENTS: dict[str, Any] = {"text/event-stream": {"itemSchema": {"type": "object", "properties": _EVENT}}}

Limit = Annotated[int, Query(ge=1, le=MOST_EVENTS, description="After how many events the stream ends.")]
Since = Annotated[int, Query(ge=0, le=MOST_VERSIONS, description="The first version that is told.")]
Changes = Annotated[int, Query(ge=1, le=MOST_CHANGES, description="How many changes are told at most.")]
LastEvent = Annotated[
    str | None,
    Header(description="The mark of the last event that you got: a browser sends it, and it counts as `seen`."),
]
Form = Annotated[Literal["line", "json"], Query(alias="as", description="On one line, or as a document.")]


@router.get("/games/{address}", response_model=schemas.StateResponse, responses=describe_refusals(404, 409, 422, 503))
async def show_game(known: RoomDep) -> Response:
    """Give a game as it stands, to whoever knows its address or its watch address."""
    return respond_with_state(known)


@router.get("/games/{address}/seat", responses=describe_refusals(404, 409, 422, 503), openapi_extra={"security": [{}]})
async def show_seat(
    address: Address, lobby: LobbyDep, token: OptionalCredentials, seen: SeenMoment
) -> schemas.SeatStatus:
    """Say which seats you hold, and what you may do now."""
    known = await lobby.find_room_for(address, token, seen)
    held = known.find_seats(token)
    return schemas.SeatStatus(seats=[2 if seat else 1 for seat in sorted(held)], may=_list_actions(known.room, held))


@router.get(
    "/games/{address}/events",
    response_class=Response,
    responses={200: {"content": _EVENTS}, **describe_refusals(404, 409, 422, 503)},
)
async def follow_game(
    address: Address,
    lobby: LobbyDep,
    seen: SeenMoment,
    limit: Limit = MOST_EVENTS,
    last_event_id: LastEvent = None,
) -> Response:
    """Follow a game as server-sent events: how it stands at once, and again whenever something happens.

    Each event is called `state`, its data is the game as `GET` shows it, and its id is the mark of the game.
    """
    seen = pick_newest_moment(seen, last_event_id)
    await lobby.find_room(address, seen)  # so that a game that does not exist is refused before the stream begins
    return stream_room(lobby, address, limit=limit, seen=seen)


@router.get("/games/{address}/log", responses=describe_refusals(404, 409, 422, 503))
async def show_log(known: RoomDep, since: Since = 0, limit: Changes = MOST_CHANGES) -> schemas.DialogueLog:
    """Give the dialogue of the current game, in the game's own voice.

    A long game is told in parts: `next` in the answer is the `since` of the part that follows.
    """
    table = known.room.table
    last = since + limit - 1
    lines: list[schemas.DialogueLine] = []
    size = 0
    for version, said, _ in narrate(table, known.voice, since, last):
        if size > MOST_TEXT and lines[-1].version < version:
            last = version - 1
            break
        lines.append(
            schemas.DialogueLine(
                version=version, moment=said.moment, seat=2 if said.player else 1, text=said.text.strip("\n")
            )
        )
        size += len(said.text)
    following = last + 1 if last < table.version else None
    return schemas.DialogueLog(game=known.room.number, said=lines, next=following)


@router.get(
    "/games/{address}/export",
    response_class=Response,
    responses={200: {"content": _EXPORTS}, **describe_refusals(404, 409, 422, 503)},
)
async def export_game(known: RoomDep, form: Form = "line") -> Response:
    """Take a game away: as one line of text, or as a JSON document that `tower` and this API can read."""
    if form == "line":
        return Response(record.to_line(known.room.table) + "\n", media_type="text/plain")
    return Response(record.to_json(known.room.table), media_type="application/json")


def _list_actions(room: Room, held: Collection[int]) -> list[ActionName]:
    may: dict[ActionName, bool] = {
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
    }
    return [doing for doing, allowed in may.items() if allowed]
