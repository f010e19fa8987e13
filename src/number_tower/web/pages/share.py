"""The page of a finished game to send to others, and its picture for link previews."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from number_tower.drawing.picture import HEIGHT, WIDTH, draw_scenes, make_scene
from number_tower.drawing.renderer import render_png
from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.web.http.middleware.security_headers import ANY_SITE
from number_tower.web.http.rates import THINKING, price
from number_tower.web.limits import PICTURE_TIMEOUT
from number_tower.web.pages import describe_origin, render_page
from number_tower.web.thinking.questions import ask_cached, read_record
from number_tower.words.endings import tell_ending
from number_tower.words.voice import SPECTATOR, get_voice

router = APIRouter(include_in_schema=False)

PictureForm = Literal["svg", "png"]
MEDIA_TYPES: dict[PictureForm, str] = {"svg": "image/svg+xml", "png": "image/png"}

_HEADERS = {"Cache-Control": "public, max-age=86400", **ANY_SITE}


@router.get("/share", dependencies=[price(THINKING)])
async def show_shared_game(request: Request, game: str = "") -> Response:
    """Show how a game ended, with tags by which other programs show a preview of the link."""
    table = await _read_finished(request, game)
    line, voice = record.to_line(table), get_voice(table.book, SPECTATOR)
    headline, *details = tell_ending(table)
    return render_page(
        request,
        "share.html",
        table=table,
        names=(voice.get_name(table, 0), voice.get_name(table, 1)),
        noun=voice.noun,
        line=line,
        headline=headline,
        details=details,
        address=build_share_url(line),
        pictures={form: build_share_url(line, form) for form in MEDIA_TYPES},
        picture_size=(WIDTH, HEIGHT),
        description=make_scene(table).description,
        **describe_origin(request),
    )


@router.get("/share.{form}", dependencies=[price(THINKING)])
async def show_picture(request: Request, form: str, game: str = "") -> Response:
    """Draw the picture of a finished game, as PNG or SVG."""
    if form not in MEDIA_TYPES:
        raise HTTPException(404, "A game has its picture as share.png and as share.svg.")
    table = await _read_finished(request, game)
    key = record.to_line(table), form
    picture = await ask_cached(request, key, _draw_picture, table, form, seconds=PICTURE_TIMEOUT)
    return Response(picture, media_type=MEDIA_TYPES[form], headers=_HEADERS)


def _draw_picture(table: Table, form: PictureForm) -> bytes:
    """Draw the picture; where a PNG's font lacks letters of a name, by the rulebook's names."""
    if form == "svg":
        return draw_scenes([make_scene(table)]).encode()
    letters = "".join(table.names or ())
    is_latin = all(letter < "\u0250" or "\u1e00" <= letter <= "\u1eff" for letter in letters)
    scene = make_scene(table if is_latin else replace(table, names=None))
    return render_png(draw_scenes([scene]), WIDTH)


def build_share_url(line: str, form: PictureForm | None = None) -> str:
    """Return where a finished game can be shown to others, or its picture."""
    return f"/share{f'.{form}' if form else ''}?game={quote(line, safe='(),:=')}"


async def _read_finished(request: Request, game: str) -> Table:
    """Return the game in an address, if it is over."""
    table = await read_record(request, game)
    if table.outcome is None:
        text = "This game is not over. Once it is, it has a page that you can send to others."
        raise HTTPException(404, text)
    return table
