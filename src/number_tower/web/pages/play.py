"""The pages of a room: to see it, to act in it, to join it, to watch it, and to take a seat to another device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import record
from number_tower.blocks import whole_number
from number_tower.position import MoveError
from number_tower.room import RoomError
from number_tower.showing import sentence
from number_tower.store.rooms import parse_mark
from number_tower.table import Stale, TableError
from number_tower.web.asking import ask_for_hint, with_retry
from number_tower.web.browser_cookie import browser_session
from number_tower.web.following import COME_BACK, following, newest_moment
from number_tower.web.lobby import NoSuchRoom
from number_tower.web.pages import deeds, is_fragment, page, read_form, start
from number_tower.web.pages.seeing import View
from number_tower.web.workers import BusyError, GaveUpError

if TYPE_CHECKING:
    from number_tower.store.rooms import Moment
    from number_tower.web.lobby import Known, Lobby

router = APIRouter(include_in_schema=False)
router.include_router(start.router)


class Notice(NamedTuple):
    """Something to be told about what was just tried."""

    text: str
    kind: Literal["refused", "stale", "good"] = "refused"


# To see -----------------------------------------------------------------------------------------------------------


@router.get("/g/{address}")
@router.get("/g/{address}/table")
async def room(request: Request, address: str) -> Response:
    """Show a room to whoever holds a seat there; to others, the free seat, or the way to watch."""
    known, held = await _look_as_player(request, address)
    if known is None:
        return _nowhere(request)
    if known.address != address:
        return RedirectResponse(f"/w/{known.watch}", 303)
    if held and not is_fragment(request):
        browser_session(request).renew()
    if not held and not known.room.waiting and not is_fragment(request):
        return RedirectResponse(f"/w/{known.watch}", 303)
    return _shown(request, known, held)


@router.get("/w/{watch}")
@router.get("/w/{watch}/table")
async def watch(request: Request, watch: str) -> Response:
    """Show a room to those who watch."""
    known = await _look(request, watch)
    if known is None or known.watch != watch:
        return _nowhere(request)
    return page(request, "room.html", **_seen(request, known, frozenset()))


@router.get("/g/{address}/events")
@router.get("/w/{address}/events")
async def events(request: Request, address: str) -> Response:
    """Tell a page that something has happened, as long as it listens."""
    if await _look(request, address) is None:
        return _nowhere(request)
    return following(_lobby(request), address, first=COME_BACK, seen=_seen_state(request))


@router.get("/g/{address}/games/{number}")
@router.get("/w/{address}/games/{number}")
async def earlier(request: Request, address: str, number: str) -> Response:
    """Lead to a game that was played in a room before, to look through it."""
    try:
        kept = await _lobby(request).earlier(address, whole_number(number) or 0)
    except NoSuchRoom:
        return _nowhere(request)
    return RedirectResponse(f"/analysis?{urlencode({'game': record.to_line(kept.table)})}", 303)


@router.get("/g/{address}/record.{form}")
@router.get("/w/{address}/record.{form}")
async def export(request: Request, address: str, form: str) -> Response:
    """Give the game away, as one line or as JSON."""
    known = await _look(request, address)
    if known is None or form not in {"txt", "json"}:
        return _nowhere(request)
    table = known.room.table
    name = {"Content-Disposition": f'attachment; filename="tower-{known.watch[:8]}-{known.room.number}.{form}"'}
    if form == "json":
        return Response(record.to_json(table) + "\n", media_type="application/json", headers=name)
    return Response(record.to_line(table) + "\n", media_type="text/plain; charset=utf-8", headers=name)


# To act -----------------------------------------------------------------------------------------------------------


@router.post("/g/{address}/sit")
async def sit(request: Request, address: str) -> Response:
    """Take the free seat."""
    name = str((await read_form(request)).get("name", "")).strip()
    try:
        known, _ = await _lobby(request).sit(address, name or None, browser_session(request).current.secret)
    except NoSuchRoom:
        return _nowhere(request)
    except (RoomError, TableError) as wrong:
        return await _again(request, address, Notice(sentence(f"{wrong}")), 409, name=name)
    return _seated(request, known)


@router.post("/g/{address}/hint")
async def hint(request: Request, address: str) -> Response:
    """Help whoever is to move, a step at a time."""
    known, held = await _look_as_player(request, address)
    if known is None:
        return _nowhere(request)
    if not known.room.may_hint(held):
        return _shown(request, known, held, Notice("There is no hint to be had now."), 409)
    step = whole_number(str((await read_form(request)).get("step", "1"))) or 1
    try:
        told = await ask_for_hint(request, known, held, min(step, 3))
    except BusyError as busy:
        return with_retry(_shown(request, known, held, Notice(str(busy)), 503))
    except GaveUpError:
        return _shown(request, known, held, Notice("This position is too hard to look through here."))
    return _shown(request, known, held, hint=told, step=min(step, 3))


@router.post("/g/{address}/handover")
async def handover(request: Request, address: str) -> Response:
    """Show the private link that moves a seat to another device."""
    known, held = await _look_as_player(request, address)
    if known is None:
        return _nowhere(request)
    try:
        code = await _lobby(request).handover(address, browser_session(request).credentials(address))
    except RoomError as refused:
        return _shown(request, known, held, Notice(sentence(f"{refused}")), 403)
    private = f"{_origin(request)}/g/{address}/take/{code}"
    return _shown(request, known, held, private=private)


@router.get("/g/{address}/take/{code}")
async def ask_to_take(request: Request, address: str, code: str) -> Response:
    """Ask before a seat moves to this device: a link that is only looked at moves nothing."""
    known = await _look(request, address)
    if known is None:
        return _nowhere(request)
    return page(request, "take.html", view=View(known, frozenset()), address=address, code=code)


@router.post("/g/{address}/take/{code}")
async def take(request: Request, address: str, code: str) -> Response:
    """Move a seat to this device."""
    try:
        known, _ = await _lobby(request).take(address, code, browser_session(request).current.secret)
    except NoSuchRoom:
        return _nowhere(request)
    except RoomError as refused:
        return page(request, "error.html", status=410, heading="This link has been used", text=sentence(f"{refused}"))
    return _seated(request, known)


@router.get("/g/{address}/{deed}")
async def back(address: str, deed: str) -> Response:  # noqa: ARG001 - whatever was done there
    """Lead back to the room whoever opens the address of a form again."""
    return RedirectResponse(f"/g/{quote(address, safe='')}", 303)


@router.post("/g/{address}/{deed}")
async def act(request: Request, address: str, deed: str) -> Response:
    """Do what was asked for; what cannot be done is said, above the room as it is."""
    credentials = browser_session(request).credentials(address)
    known, _ = await _look_as_player(request, address)
    if known is None:
        return _nowhere(request)
    try:
        known = await _lobby(request).act(address, credentials, deeds.action(deed, await read_form(request), known))
    except deeds.Unanswerable as wrong:
        notice, status = Notice(f"{wrong}"), 422
    except MoveError as refused:
        notice, status = Notice(deeds.refusal(known, refused)), 422
    except Stale:
        return await _again(
            request, address, Notice("The table has changed since. This is how it stands now.", "stale")
        )
    except (RoomError, TableError) as refused:
        return await _again(request, address, Notice(sentence(f"{refused}")))
    else:
        if is_fragment(request):
            return _shown(request, known, known.held(credentials))
        # Without a script nobody hears of the computer's answer, so it is waited for.
        await _lobby(request).settled(known)
        return RedirectResponse(f"/g/{address}", 303)
    return _shown(request, known, known.held(credentials), notice, status)


# To answer --------------------------------------------------------------------------------------------------------


def _lobby(request: Request) -> Lobby:
    lobby: Lobby = request.app.state.lobby
    return lobby


async def _look(request: Request, address: str) -> Known | None:
    """Return a room; a watch address is enough to look at it, and not to do anything there."""
    try:
        known = await _lobby(request).look(address, _seen_state(request))
    except NoSuchRoom:
        return None
    return None if request.method == "POST" and known.address != address else known


def _seen_state(request: Request) -> Moment | None:
    """Return the newest state that the page has seen, as its script says; what is no mark says nothing."""
    seen = parse_mark(request.query_params.get("seen", ""))
    return newest_moment(seen, request.headers.get("last-event-id"))


async def _look_as_player(request: Request, address: str) -> tuple[Known | None, frozenset[int]]:
    """Return a room as `_look` does, and the seats that this browser holds there."""
    known = await _look(request, address)
    if known is None or known.address != address:
        return known, frozenset()
    credentials = browser_session(request).credentials(address)
    try:
        known = await _lobby(request).look_for(address, credentials, _seen_state(request))
    except NoSuchRoom:
        return None, frozenset()
    return known, known.held(credentials)


async def _again(request: Request, address: str, notice: Notice, status: int = 409, **context: object) -> Response:
    """Show a room as it is now, and what there is to say about what was tried."""
    known, held = await _look_as_player(request, address)
    if known is None:
        return _nowhere(request)
    return _shown(request, known, held, notice, status, **context)


def _shown(
    request: Request,
    known: Known,
    held: frozenset[int],
    notice: Notice | None = None,
    status: int = 200,
    **context: object,
) -> Response:
    name = "join.html" if not held and known.room.waiting else "room.html"
    return page(request, name, status=status, notice=notice, **_seen(request, known, held), **context)


def _seated(request: Request, known: Known) -> Response:
    """Show the room to a browser that has just got a seat there, and let it keep its cookie."""
    session = browser_session(request)
    session.renew()
    if is_fragment(request):
        return _shown(request, known, known.held(session.credentials(known.address)))
    return RedirectResponse(f"/g/{known.address}", 303)


def _seen(request: Request, known: Known, held: frozenset[int]) -> dict[str, Any]:
    origin = _origin(request)
    play = {"play_link": f"{origin}/g/{known.address}"} if held else {}
    only_here = request.app.state.settings.only_here(request.url.netloc)
    return {"view": View(known, held), "watch_link": f"{origin}/w/{known.watch}", "only_here": only_here, **play}


def _origin(request: Request) -> str:
    return str(request.app.state.settings.shown(request.url.scheme, request.url.netloc))


def _nowhere(request: Request) -> Response:
    text = "There is no game at this address. Perhaps a part of the link is missing?"
    return page(request, "error.html", status=404, heading="No game here", text=text)
