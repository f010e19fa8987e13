"""Games begin and people come to them: create, join, and take a seat to another device."""

from __future__ import annotations

import json
from dataclasses import replace
from secrets import randbelow
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response

from number_tower import catalogue
from number_tower.game import Game
from number_tower.rules import UNNAMED, Rules
from number_tower.table import Table
from number_tower.web import limits
from number_tower.web.api import schemas
from number_tower.web.api.deps import Address, LobbyDep, RequiredCredentials, describe_refusals
from number_tower.web.errors import ProblemError
from number_tower.web.lobby import NewRoom
from number_tower.web.questions import read_record

if TYPE_CHECKING:
    from collections.abc import Collection

    from number_tower.catalogue import Rulebook
    from number_tower.web.room_cache import CachedRoom

router = APIRouter(tags=["games"])

OWN_NAME = "own rules"
"""What a game is called whose rule file has no name of its own."""


@router.post(
    "/games", status_code=201, response_model=schemas.CreatedGame, responses=describe_refusals(503, 507, body=True)
)
async def create_game(request: Request, wanted: schemas.NewGame, lobby: LobbyDep) -> Response:
    """Begin a game, at one table, against the computer, or with whoever opens the link.

    The answer holds the token of your seat, of both seats at one table. Pass the `play` link on to whoever shall take
    the other seat, and the `watch` link to spectators.
    """
    wished = await read_wish(request, wanted)
    known, token = await lobby.open_room(wished)
    here = f"/api/games/{known.address}"
    links = {"play": f"/g/{known.address}", "watch": f"/w/{known.watch}", "api": here, "events": f"{here}/events"}
    addresses: dict[str, object] = {"address": known.address, "watch": known.watch, "links": links}
    return _respond_with_seat(known, token, known.find_seats(token), 201, addresses, {"Location": here})


@router.post(
    "/games/{address}/join", response_model=schemas.SeatToken, responses=describe_refusals(404, 409, 503, body=True)
)
async def join_game(address: Address, lobby: LobbyDep, who: schemas.JoinRequest | None = None) -> Response:
    """Take the free seat of a game; the answer holds its token."""
    known, token = await lobby.join(address, None if who is None else who.name)
    return _respond_with_seat(known, token, known.find_seats(token))


@router.post("/games/{address}/handover", responses=describe_refusals(401, 403, 404, 503))
async def hand_over(address: Address, token: RequiredCredentials, lobby: LobbyDep) -> schemas.HandoverCode:
    """Get a code by which another device can take your seat, once and within ten minutes."""
    code = await lobby.make_handover_code(address, token)
    known = await lobby.find_room(address)
    return schemas.HandoverCode(code=code, page=f"/g/{known.address}/take/{code}")


@router.post(
    "/games/{address}/take", response_model=schemas.SeatToken, responses=describe_refusals(404, 409, 503, body=True)
)
async def take_seat(address: Address, taking: schemas.TakeSeatRequest, lobby: LobbyDep) -> Response:
    """Take over a seat by its code; the answer holds its new token, and the old one is void."""
    known, token = await lobby.take_over(address, taking.code)
    return _respond_with_seat(known, token, known.find_seats(token))


async def read_wish(request: Request, wanted: schemas.NewGame) -> NewRoom:
    """Say what somebody wants to play, or why it cannot be played."""
    book, table = await _read_table(request, wanted)
    limits.check_rules(table.game.rules)
    if table.outcome is not None:
        raise ProblemError(422, "over", "That game is over; send one that can be played on.")
    level = wanted.opponent.level
    if wanted.opponent.kind == "computer":
        level = level or schemas.DEFAULT_LEVEL
    elif level is not None:
        raise ProblemError(422, "bad_request", 'Only a computer has a level; expected opponent.kind "computer".')
    first, second = (*wanted.names, None, None)[:2]
    return NewRoom(
        book, table, wanted.opponent.kind, level, (first, second), best_of=wanted.best_of, hints=wanted.hints
    )


async def _read_table(request: Request, wanted: schemas.NewGame) -> tuple[Rulebook, Table]:
    given = [key for key in ("game", "rules", "rulefile", "record") if getattr(wanted, key) is not None]
    if len(given) != 1:
        raise ProblemError(422, "bad_request", "Say which game: expected one of game, rules, rulefile and record.")
    options = wanted.options.model_dump(exclude_none=True)
    limits.check_text(f"{options.get('blocks')},{options.get('opening')}")
    if wanted.record is not None:
        if options or wanted.hidden:
            raise ProblemError(
                422, "bad_request", "A record says by which options it is played; expected none beside it."
            )
        limits.check_text(wanted.record.rpartition(":")[0])
        table, book = await read_record(request, wanted.record)
        return book, table
    book = _read_rulebook(wanted)
    if wanted.hidden:
        book.check_options(["hidden"])
    rules = book.apply_options(options)
    first = randbelow(2) if wanted.first == "toss" else wanted.first - 1
    return book, Table(Game(rules, first), hidden=wanted.hidden, book=book)


def _read_rulebook(wanted: schemas.NewGame) -> Rulebook:
    if wanted.game is not None:
        return catalogue.load_named(wanted.game)
    if wanted.rules is not None:
        limits.check_text(f"{wanted.rules.blocks},{wanted.rules.opening}")
        rules = Rules.read(wanted.rules.model_dump(exclude_none=True))
        return catalogue.find_rulebook(UNNAMED, rules)
    own = limits.read_rule_file((wanted.rulefile or "").encode(), OWN_NAME, "rulefile")
    return replace(own, source=UNNAMED)


def _respond_with_seat(
    known: CachedRoom,
    token: str,
    seats: Collection[int],
    status: int = 200,
    more: dict[str, object] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with a seat's token, and the game as it stands."""
    about = json.dumps({"token": token, "seats": [seat + 1 for seat in sorted(seats)], **(more or {})}).encode()
    content = b'%s, "state": %s}' % (about[:-1], known.state)
    return Response(content, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")
