"""Games: the catalogue, and for each game its state, events, dialogue, export, creation and seats."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response

from number_tower import catalogue, record
from number_tower.brief import describe_rules
from number_tower.catalogue import First
from number_tower.players import LEVELS
from number_tower.presence import RoomPresence
from number_tower.room import Room
from number_tower.rules import UNNAMED
from number_tower.store.rooms import StoredRoom
from number_tower.table import Table
from number_tower.voice import Reader, get_voice, narrate
from number_tower.web import limits
from number_tower.web.api import deps, schemas
from number_tower.web.api.deps import JsonRoute, describe_refusals, respond_with_state
from number_tower.web.errors import ProblemError
from number_tower.web.live import (
    attend_stream,
    encode_events,
    find_newest_revision,
    make_stream,
)
from number_tower.web.new_room import NewRoom
from number_tower.web.questions import read_record
from number_tower.web.quota import admit_room
from number_tower.web.rates import NEW_GAME, price
from number_tower.web.view import MOST_TEXT, encode_state

router = APIRouter(route_class=JsonRoute, tags=["games"])
catalogue_router = APIRouter(route_class=JsonRoute, tags=["catalogue"])

OWN_NAME = "own rules"
"""The name of a game whose rule file has none."""

MOST_EVENTS = 10_000
"""Events of one stream."""

MOST_CHANGES = 50
"""Changes of a game in one part of its dialogue."""

_EXPORTS: dict[str, Any] = {
    "text/plain": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}
_EVENT = {key: {"type": "string"} for key in ("event", "id", "data")}
_EVENTS: dict[str, Any] = {
    "text/event-stream": {"itemSchema": {"type": "object", "properties": _EVENT}}
}
_READ_REFUSALS = describe_refusals(404, 409, 422, 503)
_SEAT_REFUSALS = describe_refusals(404, 409, 503, body=True)
_get_as_reader = partial(router.get, openapi_extra={"security": [{}]})
"""Declares an operation for everyone that tells the holder of a token more."""

Limit = Annotated[
    int,
    Query(ge=1, le=MOST_EVENTS, description="The number of events after which the stream ends."),
]
Since = Annotated[
    int, Query(ge=0, le=schemas.MOST_VERSIONS, description="The first version to include.")
]
Changes = Annotated[
    int, Query(ge=1, le=MOST_CHANGES, description="The largest number of changes to include.")
]
LastEvent = Annotated[
    str | None,
    Header(
        description="The revision of the last event that you got: a browser sends it, and it counts as `seen`."
    ),
]
Form = Annotated[
    Literal["line", "json"], Query(alias="as", description="On one line, or as a document.")
]


# The catalogue --------------------------------------------------------------------------------------------------------


@catalogue_router.get("/rulebooks", responses=describe_refusals())
async def list_rulebooks() -> schemas.RulebookList:
    """List the games of the catalogue, with their rules and options."""
    return schemas.RulebookList(
        rulebooks=[_describe_rulebook(book) for book in catalogue.load_all()]
    )


@catalogue_router.get("/rulebooks/{name}", responses=describe_refusals(404))
async def show_rulebook(
    name: str = Path(examples=list(catalogue.list_names()[:1])),
) -> schemas.RulebookResponse:
    """Show one game of the catalogue."""
    if name not in catalogue.list_names():
        games = ", ".join(catalogue.list_names())
        raise ProblemError(
            404, "no_such_rulebook", f"There is no such game; the games are {games}."
        )
    return _describe_rulebook(catalogue.load_named(name))


@catalogue_router.get("/levels", responses=describe_refusals())
async def list_levels() -> schemas.LevelList:
    """List the computer's levels, the weakest first."""
    levels = [
        schemas.LevelResponse(name=level.name, about=level.about) for level in LEVELS.values()
    ]
    return schemas.LevelList(levels=levels)


def _describe_rulebook(book: catalogue.Rulebook) -> schemas.RulebookResponse:
    voice = get_voice(book)
    return schemas.RulebookResponse(
        name=book.name,
        title=book.title,
        summary=book.summary,
        about=book.about,
        noun=voice.noun,
        players=list(voice.players),
        options=list(book.options),
        presets=[
            schemas.PresetResponse.model_validate(each, from_attributes=True)
            for each in book.presets.values()
        ],
        rules=book.rules.written(),
        how=list(describe_rules(book.rules, voice.noun)),
    )


# Reading a game -------------------------------------------------------------------------------------------------------


@_get_as_reader("/games/{address}", response_model=schemas.StateResponse, responses=_READ_REFUSALS)
async def show_game(
    stored: deps.RoomDep, lobby: deps.LobbyDep, credentials: deps.OptionalCredentials
) -> Response:
    """Show the state of a game, by its address or its watch address.

    With the token of a seat, its words (`said`) are for that player; otherwise they are for spectators.
    """
    await lobby.note_player(stored, credentials)
    return respond_with_state(stored, credentials)


@_get_as_reader("/games/{address}/seat", responses=_READ_REFUSALS)
async def show_seat(
    address: deps.Address,
    lobby: deps.LobbyDep,
    credentials: deps.OptionalCredentials,
    seen: deps.SeenRevision,
) -> schemas.SeatStatus:
    """List the seats that you hold, and what you may do now."""
    stored = await lobby.find_room(address, seen)
    held = stored.find_seats(credentials)
    await lobby.note_player(stored, credentials)
    presence = lobby.describe_presence(stored)
    return schemas.SeatStatus(
        seats=[schemas.number_seat(seat) for seat in sorted(held)],
        may=_list_actions(stored.room, held, presence),
    )


@_get_as_reader("/games/{address}/presence", responses=_READ_REFUSALS)
async def show_presence(
    stored: deps.RoomDep, lobby: deps.LobbyDep, credentials: deps.OptionalCredentials
) -> schemas.PresenceResponse:
    """Show whether the players are here, away or gone. A request or a stream with a seat's token counts as here."""
    await lobby.note_player(stored, credentials)
    presence = lobby.describe_presence(stored)
    return schemas.PresenceResponse(
        players=None if presence is None else list(presence.seats),
        gone_for=0 if presence is None else int(presence.gone_for),
        claim_after=stored.room.claim_after,
    )


@_get_as_reader(
    "/games/{address}/events",
    response_class=Response,
    responses={200: {"content": _EVENTS}, **_READ_REFUSALS},
)
async def follow_game(
    address: deps.Address,
    lobby: deps.LobbyDep,
    credentials: deps.OptionalCredentials,
    seen: deps.SeenRevision,
    limit: Limit = MOST_EVENTS,
    last_event_id: LastEvent = None,
) -> Response:
    """Follow a game as server-sent events: its state at once, and again whenever something happens.

    Each event is called `state`, its data is the game as `GET` shows it, and its id is the revision of the game.
    """
    seen = max(seen, find_newest_revision(last_event_id))
    stored = await lobby.find_room(
        address, seen
    )  # a game that does not exist is refused before the stream begins
    stream = make_stream(encode_events(lobby, address, credentials, limit, seen))
    return attend_stream(stream, lobby.attend(stored, credentials))


@_get_as_reader("/games/{address}/log", responses=_READ_REFUSALS)
async def show_log(
    stored: deps.RoomDep,
    credentials: deps.OptionalCredentials,
    since: Since = 0,
    limit: Changes = MOST_CHANGES,
) -> schemas.DialogueLog:
    """Show the dialogue of the current game: for the player whose token you send, or else for spectators.

    A long game is told in parts: `next` in the answer is the `since` of the part that follows.
    """
    table = stored.room.table
    last = since + limit - 1
    lines: list[schemas.DialogueLine] = []
    size = 0
    for message in narrate(
        table, since, last, reader=Reader.of_seats(stored.find_seats(credentials))
    ):
        if size > MOST_TEXT and lines[-1].version < message.version:
            last = message.version - 1
            break
        size += len(message.text)
        lines.append(
            schemas.DialogueLine(
                version=message.version,
                moment=message.moment,
                seat=schemas.number_seat(message.player),
                text=message.text.strip("\n"),
            )
        )
    return schemas.DialogueLog(
        game=stored.room.number, said=lines, next=last + 1 if last < table.version else None
    )


@router.get(
    "/games/{address}/export",
    response_class=Response,
    responses={200: {"content": _EXPORTS}, **_READ_REFUSALS},
)
async def export_game(stored: deps.RoomDep, form: Form = "line") -> Response:
    """Export a game: as one line of text, or as a JSON document that `tower` and this API can read."""
    if form == "line":
        return Response(record.to_line(stored.room.table) + "\n", media_type="text/plain")
    return Response(record.to_json(stored.room.table), media_type="application/json")


def _list_actions(
    room: Room, held: Collection[int], presence: RoomPresence | None
) -> list[schemas.ActionName]:
    allowed: dict[schemas.ActionName, bool] = {
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
    return [action for action, may in allowed.items() if may]


# Creating a game, and its seats ---------------------------------------------------------------------------------------


@router.post(
    "/games",
    dependencies=[price(NEW_GAME), Depends(admit_room)],
    status_code=201,
    response_model=schemas.CreatedGame,
    responses=describe_refusals(503, 507, body=True),
)
async def create_game(request: Request, wanted: schemas.NewGame, lobby: deps.LobbyDep) -> Response:
    """Start a game, at one table, against the computer, or with the person who opens the link.

    The answer holds the token of your seat, of both seats at one table. Send the `play` link to the other player, and
    the `watch` link to spectators.
    """
    room = await read_new_room(request, wanted)
    stored, token = await lobby.open_room(room)
    here = f"/api/games/{stored.address}"
    links = {
        "play": f"/g/{stored.address}",
        "watch": f"/w/{stored.watch}",
        "api": here,
        "events": f"{here}/events",
    }
    about = {"address": stored.address, "watch": stored.watch, "code": stored.code, "links": links}
    response = _respond_with_seat(stored, token, 201, **about)
    response.headers["Location"] = here
    return response


@router.post("/games/{address}/join", response_model=schemas.SeatToken, responses=_SEAT_REFUSALS)
async def join_game(
    address: deps.Address, lobby: deps.LobbyDep, who: schemas.JoinRequest | None = None
) -> Response:
    """Take the free seat of a game; the answer holds its token."""
    return _respond_with_seat(*await lobby.join(address, None if who is None else who.name))


@router.post("/games/{address}/handover", responses=describe_refusals(401, 403, 404, 503))
async def hand_over(
    address: deps.Address, credentials: deps.RequiredCredentials, lobby: deps.LobbyDep
) -> schemas.HandoverCode:
    """Get a code that moves your seat to another device, once and within ten minutes."""
    code = await lobby.make_handover_code(address, credentials)
    stored = await lobby.find_room(address)
    return schemas.HandoverCode(code=code, page=f"/g/{stored.address}/take/{code}")


@router.post("/games/{address}/take", response_model=schemas.SeatToken, responses=_SEAT_REFUSALS)
async def take_seat(
    address: deps.Address, taking: schemas.TakeSeatRequest, lobby: deps.LobbyDep
) -> Response:
    """Take over a seat by its code; the answer holds its new token, and the old one no longer works."""
    return _respond_with_seat(*await lobby.take_over(address, taking.code))


async def read_new_room(request: Request, wanted: schemas.NewGame) -> NewRoom:
    """Return the room that was asked for, or refuse it."""
    table = await _read_table(request, wanted)
    limits.check_rules(table.game.rules)
    if table.outcome is not None:
        raise ProblemError(422, "over", "That game is over. Send one that is not finished yet.")
    level = wanted.opponent.level
    if wanted.opponent.kind == "computer":
        level = level or schemas.DEFAULT_LEVEL
    elif level is not None:
        raise ProblemError(
            422,
            "bad_request",
            'Only a computer has a level. To play one, set opponent.kind to "computer".',
        )
    first, second = (*wanted.names, None, None)[:2]
    return NewRoom(
        table,
        wanted.opponent.kind,
        level,
        (first, second),
        best_of=wanted.best_of,
        hints=wanted.hints,
    )


async def _read_table(request: Request, wanted: schemas.NewGame) -> Table:
    sources = (wanted.game, wanted.rules, wanted.rulefile, wanted.record)
    if sum(source is not None for source in sources) != 1:
        raise ProblemError(
            422,
            "bad_request",
            "Choose the game with exactly one of game, rules, rulefile and record.",
        )
    options = wanted.options.model_dump(exclude_none=True)
    limits.check_text(f"{options.get('blocks')},{options.get('opening')}")
    if wanted.record is not None:
        if options or wanted.hidden or wanted.preset is not None:
            expected = "A record contains its own options, so send no others with it."
            raise ProblemError(422, "bad_request", expected)
        limits.check_text(wanted.record.rpartition(":")[0])
        return await read_record(request, wanted.record)
    first: First = "random" if wanted.first == "toss" else wanted.first
    book = _read_rulebook(wanted)
    return Table.start(
        catalogue.choose(book, options, preset=wanted.preset, hidden=wanted.hidden, first=first)
    )


def _read_rulebook(wanted: schemas.NewGame) -> catalogue.Rulebook:
    if wanted.game is not None:
        return catalogue.load_named(wanted.game)
    if wanted.rules is not None:
        limits.check_text(f"{wanted.rules.blocks},{wanted.rules.opening}")
        return catalogue.choose(wanted.rules.model_dump(exclude_none=True)).book
    own = limits.read_rule_file((wanted.rulefile or "").encode(), OWN_NAME, "rulefile")
    return replace(own, source=UNNAMED)


def _respond_with_seat(
    stored: StoredRoom, token: str, status: int = 200, **more: object
) -> Response:
    """Answer with a seat's token, and the game as it stands."""
    seats = [seat + 1 for seat in sorted(stored.find_seats(token))]
    about = json.dumps({"token": token, "seats": seats, **more}).encode()
    content = b'%s, "state": %s}' % (
        about[:-1],
        encode_state(stored, Reader.of_seats(stored.find_seats(token))),
    )
    return Response(content, status, {"Cache-Control": "no-store"}, "application/json")
