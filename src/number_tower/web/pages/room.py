"""The pages of a room: to see it, to join it, to act in it, to watch it, and to move a seat to another device."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from number_tower import record
from number_tower.blocks import classify_misread, parse_number
from number_tower.coach.analysis import AnalysedMove
from number_tower.position import MoveError
from number_tower.room import (
    Accept,
    Action,
    Claim,
    Decline,
    MakeOffer,
    Move,
    Rematch,
    Resign,
    Room,
    RoomError,
    Undo,
)
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.table import StaleError, TableError
from number_tower.text import format_text, make_sentence
from number_tower.voice import get_voice, join_messages
from number_tower.web.choices import read_choices, remember_choices
from number_tower.web.drawing import explain_block
from number_tower.web.live import (
    attend_stream,
    encode_page_events,
    find_newest_revision,
    make_stream,
)
from number_tower.web.lobby import Lobby
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import (
    await_answer,
    get_credentials,
    is_fragment,
    read_form,
    render_page,
)
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.questions import ask_analysis, ask_for_hint
from number_tower.web.rates import THINKING, price
from number_tower.web.view import RoomView
from number_tower.web.workers import BusyError, GaveUpError

VALUES_TIMEOUT = 4.0
"""Seconds that a page waits for the values of its moves."""

LONGEST_ANSWER = 40
"""Characters of an answer that is no number, where the page repeats it."""

_CHANGED = "The game has changed. This is how it is now."

_SIMPLE_ACTIONS = {kind.__name__.lower(): kind for kind in (Resign, Accept, Decline, Rematch)}

router = APIRouter(include_in_schema=False)


class InvalidAnswerError(ValueError):
    """An answer that is no move, and what would be one."""


# Seeing a room --------------------------------------------------------------------------------------------------------


@router.get("/g/{address}")
@router.get("/g/{address}/table")
async def show_room(request: Request, address: str) -> Response:
    """Show a room to its players; to others, the free seat, or the way to watch."""
    stored, held = await _find_room_and_seats(request, address)
    fragment = is_fragment(request)
    if stored.address != address or not (held or stored.room.waiting or fragment):
        return RedirectResponse(f"/w/{stored.watch}", 303)
    if held and not fragment:
        get_browser_session(request).renew()
    return await _render_room(request, stored, held)


@router.get("/w/{watch}")
@router.get("/w/{watch}/table")
async def watch_room(request: Request, watch: str) -> Response:
    """Show a room to spectators."""
    stored = await _find_room(request, watch)
    if stored.watch != watch:
        raise RoomNotFoundError(watch)
    return await _render_room(request, stored, frozenset())


@router.get("/g/{address}/events")
@router.get("/w/{address}/events")
async def stream_events(request: Request, address: str) -> Response:
    """Send the page an event whenever something happens in the room."""
    stored, lobby = await _find_room(request, address), _get_lobby(request)
    stream = make_stream(encode_page_events(lobby, address, _parse_seen(request)))
    if stored.address != address:
        return stream
    return attend_stream(stream, lobby.attend(stored, get_credentials(request)))


@router.get("/g/{address}/games/{number}")
@router.get("/w/{address}/games/{number}")
async def show_earlier_game(request: Request, address: str, number: str) -> Response:
    """Redirect to the analysis of a game that was played in the room before."""
    stored = await _find_room(request, address)
    game = await _get_lobby(request).load_earlier_game(address, parse_number(number) or 0)
    return RedirectResponse(build_analysis_url(record.to_line(game.table), room=stored.watch), 303)


@router.get("/w/{watch}/play")
async def return_to_room(request: Request, watch: str) -> Response:
    """Redirect from another page to a room: to its seats, if this browser holds one."""
    address = (await _find_room(request, watch)).address
    stored, held = await _find_room_and_seats(request, address)
    return RedirectResponse(f"/g/{stored.address}" if held else f"/w/{stored.watch}", 303)


@router.get("/g/{address}/record.{form}")
@router.get("/w/{address}/record.{form}")
async def export_record(request: Request, address: str, form: str) -> Response:
    """Export the game, as one line or as JSON."""
    stored = await _find_room(request, address)
    if form not in {"txt", "json"}:
        raise RoomNotFoundError(address)
    table = stored.room.table
    name = {
        "Content-Disposition": f'attachment; filename="tower-{stored.watch[:8]}-{stored.room.number}.{form}"'
    }
    if form == "json":
        return Response(record.to_json(table) + "\n", media_type="application/json", headers=name)
    return Response(
        record.to_line(table) + "\n", media_type="text/plain; charset=utf-8", headers=name
    )


# Acting in a room -----------------------------------------------------------------------------------------------------


@router.post("/g/{address}/sit")
async def join_room(request: Request, address: str) -> Response:
    """Take the free seat."""
    form = await read_form(request)
    name = str(form.get("name", "")).strip()
    try:
        stored, _ = await _get_lobby(request).join(
            address, name or None, get_browser_session(request).current.secret
        )
    except (RoomError, TableError) as error:
        return await _render_again(request, address, make_sentence(f"{error}"), 409, name=name)
    response = await _welcome_player(request, stored)
    remember_choices(request, response, {"name_1": name, "remember": str(form.get("remember", ""))})
    return response


@router.post("/g/{address}/hint", dependencies=[price(THINKING)])
async def give_hint(request: Request, address: str) -> Response:
    """Help the player to move, a step at a time."""
    stored, held = await _find_room_and_seats(request, address)
    if not stored.room.may_hint(held):
        return await _render_room(request, stored, held, "No hint is available now.", 409)
    step = min(parse_number(str((await read_form(request)).get("step", "1"))) or 1, 3)
    credentials = get_credentials(request)
    try:
        hint = await ask_for_hint(request, stored, step)
        stored = await _get_lobby(request).take_hint(stored, credentials, step)
    except BusyError as busy:
        return await _render_room(request, stored, held, str(busy), 503)
    except GaveUpError:
        return await _render_room(
            request, stored, held, "This position is too hard to work out here."
        )
    except (StaleError, RoomError):
        return await _render_again(request, address, _CHANGED, 409)
    return await _render_room(request, stored, held, hint=hint, step=step)


@router.post("/g/{address}/handover")
async def hand_over_seat(request: Request, address: str) -> Response:
    """Show the private link that moves a seat to another device."""
    stored, held = await _find_room_and_seats(request, address)
    try:
        code = await _get_lobby(request).make_handover_code(address, get_credentials(request))
    except RoomError as error:
        return await _render_room(request, stored, held, make_sentence(f"{error}"), 403)
    return await _render_room(request, stored, held, code=code)


@router.get("/g/{address}/take/{code}")
async def confirm_take_over(request: Request, address: str, code: str) -> Response:
    """Ask before a seat moves to this device: opening the link alone moves nothing."""
    stored = await _find_room(request, address)
    return render_page(
        request, "take.html", view=RoomView(stored, frozenset()), address=address, code=code
    )


@router.post("/g/{address}/take/{code}")
async def take_over_seat(request: Request, address: str, code: str) -> Response:
    """Move a seat to this device."""
    try:
        stored, _ = await _get_lobby(request).take_over(
            address, code, get_browser_session(request).current.secret
        )
    except RoomError as error:
        text = make_sentence(f"{error}")
        return render_page(
            request, "error.html", status=410, heading="This link has been used", text=text
        )
    return await _welcome_player(request, stored)


@router.get("/g/{address}/{action}")
async def redirect_to_room(address: str, action: str) -> Response:  # noqa: ARG001 - any form's address
    """Redirect to the room if the address of one of its forms is opened again."""
    return RedirectResponse(f"/g/{quote(address, safe='')}", 303)


@router.post("/g/{address}/{action}")
async def perform_action(request: Request, address: str, action: str) -> Response:
    """Perform an action; if it is refused, say why above the room as it is now."""
    stored, _ = await _find_room_and_seats(request, address)
    credentials, lobby = get_credentials(request), _get_lobby(request)
    try:
        parsed = parse_action(action, await read_form(request), stored)
        stored = await lobby.act(address, credentials, parsed)
    except InvalidAnswerError as error:
        notice, status = f"{error}", 422
    except MoveError as error:
        notice, status = explain_block(stored.room.table, error.block, error.reason), 422
    except StaleError:
        notice, status = _CHANGED, 409
    except RoomError as error:
        notice, status = make_sentence(f"{error}"), 409
    else:
        if is_fragment(request):
            return await _render_room(request, stored, stored.find_seats(credentials))
        # A page without a script does not hear of the computer's answer, so wait for it.
        await lobby.wait_for_computer(stored)
        return RedirectResponse(f"/g/{address}", 303)
    return await _render_again(request, address, notice, status)


def parse_action(name: str, form: FormData, stored: StoredRoom) -> Action:
    """Return the action that a form asks for, by the last part of its address."""
    game = parse_number(str(form.get("game", ""))) or stored.room.number
    version = parse_number(str(form.get("version", "")))
    if version is None:
        version = stored.room.table.version
    match name:
        case "move":
            return Move(version, _parse_block(form, stored), game)
        case "undo":
            return Undo(version, game)
        case "claim":
            return Claim(game=game)
        case "offer":
            return MakeOffer("rematch" if form.get("kind") == "rematch" else "takeback", game)
        case _ if name in _SIMPLE_ACTIONS:
            return _SIMPLE_ACTIONS[name](game)
        case _:
            raise InvalidAnswerError(
                "That is not possible here. Please use the buttons on this page."
            )


def _parse_block(form: FormData, stored: StoredRoom) -> int:
    """Read the number that was typed or pressed, or say in the game's words why it is none."""
    given = str(form.get("block", "")).strip()
    number = parse_number(given)
    if number is not None:
        return number
    answer = format_text(given, LONGEST_ANSWER)
    message = get_voice(stored.game.table.book).refuse(
        stored.room.table, classify_misread(given), answer
    )
    raise InvalidAnswerError(join_messages(message).replace(", or help", ""))


# Finding and rendering a room -----------------------------------------------------------------------------------------


def _get_lobby(request: Request) -> Lobby:
    lobby: Lobby = request.app.state.lobby
    return lobby


def _parse_seen(request: Request) -> int:
    """Return the newest revision that the page has seen, as its script says."""
    return find_newest_revision(
        request.query_params.get("seen"), request.headers.get("last-event-id")
    )


async def _find_room(request: Request, address: str) -> StoredRoom:
    """Return a room by its play or watch address."""
    return await _get_lobby(request).find_room(address, _parse_seen(request))


async def _find_room_and_seats(request: Request, address: str) -> tuple[StoredRoom, frozenset[int]]:
    """Return a room, and the seats that this browser holds there; a watch address is not enough to act."""
    credentials = get_credentials(request)
    stored = await _find_room(request, address)
    if request.method == "POST" and stored.address != address:
        raise RoomNotFoundError(address)
    if stored.address == address:
        hidden = (
            request.headers.get("x-hidden") == "1"
        )  # says the script of a page in a tab that nobody sees
        await _get_lobby(request).note_player(stored, credentials, hidden=hidden)
    return stored, stored.find_seats(credentials)


async def _render_again(
    request: Request, address: str, notice: str, status: int, **context: Any
) -> Response:
    """Show a room as it is now, with a notice about what was tried."""
    stored, held = await _find_room_and_seats(request, address)
    return await _render_room(request, stored, held, notice, status, **context)


async def _render_room(
    request: Request,
    stored: StoredRoom,
    held: frozenset[int],
    notice: str = "",
    status: int = 200,
    **context: object,
) -> Response:
    """Show a room; who holds no seat may join it, unless at its watch address."""
    settings, url = request.app.state.settings, request.url
    joins = not held and stored.room.waiting and url.path.startswith("/g/")
    view = RoomView(stored, held, _get_lobby(request).describe_presence(stored))
    # The tour belongs to the first game of a browser, whose watch address the page's script remembers.
    is_first = request.cookies.get("tour", stored.watch) == stored.watch
    shows_tour = bool(held) and is_first and not (stored.room.waiting or stored.room.over)
    context |= {
        "view": view,
        "analysis_url": build_analysis_url(view.line, room=stored.watch),
        "notice": notice,
        "remembered_name": read_choices(request).get("name_1", "") if joins else "",
        "origin": settings.get_origin(url.scheme, url.netloc),
        "only_here": settings.is_local_only(url.netloc),
        "shows_tour": shows_tour,
        "values": await _find_values(request, stored.room, held),
    }
    return render_page(request, "join.html" if joins else "room.html", status=status, **context)


async def _find_values(
    request: Request, room: Room, held: frozenset[int]
) -> dict[int, AnalysedMove] | None:
    """Return the values of the moves, if this visitor wants and may see them; none of them if they are not known."""
    if request.cookies.get("values") != "on" or not room.may_see_values(held):
        return None
    if not room.may_move(held):
        return {}
    try:
        async with asyncio.timeout(VALUES_TIMEOUT):
            analysis, _, _ = await await_answer(ask_analysis(request, room.table))
    except TimeoutError:
        return {}
    return {move.block: move for move in analysis.moves if move.value} if analysis else {}


async def _welcome_player(request: Request, stored: StoredRoom) -> Response:
    """Show the room to a browser that has just got a seat there, and renew its cookie."""
    session = get_browser_session(request)
    session.renew()
    if is_fragment(request):
        return await _render_room(request, stored, stored.find_seats(get_credentials(request)))
    return RedirectResponse(f"/g/{stored.address}", 303)
