"""What players do in a game; each answer is the game as it stands then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it at run time

from number_tower.room import Accept, Decline, MakeOffer, Move, Rematch, Resign, RoomError, Undo
from number_tower.table import StaleError, TableError
from number_tower.web.api import schemas
from number_tower.web.api.deps import Address, LobbyDep, RequiredCredentials, describe_refusals, respond_with_state
from number_tower.web.questions import ask_for_hint

if TYPE_CHECKING:
    from number_tower.room import Action
    from number_tower.store.rooms import Credentials
    from number_tower.web.lobby import Lobby

router = APIRouter(tags=["playing"])

_REFUSALS = describe_refusals(401, 403, 404, 409, 503, body=True)

OptionalGame = schemas.GameReference | None


@router.post("/games/{address}/moves", response_model=schemas.StateResponse, responses=_REFUSALS)
async def place_block(
    address: Address, move: schemas.MoveRequest, token: RequiredCredentials, lobby: LobbyDep
) -> Response:
    """Place a block for the player to move.

    A move names the version of the game that it answers. Sent twice it counts once; one that answers a game as it was,
    and not as it is, is refused with the game as it is. The computer's answer comes as an event.
    """
    return await _perform(lobby, address, token, Move(move.version, move.block, move.game))


@router.post("/games/{address}/undo", response_model=schemas.StateResponse, responses=_REFUSALS)
async def take_back(
    address: Address, undo: schemas.UndoRequest, token: RequiredCredentials, lobby: LobbyDep
) -> Response:
    """Take the last move back, at one table or against the computer; over a link, offer a takeback instead."""
    return await _perform(lobby, address, token, Undo(undo.version, undo.game))


@router.post("/games/{address}/resign", response_model=schemas.StateResponse, responses=_REFUSALS)
async def resign(address: Address, token: RequiredCredentials, lobby: LobbyDep, of: OptionalGame = None) -> Response:
    """Give the game up."""
    return await _perform(lobby, address, token, Resign(_get_game_number(of)))


@router.post("/games/{address}/offers", response_model=schemas.StateResponse, responses=_REFUSALS)
async def offer(
    address: Address, offered: schemas.OfferRequest, token: RequiredCredentials, lobby: LobbyDep
) -> Response:
    """Offer the other player a takeback or a rematch; a takeback lapses with the next move."""
    return await _perform(lobby, address, token, MakeOffer(offered.kind, offered.game))


@router.post("/games/{address}/offers/accept", response_model=schemas.StateResponse, responses=_REFUSALS)
async def accept_offer(
    address: Address, token: RequiredCredentials, lobby: LobbyDep, of: OptionalGame = None
) -> Response:
    """Accept what the other player offers."""
    return await _perform(lobby, address, token, Accept(_get_game_number(of)))


@router.post("/games/{address}/offers/decline", response_model=schemas.StateResponse, responses=_REFUSALS)
async def decline_offer(
    address: Address, token: RequiredCredentials, lobby: LobbyDep, of: OptionalGame = None
) -> Response:
    """Decline what the other player offers, or withdraw what you offered."""
    return await _perform(lobby, address, token, Decline(_get_game_number(of)))


@router.post("/games/{address}/rematch", response_model=schemas.StateResponse, responses=_REFUSALS)
async def next_game(address: Address, token: RequiredCredentials, lobby: LobbyDep, of: OptionalGame = None) -> Response:
    """Begin the next game, where nobody else has to agree: at one table, against the computer, or in a match."""
    return await _perform(lobby, address, token, Rematch(_get_game_number(of)))


@router.post("/games/{address}/hint", responses=describe_refusals(401, 403, 404, 409, 503, body=True))
async def give_hint(
    address: Address,
    token: RequiredCredentials,
    lobby: LobbyDep,
    request: Request,
    asked: schemas.HintRequest | None = None,
) -> schemas.HintResponse:
    """Get help with the next move, in three steps: what to look for, the move, and why."""
    known = await lobby.find_room_for(address, token)
    held = known.find_seats(token)
    if not held:
        raise RoomError("not_yours", "you hold no seat here; you can watch")
    if not known.room.may_hint(held):
        raise RoomError("not_now", "there are no hints in this game, or it is not your turn")
    step = 1 if asked is None else asked.step
    hinted = await ask_for_hint(request, known, held, step)
    return schemas.HintResponse(step=step, texts=list(hinted.texts), more=hinted.more, block=hinted.block)


def _get_game_number(of: schemas.GameReference | None) -> int | None:
    return None if of is None else of.game


async def _perform(lobby: Lobby, address: str, token: Credentials, action: Action) -> Response:
    try:
        return respond_with_state(await lobby.act(address, token, action))
    except StaleError:
        raise
    except TableError as wrong:
        raise RoomError("not_now", str(wrong)) from None
