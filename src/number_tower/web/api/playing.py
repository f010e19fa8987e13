"""What players do in a game; each answer is the game as it stands then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads it at run time

from number_tower.room import Accept, Decline, Move, Offering, Rematch, Resign, RoomError, Undo
from number_tower.table import Stale, TableError
from number_tower.web import models, replies
from number_tower.web.api.access import Address, TheLobby, Token, refusals, stated
from number_tower.web.asking import ask_for_hint

if TYPE_CHECKING:
    from number_tower.room import Action
    from number_tower.store.credentials import Credentials
    from number_tower.web.lobby import Lobby

router = APIRouter(tags=["playing"])

_ANSWERS = refusals(401, 403, 404, 409, 503, body=True)

Of = models.WhichGame | None


@router.post("/games/{address}/moves", response_model=replies.State, responses=_ANSWERS)
async def place_block(address: Address, move: models.Placing, token: Token, lobby: TheLobby) -> Response:
    """Place a block for the player to move.

    A move names the version of the game that it answers. Sent twice it counts once; one that answers a game as it was,
    and not as it is, is refused with the game as it is. The computer's answer comes as an event.
    """
    return await _done(lobby, address, token, Move(move.version, move.block, move.game))


@router.post("/games/{address}/undo", response_model=replies.State, responses=_ANSWERS)
async def take_back(address: Address, undo: models.TakingBack, token: Token, lobby: TheLobby) -> Response:
    """Take the last move back, at one table or against the computer; over a link, offer a takeback instead."""
    return await _done(lobby, address, token, Undo(undo.version, undo.game))


@router.post("/games/{address}/resign", response_model=replies.State, responses=_ANSWERS)
async def resign(address: Address, token: Token, lobby: TheLobby, of: Of = None) -> Response:
    """Give the game up."""
    return await _done(lobby, address, token, Resign(_number(of)))


@router.post("/games/{address}/offers", response_model=replies.State, responses=_ANSWERS)
async def offer(address: Address, offered: models.Offered, token: Token, lobby: TheLobby) -> Response:
    """Offer the other player a takeback or a rematch; a takeback lapses with the next move."""
    return await _done(lobby, address, token, Offering(offered.kind, offered.game))


@router.post("/games/{address}/offers/accept", response_model=replies.State, responses=_ANSWERS)
async def accept_offer(address: Address, token: Token, lobby: TheLobby, of: Of = None) -> Response:
    """Accept what the other player offers."""
    return await _done(lobby, address, token, Accept(_number(of)))


@router.post("/games/{address}/offers/decline", response_model=replies.State, responses=_ANSWERS)
async def decline_offer(address: Address, token: Token, lobby: TheLobby, of: Of = None) -> Response:
    """Decline what the other player offers, or withdraw what you offered."""
    return await _done(lobby, address, token, Decline(_number(of)))


@router.post("/games/{address}/rematch", response_model=replies.State, responses=_ANSWERS)
async def next_game(address: Address, token: Token, lobby: TheLobby, of: Of = None) -> Response:
    """Begin the next game, where nobody else has to agree: at one table, against the computer, or in a match."""
    return await _done(lobby, address, token, Rematch(_number(of)))


@router.post("/games/{address}/hint", responses=refusals(401, 403, 404, 409, 503, body=True))
async def give_hint(
    address: Address, token: Token, lobby: TheLobby, request: Request, asked: models.Asking | None = None
) -> replies.HintGiven:
    """Get help with the next move, in three steps: what to look for, the move, and why."""
    known = await lobby.look_for(address, token)
    held = known.held(token)
    if not held:
        raise RoomError("not_yours", "you hold no seat here; you can watch")
    if not known.room.may_hint(held):
        raise RoomError("not_now", "there are no hints in this game, or it is not your turn")
    step = 1 if asked is None else asked.step
    hinted = await ask_for_hint(request, known, held, step)
    return replies.HintGiven(step=step, texts=list(hinted.texts), more=hinted.more, block=hinted.block)


def _number(of: models.WhichGame | None) -> int | None:
    return None if of is None else of.game


async def _done(lobby: Lobby, address: str, token: Credentials, action: Action) -> Response:
    try:
        return stated(await lobby.act(address, token, action))
    except Stale:
        raise
    except TableError as wrong:
        raise RoomError("not_now", str(wrong)) from None
