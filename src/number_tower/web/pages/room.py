"""The pages of a room: to see, join and watch it, to act, and to move a seat elsewhere."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.coach.analysis import AnalysedMove
from number_tower.engine import record
from number_tower.engine.blocks import parse_number
from number_tower.engine.position import MoveError
from number_tower.engine.table import StaleError, TableError
from number_tower.rooms.room import Room, RoomError
from number_tower.store import rooms
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.web.errors import describe_error
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.live.events import find_newest_revision, follow_room
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.room_actions import (
    InvalidAnswerError,
    get_credentials,
    parse_form,
    perform,
)
from number_tower.web.pages import (
    await_answer,
    describe_origin,
    is_fragment,
    read_form,
    render_page,
)
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.choices import read_choices, remember_choices
from number_tower.web.pages.room_view import view_room
from number_tower.web.pages.share import build_share_url
from number_tower.web.parts import get_parts
from number_tower.web.thinking.questions import ask_analysis
from number_tower.web.thinking.workers import BusyError, GaveUpError

VALUES_TIMEOUT = 4.0
"""Seconds that a page waits for the values of its moves."""

_REFUSALS = (RoomError, MoveError, StaleError, InvalidAnswerError, BusyError, GaveUpError)
"""What is said above the room, which stays on its page."""

router = APIRouter(include_in_schema=False)


# Seeing a room ----------------------------------------------------------------------------------


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
    return await follow_room(request, address, get_credentials(request), _parse_seen(request))


@router.get("/g/{address}/games/{number}")
@router.get("/w/{address}/games/{number}")
async def show_earlier_game(request: Request, address: str, number: str) -> Response:
    """Redirect to the analysis of a game that was played in the room before."""
    stored = await _find_room(request, address)
    load = partial(rooms.load_earlier_game, stored=stored, number=parse_number(number) or 0)
    game = await _get_lobby(request).database.read(load)
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
    text = record.to_json(table) if form == "json" else record.to_line(table)
    media_type = "application/json" if form == "json" else "text/plain; charset=utf-8"
    file = f"tower-{stored.watch[:8]}-{stored.room.number}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(f"{text}\n", media_type=media_type, headers=headers)


# Acting in a room -------------------------------------------------------------------------------


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
        return await _render_refused(request, address, error, name=name)
    response = await _welcome_player(request, stored)
    remember_choices(request, response, {"name_1": name, "remember": str(form.get("remember", ""))})
    return response


@router.post("/g/{address}/handover")
async def hand_over_seat(request: Request, address: str) -> Response:
    """Show the private link that moves a seat to another device."""
    stored, held = await _find_room_and_seats(request, address)
    try:
        code = await _get_lobby(request).make_handover_code(address, get_credentials(request))
    except RoomError as error:
        return await _render_refused(request, address, error)
    return await _render_room(request, stored, held, code=code)


@router.get("/g/{address}/take/{code}")
async def confirm_take_over(request: Request, address: str, code: str) -> Response:
    """Ask before a seat moves to this device: opening the link alone moves nothing."""
    stored = await _find_room(request, address)
    return render_page(request, "take.html", view=view_room(stored), address=address, code=code)


@router.post("/g/{address}/take/{code}")
async def take_over_seat(request: Request, address: str, code: str) -> Response:
    """Move a seat to this device."""
    browser = get_browser_session(request).current.secret
    stored, _ = await _get_lobby(request).take_over(address, code, browser)
    return await _welcome_player(request, stored)


@router.get("/g/{address}/{action}")
async def redirect_to_room(address: str, action: str) -> Response:  # noqa: ARG001 - any action
    """Redirect to the room if the address of one of its forms is opened again."""
    return RedirectResponse(f"/g/{quote(address, safe='')}", 303)


@router.post("/g/{address}/{action}")
async def perform_action(request: Request, address: str, action: str) -> Response:
    """Perform an action; if it is refused, say why above the room as it is now."""
    credentials, form = get_credentials(request), await read_form(request)
    try:
        read_action = partial(parse_form, action, form)
        after, hint = await perform(request, address, credentials, action, read_action)
    except _REFUSALS as error:
        return await _render_refused(request, address, error)
    if hint is not None or is_fragment(request):
        return await _render_room(request, after, after.find_seats(credentials), hint=hint)
    # A page without a script does not hear of the computer's answer, so wait for it.
    await _get_lobby(request).wait_for_computer(after)
    return RedirectResponse(f"/g/{address}", 303)


# Finding and rendering a room -------------------------------------------------------------------


def _get_lobby(request: Request) -> Lobby:
    return get_parts(request).lobby


def _parse_seen(request: Request) -> int:
    """Return the newest revision that the page has seen, as its script says."""
    headers, query = request.headers, request.query_params
    return find_newest_revision(query.get("seen"), headers.get("last-event-id"))


async def _find_room(request: Request, address: str) -> StoredRoom:
    """Return a room by its play or watch address, as new as its page has seen it at least."""
    return await _get_lobby(request).find_room(address, _parse_seen(request))


async def _find_room_and_seats(request: Request, address: str) -> tuple[StoredRoom, frozenset[int]]:
    """Return a room and the seats of this browser; a watch address is not enough to act."""
    credentials = get_credentials(request)
    stored = await _find_room(request, address)
    if request.method == "POST" and stored.address != address:
        raise RoomNotFoundError(address)
    if stored.address == address:
        # The script of a page in a tab that nobody sees says so.
        hidden = request.headers.get("x-hidden") == "1"
        await _get_lobby(request).note_player(stored, credentials, hidden=hidden)
    return stored, stored.find_seats(credentials)


async def _render_refused(
    request: Request, address: str, error: Exception, **context: Any
) -> Response:
    """Show a room as it is now, and why something was refused."""
    stored, held = await _find_room_and_seats(request, address)
    problem = describe_error(error, stored)
    return await _render_room(request, stored, held, problem.detail, problem.status, **context)


async def _render_room(
    request: Request,
    stored: StoredRoom,
    held: frozenset[int],
    notice: str = "",
    status: int = 200,
    **context: object,
) -> Response:
    """Show a room; who holds no seat may join it, unless at its watch address."""
    joins = not held and stored.room.waiting and request.url.path.startswith("/g/")
    view = view_room(stored, held, _get_lobby(request).describe_presence(stored))
    # The tour belongs to a browser's first game, whose address the page's script remembers.
    is_first = request.cookies.get("tour", stored.watch) == stored.watch
    shows_tour = bool(held) and is_first and not (stored.room.waiting or stored.room.over)
    context |= {
        "view": view,
        "share_url": build_share_url(view.line),
        "analysis_url": build_analysis_url(view.line, room=stored.watch),
        "notice": notice,
        "remembered_name": read_choices(request).get("name_1", "") if joins else "",
        "shows_tour": shows_tour,
        "values": await _find_values(request, stored.room, held),
        **describe_origin(request),
    }
    return render_page(request, "join.html" if joins else "room.html", status=status, **context)


async def _find_values(
    request: Request, room: Room, held: frozenset[int]
) -> dict[int, AnalysedMove] | None:
    """Return the values of the moves, if this visitor wants and may see them."""
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
