"""The pages of a room: to see it, to act in it, to join it, to watch it, and to take a seat to another device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import record
from number_tower.blocks import classify_misread, parse_number
from number_tower.position import MoveError
from number_tower.room import Accept, Decline, MakeOffer, Move, Rematch, Resign, RoomError, Undo
from number_tower.store.rooms import RoomNotFoundError, parse_tag
from number_tower.table import StaleError, TableError
from number_tower.text import format_text, make_sentence
from number_tower.web.drawing import format_said
from number_tower.web.live import RECONNECT_HINT, pick_newest_moment, stream_room
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import is_fragment, new_game, read_form, render_page
from number_tower.web.questions import add_retry_header, ask_for_hint
from number_tower.web.view import RoomView
from number_tower.web.worker_process import GaveUpError
from number_tower.web.workers import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.datastructures import FormData

    from number_tower.room import Action
    from number_tower.store.rooms import Revision
    from number_tower.web.lobby import Lobby
    from number_tower.web.room_cache import CachedRoom

router = APIRouter(include_in_schema=False)


router.include_router(new_game.router)


class Notice(NamedTuple):
    """Something to be told about what was just tried."""

    text: str
    kind: Literal["refused", "stale", "good"] = "refused"


# To see -----------------------------------------------------------------------------------------------------------


@router.get("/g/{address}")
@router.get("/g/{address}/table")
async def show_room(request: Request, address: str) -> Response:
    """Show a room to whoever holds a seat there; to others, the free seat, or the way to watch."""
    known, held = await _find_room_as_player(request, address)
    if known is None:
        return _render_not_found(request)
    if known.address != address:
        return RedirectResponse(f"/w/{known.watch}", 303)
    if held and not is_fragment(request):
        get_browser_session(request).renew()
    if not held and not known.room.waiting and not is_fragment(request):
        return RedirectResponse(f"/w/{known.watch}", 303)
    return _render_room(request, known, held)


@router.get("/w/{watch}")
@router.get("/w/{watch}/table")
async def watch_room(request: Request, watch: str) -> Response:
    """Show a room to those who watch."""
    known = await _find_room(request, watch)
    if known is None or known.watch != watch:
        return _render_not_found(request)
    return render_page(request, "room.html", **_build_context(request, known, frozenset()))


@router.get("/g/{address}/events")
@router.get("/w/{address}/events")
async def stream_events(request: Request, address: str) -> Response:
    """Tell a page that something has happened, as long as it listens."""
    if await _find_room(request, address) is None:
        return _render_not_found(request)
    return stream_room(_get_lobby(request), address, first=RECONNECT_HINT, seen=_parse_seen(request))


@router.get("/g/{address}/games/{number}")
@router.get("/w/{address}/games/{number}")
async def show_earlier_game(request: Request, address: str, number: str) -> Response:
    """Lead to a game that was played in a room before, to look through it."""
    try:
        kept = await _get_lobby(request).load_earlier_game(address, parse_number(number) or 0)
    except RoomNotFoundError:
        return _render_not_found(request)
    return RedirectResponse(f"/analysis?{urlencode({'game': record.to_line(kept.table)})}", 303)


@router.get("/g/{address}/record.{form}")
@router.get("/w/{address}/record.{form}")
async def export_record(request: Request, address: str, form: str) -> Response:
    """Give the game away, as one line or as JSON."""
    known = await _find_room(request, address)
    if known is None or form not in {"txt", "json"}:
        return _render_not_found(request)
    table = known.room.table
    name = {"Content-Disposition": f'attachment; filename="tower-{known.watch[:8]}-{known.room.number}.{form}"'}
    if form == "json":
        return Response(record.to_json(table) + "\n", media_type="application/json", headers=name)
    return Response(record.to_line(table) + "\n", media_type="text/plain; charset=utf-8", headers=name)


# To act -----------------------------------------------------------------------------------------------------------


@router.post("/g/{address}/sit")
async def join_room(request: Request, address: str) -> Response:
    """Take the free seat."""
    name = str((await read_form(request)).get("name", "")).strip()
    try:
        known, _ = await _get_lobby(request).join(address, name or None, get_browser_session(request).current.secret)
    except RoomNotFoundError:
        return _render_not_found(request)
    except (RoomError, TableError) as wrong:
        return await _render_again(request, address, Notice(make_sentence(f"{wrong}")), 409, name=name)
    return _welcome_player(request, known)


@router.post("/g/{address}/hint")
async def give_hint(request: Request, address: str) -> Response:
    """Help whoever is to move, a step at a time."""
    known, held = await _find_room_as_player(request, address)
    if known is None:
        return _render_not_found(request)
    if not known.room.may_hint(held):
        return _render_room(request, known, held, Notice("There is no hint to be had now."), 409)
    step = parse_number(str((await read_form(request)).get("step", "1"))) or 1
    try:
        told = await ask_for_hint(request, known, held, min(step, 3))
    except BusyError as busy:
        return add_retry_header(_render_room(request, known, held, Notice(str(busy)), 503))
    except GaveUpError:
        return _render_room(request, known, held, Notice("This position is too hard to look through here."))
    return _render_room(request, known, held, hint=told, step=min(step, 3))


@router.post("/g/{address}/handover")
async def hand_over_seat(request: Request, address: str) -> Response:
    """Show the private link that moves a seat to another device."""
    known, held = await _find_room_as_player(request, address)
    if known is None:
        return _render_not_found(request)
    try:
        code = await _get_lobby(request).make_handover_code(
            address, get_browser_session(request).get_credentials(address)
        )
    except RoomError as refused:
        return _render_room(request, known, held, Notice(make_sentence(f"{refused}")), 403)
    private = f"{_get_origin(request)}/g/{address}/take/{code}"
    return _render_room(request, known, held, private=private)


@router.get("/g/{address}/take/{code}")
async def confirm_take_over(request: Request, address: str, code: str) -> Response:
    """Ask before a seat moves to this device: a link that is only looked at moves nothing."""
    known = await _find_room(request, address)
    if known is None:
        return _render_not_found(request)
    return render_page(request, "take.html", view=RoomView(known, frozenset()), address=address, code=code)


@router.post("/g/{address}/take/{code}")
async def take_over_seat(request: Request, address: str, code: str) -> Response:
    """Move a seat to this device."""
    try:
        known, _ = await _get_lobby(request).take_over(address, code, get_browser_session(request).current.secret)
    except RoomNotFoundError:
        return _render_not_found(request)
    except RoomError as refused:
        return render_page(
            request, "error.html", status=410, heading="This link has been used", text=make_sentence(f"{refused}")
        )
    return _welcome_player(request, known)


@router.get("/g/{address}/{deed}")
async def redirect_to_room(address: str, deed: str) -> Response:  # noqa: ARG001 - whatever was done there
    """Lead back to the room whoever opens the address of a form again."""
    return RedirectResponse(f"/g/{quote(address, safe='')}", 303)


@router.post("/g/{address}/{deed}")
async def perform_action(request: Request, address: str, deed: str) -> Response:
    """Do what was asked for; what cannot be done is said, above the room as it is."""
    credentials = get_browser_session(request).get_credentials(address)
    known, _ = await _find_room_as_player(request, address)
    if known is None:
        return _render_not_found(request)
    try:
        action = parse_action(deed, await read_form(request), known)
        known = await _get_lobby(request).act(address, credentials, action, known)
    except InvalidAnswerError as wrong:
        notice, status = Notice(f"{wrong}"), 422
    except MoveError as refused:
        notice, status = Notice(format_refusal(known, refused)), 422
    except StaleError:
        return await _render_again(
            request, address, Notice("The table has changed since. This is how it stands now.", "stale")
        )
    except (RoomError, TableError) as refused:
        return await _render_again(request, address, Notice(make_sentence(f"{refused}")))
    else:
        if is_fragment(request):
            return _render_room(request, known, known.find_seats(credentials))
        # Without a script nobody hears of the computer's answer, so it is waited for.
        await _get_lobby(request).wait_for_computer(known)
        return RedirectResponse(f"/g/{address}", 303)
    return _render_room(request, known, known.find_seats(credentials), notice, status)


# To answer --------------------------------------------------------------------------------------------------------


def _get_lobby(request: Request) -> Lobby:
    lobby: Lobby = request.app.state.lobby
    return lobby


async def _find_room(request: Request, address: str) -> CachedRoom | None:
    """Return a room; a watch address is enough to look at it, and not to do anything there."""
    try:
        known = await _get_lobby(request).find_room(address, _parse_seen(request))
    except RoomNotFoundError:
        return None
    return None if request.method == "POST" and known.address != address else known


def _parse_seen(request: Request) -> Revision | None:
    """Return the newest state that the page has seen, as its script says; what is no mark says nothing."""
    seen = parse_tag(request.query_params.get("seen", ""))
    return pick_newest_moment(seen, request.headers.get("last-event-id"))


async def _find_room_as_player(request: Request, address: str) -> tuple[CachedRoom | None, frozenset[int]]:
    """Return a room as `_find_room` does, and the seats that this browser holds there."""
    credentials = get_browser_session(request).get_credentials(address)
    try:
        known = await _get_lobby(request).find_room_for(address, credentials, _parse_seen(request))
    except RoomNotFoundError:
        return None, frozenset()
    if known.address != address:
        return None if request.method == "POST" else known, frozenset()
    return known, known.find_seats(credentials)


async def _render_again(
    request: Request, address: str, notice: Notice, status: int = 409, **context: object
) -> Response:
    """Show a room as it is now, and what there is to say about what was tried."""
    known, held = await _find_room_as_player(request, address)
    if known is None:
        return _render_not_found(request)
    return _render_room(request, known, held, notice, status, **context)


def _render_room(
    request: Request,
    known: CachedRoom,
    held: frozenset[int],
    notice: Notice | None = None,
    status: int = 200,
    **context: object,
) -> Response:
    name = "join.html" if not held and known.room.waiting else "room.html"
    return render_page(request, name, status=status, notice=notice, **_build_context(request, known, held), **context)


def _welcome_player(request: Request, known: CachedRoom) -> Response:
    """Show the room to a browser that has just got a seat there, and let it keep its cookie."""
    session = get_browser_session(request)
    session.renew()
    if is_fragment(request):
        return _render_room(request, known, known.find_seats(session.get_credentials(known.address)))
    return RedirectResponse(f"/g/{known.address}", 303)


def _build_context(request: Request, known: CachedRoom, held: frozenset[int]) -> dict[str, Any]:
    origin = _get_origin(request)
    play = {"play_link": f"{origin}/g/{known.address}"} if held else {}
    only_here = request.app.state.settings.is_local_only(request.url.netloc)
    return {"view": RoomView(known, held), "watch_link": f"{origin}/w/{known.watch}", "only_here": only_here, **play}


def _get_origin(request: Request) -> str:
    return str(request.app.state.settings.get_origin(request.url.scheme, request.url.netloc))


def _render_not_found(request: Request) -> Response:
    text = "There is no game at this address. Perhaps a part of the link is missing?"
    return render_page(request, "error.html", status=404, heading="No game here", text=text)


LONGEST_ANSWER = 40


_SIMPLE_ACTIONS: dict[str, Callable[[int], Action]] = {
    "resign": Resign,
    "accept": Accept,
    "decline": Decline,
    "rematch": Rematch,
}


class InvalidAnswerError(ValueError):
    """An answer that is no move, and what would be."""


def parse_action(deed: str, form: FormData, known: CachedRoom) -> Action:
    """Return what a form asks for, by the last part of its address."""
    match deed:
        case "move":
            return Move(_parse_version(form, known), _parse_block(form, known), _parse_game_number(form, known))
        case "undo":
            return Undo(_parse_version(form, known), _parse_game_number(form, known))
        case "offer":
            return MakeOffer(
                "rematch" if form.get("kind") == "rematch" else "takeback", _parse_game_number(form, known)
            )
        case _ if deed in _SIMPLE_ACTIONS:
            return _SIMPLE_ACTIONS[deed](_parse_game_number(form, known))
        case _:
            raise InvalidAnswerError("That cannot be done here.")


def _parse_block(form: FormData, known: CachedRoom) -> int:
    """Read the number that was typed or pressed, or say in the game's words why it is none."""
    given = str(form.get("block", "")).strip()
    number = parse_number(given)
    if number is not None:
        return number
    answer = format_text(given, LONGEST_ANSWER)
    said = known.voice.refuse(known.room.table, classify_misread(given), answer)
    raise InvalidAnswerError(format_said(said).replace(", or help", ""))


def format_refusal(known: CachedRoom, refused: MoveError) -> str:
    """Say why a block cannot be placed."""
    table = known.room.table
    reason = table.refusal(refused.block) or refused.reason
    return format_said(known.voice.refuse(table, reason, f"{refused.block}", refused.block))


def _parse_version(form: FormData, known: CachedRoom) -> int:
    version = parse_number(str(form.get("version", "")))
    return known.room.table.version if version is None else version


def _parse_game_number(form: FormData, known: CachedRoom) -> int:
    return parse_number(str(form.get("game", ""))) or known.room.number
