"""The home page, and what visitors choose for all pages."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from operator import itemgetter

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.store import StoreError, classrooms, seats
from number_tower.store.rooms import RoomNotFoundError
from number_tower.web.board.view import GameView
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.room_actions import get_credentials
from number_tower.web.pages import (
    PREFERENCES,
    is_watch_address,
    read_form,
    render_page,
    set_preference,
)
from number_tower.web.pages.choices import read_choices
from number_tower.web.pages.puzzles import read_daily_record
from number_tower.web.pages.room_view import view_room
from number_tower.web.parts import get_parts

router = APIRouter(include_in_schema=False)

DISMISSED = "dismissed"
"""The cookie with the games that were dismissed from the home page."""

MAX_CLASSES = 6
"""Classes of a browser on the home page: the newest."""

MAX_GAMES = 50
"""Games of a browser on the home page: those that are not over, then the newest."""


@router.get("/")
async def show_home(request: Request) -> Response:
    """Show the games of the catalogue, and the games and classes of this browser."""
    lobby = get_parts(request).lobby
    secrets = get_browser_session(request).secrets
    games: list[GameView] = []
    classes: list[str] = []
    # While the database fails, the page is shown without them.
    with suppress(StoreError):
        if secrets:
            games = await _list_games(request, lobby)
            query = partial(classrooms.list_classrooms, browsers=secrets, most=MAX_CLASSES)
            classes = await lobby.database.read(query)
    dismissed = set(_read_dismissed(request))
    mine = [view for view in games if view.room.watch not in dismissed]
    return render_page(
        request,
        "home.html",
        mine=mine,
        dismissed=len(games) - len(mine),
        daily=read_daily_record(request),
        chosen=read_choices(request),
        classes=classes,
    )


async def _list_games(request: Request, lobby: Lobby) -> list[GameView]:
    """Return this browser's games, the newest first."""
    session, credentials = get_browser_session(request), get_credentials(request)
    games = []
    query = partial(seats.list_rooms, browsers=session.secrets, most=MAX_GAMES)
    for address in await lobby.database.read(query):
        with suppress(RoomNotFoundError):
            stored = await lobby.find_room(address)
            if held := stored.find_seats(credentials):
                games.append((stored.game.changed, view_room(stored, held)))
    if games:
        session.renew()
    games.sort(key=itemgetter(0), reverse=True)
    return [view for _, view in games]


@router.post("/dismiss")
async def dismiss_game(request: Request) -> Response:
    """Hide a game from the home page, or show all again; nothing happens to the game."""
    game = str((await read_form(request)).get("game", ""))
    response = RedirectResponse("/", 303)
    if not game:
        response.delete_cookie(DISMISSED, path="/", samesite="lax")
    elif is_watch_address(game):
        others = [address for address in _read_dismissed(request) if address != game]
        set_preference(request, response, DISMISSED, ".".join([game, *others][:MAX_GAMES]))
    return response


@router.post("/theme")
@router.post("/preferences")
async def set_preferences(request: Request) -> Response:
    """Remember what a visitor chose, and go back to the page where it was chosen."""
    form = await read_form(request)
    back = str(form.get("back", "/"))
    local = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    response = RedirectResponse(back if local else "/", 303)
    for name, choices in PREFERENCES.items():
        if (chosen := str(form.get(name, ""))) in choices:
            set_preference(request, response, name, chosen)
    return response


def _read_dismissed(request: Request) -> list[str]:
    """Return the watch addresses of the dismissed games, the last one first."""
    addresses = request.cookies.get(DISMISSED, "").split(".")[:MAX_GAMES]
    return [address for address in addresses if is_watch_address(address)]
