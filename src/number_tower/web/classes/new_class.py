"""The form for a new class: its games, how pupils are paired, and what they may see."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.catalogue import GameChoice
from number_tower.classroom import BEST_OF, CLAIM_MINUTES, ClassSettings
from number_tower.players import LEVELS
from number_tower.store import classrooms
from number_tower.web.middleware.browser_cookie import get_browser_session
from number_tower.web.pages import read_form, render_page
from number_tower.web.pages.new_game import FormError, pick_default_game, read_choice
from number_tower.web.quota import admit_room
from number_tower.web.rates import NEW_GAME, price

router = APIRouter(include_in_schema=False)


@router.get("/class/new")
async def show_new_class(request: Request) -> Response:
    """Show the form for a new class."""
    return _render_form(request, {}, [pick_default_game().name])


@router.post("/class/new", dependencies=[price(NEW_GAME), Depends(admit_room)])
async def make_class(request: Request) -> Response:
    """Make a class as the form says, and show it to its teacher."""
    form = await read_form(request)
    given = {key: value for key, value in form.items() if isinstance(value, str)}
    chosen = [name for name in form.getlist("games") if isinstance(name, str)]
    try:
        settings = await _read_settings(form, given, chosen)
    except FormError as error:
        return _render_form(request, given, chosen, error)
    session = get_browser_session(request)
    browser = session.current.secret
    insert = partial(classrooms.insert_classroom, settings=settings, browser=browser)
    stored, _ = await request.app.state.lobby.classes.database.write(insert)
    session.renew()
    return RedirectResponse(f"/class/{stored.code}", 303)


def _render_form(
    request: Request, given: Mapping[str, str], chosen: list[str], wrong: FormError | None = None
) -> Response:
    status = 422 if wrong else 200
    return render_page(
        request, "class_new.html", status=status, given=given, chosen=chosen, wrong=wrong
    )


async def _read_settings(
    form: FormData, given: Mapping[str, str], chosen: list[str]
) -> ClassSettings:
    level = given.get("level", "easy") if given.get("odd") == "computer" else None
    if level is not None and level not in LEVELS:
        raise FormError("level", f"Choose one of the levels: {', '.join(LEVELS)}.")
    best_of = parse_number(given.get("best_of", "1"))
    if best_of not in BEST_OF:
        raise FormError("best_of", f"A match has {', '.join(map(str, BEST_OF))} games.")
    minutes = parse_number(given.get("claim", "5"))
    if given.get("claim") != "never" and minutes not in CLAIM_MINUTES:
        raise FormError("claim", f"Choose {', '.join(map(str, CLAIM_MINUTES))} minutes, or never.")
    return ClassSettings(
        games=await _read_games(form, given, chosen),
        mode="free" if given.get("mode") == "free" else "swiss",
        best_of=best_of,
        level=level,
        hints=given.get("hints") == "yes",
        values=given.get("values") == "yes",
        tie_break="head_to_head" if given.get("tie_break") == "head_to_head" else "buchholz",
        claim_minutes=None if given.get("claim") == "never" else minutes,
    )


async def _read_games(
    form: FormData, given: Mapping[str, str], chosen: list[str]
) -> tuple[GameChoice, ...]:
    if not chosen:
        raise FormError("games", "Choose at least one game.")
    games = [
        {"game": name, "preset": given.get(f"preset-{name}", "")} for name in dict.fromkeys(chosen)
    ]
    if len(games) == 1:
        return (await read_choice(form, {**given, **games[0], "first": ""}),)
    if any(given.get(option, "").strip() for option in (*catalogue.OPTIONS, "rules_text")):
        raise FormError(
            "games", "Options are for one game. Choose just one game, or leave the options empty."
        )
    return tuple([await read_choice(form, game) for game in games])
