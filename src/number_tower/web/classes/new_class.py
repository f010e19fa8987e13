"""The form for a new class: its games, how pupils are paired, and what they may see."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice
from number_tower.players import LEVELS
from number_tower.rooms.classroom import BEST_OF, CLAIM_MINUTES, ClassSettings
from number_tower.store import classrooms
from number_tower.web.http.middleware.browser_cookie import get_browser_session
from number_tower.web.http.rates import NEW_GAME, price
from number_tower.web.live.quota import admit_room
from number_tower.web.pages import read_form, render_page
from number_tower.web.pages.new_game import FormError, pick_default_game, read_choice, read_pick
from number_tower.web.parts import get_parts

router = APIRouter(include_in_schema=False)


@router.get("/class/new")
async def show_new_class(request: Request) -> Response:
    """Show the form for a new class."""
    usual = [pick_default_game().name]
    return render_page(request, "class_new.html", fields={}, chosen=usual)


@router.post("/class/new", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def make_class(request: Request) -> Response:
    """Make a class as the form says, and show it to its teacher."""
    form = await read_form(request)
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    chosen = [name for name in form.getlist("games") if isinstance(name, str)]
    try:
        settings = await _read_settings(form, fields, chosen)
    except FormError as error:
        context = {"fields": fields, "chosen": chosen, "wrong": error}
        return render_page(request, "class_new.html", status=422, **context)
    session = get_browser_session(request)
    browser = session.current.secret
    insert = partial(classrooms.insert_classroom, settings=settings, browser=browser)
    stored, _ = await get_parts(request).classes.database.write(insert)
    session.renew()
    return RedirectResponse(f"/class/{stored.code}", 303)


async def _read_settings(
    form: FormData, fields: Mapping[str, str], chosen: list[str]
) -> ClassSettings:
    best_of = read_pick(fields, "best_of", map(str, BEST_OF), "1")
    claim = read_pick(fields, "claim", (*map(str, CLAIM_MINUTES), "never"), "5")
    plays_computer = fields.get("odd") == "computer"
    return ClassSettings(
        games=await _read_games(form, fields, chosen),
        mode="free" if fields.get("mode") == "free" else "swiss",
        best_of=int(best_of),
        level=read_pick(fields, "level", LEVELS, "easy") if plays_computer else None,
        hints=fields.get("hints") == "yes",
        values=fields.get("values") == "yes",
        tie_break="head_to_head" if fields.get("tie_break") == "head_to_head" else "buchholz",
        claim_minutes=None if claim == "never" else int(claim),
    )


async def _read_games(
    form: FormData, fields: Mapping[str, str], chosen: list[str]
) -> tuple[GameChoice, ...]:
    if not chosen:
        raise FormError("games", "Choose at least one game.")
    games = [
        {"game": name, "preset": fields.get(f"preset-{name}", "")} for name in dict.fromkeys(chosen)
    ]
    if len(games) == 1:
        return (await read_choice(form, {**fields, **games[0], "first": ""}),)
    if any(fields.get(option, "").strip() for option in (*catalogue.OPTIONS, "rules_text")):
        raise FormError(
            "games", "Options are for one game. Choose just one game, or leave the options empty."
        )
    return tuple([await read_choice(form, game) for game in games])
