"""The home page, and what visitors choose for all pages."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.store import StoreError, classrooms, seats
from number_tower.store.rooms import RoomNotFoundError
from number_tower.web.choices import read_choices
from number_tower.web.lobby import Lobby
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import (
    PREFERENCES,
    get_credentials,
    is_watch_address,
    read_form,
    render_page,
    set_preference,
)
from number_tower.web.pages.puzzles import read_daily_record
from number_tower.web.view import RoomView

router = APIRouter(include_in_schema=False)

DISMISSED = "dismissed"
"""The cookie with the games that were dismissed from the home page."""

MOST_CLASSES = 6
"""Classes of a browser on the home page: the newest."""

MOST_LISTED = 50
"""Games of a browser on the home page: those that are not over, then the newest."""


@router.get("/")
async def show_home(request: Request) -> Response:
    """Show the games of the catalogue, and those of this browser."""
    games, hidden = await _list_games(request), set(_read_dismissed(request))
    mine = [view for view in games if view.stored.watch not in hidden]
    return render_page(
        request,
        "home.html",
        mine=mine,
        dismissed=len(games) - len(mine),
        daily=read_daily_record(request),
        chosen=read_choices(request),
        classes=await _list_classes(request),
    )


@router.post("/dismiss")
async def dismiss_game(request: Request) -> Response:
    """Hide a game of this browser from the home page, or show all of them again; nothing happens to the game."""
    game = str((await read_form(request)).get("game", ""))
    response = RedirectResponse("/", 303)
    if not game:
        response.delete_cookie(DISMISSED, path="/", samesite="lax")
    elif is_watch_address(game):
        dismissed = [game, *(each for each in _read_dismissed(request) if each != game)]
        set_preference(request, response, DISMISSED, ".".join(dismissed[:MOST_LISTED]))
    return response


@router.post("/theme")
@router.post("/preferences")
async def set_preferences(request: Request) -> Response:
    """Remember on the device what a visitor chose, and go back to the page that it was chosen on."""
    form = await read_form(request)
    back = str(form.get("back", "/"))
    local = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    response = RedirectResponse(back if local else "/", 303)
    for name, choices in PREFERENCES.items():
        if (chosen := str(form.get(name, ""))) in choices:
            set_preference(request, response, name, chosen)
    return response


def _read_dismissed(request: Request) -> list[str]:
    """Return the watch addresses of the games that were dismissed in this browser, the last one first."""
    return [
        each
        for each in request.cookies.get(DISMISSED, "").split(".")[:MOST_LISTED]
        if is_watch_address(each)
    ]


async def _list_classes(request: Request) -> list[str]:
    """Return the codes of the classes that this browser teaches or is a pupil of; none while the database fails."""
    lobby: Lobby = request.app.state.lobby
    session = get_browser_session(request)
    with suppress(StoreError):
        if session.secrets:
            mine = partial(classrooms.list_classrooms, browsers=session.secrets, most=MOST_CLASSES)
            return await lobby.classes.database.read(mine)
    return []


async def _list_games(request: Request) -> list[RoomView]:
    """Return this browser's games, the newest first; none while the database fails."""
    lobby: Lobby = request.app.state.lobby
    session = get_browser_session(request)
    credentials = get_credentials(request)
    views: list[RoomView] = []
    with suppress(StoreError):
        if not session.secrets:
            return []
        mine = partial(seats.list_rooms, browsers=session.secrets, most=MOST_LISTED)
        for address in await lobby.database.read(mine):
            with suppress(RoomNotFoundError):
                stored = await lobby.find_room(address)
                if held := stored.find_seats(credentials):
                    views.append(RoomView(stored, held))
    if views:
        session.renew()
    return sorted(views, key=lambda view: view.stored.game.changed, reverse=True)
