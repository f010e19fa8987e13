"""Actions of the players; each answer is the game as it stands then."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from number_tower.room import (
    Accept,
    Action,
    Claim,
    Decline,
    MakeOffer,
    Move,
    Rematch,
    Resign,
    RoomError,
    Undo,
)
from number_tower.store.rooms import Credentials
from number_tower.web.api import schemas
from number_tower.web.api.deps import (
    Address,
    BearerDep,
    JsonRoute,
    describe_refusals,
    require_credentials,
    respond_with_state,
)
from number_tower.web.lobby import Lobby
from number_tower.web.questions import ask_for_hint
from number_tower.web.rates import THINKING, price

router = APIRouter(route_class=JsonRoute, tags=["playing"])

_REFUSALS = describe_refusals(401, 403, 404, 409, 503, body=True)
_post_action = partial(router.post, response_model=schemas.StateResponse, responses=_REFUSALS)

OptionalGame = schemas.GameReference | None


class ActingPlayer(NamedTuple):
    """The sender of a request, and the room where they act."""

    lobby: Lobby
    address: str
    credentials: Credentials

    async def act(self, action: Action) -> Response:
        """Perform an action, and answer with the game as it stands then."""
        return respond_with_state(
            await self.lobby.act(self.address, self.credentials, action), self.credentials
        )


async def _get_player(request: Request, address: Address, given: BearerDep) -> ActingPlayer:
    """Return the sender; one dependency and not three, since each costs a move some percent of its time."""
    return ActingPlayer(request.app.state.lobby, address, await require_credentials(request, given))


PlayerDep = Annotated[ActingPlayer, Depends(_get_player)]


@_post_action("/games/{address}/moves")
async def place_block(player: PlayerDep, move: schemas.MoveRequest) -> Response:
    """Place a block for the player to move.

    A move names the version of the game that it answers. If it is sent twice, it counts once. A move for an earlier
    version is refused, with the current state. The computer's answer comes as an event.
    """
    return await player.act(Move(move.version, move.block, move.game))


@_post_action("/games/{address}/undo")
async def take_back(player: PlayerDep, undo: schemas.UndoRequest) -> Response:
    """Undo the last move, at one table or against the computer; over a link, offer a takeback instead."""
    return await player.act(Undo(undo.version, undo.game))


@_post_action("/games/{address}/resign")
async def resign(player: PlayerDep, of: OptionalGame = None) -> Response:
    """Resign the game."""
    return await player.act(Resign(_get_game_number(of)))


@_post_action("/games/{address}/offers")
async def offer(player: PlayerDep, offered: schemas.OfferRequest) -> Response:
    """Offer the other player a takeback or a rematch; it ends with the next move."""
    return await player.act(MakeOffer(offered.kind, offered.game))


@_post_action("/games/{address}/offers/accept")
async def accept_offer(player: PlayerDep, of: OptionalGame = None) -> Response:
    """Accept what the other player offers."""
    return await player.act(Accept(_get_game_number(of)))


@_post_action("/games/{address}/offers/decline")
async def decline_offer(player: PlayerDep, of: OptionalGame = None) -> Response:
    """Decline what the other player offers, or withdraw what you offered."""
    return await player.act(Decline(_get_game_number(of)))


@_post_action("/games/{address}/rematch")
async def next_game(player: PlayerDep, of: OptionalGame = None) -> Response:
    """Start the next game: at one table, against the computer, or in a match. Otherwise offer a rematch."""
    return await player.act(Rematch(_get_game_number(of)))


@_post_action("/games/{address}/claim")
async def claim_game(player: PlayerDep, of: OptionalGame = None) -> Response:
    """Claim the game, if the other player is to move and has been gone for five minutes; it ends as a forfeit."""
    return await player.act(Claim(game=_get_game_number(of)))


@router.post("/games/{address}/hint", dependencies=[price(THINKING)], responses=_REFUSALS)
async def give_hint(
    player: PlayerDep, request: Request, asked: schemas.HintRequest | None = None
) -> schemas.HintResponse:
    """Get help with the next move, in three steps: what to look for, the move, and why.

    Against another person, the state lists each hint in `hints_taken`.
    """
    stored = await player.lobby.find_room(player.address)
    held = stored.find_seats(player.credentials)
    if not held:
        raise RoomError("not_yours", "you are watching this game, so there are no hints for you")
    if not stored.room.may_hint(held):
        raise RoomError(
            "not_now", "there is no hint now: this game has none, or it is not your turn"
        )
    step = 1 if asked is None else asked.step
    hint = await ask_for_hint(request, stored, step)
    await player.lobby.take_hint(stored, player.credentials, step)
    return schemas.HintResponse(step=step, texts=list(hint.texts), more=hint.more, block=hint.block)


def _get_game_number(of: OptionalGame) -> int | None:
    return None if of is None else of.game
